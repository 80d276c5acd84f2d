"""Small records of memory to render: scikit-learn, onnxruntime with and without a cast, a leak, a failure."""

from __future__ import annotations

from typing import Any

from onnxperf.records.memory import (
    Breakdown,
    Growth,
    GrowthKind,
    InputCopy,
    LiveTensor,
    Memory,
    MemoryCase,
    MemoryStep,
    MemorySubject,
    Resident,
    StepName,
)
from tests.render import examples

MB = 10**6
MS = 10**6
LOADED = 640
"""MB that are resident once the inputs are made and the model is loaded."""


def resident(anonymous_mb: float, file_mb: float = 70) -> Resident:
    return Resident(anonymous_bytes=int(anonymous_mb * MB), file_bytes=int(file_mb * MB))


def step(name: StepName, before_mb: float, peak_mb: float, after_mb: float, **changes: Any) -> MemoryStep:
    """A step by what was resident before, at its peak and after it; 70 MB of it are pages of files."""
    fields: dict[str, Any] = {
        "name": name,
        "before": resident(before_mb - 70),
        "peak_bytes": int(peak_mb * MB),
        "after": resident(after_mb - 70),
        "exact": True,
        "duration_ns": 40 * MS,
    }
    return MemoryStep(**(fields | changes))


def steps(needs_mb: float = 300, keeps_mb: float = 60, exact: bool = True, load: bool = True) -> tuple[MemoryStep, ...]:
    """Loading, the first call, three steady calls: each needs so much above inputs and model, and keeps a part."""
    peak, rest = LOADED + needs_mb, LOADED + keeps_mb
    loading = [step("load", 600, LOADED + 12, LOADED, exact=exact)] if load else []
    steady = [step("steady call", rest, peak + i, rest, exact=exact, duration_ns=20 * MS) for i in (-1, 0, 1)]
    return (*loading, step("first call", LOADED, peak, rest, exact=exact), *steady)


def growth(kind: GrowthKind = "none", mb_per_call: float = 0.0, calls: int = 64) -> Growth:
    points = (0, calls // 4, calls // 2, calls)
    heights = tuple(int((LOADED - 10 + mb_per_call * point) * MB) for point in points)
    return Growth(kind=kind, bytes_per_call=mb_per_call * MB, calls=points, resident_bytes=heights)


def cast(name: str = "X", copied_mb: float = 240) -> InputCopy:
    return InputCopy(name=name, reason="cast", from_type="float64", to_type="float32", copied_bytes=int(copied_mb * MB))


def tensors(count: int = 9) -> tuple[LiveTensor, ...]:
    inner = (LiveTensor(name=f"hidden_{i}", size_bytes=(count - i) * MB, role="intermediate") for i in range(count))
    return (
        LiveTensor(name="X", size_bytes=240 * MB, role="input"),
        LiveTensor(name="Y", size_bytes=60 * MB, role="output"),
        *inner,
    )


def breakdown(**changes: Any) -> Breakdown:
    fields: dict[str, Any] = {
        "weights_on_disk_bytes": 40_200,
        "weights_in_memory_bytes": 40_200,
        "input_bytes": 480 * MB,
        "output_bytes": 60 * MB,
        "copies": (cast(),),
        "arena_held_bytes": 64 * MB,
        "arena_used_bytes": 60 * MB,
        "planned_bytes": 60 * MB,
        "peak_node": "MatMul_0",
        "peak_op": "MatMul",
        "alive": tensors(),
    }
    return Breakdown(**(fields | changes))


def samples(made: tuple[MemoryStep, ...]) -> dict[str, Any]:
    """A curve of one sample per millisecond that sees every step but misses the last tenth of its peak."""
    times: list[int] = []
    heights: list[int] = []
    begins = []
    now = 5 * MS
    for each in made:
        begins.append(now)
        low, high = each.before.total_bytes, each.before.total_bytes + int(0.9 * each.increment_bytes)
        length = each.duration_ns // MS
        rises = range(length)
        times += [now + i * MS for i in rises]
        heights += [low + int((high - low) * min(1.0, 2 * i / length)) for i in rises]
        now += each.duration_ns + 10 * MS
        times.append(now - 5 * MS)
        heights.append(each.after.total_bytes)
    if made:
        times += [now + i * MS for i in range(60)]
        heights += [made[-1].after.total_bytes] * 60
    return {"sample_ns": tuple(times), "sample_bytes": tuple(heights), "step_ns": tuple(begins), "started_s": 1.7e9}


def subject(name: str = "ort", **changes: Any) -> MemorySubject:
    made = changes.pop("steps", steps())
    fields: dict[str, Any] = {
        "name": name,
        "model": "linear",
        "runtime": "ort",
        "call": "run",
        "status": "ok",
        "steps": made,
        "growth": growth(),
        "breakdown": breakdown(),
        "conditions": {"threads": 2},
        **samples(made),
    }
    return MemorySubject(**(fields | changes))


def function(name: str = "skl", **changes: Any) -> MemorySubject:
    """A plain callable: nothing to load, and no breakdown."""
    fields: dict[str, Any] = {
        "model": None,
        "runtime": "callable",
        "call": None,
        "steps": steps(54, 0, load=False),
        "breakdown": None,
    }
    return subject(name, **(fields | changes))


def failed(name: str = "numpy", **changes: Any) -> MemorySubject:
    fields: dict[str, Any] = {
        "status": "oom",
        "reason": "needed more than 2 GB",
        "steps": (),
        "growth": None,
        "breakdown": None,
    }
    return subject(name, **(fields | changes))


def case(*subjects: MemorySubject, **changes: Any) -> MemoryCase:
    fields: dict[str, Any] = {
        "model": "linear",
        "dims": {"batch": (300_000,)},
        "shapes": {"X": (300_000, 200)},
        "notes": ("every subject may use 2 threads (--threads changes it)",),
        "answer": "ort needs 300 MB.",
        "subjects": subjects or (subject(), function(), failed()),
        "status": next((each.status for each in subjects if each.status != "ok"), "ok"),
    }
    return MemoryCase(**(fields | changes))


def memory(*cases: MemoryCase, **changes: Any) -> Memory:
    fields: dict[str, Any] = {"machine": examples.machine(), "interval_ns": MS, "cases": cases or (case(),)}
    return Memory(**(fields | changes))
