"""`onnxperf.gate`: may a new model replace the one before it? A race with a control decides, and says if it cannot."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Unpack, get_args

from msgspec.structs import replace

from onnxperf.analyze.answers.gate import gate_answer, notes_on
from onnxperf.analyze.judges.gate import control_in, final_outcome, limits_in, memory_limit, outcome_of
from onnxperf.api._shared.cells import Contest, cells_of, run_cells
from onnxperf.api._shared.opening import Source, open_source
from onnxperf.api._shared.progress import automatic, part_of, shows_progress
from onnxperf.api._shared.requests import InputKeywords, LimitKeywords, Settings, ToleranceKeywords, parse, require
from onnxperf.api._shared.setups import only_setup
from onnxperf.api._shared.subjects import model_specs, open_entries
from onnxperf.errors import BadInput, BadOption, OnnxperfError
from onnxperf.measure.memory_steps import needed_bytes
from onnxperf.measure.process import open_worker
from onnxperf.measure.race import Progress
from onnxperf.records.gate import BASELINE, CONTROL, NEW, AsWhat, Gate, GateLimit
from onnxperf.records.race import Bench, Case
from onnxperf.results.gate import GateResult

DEFAULT_S = 20.0
_RACES = 0.9
"""Part of the progress that the races are, where memory is measured after them."""
_PROCESSES = 5
"""Whose memory is measured on each side: that all of one side exceed all of the other by chance happens in 0.4 %."""


class GateKeywords(InputKeywords, LimitKeywords, ToleranceKeywords, total=False):
    """How both models are run and compared."""

    time: float
    min_effect: float
    warmup: float
    count: str | None
    check: bool


@shows_progress
def gate(
    model: Source,
    baseline: Source,
    *,
    max_slowdown: float = 0.05,
    max_memory: float | None = None,
    undecided: AsWhat = "undecided",
    call: str = "run",
    feeds: Mapping[str, Any] | None = None,
    progress: Progress = automatic,
    **keywords: Unpack[GateKeywords],
) -> GateResult:
    """Decide whether a model may replace its `baseline`; Ctrl-C returns what was measured until then.

    Both race each other on the same inputs, and the baseline races itself: where that control is called different, no
    limit is decided. The new model fails if it is broken, if its outputs differ (unless `check` is False), or if it is
    slower than `max_slowdown` (0.05 is 5 %), beyond the noise; with `count="instructions"` the same limit holds for
    these. `max_memory` limits what a fresh process needs. An interval that includes the limit is undecided, which may
    count as "passed" or "failed". `time` is the most that a race takes (20 s unless given): it ends as soon as it can
    tell. With several sizes for a dimension, every combination has a race of its own.
    """
    require(0 <= max_slowdown < 100, "max_slowdown", max_slowdown, "between 0 and 100 (0.05 is 5 %)")
    if max_memory is not None:
        require(0 <= max_memory < 100, "max_memory", max_memory, "between 0 and 100 (0.05 is 5 %)")
    if undecided not in get_args(AsWhat):
        raise BadOption.unknown("outcome", undecided, get_args(AsWhat), option="undecided")
    settings = parse({"time": DEFAULT_S, **keywords}, GateKeywords)
    race = replace(settings.race, baseline=BASELINE, max_slowdown=max_slowdown)
    settings = dataclasses.replace(settings, race=race)
    only_setup("ort", call, settings)  # refuses several values
    models = {BASELINE: baseline, CONTROL: baseline, NEW: model}
    labels = {name: open_source(each, timeout_s=settings.limits.timeout).label for name, each in models.items()}
    cells = cells_of(Contest(models, call=call, feeds=feeds), settings)
    whole = 1.0 if max_memory is None else _RACES
    bench = run_cells(cells, part_of(progress, 0.0, whole))
    interrupted = any(case.interrupted for case in bench.cases)
    limits = [each for case in bench.cases for each in limits_in(case, max_slowdown)]
    if max_memory is not None and not interrupted:
        try:
            report = part_of(progress, _RACES, 1.0)
            limits += _memory(models, bench, settings, max_memory, call, feeds, report)
        except KeyboardInterrupt:
            interrupted = True
    return GateResult(_concluded(labels, bench, limits, undecided, interrupted))


def _concluded(
    labels: Mapping[str, str], bench: Bench, limits: list[GateLimit], undecided: AsWhat, interrupted: bool
) -> Gate:
    controls = tuple(control_in(case) for case in bench.cases)
    record = Gate(
        model=labels[NEW],
        baseline=labels[BASELINE],
        limits=tuple(limits),
        controls=controls,
        races=bench.cases,
        outcome="undecided" if interrupted else outcome_of(limits, controls),
        undecided_as=undecided,
        interrupted=interrupted,
        machine=bench.machine,
        command="onnxperf.gate",
    )
    failed = final_outcome(record) == "failed"
    record = replace(record, status="failed" if failed else "ok", notes=tuple(notes_on(record)))
    return replace(record, answer=gate_answer(record))


def _memory(
    models: Mapping[str, Source],
    bench: Bench,
    settings: Settings,
    max_memory: float,
    call: str,
    feeds: Mapping[str, Any] | None,
    progress: Progress,
) -> Iterator[GateLimit]:
    """What fresh processes of both sides need, in turn, in every case whose new model ran."""
    sides = {name: source for name, source in models.items() if name != CONTROL}
    for dims, case in zip(settings.sizes, bench.cases, strict=False):
        if _ran(case):
            try:
                yield memory_limit(case, _needs(sides, dims, settings, call, feeds, progress), max_memory)
            except OnnxperfError as error:  # what was raced stays
                yield memory_limit(case, {}, max_memory, str(error))


def _ran(case: Case) -> bool:
    return all(each.status in ("ok", "differs") for each in case.subjects)


def _needs(
    sides: Mapping[str, Source],
    dims: Mapping[str, int],
    settings: Settings,
    call: str,
    feeds: Mapping[str, Any] | None,
    progress: Progress,
) -> dict[str, list[int]]:
    entries = open_entries(sides, settings.sized(dims, {}), feeds, settings.limits.timeout)
    specs = model_specs(entries, [only_setup("ort", call, settings)])
    limits = settings.limits
    start = partial(open_worker, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit)
    found: dict[str, list[int]] = {name: [] for name in sides}
    for number in range(_PROCESSES):
        for name, spec in zip(sides, specs, strict=True):
            progress(number / _PROCESSES, f"memory of {name}")
            need, reason = needed_bytes(spec, start)
            if need is None:
                raise BadInput(f"{name}: {reason}")
            found[name].append(need)
    return found
