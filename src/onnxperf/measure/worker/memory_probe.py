"""Memory of a step, measured inside the process that executes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from onnxperf.measure.memory import peak_bytes, read_resident, reset_peak, trim
from onnxperf.measure.messages import CalledMany, CallMany, Mark, ProbedStep, ProbeStep
from onnxperf.measure.worker.host import is_of_framework
from onnxperf.measure.worker.timing import monotonic_ns
from onnxperf.records.base import Scalar

if TYPE_CHECKING:
    from onnxperf.measure.worker.host import Host


def probe(work: Callable[[], object]) -> tuple[Mark, int | None]:
    """Call `work` once with a trimmed heap and a reset high-water mark; also returns the size of its result."""
    trim()
    before, exact = read_resident(), reset_peak()
    start_ns = monotonic_ns()
    result = work()
    duration_ns = monotonic_ns() - start_ns
    peak = peak_bytes() if exact else None
    size_bytes = size_of(result)
    del result  # resident memory afterwards must not include the result
    return Mark(before, read_resident(), peak, start_ns, duration_ns), size_bytes


def probe_step(host: Host, request: ProbeStep) -> ProbedStep:
    """Execute a step of the first subject."""
    conditions: dict[str, Scalar] = {"threads": host.spec.threads}

    def load() -> None:
        conditions.update(host.open().conditions)
        if 0 in host.functions:
            conditions.update(host.bind(0))

    def first_call() -> object:
        if 0 not in host.calls:
            conditions.update(host.bind(0))
        return host.calls[0]()

    if request.step == "load" and 0 in host.functions and not is_of_framework(host.functions[0]):
        return ProbedStep(None)  # a plain callable has nothing to load: its data came with it
    work = {"load": load, "first call": first_call}.get(request.step) or host.calls[0]
    mark, output_bytes = probe(work)
    return ProbedStep(mark, conditions, output_bytes)


def call_many(host: Host, request: CallMany) -> CalledMany:
    """Call the first subject many times; returns resident memory after releasing free memory."""
    work = host.calls[0]
    for _ in range(request.calls):
        work()
    trim()
    return CalledMany(read_resident())


def size_of(value: Any) -> int | None:
    """Total bytes of the (nested) arrays in a result; None if the size of one is unknown."""
    if value is None:
        return 0
    if isinstance(value, dict):
        return _sum(map(size_of, value.values()))
    if isinstance(value, list | tuple) or type(value).__name__ == "OrtValueVector":
        return _sum(map(size_of, value))
    if hasattr(value, "tensor_size_in_bytes"):  # an onnxruntime value
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
