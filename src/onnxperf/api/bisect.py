"""`onnxperf.bisect`: the first release, the optimiser, the setting or the nodes that make a model slower."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack, get_args

from msgspec.structs import replace

from onnxperf.analyze.answers.bisect import bisect_answer, notes_on
from onnxperf.analyze.judges.bisection import operators_behind, outcome_of
from onnxperf.api._bisection import rows
from onnxperf.api._bisection.parts import PartTrials, nodes_of
from onnxperf.api._bisection.rows import RowPlace
from onnxperf.api._bisection.search import Way, search_parts, search_row
from onnxperf.api._bisection.trials import Trials
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.progress import automatic, shows_progress
from onnxperf.api._shared.racing import visible_options
from onnxperf.api._shared.requests import BisectKeywords, Settings, parse
from onnxperf.api._shared.subjects import Entry, open_entries
from onnxperf.api._shared.variants import Variant
from onnxperf.api.diff import diff_of_variants
from onnxperf.bisection.base import Question, most_questions
from onnxperf.bisection.chain import Chain
from onnxperf.bisection.parts import GraphParts
from onnxperf.errors import BadOption, FileNotWritten, OnnxperfError
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.race import Progress
from onnxperf.records.bisect import BisectCandidate, Bisection, By, Change, OperatorChange, Over
from onnxperf.render.kit.files import check_folder, copy
from onnxperf.results.bisect import BisectResult


@shows_progress
def bisect(
    model: Source,
    *,
    releases: str | Sequence[str] | None = None,
    over: Over = "releases",
    by: By = "time",
    change: Change = "any",
    output: str | Path | None = None,
    feeds: Mapping[str, Any] | None = None,
    progress: Progress = automatic,
    **keywords: Unpack[BisectKeywords],
) -> BisectResult:
    """Find where a model becomes slower or faster; Ctrl-C returns what was found until then.

    `over` says where: along `releases` such as "onnxruntime==1.20..1.31", along the graph "optimizers" of onnxruntime,
    along "options" (those in which two `variants` differ, or a list of usual ones), or among the "nodes" of the model,
    where two values of a setting (`env`, `opt_level`, `variants`…) are the two sides; `output` is a file for the
    smallest part that still shows the difference. `by` compares time, memory or accuracy, and `change` looks for any
    change, only for a worse, or only for a better one. The ends are compared first, and the last comparison is
    repeated; all comparisons together share the error probability of one race.
    """
    for name, value, known in (("over", over, Over), ("by", by, By), ("change", change, Change)):
        if value not in get_args(known):
            raise BadOption.unknown(name, value, get_args(known), option=name)
    settings = parse(keywords, BisectKeywords)
    _refuse_contradictions(over, releases, output, by)
    request = _Request(model, settings, by, change, feeds, progress)
    if over == "nodes":
        return _bisect_nodes(request, output)
    makers: dict[Over, Callable[[], list[RowPlace]]] = {
        "releases": lambda: rows.releases(
            releases if isinstance(releases, str) else ",".join(releases or ()), settings
        ),
        "optimizers": lambda: rows.optimizers(settings),
        "options": lambda: rows.options(settings),
    }
    return _bisect_row(request, over, makers[over]())


@dataclass(frozen=True)
class _Request:
    """What all kinds of bisections have in common."""

    model: Source
    settings: Settings
    by: By
    change: Change
    feeds: Mapping[str, Any] | None
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


def _refuse_contradictions(over: Over, releases: object, output: object, by: By) -> None:
    if (over == "releases") != bool(releases):
        missing = "name the releases, such as onnxruntime==1.20..1.31, or choose what else to bisect"
        raise BadOption(missing if not releases else f"releases and {over} do not go together", option="releases")
    if output is not None and over != "nodes":
        raise BadOption("only a search among nodes has a model to write", option="output", value=output)
    if over == "nodes" and by == "memory":
        raise BadOption("parts of a graph are compared by time or accuracy", option="by", value=by)


# ---------------------------------------------------------------- a row of candidates


def _bisect_row(request: _Request, over: Over, places: list[RowPlace]) -> BisectResult:
    if len(places) < 2:
        raise BadOption("both ends are the same: there is nothing to bisect", option="variants")
    machine = machines.describe_machine()
    entry, size = request.entry(), len(places)
    options = visible_options(request.settings.race, machine.cpu)
    trials = Trials(entry, places, request.by, request.settings, options, size)
    chain = Chain(size)
    way = search_row(chain, trials.problem, trials.compare, request.change, request.report(size))
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
        notes=tuple(entry.feeds.notes),
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
    variants = [Variant(each.session, each.candidate.name) for each in sides]
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
    variants = request.settings.variants
    if len(variants) != 2:
        raise BadOption("a search among nodes compares two variants: give two values of one setting", option="variants")
    if output is not None:
        check_folder(output)
    machine = machines.describe_machine()
    entry = request.entry()
    sides = [RowPlace(BisectCandidate(name=each.label), each.session) for each in variants]
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        nodes = nodes_of(entry.model)
        size = len(nodes)
        options = visible_options(request.settings.race, machine.cpu)
        trials = PartTrials(entry, (sides[0], sides[1]), request.by, request.settings, options, Path(folder), nodes)
        parts = GraphParts(size)
        way = search_parts(parts, trials.compare, request.change, request.report(size))
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
        notes=(*entry.feeds.notes, *([problem] if problem else [])),
    )
    result = _result(record)
    result.unwritten = str(output) if problem else ""
    return result


def _problem_of_writing(part: Path, output: Path) -> str:
    """Write the smallest part; what was found is not lost where that is not possible."""
    try:
        copy(part, output)
    except FileNotWritten as error:
        return str(error)
    return ""
