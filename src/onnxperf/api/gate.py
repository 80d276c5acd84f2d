"""`onnxperf.gate`: whether a new model may take the place of the one before it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from onnxperf.analyze.answers.gate import gate_answer, notes_on
from onnxperf.analyze.judges.gate import after_controls, control_in, final_outcome, limits_in, outcome_of
from onnxperf.analyze.judges.gate_record import RecordedRun, RecordedSide, recorded_limits, recorded_notes, sides_of
from onnxperf.api._gate.records import record_named
from onnxperf.api._gate.sides import GateSides
from onnxperf.api._keeping.kept_runs import place_in
from onnxperf.api._shared.cells import Contest, cells_of, run_cells
from onnxperf.api._shared.opening import Source, open_source
from onnxperf.api._shared.progress import automatic, part_of
from onnxperf.api._shared.public import public
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import environment_of, only_setup
from onnxperf.errors import BadOption
from onnxperf.measure.race import Progress
from onnxperf.options.functions import GATE
from onnxperf.records.gate import BASELINE, CONTROL, NEW, AsWhat, Gate, GateLimit
from onnxperf.records.race import Bench, Case
from onnxperf.results.gate import GateResult

_COUNTS: dict[str | None, AsWhat] = {None: "undecided", "pass": "passed", "fail": "failed"}
_RACES = 0.9
"""Part of the progress that the races are, where more is measured after them."""


@dataclasses.dataclass(frozen=True)
class _Limits:
    """What the new model has to keep to."""

    slowdown: float
    memory: float | None
    error: float | None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> _Limits:
        """What the options say."""
        return cls(values["max_slowdown"], values["max_memory"], values["max_error"])


@public(GATE)
def gate(
    model: Source,
    baseline: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    undecided: str | None,
    call: str,
    settings: Settings,
    given: Mapping[str, Any],
    progress: Progress = automatic,
) -> GateResult:
    """Decide whether a model may replace its `baseline`; Ctrl-C returns the results so far.

    Both race each other on the same inputs, and the baseline races itself: if that control is called different, the
    time of its case is undecided. The new model fails if it is broken, if its outputs differ (unless `check` is False),
    or if it is slower than `max_slowdown`, beyond the noise; with `count="instructions"` the same limit
    holds for these. `max_memory` limits what a fresh process needs, `max_error` the largest difference / largest value
    of an output, in place of the tolerances. An interval that includes the limit is undecided, which may count as
    "pass" or "fail". `time` is the most that a race takes: it ends as soon as it can tell. With
    several sizes for a dimension, every combination has a race of its own, and all limits are tested together (Holm).
    `baseline_env` is an environment for the baseline.

    The baseline may also be a record: a .json file of a bench or a gate, or the id of a run in `store`. Then the new
    model races itself, and times are divided by those of the yardstick in their own run.
    """
    limits = _Limits.of(GATE.complete(given))
    only_setup("ort", call, settings)  # refuses several values
    label = open_source(model, timeout_s=settings.limits.timeout).label
    record = record_named(baseline, place_in(given.get("store")))
    counts = _COUNTS[undecided]
    if record is None:
        envs = _environments(given)
        sides = GateSides({BASELINE: baseline, CONTROL: baseline, NEW: model}, settings, call, feeds, envs)
        own = open_source(baseline, timeout_s=settings.limits.timeout).label
        shown = f"{own} in {envs[BASELINE]}" if envs else own
        return _raced(sides, limits, Gate(model=label, baseline=shown, undecided_as=counts), progress)
    _check_record(limits, given)
    chosen = sides_of(record, call, label, given.get("baseline_subject"))
    sides = GateSides({NEW: model, CONTROL: model}, settings, call, feeds, {})
    draft = Gate(model=label, baseline=_label_of(record, chosen), undecided_as=counts, recorded=True)
    return _measured(sides, chosen, limits, draft, progress)


def _environments(keywords: Mapping[str, Any]) -> dict[str, str]:
    """Those of the baseline and its control, built before anything is measured."""
    if keywords.get("baseline_subject"):
        raise BadOption("it chooses a subject of a record; the baseline is a model", option="baseline_subject")
    env = keywords.get("baseline_env")
    if not env:
        return {}
    environment_of(env)
    return {BASELINE: env, CONTROL: env}


def _check_record(limits: _Limits, keywords: Mapping[str, Any]) -> None:
    """Refuse what a record cannot be asked."""
    if limits.error is not None:
        raise BadOption("a record holds no outputs; give the model itself as `baseline`", option="max_error")
    if keywords.get("baseline_env"):
        raise BadOption("a record was measured already; give the model itself as `baseline`", option="baseline_env")


def _label_of(record: RecordedRun, chosen: Sequence[RecordedSide]) -> str:
    names = list(dict.fromkeys(side.subject.model or side.subject.name for side in chosen))
    return record.name if record.is_gate or len(names) > 1 else f"{names[0]} of {record.name}"


# ---------------------------------------------------------------- both models are at hand


def _raced(sides: GateSides, limits: _Limits, draft: Gate, progress: Progress) -> GateResult:
    """Race both models, and measure what else is limited."""
    settings = sides.settings
    share = 1 / max(len(settings.sizes), 1)  # a race that ends early has to convince Holm over all sizes
    race = replace(settings.race, baseline=BASELINE, max_slowdown=limits.slowdown, alpha_share=share)
    tolerances = replace(settings.tolerances, check=settings.tolerances.check and limits.error is None)
    settings = dataclasses.replace(settings, race=race, tolerances=tolerances)
    bench = _run(sides, settings, part_of(progress, 0.0, _RACES))
    found = limits_in(bench.cases, limits.slowdown)
    more, interrupted = _besides(sides, bench, limits, {}, part_of(progress, _RACES, 1.0))
    return GateResult(_concluded(draft, bench, [*found, *more], interrupted))


def _run(sides: GateSides, settings: Settings, progress: Progress) -> Bench:
    contest = Contest(sides.models, call=sides.call, feeds=sides.feeds, envs=sides.envs)
    return run_cells(cells_of(contest, settings), progress)


def _besides(
    sides: GateSides, bench: Bench, limits: _Limits, memory: Mapping[int, Sequence[int]], progress: Progress
) -> tuple[list[GateLimit], bool]:
    """Errors and memory of every case whose subjects ran, and whether the user has stopped it.

    `memory` has what processes of the baseline needed, by the number of the case, if it is a record.
    """
    found: list[GateLimit] = []
    try:
        for number, (dims, case) in enumerate(zip(sides.settings.sizes, bench.cases, strict=False)):
            if case.interrupted or not _ran(case):
                continue
            if limits.error is not None:
                progress(0.0, "errors of outputs")
                found.append(sides.error(dims, case, limits.error))
            if limits.memory is not None:
                found.append(sides.memory(dims, case, limits.memory, memory.get(number, ()), progress))
    except KeyboardInterrupt:
        return found, True
    return found, any(case.interrupted for case in bench.cases)


def _ran(case: Case) -> bool:
    return all(each.status in ("ok", "differs") for each in case.subjects)


# ---------------------------------------------------------------- the baseline is a record


def _measured(
    sides: GateSides, chosen: Sequence[RecordedSide], limits: _Limits, draft: Gate, progress: Progress
) -> GateResult:
    """Race the new model with itself next to the yardstick, and compare it with what was recorded."""
    memory = _recorded_memory(chosen) if limits.memory is not None else {}
    share = 1 / max(len(sides.settings.sizes), 1)
    race = replace(sides.settings.race, baseline=NEW, alpha_share=share)
    bench = _run(sides, dataclasses.replace(sides.settings, race=race, yardstick=True), part_of(progress, 0.0, _RACES))
    found = recorded_limits(bench.cases, chosen, bench.machine, limits.slowdown)
    places = {number: memory.get(tuple(case.dims.items())) for number, case in enumerate(bench.cases)}
    known = {number: need for number, need in places.items() if need is not None}
    more, interrupted = _besides(sides, bench, limits, known, part_of(progress, _RACES, 1.0))
    draft = replace(draft, notes=tuple(recorded_notes(bench.cases, chosen)))
    return GateResult(_concluded(draft, bench, [*found, *more], interrupted))


def _recorded_memory(chosen: Sequence[RecordedSide]) -> dict[tuple[tuple[str, int], ...], Sequence[int]]:
    """What every process of the new model of a gate needed then, by its dimensions; older records have the median."""
    limits = [each for each in chosen[0].run.limits if each.measure == "memory" and each.new]
    if not limits:
        problem = f"{chosen[0].run.name} has no memory"
        raise BadOption(f"{problem}; give the model itself, or a gate with `max_memory`", option="max_memory")
    return {tuple(each.dims.items()): each.new_values or (int(each.new or 0),) for each in limits}


def _concluded(draft: Gate, bench: Bench, limits: list[GateLimit], interrupted: bool) -> Gate:
    controls = tuple(control_in(case) for case in bench.cases)
    limits = after_controls(limits, controls)
    record = replace(
        draft,
        limits=tuple(limits),
        controls=controls,
        races=bench.cases,
        outcome="undecided" if interrupted else outcome_of(limits),
        interrupted=interrupted,
        machine=bench.machine,
        command="onnxperf.gate",
    )
    failed = final_outcome(record) == "failed"
    record = replace(record, status="failed" if failed else "ok", notes=(*draft.notes, *notes_on(record)))
    return replace(record, answer=gate_answer(record))
