"""What subjects compute, and whether it is what the model does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from onnxperf.analyze.answers.check import about_differences, not_compared, not_deterministic
from onnxperf.analyze.judges.agreement import Form, Interface, Outputs, disagreement, same_again, unlike_interfaces
from onnxperf.api._shared.subjects import Entry
from onnxperf.errors import BadInput, SubjectError
from onnxperf.measure.messages import Compute, Load, Prepare, WorkerSpec, outputs_in
from onnxperf.measure.process import ProcessWorker, open_worker
from onnxperf.measure.race import RaceEnd
from onnxperf.records.options import LONG_TIMEOUT_S, Tolerances
from onnxperf.records.race import Measurement


def outputs_of(spec: WorkerSpec) -> Outputs:
    """Names and values of what the only subject of a spec returns."""
    return outputs_of_calls(spec, 1)[0]


def outputs_of_calls(spec: WorkerSpec, calls: int) -> list[Outputs]:
    """The same for several calls on the same inputs, in one process."""
    with _running(spec) as worker:
        worker.ask(Prepare(0))
        return [_listed(outputs_in(worker.ask(Compute(0)))) for _ in range(calls)]


def tensors_of(spec: WorkerSpec) -> dict[str, Any]:
    """Every tensor that a runtime computes on its way, by name."""
    with _running(spec) as worker:
        names, values = outputs_in(worker.ask(Compute(0, everything=True)))
    return dict(zip(names, values, strict=True))


def is_deterministic(spec: WorkerSpec, tolerances: Tolerances) -> bool:
    """Whether two calls on the same inputs agree."""
    first, second = outputs_of_calls(spec, 2)
    return same_again(first, second, tolerances)


def interface_of(entry: Entry) -> Interface:
    """What decides whether the outputs of two models can be compared."""
    return entry.feeds.arrays, [output.name for output in entry.model.outputs]


# ---------------------------------------------------------------- races


@dataclass
class Comparison:
    """The outputs of subjects that raced each other, compared with those of the first model that has some."""

    reference: str = ""
    differing: dict[str, str] = field(default_factory=dict)
    """Which subjects differ, and how."""
    notes: list[str] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """What the answer of the race says of it."""
        return about_differences(self.reference, self.differing)


def compared(
    end: RaceEnd,
    specs: Sequence[WorkerSpec],
    entries: Sequence[Entry],
    tolerances: Tolerances,
    plain: Collection[str] = (),
) -> Comparison:
    """Compare what was collected in a race; of `plain` callables that differ there is only a note."""
    outputs = {subject.name: _listed(each) for subject, each in zip(end.subjects, end.outputs, strict=False) if each}
    measured = [subject for subject in end.subjects if subject.name in outputs]
    base = next((subject for subject in measured if subject.model is not None), None)
    if base is None:
        return Comparison()
    interfaces = {entry.model.label: interface_of(entry) for entry in entries}
    found = Comparison(base.name)
    for subject in measured:
        if subject is base:
            continue
        label = subject.model or entries[0].model.label  # a source is fed what the first model is
        why = unlike_interfaces(interfaces[base.model or ""], interfaces[label]) if label != base.model else ""
        if why:
            found.notes.append(not_compared(subject.name, base.name, why))
            continue
        wrong = disagreement(outputs[base.name], outputs[subject.name], tolerances, _form(subject))
        if wrong:
            found.differing[subject.name] = wrong
    for name in [name for name in found.differing if name in plain]:
        found.notes.append(f"{name} returns something else than the model: {found.differing.pop(name)}")
    if found.differing and not end.interrupted:
        _without_random(found, specs, tolerances)
    return found


def _form(subject: Measurement) -> Form:
    if subject.model is not None:
        return "exact"
    return "precision" if "framework" in subject.conditions else "table"


def _without_random(found: Comparison, specs: Sequence[WorkerSpec], tolerances: Tolerances) -> None:
    """Leave out what differs from itself, too; only now, because it takes a process of its own to find out."""
    alone = _specs_of_one(specs)
    for name in (found.reference, *found.differing):
        if _is_random(alone[name], tolerances):
            found.notes.append(f"{not_deterministic(name)}; its outputs were not compared")
            if name == found.reference:
                found.differing.clear()
                return
            del found.differing[name]


def _specs_of_one(specs: Sequence[WorkerSpec]) -> Mapping[str, WorkerSpec]:
    return {subject.name: replace(spec, subjects=(subject,)) for spec in specs for subject in spec.subjects}


def _is_random(spec: WorkerSpec, tolerances: Tolerances) -> bool:
    try:
        return not is_deterministic(spec, tolerances)
    except BadInput:
        return False  # it ran before: what its outputs were stands


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
