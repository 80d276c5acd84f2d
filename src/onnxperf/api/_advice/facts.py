"""Facts about a model and its session: what finders of hazards look at, gathered by short runs."""

from __future__ import annotations

from functools import partial
from statistics import median

from msgspec.structs import replace

from onnxperf.analyze.hazards.base import ArenaUse, Facts
from onnxperf.analyze.judges.denormals import denormals_in
from onnxperf.api._shared.memory_breakdown import copies_of
from onnxperf.api._shared.outputs import tensors_of
from onnxperf.api._shared.racing import run_race, start_of
from onnxperf.api._shared.recordings import profile_model
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.subjects import Entry, ort_spec
from onnxperf.errors import BadOption, OnnxperfError
from onnxperf.measure.machine.cores import usable_cores
from onnxperf.measure.race import Progress
from onnxperf.records.options import RaceOptions, SessionOptions
from onnxperf.results.profile import ProfileResult

_CALLS_S = 0.5
"""Of calls whose time and CPU time are measured without the profiler."""
_MOST_TENSOR_BYTES = 512 * 10**6
"""Intermediate results beyond this are not searched for denormals."""


def facts_of(entry: Entry, settings: Settings, session: SessionOptions, progress: Progress) -> tuple[Facts, bool]:
    """What is known before anything is tried, and whether Ctrl-C came meanwhile."""
    from onnxperf.api._tuning.rewriting import inspection_of

    result = profile_model(entry, settings, None, partial(_report, progress, "profile", 0.0))
    facts = Facts(
        profile=result.record,
        inspection=inspection_of(entry.model),
        session=session,
        cores=usable_cores(),
        arena=_arena(result),
        copies=tuple(copies_of(entry, "ort", "run")),
    )
    if result.record.interrupted:
        return facts, True
    try:
        call_ns, busy = _cost_of_call(entry, settings, session, partial(_report, progress, "CPU time", 0.5))
        facts = replace(facts, call_ns=call_ns, busy=busy)
        progress(0.8, "looking for denormal numbers")
        return replace(facts, denormals=_denormals(entry, settings, session, result)), False
    except KeyboardInterrupt:
        return facts, True


def _report(progress: Progress, what: str, start: float, done: float, text: str) -> None:
    progress(start + done / 3, f"{what}: {text}")


def _arena(result: ProfileResult) -> ArenaUse | None:
    """What the trace says of onnxruntime's arena in its last inference."""
    try:
        memory = result.memory().record
    except BadOption:  # no node ran, or the trace has no memory figures
        return None
    held = [node.held_bytes for node in memory.nodes if node.held_bytes is not None]
    # A result that may be a view counts nothing among what is alive: the largest result is a bound, too.
    least = [max(node.live_bytes, node.output_bytes or 0) for node in memory.nodes if node.live_bytes is not None]
    if not held or not least:
        return None
    return ArenaUse(held_bytes=max(held), loaded_bytes=memory.loaded_bytes or 0, planned_bytes=max(least))


def _cost_of_call(
    entry: Entry, settings: Settings, session: SessionOptions, progress: Progress
) -> tuple[float | None, float | None]:
    """Time of a call without the profiler in nanoseconds, and how many processors calls keep busy."""
    options = RaceOptions(time=_CALLS_S, warmup=settings.race.warmup)
    end = run_race([ort_spec(entry, session)], options, start_of(settings.limits), progress)
    if end.interrupted:
        raise KeyboardInterrupt
    blocks = end.subjects[0].blocks
    if not blocks:
        return None, None
    call_ns = median(block.quickest_ns or block.per_call_ns for block in blocks)  # as undisturbed as possible
    cpu = [block.cpu_ns for block in blocks if block.cpu_ns is not None]
    busy = sum(cpu) / max(sum(block.duration_ns for block in blocks), 1) if len(cpu) == len(blocks) else None
    return call_ns, busy


def _denormals(
    entry: Entry, settings: Settings, session: SessionOptions, result: ProfileResult
) -> dict[str, float] | None:
    """Denormals in what a call computes on its way; None where that is too large, or cannot be brought home."""
    try:
        made = sum(node.output_bytes or 0 for node in result.memory().record.nodes)
        if made > _MOST_TENSOR_BYTES:
            return None
        tensors = tensors_of(ort_spec(entry, session), settings.limits)
    except OnnxperfError:
        return None
    return denormals_in({**entry.feeds.arrays, **tensors})
