"""Trials of hazards: they become candidates, which race the session as it is; those that may help race longer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.judges.advice import SCREENING, TIME_SHARE, Attempt, finalists
from onnxperf.analyze.judges.weighing import PROCESSES
from onnxperf.api._advice.budget import AdviceBudget
from onnxperf.api._shared.progress import part_of
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.subjects import Entry
from onnxperf.api._shared.variants import named_settings
from onnxperf.api._tuning.candidates import RunCandidate, changed, race_candidates, spec_of
from onnxperf.errors import FileNotWritten, OnnxperfError
from onnxperf.measure.memory_steps import needed_bytes
from onnxperf.measure.process import open_worker
from onnxperf.measure.race import Progress
from onnxperf.model.opened import Model
from onnxperf.records.advice import Hazard, Trial
from onnxperf.records.options import SessionOptions
from onnxperf.records.race import MIN_ROUNDS, Case
from onnxperf.records.sweep import time_of
from onnxperf.render.kit.files import copy

_MOST_TRIALS = 24
"""Each is a process, and the more there are, the fewer rounds each gets."""
_FEW_TRIALS = 2
"""So many are raced at once: there is little to drop."""
_ROUNDS_TO_DECIDE = 1.2 * MIN_ROUNDS
"""Those that a small difference needs, and a few more: machines slow down."""
_SCREENING_ROUNDS = 3
_LONGEST_SCREENING = 0.5
"""Part of the time that these may take, where calls are slow."""
_TURN_S = 0.0135
"""What a subject takes in a round, unless its calls are long…"""
_CALLS_OF_A_TURN = 2.3
"""… then it takes two of them, and a little more."""
_PATIENCE = 1.5
"""How much longer than its time a race may take, where that decides it."""
Shapes = Mapping[str, tuple[int, ...]]
Rewrite = Callable[[Model, str, Path, Shapes], Path | None]
"""Writes a rewritten model into a folder, for inputs of these shapes; None if there is nothing to rewrite."""


class TrialRaces(NamedTuple):
    """What was measured of trials."""

    screening: Case | None
    """All of them; None if they are few."""
    final: Case | None
    """Those that may help, or all; None if none may."""
    repeat: Case | None = None
    """Those whose gain is larger than the share of a hazard allows; None if there are none."""


@dataclass
class RemedyTrials:
    """What can be tried against hazards: one candidate for each different trial."""

    entry: Entry
    settings: Settings
    session: SessionOptions
    folder: Path
    """For rewritten models."""
    rewrite: Rewrite
    budget: AdviceBudget
    call: str = "run"
    """How the session is called."""
    attempts: list[Attempt] = field(default_factory=list)
    candidates: list[RunCandidate] = field(default_factory=list)
    """The session as it is, then what is tried."""
    notes: list[str] = field(default_factory=list)
    _known: dict[tuple[object, ...], tuple[str, str]] = field(default_factory=dict)
    """Subject and problem of each different trial."""
    _rewrites: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The baseline comes first."""
        given = {name for name in named_settings(self.session) if name != "threads"}
        name = "as given" if given or self.call != "run" else "defaults"
        self.candidates.append(RunCandidate(name, self.session, self.call))

    def add(self, hazards: Sequence[Hazard], progress: Progress) -> None:
        """Make candidates of all trials of all hazards; what cannot be tried has a problem instead."""
        for number, hazard in enumerate(hazards):
            progress(number / len(hazards), f"what can be tried: {hazard.title}")
            for trial in hazard.trials:
                if trial.key not in self._known:
                    self._known[trial.key] = self._prepared(trial)
                self.attempts.append(Attempt(hazard, trial, *self._known[trial.key]))

    def race(self, call_ns: float | None, progress: Progress) -> TrialRaces:
        """Race all candidates for a part of the time, then those that may help for the rest of it.

        `call_ns` is the time of a call, if it is known.
        """
        rivals, clock = len(self.candidates) - 1, self.budget.clock
        if not rivals:
            return TrialRaces(None, None)
        time_s = self.budget.begin_races(rivals + 1)
        if rivals <= _FEW_TRIALS:
            return TrialRaces(None, self._raced(self.candidates, time_s, progress))
        begin_s, first_s = clock(), _screening_s(time_s, rivals, call_ns)
        is_slow = first_s / ((rivals + 1) * _turn_s(call_ns)) < _SCREENING_ROUNDS + 1
        few = _SCREENING_ROUNDS if is_slow else None  # with fewer, nothing could be dropped
        screening = self._raced(self.candidates, first_s, part_of(progress, 0.0, SCREENING), few)
        if screening.interrupted:
            return TrialRaces(None, screening)  # as good as any race that was stopped
        left_s = time_s - min(clock() - begin_s, first_s)
        turn_s = _turn_s(_base_ns(screening) or call_ns)
        most = max(int(left_s / (_ROUNDS_TO_DECIDE * turn_s)) - 1, 1)
        chosen = finalists(screening, self.attempts, most)
        if not chosen:
            return TrialRaces(screening, None)
        best = [self.candidates[0], *(each for each in self.candidates if each.name in chosen)]
        rounds = _rounds(left_s / (len(best) * turn_s))
        return TrialRaces(screening, self._raced(best, left_s, part_of(progress, SCREENING, 1.0), rounds))

    def repeat(self, names: Sequence[str], before: Case, progress: Progress) -> Case | None:
        """Race a few candidates once more, in the time that is left; None if there is none."""
        chosen = [self.candidates[0], *(each for each in self.candidates if each.name in names)]
        time_s = self.budget.repeat_s(len(chosen), len(self._to_weigh(before)))
        if not time_s:
            return None
        turn_s = _turn_s(_base_ns(before))
        return self._raced(chosen, time_s, progress, _rounds(time_s / (len(chosen) * turn_s)))

    def _raced(
        self, candidates: Sequence[RunCandidate], time_s: float, progress: Progress, rounds: int | None = None
    ) -> Case:
        options = replace(self.settings.race, time=time_s, blocks=rounds, alpha_share=TIME_SHARE)
        return race_candidates(self.entry, candidates, self.settings, options, progress)

    def keep(self, rewrite: str, output: Path) -> None:
        """Copy the model of a rewrite, which was written for its trial, with its weights if these are next to it."""
        path = self._rewrites[rewrite]
        data = list(path.parent.glob(f"{path.name}.*"))
        taken = next((output.parent / each.name for each in data if (output.parent / each.name).exists()), None)
        if taken is not None:
            raise FileNotWritten(f"cannot write {taken}: it exists already, and the model needs that name")
        copy(path, output, data)

    def needs(self, race: Case, progress: Progress) -> dict[str, list[int]]:
        """Bytes that fresh processes need, of the defaults and of trials against what costs memory, in turn."""
        chosen = self._to_weigh(race)
        if not chosen:
            return {}
        if self.budget.left_s < self.budget.weighing_s(len(chosen)):
            self.notes.append("memory was not compared for lack of time: increase `time`")
            return {}
        found: dict[str, list[int]] = {each.name: [] for each in chosen}
        turns = [each for _ in range(PROCESSES) for each in chosen]
        for number, candidate in enumerate(turns):
            progress(number / len(turns), f"memory of {candidate.name}")
            need = self._need(candidate)
            if need is not None:
                found[candidate.name].append(need)
        return {name: each for name, each in found.items() if len(each) == PROCESSES}

    def _to_weigh(self, race: Case) -> list[RunCandidate]:
        """The defaults and trials against what costs memory; none if there is no such trial."""
        ran = {subject.name for subject in race.subjects if subject.status == "ok"}
        wanted = {each.subject for each in self.attempts if each.hazard.goal == "memory" and each.subject in ran}
        return [self.candidates[0], *(each for each in self.candidates[1:] if each.name in wanted)] if wanted else []

    def _prepared(self, trial: Trial) -> tuple[str, str]:
        """The subject of a trial, or the problem with it."""
        if len(self.candidates) > _MOST_TRIALS:
            return "", "there are too many trials"
        try:
            candidate = self._candidate(trial)
            if candidate is None:
                return "", "there is nothing to rewrite"
            spec_of(self.entry, candidate)  # refuses call styles that cannot have these inputs
        except OnnxperfError as error:
            return "", str(error)
        self.candidates.append(candidate)
        return candidate.name, ""

    def _candidate(self, trial: Trial) -> RunCandidate | None:
        path = self._rewritten(trial.rewrite) if trial.rewrite else None
        if trial.rewrite and path is None:
            return None
        usual = self.candidates[0]
        name = trial.name
        while name in {each.name for each in self.candidates}:
            name += "'"
        return RunCandidate(
            name,
            changed(self.session, trial.settings),
            call=trial.call or usual.call,
            path=path,
            ready_inputs=trial.ready_inputs,
        )

    def _rewritten(self, name: str) -> Path | None:
        shapes = {each: array.shape for each, array in self.entry.feeds.arrays.items()}
        path = self.rewrite(self.entry.model, name, self.folder, shapes)
        if path is not None:
            self._rewrites[name] = path
        return path

    def _need(self, candidate: RunCandidate) -> int | None:
        """What a fresh process needs."""
        limits = self.settings.limits
        start = partial(open_worker, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit)
        return needed_bytes(spec_of(self.entry, candidate), start)[0]


def _screening_s(time_s: float, rivals: int, call_ns: float | None) -> float:
    """Enough for a few rounds of all trials, as far as that leaves time for those that may help."""
    rounds_s = (_SCREENING_ROUNDS + 0.5) * (rivals + 1) * _turn_s(call_ns)
    return max(SCREENING * time_s, min(rounds_s, _LONGEST_SCREENING * time_s))


def _base_ns(case: Case) -> float | None:
    return next((time_of(each) for each in case.subjects if each.verdict == "baseline"), None)


def _turn_s(call_ns: float | None) -> float:
    return max(_CALLS_OF_A_TURN * (call_ns or 0.0) / 1e9, _TURN_S)


def _rounds(affordable: float) -> int | None:
    """As many as a small difference needs, if that is about what there is time for; otherwise the time decides."""
    return MIN_ROUNDS if MIN_ROUNDS / _PATIENCE < affordable < _ROUNDS_TO_DECIDE else None
