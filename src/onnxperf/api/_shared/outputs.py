"""What subjects compute, and whether it is what the model does."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from onnxperf.analyze.judges.agreement import Outputs, disagreement
from onnxperf.errors import BadInput, SubjectError
from onnxperf.measure.messages import Compute, Load, Prepare, WorkerSpec, outputs_in
from onnxperf.measure.process import ProcessWorker, open_worker
from onnxperf.measure.race import RaceEnd
from onnxperf.records.options import LONG_TIMEOUT_S, Tolerances


def outputs_of(spec: WorkerSpec) -> Outputs:
    """Names and values of what the only subject of a spec returns."""
    with _running(spec) as worker:
        worker.ask(Prepare(0))
        return _listed(outputs_in(worker.ask(Compute(0))))


def tensors_of(spec: WorkerSpec) -> dict[str, Any]:
    """Every tensor that a runtime computes on its way, by name."""
    with _running(spec) as worker:
        names, values = outputs_in(worker.ask(Compute(0, everything=True)))
    return dict(zip(names, values, strict=True))


def compared(
    end: RaceEnd, label: str, tolerances: Tolerances, plain: Collection[str] = ()
) -> tuple[dict[str, str], list[str]]:
    """Which subjects differ from the model of that label, and how; and notes on `plain` callables that do."""
    outputs = {subject.name: _listed(each) for subject, each in zip(end.subjects, end.outputs, strict=False) if each}
    own = [subject.name for subject in end.subjects if subject.model == label and subject.name in outputs]
    if not own:
        return {}, []
    differing, notes = {}, []
    for subject in end.subjects:
        if subject.name == own[0] or subject.name not in outputs or subject.model not in (None, label):
            continue
        wrong = disagreement(outputs[own[0]], outputs[subject.name], tolerances)
        if wrong and subject.name in plain:
            notes.append(f"{subject.name} returns something else than the model: {wrong}")
        elif wrong:
            differing[subject.name] = wrong
    return differing, notes


def _listed(outputs: tuple[list[str], Any]) -> Outputs:
    names, value = outputs
    return names, value if isinstance(value, list) else [value]


@contextmanager
def _running(spec: WorkerSpec) -> Iterator[ProcessWorker]:
    """A worker that has opened its session; its errors are those of the request."""
    try:
        with open_worker(spec, timeout_s=LONG_TIMEOUT_S) as worker:
            worker.ask(Load(spec))
            yield worker
    except SubjectError as error:
        raise BadInput(f"{spec.subjects[0].name}: {error}") from error
