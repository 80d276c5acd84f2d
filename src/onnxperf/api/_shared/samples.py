"""A source that is to be converted, with a sample of its inputs, and how its inputs relate to those of the model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx

from onnxperf.api._shared.sources import load_with_sample
from onnxperf.errors import BadInput, BadOption
from onnxperf.frameworks.base import AnyFramework
from onnxperf.model.files import read_inputs
from onnxperf.model.generate import Array

Call = Callable[[Mapping[str, Array]], list[Any]]


class LoadedModel(NamedTuple):
    """A model that is to be converted."""

    model: Any
    sample: Any
    """Of its inputs; None if there is none."""
    source: str
    """What names it: FILE.py:function, or a path; empty for an object."""


def load_model(model: Any, sample: Any, feeds: Mapping[str, Any] | None) -> LoadedModel:
    """The model, loaded if a text names it, with its sample; arrays by name replace those that its function returns."""
    if sample is not None and feeds:
        raise BadOption("`feeds`: the sample holds the inputs already; give one of both")
    if isinstance(model, str):
        loaded, own = load_with_sample(model)
    else:
        loaded, own = model, None
    files = {name: value for name, value in (feeds or {}).items() if isinstance(value, Path)}
    given = {**(feeds or {}), **read_inputs(files)}
    source = str(model) if isinstance(model, str | os.PathLike) else ""
    if given and isinstance(own, Mapping):
        return LoadedModel(loaded, {**own, **given}, source)
    return LoadedModel(loaded, sample if sample is not None else given or own, source)


def matched(names: Sequence[str], proto: onnx.ModelProto) -> dict[str, str]:
    """Which input of the model stands for which input of the source: by name, else by order."""
    graph = [value.name for value in proto.graph.input]
    if set(graph) <= set(names):
        return {name: name for name in graph}
    if len(graph) != len(names):
        raise BadInput(f"the converter made the inputs {', '.join(graph)} out of {', '.join(names)}; give fewer arrays")
    return dict(zip(names, graph, strict=True))


def resized(
    arrays: Mapping[str, Array], axes: Mapping[tuple[str, int], str], sizes: Mapping[str, int]
) -> dict[str, Array]:
    """The arrays with other sizes on named axes; values are repeated, so that they stay what they were."""
    made = dict(arrays)
    for (name, axis), dim in axes.items():
        array = made[name]
        if dim in sizes and array.shape[axis] not in (0, sizes[dim]):
            made[name] = np.take(array, np.arange(sizes[dim]) % array.shape[axis], axis=axis)
    return made


def cast_to_model(
    proto: onnx.ModelProto, arrays: Mapping[str, Array]
) -> tuple[dict[str, Array], dict[str, tuple[str, str]]]:
    """Floats of a sample in the precision that the model takes, and the types of those that changed."""
    made, casts = dict(arrays), {}
    for value in proto.graph.input:
        array = made.get(value.name)
        wanted = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type or onnx.TensorProto.FLOAT)
        if array is not None and array.dtype != wanted and array.dtype.kind == wanted.kind == "f":
            casts[value.name] = (array.dtype.name, wanted.name)
            made[value.name] = array.astype(wanted)
    return made, casts


def caller_of(framework: AnyFramework, source: object, links: Mapping[str, str], keys: Sequence[str]) -> Call:
    """The source as a function of arrays by the names of the converted model's inputs; its outputs in their order."""

    def call(feeds: Mapping[str, Array]) -> list[Any]:
        arrays = {name: feeds[new] for name, new in links.items()} if links else dict(feeds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs = framework.outputs(source, arrays)
        if not isinstance(outputs, dict):
            return outputs
        return [outputs[key] for key in keys] if set(keys) <= set(outputs) else list(outputs.values())

    return call
