"""Facts about a model and its session: what finders of hazards look at, gathered by short runs."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.hazards.base import ArenaUse, Facts
from onnxperf.analyze.judges.denormals import denormals_in
from onnxperf.api._shared.memory_breakdown import copies_of
from onnxperf.api._shared.outputs import tensors_of
from onnxperf.api._shared.racing import run_race, start_of
from onnxperf.api._shared.recordings import profile_model
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import Setup
from onnxperf.api._shared.subjects import Entry, model_specs
from onnxperf.errors import BadOption, OnnxperfError
from onnxperf.measure.machine.cores import usable_cores
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.race import Progress
from onnxperf.records.options import RaceOptions
from onnxperf.results.profile import ProfileResult

_CALLS_S = 0.5
"""Of calls whose time and CPU time are measured without the profiler."""
_MOST_TENSOR_BYTES = 512 * 10**6
"""Intermediate results beyond this are not searched for denormals."""


class KnownFacts(NamedTuple):
    """What is known before anything is tried."""

    facts: Facts
    interrupted: bool = False
    """Whether Ctrl-C came meanwhile."""
    opening_s: float = 0.0
    """What starting a worker and opening its session took."""


class _CallCost(NamedTuple):
    call_ns: float | None
    """Time of a call without the profiler."""
    busy: float | None
    """How many processors calls keep busy."""
    opening_s: float


def facts_of(entry: Entry, settings: Settings, setup: Setup, progress: Progress) -> KnownFacts:
    """Profile a model, measure its calls, and look for denormal numbers."""
    from onnxperf.api._tuning.rewriting import inspection_of

    result = profile_model(entry, settings, None, partial(_report, progress, "profile", 0.0))
    facts = Facts(
        profile=result.record,
        inspection=inspection_of(entry.model),
        session=setup.session,
        cores=usable_cores(),
        arena=_arena(result),
        copies=tuple(copies_of(entry, "ort", setup.calls[0])),
    )
    if result.record.interrupted:
        return KnownFacts(facts, interrupted=True)
    spec = model_specs([entry], [setup])[0]
    try:
        cost = _cost_of_call(spec, settings, partial(_report, progress, "CPU time", 0.5))
        facts = replace(facts, call_ns=cost.call_ns, busy=cost.busy)
        progress(0.8, "looking for denormal numbers")
        facts = replace(facts, denormals=_denormals(entry, settings, spec, result))
    except KeyboardInterrupt:
        return KnownFacts(facts, interrupted=True)
    return KnownFacts(facts, opening_s=cost.opening_s)


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


def _cost_of_call(spec: WorkerSpec, settings: Settings, progress: Progress) -> _CallCost:
    options = RaceOptions(time=_CALLS_S, warmup=settings.race.warmup)
    end = run_race([spec], options, start_of(settings.limits), progress)
    if end.interrupted:
        raise KeyboardInterrupt
    blocks = end.subjects[0].blocks
    if not blocks:
        return _CallCost(None, None, end.start_s)
    call_ns = median(block.quickest_ns or block.per_call_ns for block in blocks)  # as undisturbed as possible
    cpu = [block.cpu_ns for block in blocks if block.cpu_ns is not None]
    busy = sum(cpu) / max(sum(block.duration_ns for block in blocks), 1) if len(cpu) == len(blocks) else None
    return _CallCost(call_ns, busy, end.start_s)


def _denormals(entry: Entry, settings: Settings, spec: WorkerSpec, result: ProfileResult) -> dict[str, float] | None:
    """Denormals in what a call computes on its way; None if that is too large, or cannot be brought home."""
    try:
        made = sum(node.output_bytes or 0 for node in result.memory().record.nodes)
        if made > _MOST_TENSOR_BYTES:
            return None
        tensors = tensors_of(spec, settings.limits)
    except OnnxperfError:
        return None
    return denormals_in({**entry.feeds.arrays, **tensors})
