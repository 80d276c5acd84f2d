"""`onnxperf.bisect`: the first release, the optimizer, the setting or the nodes that make a model slower."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec.structs import replace

from onnxperf.analyze.answers.bisect import bisect_answer, notes_on
from onnxperf.analyze.judges.bisection import operators_behind, outcome_of
from onnxperf.api._bisection import rows
from onnxperf.api._bisection.budget import BisectBudget
from onnxperf.api._bisection.parts import PartTrials, nodes_of
from onnxperf.api._bisection.rows import RowPlace, sides_of
from onnxperf.api._bisection.search import Way, search_parts, search_row
from onnxperf.api._bisection.trials import Trials
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.racing import visible_options
from onnxperf.api._shared.requests import Settings, settings_of
from onnxperf.api._shared.subjects import Entry, open_entries
from onnxperf.api._shared.variants import Variant
from onnxperf.api.diff import diff_of_variants
from onnxperf.bisection.base import Question, most_questions
from onnxperf.bisection.chain import Chain
from onnxperf.bisection.parts import GraphParts
from onnxperf.errors import BadOption, FileNotWritten, OnnxperfError
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.race import Progress
from onnxperf.options.base import refuse_useless
from onnxperf.options.functions import BISECT
from onnxperf.records.bisect import BisectCandidate, Bisection, By, Change, OperatorChange, Over
from onnxperf.render.kit.files import check_folder, copy
from onnxperf.results.bisect import BisectResult

_PLACES: tuple[Over, ...] = ("releases", "optimizers", "settings", "nodes")
"""Options of which exactly one says where a change is searched."""
_USELESS: dict[By, tuple[str, ...]] = {
    "time": (),
    "memory": ("warmup",),
    "accuracy": ("warmup", "min_effect", "change"),
}
"""Options without an effect on what is compared."""
_PER_HALVING = 1.5
"""Comparisons that it takes to halve a part of a graph: where one side shows nothing, the other is tried, too."""


@public(BISECT)
def bisect(
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    output: str | Path | None = None,
    by: By,
    change: Change,
    time: float,
    given: Mapping[str, Any],
    progress: Progress = automatic,
) -> BisectResult:
    """Find where a model becomes slower or faster; Ctrl-C returns the results so far.

    Exactly one option says where: `releases` such as "onnxruntime==1.20..1.31", the graph `optimizers` of onnxruntime,
    `settings` (those in which two `variants` differ, or a list of usual ones), or the `nodes` of the model, where two
    values of a setting (`env`, `opt_level`, `variants`…) are the two sides; `output` is a file for the smallest part
    that still shows the difference. `by` compares time, memory or accuracy, and `change` looks for any change, only
    for a worse, or only for a better one. The ends are compared first, and the last comparison is repeated; all
    comparisons together share the error probability of one race. `time` is for all of them, without building
    environments; if it is too short, the answer is a range, and a note says so.
    """
    place = _place_in(given, output, by)
    settings = settings_of(BISECT.complete(given))  # the record: `settings` is an option here
    budget = BisectBudget(time, monotonic())
    request = _Request(model, settings, by, change, feeds, budget, progress)
    if place == "nodes":
        return _bisect_nodes(request, output)
    releases = given.get("releases") or ()
    makers: dict[Over, Callable[[], list[RowPlace]]] = {
        "releases": lambda: rows.releases(releases if isinstance(releases, str) else ",".join(releases), settings),
        "optimizers": lambda: rows.optimizers(settings),
        "settings": lambda: rows.settings_in(settings),
    }
    return _bisect_row(request, place, makers[place]())


@dataclass(frozen=True)
class _Request:
    """What all kinds of bisections have in common."""

    model: Source
    settings: Settings
    by: By
    change: Change
    feeds: Mapping[str, Any] | None
    budget: BisectBudget
    progress: Progress

    def entry(self) -> Entry:
        """The model with its inputs."""
        return open_entries(self.model, self.settings.inputs, self.feeds, self.settings.limits.timeout)[0]

    def report(self, size: int) -> Callable[[int, float, str], None]:
        """Progress over all comparisons that there may be."""
        most = most_questions(size)

        def report(before: int, done: float, text: str) -> None:
            self.progress((before + done) / most, f"comparison {before + 1} of at most {most}: {text}")

        return report


def _place_in(given: Mapping[str, Any], output: object, by: By) -> Over:
    """Where a change is searched; options that contradict that are refused."""
    chosen = [name for name in _PLACES if given.get(name)]
    if len(chosen) != 1:
        raise BadOption("choose one of `releases`, `optimizers`, `settings` and `nodes`")
    if output is not None and chosen[0] != "nodes":
        raise BadOption("only a search among nodes has a model to write", option="output", value=output)
    if chosen[0] == "nodes" and by == "memory":
        raise BadOption("parts of a graph are compared by time or accuracy", option="by", value=by)
    refuse_useless({name: given[name] for name in _USELESS[by] if name in given}, (), f"`by={by}`")
    return chosen[0]


# ---------------------------------------------------------------- a row of candidates


def _bisect_row(request: _Request, over: Over, places: list[RowPlace]) -> BisectResult:
    if len(places) < 2:
        raise BadOption("both ends are the same: there is nothing to bisect", option="variants")
    machine = machines.describe_machine()
    entry, size = request.entry(), len(places)
    options = visible_options(request.settings.race, machine.cpu)
    budget = request.budget
    budget.profiles = request.by == "time"
    trials = Trials(entry, places, request.by, request.settings, options, size, budget)
    chain = Chain(size)
    report = request.report(size)
    way = search_row(chain, trials.problem, trials.compare, request.change, report, budget.has_time_for)
    candidates = [_ended(each.candidate, number, way) for number, each in enumerate(places)]
    record = Bisection(
        model=entry.model.label,
        fingerprint=entry.model.fingerprint,
        over=over,
        by=request.by,
        change=request.change,
        outcome=outcome_of(way.steps, chain.bad - chain.good - 1),
        interrupted=way.interrupted,
        candidates=tuple(candidates),
        steps=tuple(way.steps),
        most_steps=most_questions(size),
        good=candidates[chain.good].name if way.steps else "",
        bad=candidates[chain.bad].name if way.steps else "",
        causes=tuple(each.cause for each in candidates[chain.good + 1 : chain.bad + 1]),
        machine=machines.after_the_race(machine),
        command="onnxperf.bisect",
        notes=(*entry.feeds.notes, *budget.notes),
    )
    if record.outcome in ("found", "range") and request.by == "time" and not way.interrupted:
        record = _with_operators(record, request, [places[chain.good], places[chain.bad]])
    return _result(record)


def _ended(candidate: BisectCandidate, number: int, way: Way) -> BisectCandidate:
    if number in way.problems:
        return replace(candidate, status="failed", reason=way.problems[number])
    return replace(candidate, status="ok") if number in way.ran else candidate


def _with_operators(record: Bisection, request: _Request, sides: Sequence[RowPlace]) -> Bisection:
    """The record with the operators whose times changed; without them where a side cannot be profiled."""
    if not request.budget.has_time_to_profile():
        return replace(record, notes=(*record.notes, "operators were not compared for lack of time: increase `time`"))
    variants = [Variant(each.session, each.candidate.name, call=each.call) for each in sides]
    report = partial(_report_profiles, request.progress)
    try:
        found = diff_of_variants(request.model, request.settings, variants, request.feeds, report)
    except OnnxperfError as error:
        return replace(record, notes=(*record.notes, f"operators could not be compared: {error}"))
    except KeyboardInterrupt:
        return replace(record, interrupted=True)
    operators: tuple[OperatorChange, ...] = operators_behind(found.record)
    return replace(record, operators=operators)


def _report_profiles(progress: Progress, done: float, text: str) -> None:
    progress(done, f"profiles of both sides: {text}")


def _result(record: Bisection) -> BisectResult:
    record = replace(record, notes=(*record.notes, *notes_on(record)))
    return BisectResult(replace(record, answer=bisect_answer(record)))


# ---------------------------------------------------------------- nodes


def _bisect_nodes(request: _Request, output: str | Path | None) -> BisectResult:
    setups = sides_of(request.settings)
    if len(setups) != 2:
        raise BadOption("a search among nodes compares two variants: give two values of one setting", option="variants")
    if output is not None:
        check_folder(output)
    machine = machines.describe_machine()
    entry, budget = request.entry(), request.budget
    budget.per_halving = _PER_HALVING
    sides = [RowPlace(BisectCandidate(name=each.name), each.session, each.calls[0]) for each in setups]
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        nodes = nodes_of(entry.model)
        size = len(nodes)
        options = visible_options(request.settings.race, machine.cpu)
        both, place = (sides[0], sides[1]), Path(folder)
        trials = PartTrials(entry, both, request.by, request.settings, options, place, nodes, budget)
        parts = GraphParts(size)
        way = search_parts(parts, trials.compare, request.change, request.report(size), budget.has_time_for)
        outcome = outcome_of(way.steps, 0)
        smallest = Question("repeat", parts.start, parts.stop)
        wanted = Path(output) if outcome == "found" and output is not None else None
        problem = "" if wanted is None else _problem_of_writing(trials.path(smallest), wanted)
    record = Bisection(
        model=entry.model.label,
        fingerprint=entry.model.fingerprint,
        over="nodes",
        by=request.by,
        change=request.change,
        outcome=outcome,
        interrupted=way.interrupted,
        steps=tuple(way.steps),
        most_steps=most_questions(size),
        good=sides[0].candidate.name,
        bad=sides[1].candidate.name,
        causes=nodes[parts.start : parts.stop],
        output=str(wanted) if wanted is not None and not problem else "",
        machine=machines.after_the_race(machine),
        command="onnxperf.bisect",
        notes=(*entry.feeds.notes, *budget.notes, *([problem] if problem else [])),
    )
    result = _result(record)
    result.unwritten = str(output) if problem else ""
    return result


def _problem_of_writing(part: Path, output: Path) -> str:
    """Write the smallest part; findings are not lost if that is not possible."""
    try:
        copy(part, output)
    except FileNotWritten as error:
        return str(error)
    return ""
