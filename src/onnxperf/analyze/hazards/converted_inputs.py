"""Inputs that every call casts or copies before running the model."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.records.memory import InputCopy
from onnxperf.wording.names import first_of, name_of
from onnxperf.wording.numbers import spoken_size


def find(facts: Facts) -> Iterator[Hazard]:
    """Given inputs with another type or byte order, or that are not contiguous."""
    if not facts.copies:
        return
    yield Hazard(
        kind="converted-inputs",
        title="converted inputs",
        evidence=f"in every call, {first_of([_text(each) for each in facts.copies])}",
        remedy="convert the inputs once, before the first call: numpy.ascontiguousarray with the model's type",
        trials=(Trial(name="inputs converted once", ready_inputs=True),),
    )


def _text(copy: InputCopy) -> str:
    size = spoken_size(copy.copied_bytes)
    if copy.reason == "cast":
        return f"{name_of(copy.name)} is cast from {copy.from_type} to {copy.to_type} ({size})"
    return f"{name_of(copy.name)} is not contiguous and is copied ({size})"
