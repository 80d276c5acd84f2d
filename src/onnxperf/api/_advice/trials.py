"""Trials of hazards: they become candidates, which race the session as it is, all of them at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from onnxperf.analyze.judges.advice import MEMORY_PROCESSES, TIME_SHARE, Attempt
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.subjects import Entry
from onnxperf.api._shared.variants import named_settings, session_of
from onnxperf.api._tuning.candidates import RunCandidate, race_candidates, spec_of
from onnxperf.errors import FileNotWritten, OnnxperfError
from onnxperf.measure.memory_steps import probe_subject
from onnxperf.measure.process import open_worker
from onnxperf.measure.race import Progress
from onnxperf.model.opened import Model
from onnxperf.records.advice import Hazard, Trial
from onnxperf.records.options import RaceOptions, SessionOptions
from onnxperf.records.race import Case

DEFAULT_TIME_S = 60.0
_MOST_TRIALS = 24
"""Each is a process, and the more there are, the fewer rounds each gets."""
_INTERVAL_S = 0.005
Shapes = Mapping[str, tuple[int, ...]]
Rewrite = Callable[[Model, str, Path, Shapes], Path | None]
"""Writes a rewritten model into a folder, for inputs of these shapes; None where there is nothing to rewrite."""


@dataclass
class RemedyTrials:
    """What can be tried against hazards: one candidate for each different trial."""

    entry: Entry
    settings: Settings
    session: SessionOptions
    folder: Path
    """For rewritten models."""
    rewrite: Rewrite
    attempts: list[Attempt] = field(default_factory=list)
    candidates: list[RunCandidate] = field(default_factory=list)
    """The session as it is, then what is tried."""
    _known: dict[tuple[object, ...], tuple[str, str]] = field(default_factory=dict)
    """Subject and problem of each different trial."""
    _rewrites: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The baseline comes first."""
        given = {name for name in named_settings(self.session) if name != "threads"}
        self.candidates.append(RunCandidate("as given" if given else "defaults", self.session))

    def add(self, hazards: Sequence[Hazard], progress: Progress) -> None:
        """Make candidates of all trials of all hazards; what cannot be tried has a problem instead."""
        for number, hazard in enumerate(hazards):
            progress(number / len(hazards), f"what can be tried: {hazard.title}")
            for trial in hazard.trials:
                if trial.key not in self._known:
                    self._known[trial.key] = self._prepared(trial)
                self.attempts.append(Attempt(hazard, trial, *self._known[trial.key]))

    def race(self, progress: Progress) -> Case | None:
        """Race all candidates; None where there is nothing to try."""
        if len(self.candidates) < 2:
            return None
        return race_candidates(self.entry, self.candidates, self.settings, self._options(), progress)

    def keep(self, rewrite: str, output: Path) -> None:
        """Copy the model of a rewrite, which was written for its trial, with its weights where these are beside it."""
        path = self._rewrites[rewrite]
        data = [(each, output.parent / each.name) for each in path.parent.glob(f"{path.name}.*")]
        for source, target in [*data, (path, output)]:
            if target != output and target.exists():
                raise FileNotWritten(f"cannot write {target}: it exists already, and the model needs that name")
            try:
                shutil.copyfile(source, target)
            except OSError as error:
                raise FileNotWritten(f"cannot write {target}: {error.strerror or error}") from error

    def needs(self, race: Case, progress: Progress) -> dict[str, list[int]]:
        """Bytes that fresh processes need, of the defaults and of trials against what costs memory, in turn."""
        ran = {subject.name for subject in race.subjects if subject.status == "ok"}
        wanted = {each.subject for each in self.attempts if each.hazard.goal == "memory" and each.subject in ran}
        if not wanted:
            return {}
        chosen = [self.candidates[0], *(each for each in self.candidates[1:] if each.name in wanted)]
        found: dict[str, list[int]] = {each.name: [] for each in chosen}
        turns = [each for _ in range(MEMORY_PROCESSES) for each in chosen]
        for number, candidate in enumerate(turns):
            progress(number / len(turns), f"memory of {candidate.name}")
            need = self._need(candidate)
            if need is not None:
                found[candidate.name].append(need)
        return {name: each for name, each in found.items() if len(each) == MEMORY_PROCESSES}

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

    def _options(self) -> RaceOptions:
        race = self.settings.race
        return replace(race, time=race.time or DEFAULT_TIME_S, alpha_share=TIME_SHARE)

    def _need(self, candidate: RunCandidate) -> int | None:
        """The most that was resident at once, above what was there before the model was loaded."""
        limits = self.settings.limits
        start = partial(open_worker, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit)
        probe = probe_subject(spec_of(self.entry, candidate), start, 1, _INTERVAL_S, lambda _done, _text: None)
        if probe.interrupted:
            raise KeyboardInterrupt
        subject = probe.subject
        if subject.status != "ok" or subject.peak_bytes is None:
            return None
        return max(subject.peak_bytes - subject.steps[0].before.total_bytes, 0)


def changed(session: SessionOptions, settings: dict[str, str]) -> SessionOptions:
    """A session with some settings changed, by the names that users give them; another provider has other options."""
    kept = named_settings(session)
    if "provider" in settings:
        kept = {name: value for name, value in kept.items() if not name.startswith("provider.")}
    return session_of({**kept, **settings}, frozenset(session.options))
