"""What subjects compute, and whether it is what the model does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from onnxperf.analyze.answers.check import about_differences, draws_random_numbers, not_compared, not_deterministic
from onnxperf.analyze.judges.accuracy import Form
from onnxperf.analyze.judges.agreement import Interface, Outputs, disagreement, same_again, unlike_interfaces
from onnxperf.api._shared.subjects import Entry
from onnxperf.errors import BadInput, SubjectError, refused
from onnxperf.measure.messages import Load, Prepare, WorkerSpec
from onnxperf.measure.model_reader import random_operators_of
from onnxperf.measure.outputs import compute
from onnxperf.measure.process import ProcessWorker, open_worker
from onnxperf.measure.race import RaceEnd
from onnxperf.records.options import Tolerances, WorkerLimits
from onnxperf.records.race import Measurement

_LIMITS = WorkerLimits()


def outputs_of(spec: WorkerSpec, limits: WorkerLimits = _LIMITS) -> Outputs:
    """Names and values of what the only subject of a spec returns."""
    with _running(spec, limits) as worker:
        worker.ask(Prepare(0))
        return _listed(compute(worker, 0))


def steady_outputs(spec: WorkerSpec, tolerances: Tolerances, limits: WorkerLimits = _LIMITS) -> tuple[Outputs, bool]:
    """The same, and whether a second call on the same inputs in the same process agrees; its outputs are dropped."""
    with _running(spec, limits) as worker:
        worker.ask(Prepare(0))
        outputs = _listed(compute(worker, 0))
        return outputs, same_again(outputs, _listed(compute(worker, 0)), tolerances)


def tensors_of(spec: WorkerSpec, limits: WorkerLimits = _LIMITS) -> dict[str, Any]:
    """Every tensor that a runtime computes on its way, by name."""
    with _running(spec, limits) as worker:
        names, values = compute(worker, 0, everything=True)
    return dict(zip(names, values, strict=True))


def drawn_in(entry: Entry) -> tuple[str, ...]:
    """Operators of a model that draw random numbers, found without a call."""
    return random_operators_of(entry.model)


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
    random = _drawn(measured, entries)
    found.notes += [f"{text}; they were not compared" for text in random.values()]
    for subject in measured if base.model not in random else ():
        if subject is base or subject.model in random:
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
        found.notes.append(f"{name} does not return what the model returns: {found.differing.pop(name)}")
    if found.differing and not end.interrupted:
        _without_random(found, specs, tolerances)
    return found


def _drawn(subjects: Sequence[Measurement], entries: Sequence[Entry]) -> dict[str | None, str]:
    """Models of subjects that draw random numbers, and a sentence about each."""
    labels = {subject.model for subject in subjects}
    operators = {each.model.label: drawn_in(each) for each in entries if each.model.label in labels}
    return {label: draws_random_numbers(label, each) for label, each in operators.items() if each}


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
        return not steady_outputs(spec, tolerances)[1]
    except BadInput:
        return False  # it ran before: what its outputs were stands


def _listed(outputs: tuple[list[str], Any]) -> Outputs:
    names, value = outputs
    return names, value if isinstance(value, list) else [value]


@contextmanager
def _running(spec: WorkerSpec, limits: WorkerLimits) -> Iterator[ProcessWorker]:
    """A worker that has opened its session; its errors are those of the request."""
    try:
        with open_worker(spec, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit) as worker:
            worker.ask(Load(spec))
            yield worker
    except SubjectError as error:
        raise refused(error, spec.subjects[0].name) from error
