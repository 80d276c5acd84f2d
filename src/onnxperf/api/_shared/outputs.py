"""What a subject computes, called once in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onnxperf.analyze.judges.agreement import Outputs
from onnxperf.errors import BadInput, SubjectError
from onnxperf.measure.messages import Compute, Load, Prepare, WorkerSpec, outputs_in
from onnxperf.measure.process import ProcessWorker, open_worker
from onnxperf.records.options import LONG_TIMEOUT_S


def outputs_of(spec: WorkerSpec) -> Outputs:
    """Names and values of what the only subject of a spec returns."""
    with _running(spec) as worker:
        worker.ask(Prepare(0))
        names, value = outputs_in(worker.ask(Compute(0)))
    return names, value if isinstance(value, list) else [value]


def tensors_of(spec: WorkerSpec) -> dict[str, Any]:
    """Every tensor that a runtime computes on its way, by name."""
    with _running(spec) as worker:
        names, values = outputs_in(worker.ask(Compute(0, everything=True)))
    return dict(zip(names, values, strict=True))


@contextmanager
def _running(spec: WorkerSpec) -> Iterator[ProcessWorker]:
    """A worker that has opened its session; its errors are those of the request."""
    try:
        with open_worker(spec, timeout_s=LONG_TIMEOUT_S) as worker:
            worker.ask(Load(spec))
            yield worker
    except SubjectError as error:
        raise BadInput(f"{spec.subjects[0].name}: {error}") from error
