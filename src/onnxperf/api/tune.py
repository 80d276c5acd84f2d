"""`onnxperf.tune`: the settings under which a model runs best, proven in a race of their own."""

from __future__ import annotations

import time as clocks
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from onnxperf.analyze.answers.tune import notes_on, tune_answer
from onnxperf.analyze.answers.tune_snippet import snippet
from onnxperf.analyze.judges.tuning import outcome_of
from onnxperf.api._cluster.places import place_in
from onnxperf.api._keeping import kept_runs
from onnxperf.api._quantization.samples import Calibration, given_calls
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.racing import visible_options
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import interpreter_of
from onnxperf.api._shared.subjects import open_entries
from onnxperf.api._shared.sweeps import Keeping
from onnxperf.api._tuning.facts import facts_of, is_known, version_for
from onnxperf.api._tuning.measures import Measure, MeasuredModel, MemoryMeasure, TimeMeasure
from onnxperf.api._tuning.on_node import TuneParcel, tuned_on_node
from onnxperf.api._tuning.request import TuneRequest, aim_of, for_files, note_on_start, start_settings
from onnxperf.api._tuning.rewrites import Rewritten, rewritten_models
from onnxperf.api._tuning.saved import RewrittenModel, resumed_rows, unfinished
from onnxperf.api._tuning.search import TuneSearch
from onnxperf.api._tuning.times import of_whole
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.race import Progress
from onnxperf.model.opened import OwnFolder
from onnxperf.options.functions import TUNE
from onnxperf.records.options import RaceOptions
from onnxperf.records.tune import Goal, TuneChoice, Tuning
from onnxperf.results.tune import TuneResult
from onnxperf.tuning.halving import Budget, pareto_front
from onnxperf.tuning.knobs import choices_for

_FRESH = 2
"""Sets of inputs of the search, with which launches take turns: the confirming race has the next one."""


@public(TUNE)
def tune(
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    calibrate: Calibration,
    resume: str | None,
    time: float,
    settings: Settings,
    given: Mapping[str, Any],
    progress: Progress = automatic,
) -> TuneResult:
    """Search the settings under which a model is fastest; Ctrl-C returns the best until then, unconfirmed.

    The best of the search is raced once more against the defaults, on fresh inputs: only if it is proven better there,
    it is the winner, and its gain is that of this race. Otherwise the answer is to keep the defaults. These are
    onnxruntime's, with the settings that are given (`threads`, `options`, a variant…), which the search does not vary.

    `time` is for everything. `goal` is latency, cpu (CPU time of a call) or memory. `call` fixes the call style, that
    of the defaults included. `allow="approx"` also tries what changes results a little, and `max_error` lets it win;
    `calibrate` has inputs from which the ranges of 8-bit activations are found: .npz files, or arrays by input, calls
    or rows along the first axis. `result.save("tuned.settings.json")` writes the settings of the winner. `resume` is a
    run in the `store` that goes on ("last" is the newest). `on` is a cluster, as for `bench`: one of its nodes does
    all of it.
    """
    Keeping.of(given).check()
    aim, place, note = aim_of(settings, given), place_in(given), note_on_start(settings)
    if place is None:
        interpreter_of(settings.session)  # building an environment does not count
    start_s = clocks.monotonic()
    entry = open_entries(model, settings.inputs, feeds, settings.limits.timeout)[0]
    calls = given_calls(entry.model, calibrate, settings.inputs)
    store = kept_runs.place_in(given.get("store"))
    before = unfinished(resume, entry, aim, note, store) if resume is not None else None
    folder = OwnFolder()
    rewritten = Rewritten(folder.path)
    request = TuneRequest(model, entry, settings, aim, Budget(start_s, time), feeds, calls, progress)
    if place is None:
        record = _tuned(request, rewritten, before)
    else:
        record, rewritten.paths = tuned_on_node(place, request, before, folder.path)
    record = _with_winner(record, request)
    notes = (*entry.feeds.notes, *filter(None, [note]), *record.notes, *notes_on(record))
    record = replace(record, notes=notes)
    winner = record.winner
    path = rewritten.paths.get(winner.rewrite) if winner is not None else None
    write_model = RewrittenModel(folder, path) if path is not None else None
    return TuneResult(replace(record, answer=tune_answer(record)), write_model)


