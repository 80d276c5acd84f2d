"""Opens a model from anywhere: a file, bytes, a model in memory, or the zoo."""

from __future__ import annotations

import os

import onnx

from onnxperf.model.load import Model, open_model
from onnxperf.zoo import PREFIX

Source = str | os.PathLike[str] | bytes | onnx.ModelProto


def open_source(source: Source) -> Model:
    """A model from anywhere; one of the zoo keeps the name that was given for it."""
    place = located(source)
    return open_model(place, source if place is not source and isinstance(source, str) else None)


def located(source: Source) -> Source:
    """Where a model is: one of the zoo is built first, if it is not there yet."""
    if isinstance(source, str) and source.startswith(PREFIX):
        from onnxperf.zoo.build import zoo_model

        return zoo_model(source).onnx
    return source
