"""What is measured of two candidates: a race, the memory of fresh processes, or their outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec.structs import replace

from onnxperf.analyze.answers.check import draws_random_numbers, not_deterministic
from onnxperf.analyze.judges.agreement import Outputs, disagreement
from onnxperf.analyze.judges.bisection import enough_for, raced, weighed
from onnxperf.analyze.judges.weighing import PROCESSES
from onnxperf.api._bisection.budget import BisectBudget
from onnxperf.api._bisection.rows import RowPlace
from onnxperf.api._shared.outputs import drawn_in, outputs_of, steady_outputs
from onnxperf.api._shared.racing import judged_case, run_race, start_of
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import Setup, interpreter_of
from onnxperf.api._shared.subjects import Entry, model_specs
from onnxperf.api._tuning.times import of_whole
from onnxperf.bisection.base import Question, error_share
from onnxperf.errors import BadInput, OnnxperfError
from onnxperf.measure.memory_steps import needed_bytes
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.process import open_worker
from onnxperf.measure.race import Progress
from onnxperf.records.bisect import BisectStep, By
from onnxperf.records.options import RaceOptions


@dataclass
class Trials:
    """The candidates of a row, and what is already known about them."""

    entry: Entry
    places: Sequence[RowPlace]
    by: By
    settings: Settings
    options: RaceOptions
    size: int
    """Of the search: its comparisons share the error probability of one race."""
    budget: BisectBudget
    _outputs: dict[int, Outputs] = field(default_factory=dict)
    _bytes: dict[int, list[int]] = field(default_factory=dict)
    _opening_s: dict[int, float] = field(default_factory=dict)
    """What starting each candidate, and its first call, took."""

    def problem(self, place: int, progress: Progress) -> str:
        """Why a candidate cannot run; empty if it can. Its environment is built, and the model called once."""
        if place in self._outputs:
            return ""
        progress(0.0, f"{self._name(place)}: the first call")
        clock = self.budget.clock
        try:
            begin_s = clock()
            interpreter_of(self.places[place].session)
            self.budget.leave_out(clock() - begin_s)
            begin_s = clock()
            self._outputs[place] = outputs_of(self._spec(place), self.settings.limits)
            self._opening_s[place] = clock() - begin_s
        except OnnxperfError as error:
            return str(error).removeprefix(f"{self._name(place)}: ")
        return ""

    def compare(self, question: Question, ends: BisectStep | None, progress: Progress) -> BisectStep:
        """Measure both, and say how they differ; what that means for the search is not yet judged."""
        names = self._name(question.first), self._name(question.second)
        measures = {"time": self._race, "memory": self._weigh, "accuracy": self._check}
        step = measures[self.by](question, names, ends, partial(_report, progress, f"{names[1]} against {names[0]}"))
        return replace(step, differs=step.differs or self._difference(question))

    def _race(
        self, question: Question, names: tuple[str, str], ends: BisectStep | None, progress: Progress
    ) -> BisectStep:
        specs = [self._spec(question.first), self._spec(question.second)]
        opening_s = self._both_opening_s(question)
        amounts = (ends.base_amount or 0.0, ends.amount or 0.0) if ends is not None else (0.0,)
        time_s = self.budget.race_s(opening_s, max(amounts) / 1e9)
        options = replace(self.options, time=time_s, alpha_share=error_share(question.purpose, self.size))
        aim = None if question.purpose == "repeat" else enough_for(names, ends, options.min_effect, options.alpha_share)
        end = run_race(specs, options, start_of(self.settings.limits), progress, enough=aim)
        case = replace(judged_case(end, options), model=self.entry.model.label)
        if case.interrupted:
            raise KeyboardInterrupt
        step = raced(question.purpose, case, *names)
        return replace(step, reason=of_whole(step.reason, time_s, self.budget.total_s))

    def _weigh(
        self, question: Question, names: tuple[str, str], ends: BisectStep | None, progress: Progress
    ) -> BisectStep:
        del ends
        opening_s = self._both_opening_s(question)
        self.budget.began(opening_s, (PROCESSES - 1) * opening_s)
        if question.purpose == "repeat":
            self._bytes.clear()
        base, candidate = (self._needed(place, progress) for place in (question.first, question.second))
        return weighed(question.purpose, names, base, candidate, self.options.min_effect)

    def _needed(self, place: int, progress: Progress) -> list[int]:
        if place not in self._bytes:
            self._bytes[place] = [self._probe(place, number, progress) for number in range(PROCESSES)]
        return self._bytes[place]

    def _probe(self, place: int, number: int, progress: Progress) -> int:
        """The most that was resident at once, above what was there before the model was loaded."""
        limits = self.settings.limits
        start = partial(open_worker, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit)
        done, name = number / PROCESSES, self._name(place)
        need, reason = needed_bytes(self._spec(place), start, partial(progress, done, f"memory of {name}"))
        if need is None:
            raise BadInput(f"{name}: {reason}")
        return need

    def _check(
        self, question: Question, names: tuple[str, str], ends: BisectStep | None, progress: Progress
    ) -> BisectStep:
        """Outputs are computed again for the last comparison."""
        del ends
        self.budget.began(self._both_opening_s(question), 0.0)
        random = drawn_in(self.entry)
        if random:
            raise BadInput(draws_random_numbers(self.entry.model.label, random))
        for place in (question.first, question.second):
            if question.purpose != "search" or place != question.first:
                progress(0.5, "outputs")
                outputs, steady = steady_outputs(self._spec(place), self.settings.tolerances, self.settings.limits)
                if not steady:
                    raise BadInput(not_deterministic(self._name(place)))
                self._outputs[place] = outputs
        return BisectStep(purpose=question.purpose, base=names[0], candidate=names[1], side="undecided")

    def _difference(self, question: Question) -> str:
        ours, theirs = self._outputs[question.first], self._outputs[question.second]
        return disagreement(ours, theirs, self.settings.tolerances)

    def _both_opening_s(self, question: Question) -> float:
        """What opening both sides takes."""
        return sum(self._opening_s.get(place, 0.0) for place in (question.first, question.second))

    def _name(self, place: int) -> str:
        return self.places[place].candidate.name

    def _spec(self, place: int) -> WorkerSpec:
        return named_spec(self.entry, self.places[place])


def named_spec(entry: Entry, place: RowPlace) -> WorkerSpec:
    """A model under a candidate's session and name."""
    spec = model_specs([entry], [Setup("ort", (place.call,), place.session)])[0]
    return replace(spec, subjects=(replace(spec.subjects[0], name=place.candidate.name),))


def _report(progress: Progress, what: str, done: float, text: str) -> None:
    progress(done, f"{what}: {text}")
