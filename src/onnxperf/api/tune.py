"""`onnxperf.tune`: the settings under which a model runs best, proven in a race of their own."""

from __future__ import annotations

import tempfile
import time as clocks
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Unpack

from msgspec.structs import replace

from onnxperf.analyze.answers.tune import notes_on, tune_answer
from onnxperf.analyze.answers.tune_snippet import snippet
from onnxperf.analyze.judges.tuning import Confirmation, outcome_of
from onnxperf.api._cluster.places import place_in
from onnxperf.api._keeping.kept_runs import Where
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.progress import automatic, shows_progress
from onnxperf.api._shared.racing import visible_options
from onnxperf.api._shared.requests import (
    FeedKeywords,
    LimitKeywords,
    PlaceKeywords,
    RaceKeywords,
    ToleranceKeywords,
    parse,
)
from onnxperf.api._shared.subjects import open_entries
from onnxperf.api._tuning.facts import facts_of, is_known
from onnxperf.api._tuning.measures import Measure, MeasuredModel, MemoryMeasure, TimeMeasure
from onnxperf.api._tuning.on_node import tuned_on_node
from onnxperf.api._tuning.request import AimKeywords, TuneRequest, aim_of
from onnxperf.api._tuning.rewrites import Rewritten, rewritten_models
from onnxperf.api._tuning.saved import check_places, resumed_rows, save_settings, unfinished
from onnxperf.api._tuning.search import TuneSearch
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.race import Progress
from onnxperf.records.options import RaceOptions
from onnxperf.records.tune import Goal, TuneChoice, Tuning
from onnxperf.results.tune import TuneResult
from onnxperf.tuning.halving import Budget, pareto_front
from onnxperf.tuning.knobs import choices_for

DEFAULT_TIME_S = 120.0
_FRESH = 2
"""Sets of inputs of the search, with which launches take turns: the confirming race has the next one."""


class TuneKeywords(
    AimKeywords, FeedKeywords, RaceKeywords, LimitKeywords, ToleranceKeywords, PlaceKeywords, total=False
):
    """What is searched, on which inputs, where and for how long, and what counts as equal."""


@shows_progress
def tune(
    model: Source,
    *,
    save: str | Path | None = None,
    resume: str | None = None,
    store: Where = None,
    feeds: Mapping[str, Any] | None = None,
    progress: Progress = automatic,
    **keywords: Unpack[TuneKeywords],
) -> TuneResult:
    """Search the settings under which a model is fastest; Ctrl-C returns the best until then, unconfirmed.

    The best of the search is raced once more against onnxruntime's defaults, on fresh inputs: only where it is proven
    better there, it is the winner, and its gain is that of this race. Otherwise the answer is to keep the defaults.

    `time` is for everything. `goal` is latency, cpu (CPU time of a call) or memory. `call` fixes the call style, that
    of the defaults included. `allow="approx"` also tries what changes results a little, and `max_error` lets it win;
    `calibration` are inputs from which the ranges of 8-bit activations are found. `save` is a file for the settings,
    and `resume` a run in the `store` that goes on ("last" is the newest). `on` is a cluster, as for `bench`: one of its
    nodes does all of it.
    """
    start_s = clocks.monotonic()
    settings = parse({"time": DEFAULT_TIME_S, **keywords}, TuneKeywords)
    aim, places, place = aim_of(keywords), check_places(save), place_in(keywords)
    entry = open_entries(model, settings.inputs, feeds, settings.limits.timeout)[0]
    before = unfinished(resume, entry, aim, store) if resume is not None else None
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        rewritten = Rewritten(Path(folder))
        if place is None:
            budget = Budget(start_s, settings.race.time or DEFAULT_TIME_S)
            record = _tuned(TuneRequest(model, entry, settings, aim, budget, feeds, progress), rewritten, before)
        else:
            sent = {"time": DEFAULT_TIME_S, **keywords}
            record, rewritten.paths = tuned_on_node(place, entry, feeds, sent, before, progress, Path(folder))
        if record.winner is not None:
            record = replace(record, snippet=_snippet(model, record, record.winner))
        record = save_settings(record, places, rewritten.paths)
    record = replace(record, notes=(*entry.feeds.notes, *record.notes, *notes_on(record)))
    result = TuneResult(replace(record, answer=tune_answer(record)))
    result.unwritten = str(save) if save is not None and result and not record.saved else ""
    return result


def tuned_here(
    label: str,
    path: Path,
    feeds: Mapping[str, Any] | None,
    keywords: Mapping[str, Any],
    before: Tuning | None,
    progress: Progress,
) -> tuple[Tuning, bytes]:
    """The record of a tuning that another machine asked for, and the model of the winner where it is another one."""
    start_s = clocks.monotonic()
    settings = parse(keywords, TuneKeywords)
    entry = open_entries({label: path}, settings.inputs, feeds, settings.limits.timeout)[0]
    budget = Budget(start_s, settings.race.time or DEFAULT_TIME_S)
    request = TuneRequest(path, entry, settings, aim_of(keywords), budget, feeds, progress)
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        rewritten = Rewritten(Path(folder))
        record = _tuned(request, rewritten, before)
        winner = record.winner
        if winner is None or not winner.rewrite:
            return record, b""
        import onnx

        return record, onnx.load(rewritten.paths[winner.rewrite]).SerializeToString()


