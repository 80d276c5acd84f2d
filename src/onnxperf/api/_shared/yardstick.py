"""The yardstick of a case: a fixed model, measured next to a race, by which runs are compared that share no subject."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from onnxperf.analyze.judges.yardstick import log_time
from onnxperf.api._shared.progress import part_of
from onnxperf.api._shared.racing import run_race, start_of
from onnxperf.api._shared.setups import Setup
from onnxperf.api._shared.subjects import model_specs, open_entries
from onnxperf.errors import OnnxperfError
from onnxperf.measure.pool import Launches
from onnxperf.measure.race import Progress
from onnxperf.records.options import InputOptions, RaceOptions, SessionOptions, WorkerLimits
from onnxperf.records.race import YARDSTICK, Case, Measurement

LAUNCHES = 3
"""Before a race, and as many after it."""
_BLOCKS = 4
"""Of each launch: where memory lies differs more between launches than blocks do within one."""
_CALLS = 200
"""Of each block, about 10 ms: on a busy machine a short warm-up would not show how many are needed."""
_WARMUP_S = 0.02
_REMEMBERED_S = 60.0
"""So long it is not measured again: of a sweep it takes less than a twentieth."""
_PART = 0.05
"""Of the progress, before the race and after it."""

Run = Callable[[Progress, Launches], Case]


class _Reading(Struct, frozen=True):
    """Some launches of the yardstick, and when they ended."""

    launches: tuple[Measurement, ...]
    ended_s: float


_readings: list[_Reading] = []
"""Of this process, the newest last."""


def with_yardstick(run: Run, wanted: bool, limits: WorkerLimits) -> Run:
    """What runs a case and, if that is wanted, measures the yardstick before and after it."""
    return partial(_beside, run, limits) if wanted else run


def _beside(run: Run, limits: WorkerLimits, progress: Progress, launches: Launches) -> Case:
    before = _recent(None) or _measured(limits, part_of(progress, 0.0, _PART))
    case = run(part_of(progress, _PART, 1 - _PART), launches)
    if case.interrupted:
        return case
    try:
        after = _recent(before) or _measured(limits, part_of(progress, 1 - _PART, 1.0))
    except KeyboardInterrupt:
        return replace(case, interrupted=True)  # what was raced is shown
    joined = _joined([each for each in (before, after) if each is not None])
    known = None if joined is None else log_time(joined)
    return replace(case, yardstick=joined, yardstick_ns=None if known is None else math.exp(known.value))


def forget() -> None:
    """Measure it again before the next case, however young the last reading is."""
    _readings.clear()


def _recent(but: _Reading | None) -> _Reading | None:
    """The newest reading that is young enough, other than the one that is used already."""
    young = [each for each in _readings if time.monotonic() - each.ended_s < _REMEMBERED_S and each is not but]
    return young[-1] if young else None


def _measured(limits: WorkerLimits, progress: Progress) -> _Reading | None:
    """Measure it now; a yardstick that fails is missing, and costs nothing else."""
    try:
        launches = measure_launches(limits, progress)
    except OnnxperfError:
        return None
    if not launches:
        return None
    _readings.append(_Reading(launches, time.monotonic()))
    del _readings[:-2]
    return _readings[-1]


def measure_launches(limits: WorkerLimits, progress: Progress) -> tuple[Measurement, ...]:
    """Several processes of the yardstick, each with one thread, which take turns; none where one of them fails."""
    (entry,) = open_entries(YARDSTICK, InputOptions(), None, limits.timeout)
    (spec,) = model_specs([entry], [Setup("ort", ("run",), SessionOptions(threads=1))])
    (subject,) = spec.subjects
    specs = [replace(spec, subjects=(replace(subject, name=f"{YARDSTICK} {each}"),)) for each in range(LAUNCHES)]
    options = RaceOptions(blocks=_BLOCKS, calls_per_block=_CALLS, warmup=_WARMUP_S)
    end = run_race(specs, options, start_of(limits), lambda done, _text: progress(done, "yardstick"))
    if end.interrupted:
        raise KeyboardInterrupt
    return end.subjects if all(each.status == "ok" for each in end.subjects) else ()


def _joined(readings: list[_Reading]) -> Measurement | None:
    """All launches as those of one subject, with all their blocks."""
    launches = [each for reading in readings for each in reading.launches]
    if not launches:
        return None
    blocks = [replace(block, launch=number) for number, each in enumerate(launches) for block in each.blocks]
    numbered = [replace(block, round=number) for number, block in enumerate(blocks)]
    return replace(launches[-1], name=YARDSTICK, blocks=tuple(numbered), call_ns=())
