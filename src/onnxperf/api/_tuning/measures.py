"""What is measured of choices: launches of all of them side by side, and the winner against the defaults."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from onnxperf.analyze.judges.tuning import (
    Confirmation,
    Sample,
    confirmed,
    confirmed_bytes,
    enough_by,
    in_sequence,
    largest_error,
    samples_of,
)
from onnxperf.api._shared.exchanged import check_exchanged
from onnxperf.api._shared.outputs import outputs_of
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.subjects import Entry
from onnxperf.api._shared.variants import session_of
from onnxperf.api._tuning.candidates import RunCandidate, changed, race_candidates, spec_of
from onnxperf.errors import BadInput, OnnxperfError
from onnxperf.measure.memory_steps import needed_bytes
from onnxperf.measure.process import open_worker
from onnxperf.measure.race import Progress
from onnxperf.records.comparison import Comparison
from onnxperf.records.options import RaceOptions, SessionOptions
from onnxperf.records.race import Case
from onnxperf.records.sweep import time_of
from onnxperf.records.tune import DEFAULTS, Goal, TuneChoice
from onnxperf.runtimes.find import find_runtime

_WARMUP_S = 0.02
"""Of a launch in the search."""
_ROUNDS = ((0.04, 4), (0.2, 2))
"""Calls of at most so many seconds have so many rounds in a launch; longer ones have one."""
_CHECKED_LAPS = 2
"""Launches of a choice whose outputs are compared, each on other inputs."""
_PROBES = 5
"""Fresh processes of each side whose memory decides: that all of one exceed all of the other by chance: 1 in 126."""
USUAL = TuneChoice(name=DEFAULTS, knobs=())


class Measure(Protocol):
    """How choices are compared with the defaults; tests and simulations bring their own."""

    def lap(self, choices: Sequence[TuneChoice], progress: Progress) -> dict[str, Sample]:
        """One launch of the defaults and of each of these; Ctrl-C is raised."""

    def confirm(self, choices: Sequence[TuneChoice], time_s: float, progress: Progress) -> Confirmation:
        """The choices against the defaults, on inputs that the search did not have; the first has all parts of others.

        If `progress` raises KeyboardInterrupt, the answer rests on the measurements so far.
        """

    def error(self, choice: TuneChoice) -> float | None:
        """How far the outputs of a choice are from those of the defaults, on inputs that the search did not have."""


@dataclass
class MeasuredModel:
    """The model with its inputs, and how choices become candidates."""

    entries: Sequence[Entry]
    """The model with inputs for the search, of which launches take turns."""
    fresh: Callable[[], Entry]
    """The model with other inputs."""
    settings: Settings
    options: RaceOptions
    session: SessionOptions
    """Of the defaults; a choice changes some of its settings."""
    call: str
    """Call style of all choices that have none of their own."""
    paths: Mapping[str, Path] = field(default_factory=dict)
    """Rewritten models by name."""

    def candidate(self, choice: TuneChoice) -> RunCandidate:
        """A choice as something that can be raced; one that came with a record has only what a record may have."""
        check_exchanged(choice.settings, choice.runtime, repr(choice.name))
        path = self.paths.get(choice.rewrite)
        if not choice.runtime:
            return RunCandidate(
                choice.name, changed(self.session, choice.settings), choice.call or self.call, path=path
            )
        call = choice.call or find_runtime(choice.runtime).call_names[0]
        session = session_of({"threads": self.session.threads, **choice.settings})
        return RunCandidate(choice.name, session, call, choice.runtime, path)


@dataclass
class TimeMeasure:
    """Time, or CPU time, in races."""

    model: MeasuredModel
    goal: Goal = "latency"
    _laps: int = 0
    _checked: Counter[str] = field(default_factory=Counter)
    _call_s: float = 0.0

    def lap(self, choices: Sequence[TuneChoice], progress: Progress) -> dict[str, Sample]:
        """One launch of each, a few rounds long."""
        model = self.model
        is_checked = any(self._checked[each.name] < _CHECKED_LAPS for each in choices)
        self._checked.update(each.name for each in choices)
        options = RaceOptions(
            blocks=next((rounds for most, rounds in _ROUNDS if self._call_s <= most), 1),
            warmup=_WARMUP_S,
            min_effect=model.options.min_effect,
            seed=model.options.seed + self._laps,
        )
        tolerances = replace(model.settings.tolerances, check=is_checked)
        entry = model.entries[self._laps % len(model.entries)]
        candidates = [model.candidate(each) for each in (USUAL, *choices)]
        settings = dataclasses.replace(model.settings, tolerances=tolerances)
        self._laps += 1
        case = race_candidates(entry, candidates, settings, options, progress)
        if case.interrupted:
            raise KeyboardInterrupt
        return self._samples(case)

    def _samples(self, case: Case) -> dict[str, Sample]:
        usual = case.subjects[0]
        if usual.status != "ok" or not usual.blocks:
            raise BadInput(f"the defaults cannot be measured: {usual.reason or usual.status}")
        self._call_s = (time_of(usual) or 0.0) / 1e9
        return samples_of(case, self.goal)

    def confirm(self, choices: Sequence[TuneChoice], time_s: float, progress: Progress) -> Confirmation:
        """A whole race."""
        model = self.model
        options = replace(model.options, time=time_s)
        candidates = [model.candidate(each) for each in (USUAL, *choices)]
        enough = enough_by(self.goal, DEFAULTS, options.min_effect)
        is_checked = not any(each.approximate for each in choices)
        tolerances = replace(model.settings.tolerances, check=is_checked)
        settings = dataclasses.replace(model.settings, tolerances=tolerances)
        case = race_candidates(model.fresh(), candidates, settings, options, progress, enough)
        return confirmed(case, self.goal, options.min_effect, choices)

    def error(self, choice: TuneChoice) -> float | None:
        """Largest difference / largest value of an output."""
        return _error(self.model, choice)


@dataclass
class MemoryMeasure:
    """The most that was resident at once in fresh processes, above what was there before the model was loaded."""

    model: MeasuredModel
    _checked: set[str] = field(default_factory=set)

    def lap(self, choices: Sequence[TuneChoice], progress: Progress) -> dict[str, Sample]:
        """One process of each, alone; the outputs of a new choice are compared first."""
        base = self._probe(USUAL, self.model.entries[0], progress)
        found = {DEFAULTS: Sample("ok", "", 1.0, base)}
        for choice in choices:
            try:
                wrong = self._difference(choice)
                own = self._probe(choice, self.model.entries[0], progress)
            except OnnxperfError as error:
                found[choice.name] = Sample("failed", str(error).removeprefix(f"{choice.name}: "))
            else:
                found[choice.name] = Sample("differs" if wrong else "ok", wrong, max(base, 1) / max(own, 1), own)
        return found

    def confirm(self, choices: Sequence[TuneChoice], time_s: float, progress: Progress) -> Confirmation:
        """Several processes of each in turn."""
        del time_s
        entry, sides = self.model.fresh(), (USUAL, *choices)
        amounts: dict[str, list[int]] = {each.name: [] for each in sides}
        for number in range(_PROBES):
            report = partial(_at, progress, number / _PROBES)
            for each in sides:
                amounts[each.name].append(self._probe(each, entry, report))
        min_effect = self.model.options.min_effect

        def against(base: str, own: str) -> Comparison:
            return confirmed_bytes(amounts[base], amounts[own], min_effect)

        return Confirmation(*in_sequence(choices, against, min_effect))

    def error(self, choice: TuneChoice) -> float | None:
        """Largest difference / largest value of an output."""
        return _error(self.model, choice)

    def _difference(self, choice: TuneChoice) -> str:
        if choice.name in self._checked or choice.approximate:
            return ""
        self._checked.add(choice.name)
        from onnxperf.analyze.judges.agreement import disagreement

        ours, theirs = _outputs(self.model, choice)
        return disagreement(ours, theirs, self.model.settings.tolerances)

    def _probe(self, choice: TuneChoice, entry: Entry, progress: Progress) -> int:
        limits = self.model.settings.limits
        start = partial(open_worker, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit)
        spec = spec_of(entry, self.model.candidate(choice))
        need, reason = needed_bytes(spec, start, lambda: progress(0.0, f"memory of {choice.name}"))
        if need is None:
            raise BadInput(f"{choice.name}: {reason}")
        return need


def _at(progress: Progress, done: float, _done: float, text: str) -> None:
    progress(done, text)


def _outputs(
    model: MeasuredModel, choice: TuneChoice
) -> tuple[tuple[list[str], list[object]], tuple[list[str], list[object]]]:
    entry, limits = model.fresh(), model.settings.limits
    ours, theirs = (outputs_of(spec_of(entry, model.candidate(each)), limits) for each in (USUAL, choice))
    return ours, theirs


def _error(model: MeasuredModel, choice: TuneChoice) -> float | None:
    try:
        ours, theirs = _outputs(model, choice)
    except OnnxperfError:
        return None
    return largest_error(ours[1], theirs[1])
