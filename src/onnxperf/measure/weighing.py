"""What a step needs in memory, seen from inside the process that takes it."""

from __future__ import annotations

from collections.abc import Callable

from onnxperf.measure.memory import peak_bytes, read_resident, reset_peak, trim
from onnxperf.measure.messages import Grown, Mark
from onnxperf.measure.timing import monotonic_ns


def weigh(work: Callable[[], object], times: int) -> tuple[list[Mark], int]:
    """Do something several times, each from a trimmed heap and a mark that was reset; also the size of its result."""
    marks, size_bytes = [], 0
    for _ in range(times):
        trim()
        before, exact = read_resident(), reset_peak()
        start_ns = monotonic_ns()
        result = work()
        duration_ns = monotonic_ns() - start_ns
        peak = peak_bytes() if exact else None
        size_bytes = size_of(result)
        del result  # what is resident afterwards must not count what was only returned
        marks.append(Mark(before, read_resident(), peak, start_ns, duration_ns))
    return marks, size_bytes


def grow(work: Callable[[], object], calls: int) -> Grown:
    """Call something often; what is resident then, free memory given back."""
    start_ns = monotonic_ns()
    for _ in range(calls):
        work()
    duration_ns = monotonic_ns() - start_ns
    trim()
    return Grown(read_resident(), duration_ns)


def size_of(value: object) -> int:
    """Bytes of the arrays in a result, however they are nested."""
    if isinstance(value, dict):
        return sum(map(size_of, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(size_of, value))
    size = getattr(value, "nbytes", 0)
    return int(size) if isinstance(size, int) else 0