def _with_winner(record: Tuning, request: TuneRequest) -> Tuning:
    """The record, whose winner also has the given settings; and the program that uses it."""
    winner = record.winner
    if winner is None:
        return record
    kept, others = for_files(start_settings(request.settings))
    winner = replace(winner, settings={**kept, **winner.settings})
    notes = list(record.notes)
    if others:
        names = ", ".join(f"`{name}`" for name in others)
        notes.append(f"{names}: not part of the settings that are saved or printed, give them again")
    if winner.rewrite:
        written = "NAME.settings.json is written with NAME.onnx next to it"
        notes.append(f"the winner is a rewritten model ({winner.rewrite}): {written}")
    program = _snippet(request.model, record, winner)
    return replace(record, winner=winner, snippet=program, notes=tuple(notes))


def tuned_here(parcel: TuneParcel, folder: Path, progress: Progress) -> tuple[Tuning, bytes]:
    """The record of a tuning that another machine asked for, and the model of the winner where it is another one."""
    settings = parcel.settings
    interpreter_of(settings.session)
    start_s = clocks.monotonic()
    feeds, path = parcel.feeds_in(folder), folder / parcel.model
    entry = open_entries({parcel.label: path}, settings.inputs, feeds, settings.limits.timeout)[0]
    calls = given_calls(entry.model, parcel.calibration_in(folder), settings.inputs)
    budget = Budget(start_s, parcel.time_s)
    request = TuneRequest(path, entry, settings, parcel.aim, budget, feeds, calls, progress)
    own = OwnFolder()
    rewritten = Rewritten(own.path)
    record = _tuned(request, rewritten, parcel.before)
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
    notes += [*rewritten.notes, *_notes_on_inputs(request), *_notes_on_race(request, search)]
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


def _notes_on_race(request: TuneRequest, search: TuneSearch) -> list[str]:
    """Why the confirming race proves nothing, and under which conditions it took place."""
    found = search.confirmed
    if found is None:
        return []
    conditions = found.case.notes if found.case is not None else ()
    reason = found.found.reason if found.found.verdict != "faster" else ""
    reason = of_whole(reason, search.confirming_s, request.budget.total_s)
    unproven = [f"the confirming race: {reason}"] if reason else []
    return [*unproven, *(note for note in conditions if note not in request.entry.feeds.notes)]


def _measure(request: TuneRequest, rewritten: Rewritten, options: RaceOptions) -> Measure:
    entries = [request.entry, *(() if request.inputs_are_given else (request.entry_of(1),))]
    fresh = cache(partial(request.entry_of, _FRESH))
    call = request.aim.call or "run"
    model = MeasuredModel(entries, fresh, request.settings, options, request.session, call, rewritten.paths)
    measures: dict[Goal, Callable[[], Measure]] = {
        "latency": lambda: TimeMeasure(model),
        "cpu": lambda: TimeMeasure(model, "cpu"),
        "memory": lambda: MemoryMeasure(model),
    }
    return measures[request.aim.goal]()


def _choices(request: TuneRequest, rewritten: Rewritten) -> list[TuneChoice]:
    """What is worth trying; rewritten models are made first, and those that cannot be made are no choices."""
    aim, session = request.aim, request.session
    facts = facts_of(request.entry, request.threads, aim)
    version = version_for(session)
    proposed = [
        each
        for each in choices_for(facts, aim.goal, aim.approximate)
        if not any(name in aim.fixed for name in each.settings) and is_known(each, version, session.provider)
    ]
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
