"""Opens a model from anywhere: a file, bytes, a model in memory, or the zoo."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from onnxperf.measure import model_reader as reading
from onnxperf.model.opened import Model, place
from onnxperf.zoo import PREFIX

if TYPE_CHECKING:
    from onnx import ModelProto

    Source = str | os.PathLike[str] | bytes | ModelProto
else:
    Source = str | os.PathLike | bytes  # a command that never meets a ModelProto does not wait for onnx


def open_source(source: Source, label: str | None = None, timeout_s: float | None = None) -> Model:
    """A model from anywhere; one of the zoo keeps the name given for it."""
    found = located(source)
    own = source if found is not source and isinstance(source, str) else None
    return reading.open_placed(place(found, label or own), timeout_s)


def located(source: Source) -> Source:
    """Where a model is: one of the zoo is built first, if it is not there yet."""
    if isinstance(source, str) and source.startswith(PREFIX):
        from onnxperf.zoo.build import zoo_model

        return zoo_model(source).onnx
    return source