def _tuned(request: TuneRequest, rewritten: Rewritten, before: Tuning | None) -> Tuning:
    machine = machines.describe_machine()
    options = visible_options(request.settings.race, machine.cpu)
    search = TuneSearch(
        _measure(request, rewritten, options),
        [],
        request.budget,
        options.min_effect,
        clocks.monotonic,
        request.progress,
        request.aim.max_error,
        {row.choice.name: row for row in before.rows} if before else {},
    )
    notes: list[str] = []
    try:
        search.choices = _choices(request, rewritten)
        if before is not None:
            search.rows, notes = resumed_rows(before, search.choices)
        search.run()
    except KeyboardInterrupt:  # while models were rewritten
        search.interrupted = True
    record = _record(request, search, options.min_effect)
    notes += [*rewritten.notes, *_notes_on_inputs(request), *_notes_on_race(request, search.confirmed)]
    return replace(
        record,
        budget_s=request.budget.total_s + (before.budget_s if before else 0.0),
        spent_s=clocks.monotonic() - request.budget.start_s + (before.spent_s if before else 0.0),
        machine=machines.after_the_race(machine),
        notes=tuple(notes),
    )


def _notes_on_inputs(request: TuneRequest) -> list[str]:
    given = "all inputs were given, so the confirming race has the inputs of the search"
    return [given] if request.inputs_are_given else []


def _notes_on_race(request: TuneRequest, found: Confirmation | None) -> list[str]:
    """Why the confirming race proves nothing, and under which conditions it took place."""
    if found is None:
        return []
    conditions = found.case.notes if found.case is not None else ()
    reason = found.found.reason if found.found.verdict != "faster" else ""
    unproven = [f"the confirming race: {reason}"] if reason else []
    return [*unproven, *(note for note in conditions if note not in request.entry.feeds.notes)]


def _measure(request: TuneRequest, rewritten: Rewritten, options: RaceOptions) -> Measure:
    entries = [request.entry, *(() if request.inputs_are_given else (request.entry_of(1),))]
    fresh = cache(partial(request.entry_of, _FRESH))
    call = request.aim.call or "run"
    model = MeasuredModel(entries, fresh, request.settings, options, request.threads, call, rewritten.paths)
    measures: dict[Goal, Callable[[], Measure]] = {
        "latency": lambda: TimeMeasure(model),
        "cpu": lambda: TimeMeasure(model, "cpu"),
        "memory": lambda: MemoryMeasure(model),
    }
    return measures[request.aim.goal]()


def _choices(request: TuneRequest, rewritten: Rewritten) -> list[TuneChoice]:
    """What is worth trying; rewritten models are made first, and those that cannot be made are no choices."""
    from onnxperf.runtimes.ort.session import VERSION

    aim = request.aim
    facts = facts_of(request.entry, request.threads, aim.call)
    proposed = [each for each in choices_for(facts, aim.goal, aim.approximate) if is_known(each, VERSION)]
    rewritten_models(request, rewritten, proposed)
    made = [each for each in proposed if not each.rewrite or each.rewrite in rewritten.paths]
    return [*rewritten.choices, *made]  # what was made at a cost, and may win most, is not left without time


def _record(request: TuneRequest, search: TuneSearch, min_effect: float) -> Tuning:
    entry, found = request.entry, search.confirmed
    outcome = outcome_of(found, search.interrupted, search.rows.values())
    best = search.best.choice if search.best is not None else None
    winner = search.winner or (best if outcome == "unconfirmed" else None)
    front = pareto_front(list(search.rows.values()))
    record = Tuning(
        model=entry.model.label,
        fingerprint=entry.model.fingerprint,
        dims=entry.feeds.dims,
        shapes={name: array.shape for name, array in entry.feeds.arrays.items()},
        goal=request.aim.goal,
        call=request.aim.call,
        min_effect=min_effect,
        max_error=request.aim.max_error,
        threads=request.threads,
        default_amount=search.default_amount,
        rows=tuple(replace(row, pareto=row.choice.name in front) for row in search.rows.values()),
        outcome=outcome,
        winner=winner,
        interrupted=search.interrupted,
        command="onnxperf.tune",
    )
    if found is None:
        return record
    return replace(
        record,
        left_out=tuple(each.name for each in search.left_out),
        tried=found.choice,
        **found.found.named("gain"),
        verdict=found.found.verdict,
        before=found.found.before,
        after=found.found.after,
        confirmation=found.case,
    )


def _snippet(model: Source, record: Tuning, winner: TuneChoice) -> str:
    given = str(model) if isinstance(model, str | Path) else ""
    path = "tuned.onnx" if winner.rewrite else given if given.endswith(".onnx") else "model.onnx"
    return snippet(winner, path, record.threads, record.call or "run")
