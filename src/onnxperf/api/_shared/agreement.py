"""Whether the subjects of a race compute the same as the model."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from onnxperf.analyze.judges.agreement import Outputs, disagreement
from onnxperf.measure.race import RaceEnd
from onnxperf.records.options import Tolerances


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
