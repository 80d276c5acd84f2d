"""What a step needs in memory, seen from inside the process that takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from onnxperf.measure.memory import peak_bytes, read_resident, reset_peak, trim
from onnxperf.measure.messages import CalledMany, Mark
from onnxperf.measure.timing import monotonic_ns


def probe(work: Callable[[], object]) -> tuple[Mark, int | None]:
    """Do something once, from a trimmed heap and a mark that was reset; also the size of its result."""
    trim()
    before, exact = read_resident(), reset_peak()
    start_ns = monotonic_ns()
    result = work()
    duration_ns = monotonic_ns() - start_ns
    peak = peak_bytes() if exact else None
    size_bytes = size_of(result)
    del result  # what is resident afterwards must not count what was only returned
    return Mark(before, read_resident(), peak, start_ns, duration_ns), size_bytes


def call_many(work: Callable[[], object], calls: int) -> CalledMany:
    """Call something often; what is resident then, free memory given back."""
    for _ in range(calls):
        work()
    trim()
    return CalledMany(read_resident())


def size_of(value: Any) -> int | None:
    """Bytes of the arrays in a result, however they are nested; None where one has a size that it does not tell."""
    if value is None:
        return 0
    if isinstance(value, dict):
        return _sum(map(size_of, value.values()))
    if isinstance(value, list | tuple) or type(value).__name__ == "OrtValueVector":
        return _sum(map(size_of, value))
    if hasattr(value, "tensor_size_in_bytes"):  # a value of onnxruntime
        return int(value.tensor_size_in_bytes()) if _is_of_numbers(value) else None
    size = getattr(value, "nbytes", None)
    return size if isinstance(size, int) else None


def _sum(sizes: Iterable[int | None]) -> int | None:
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total


def _is_of_numbers(value: Any) -> bool:
    return bool(value.is_tensor()) and value.data_type() != "tensor(string)"
