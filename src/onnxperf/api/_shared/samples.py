"""Samples of a source's inputs by name, and the source called with them."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from onnxperf.api._shared.sources import as_callable, load_source
from onnxperf.errors import BadFeed, BadInput, BadOption
from onnxperf.frameworks import convert as converting
from onnxperf.model.generate import Array, generate
from onnxperf.model.inputs import read_inputs
from onnxperf.records import InputOptions

Call = Callable[[Mapping[str, Array]], list[Any]]

_ROWS = 10
"""Of a random sample for an estimator that says how many columns it takes."""


def load_model(text: str, files: Mapping[str, Path]) -> tuple[Any, Any]:
    """A model that is named on the command line, and its sample; named files go before what the function returns."""
    given = read_inputs(files)
    if Path(text).is_dir() or ":" not in text:
        converting.framework_of(text)  # says what is wrong with the path
        return text, given or None
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # read when the function imports TensorFlow
    try:
        loaded = load_source(text)
    except BadOption as error:  # it is written for --against
        raise BadOption(str(error).removeprefix("--against").lstrip(" :")) from error
    is_pair = isinstance(loaded, tuple) and len(loaded) == 2
    model, sample = loaded if is_pair else (loaded, None)
    if given and isinstance(sample, Mapping):
        return model, {**sample, **given}
    return model, given or sample


def is_estimator(model: Any) -> bool:
    """Whether skl2onnx would convert it."""
    return converting.framework_of(model) == "scikit-learn"


def named_sample(
    framework: converting.Framework,
    model: Any,
    sample: Any,
    options: InputOptions,
    names: Sequence[str] | None = None,
) -> dict[str, Array] | None:
    """Arrays by the names of the source's inputs: random ones where only shapes are known, None where nothing is."""
    if sample is None:
        return _random_sample(framework, model, options)
    if isinstance(sample, Mapping):
        given = {str(name): _array(name, value) for name, value in sample.items()}
        given |= _drawn({name: shape for name, shape in options.shapes.items() if name not in given}, options)
        return _ordered(framework, model, given)
    if hasattr(sample, "columns") and hasattr(sample, "iloc"):
        return {str(name): _array(name, sample[[name]].to_numpy()) for name in sample.columns}
    several = framework != "scikit-learn" and isinstance(sample, list | tuple)
    values = list(sample) if several else [sample]
    known = _names(framework, model, len(values)) if names is None else list(names)
    if len(known) != len(values):
        raise BadFeed(f"the sample has {len(values)} arrays, the model takes {len(known)}: {', '.join(known)}")
    return {name: _array(name, value) for name, value in zip(known, values, strict=True)}


def _names(framework: converting.Framework, model: Any, count: int) -> list[str]:
    if framework == "torch":
        return converting.torch_names(model, count)
    return converting.keras_names(model, count) if framework == "keras" else ["X"]


def _ordered(framework: converting.Framework, model: Any, given: dict[str, Array]) -> dict[str, Array]:
    """In the order of the source's own inputs."""
    if framework == "torch":
        order = [name for name in inspect.signature(model.forward).parameters if name in given]
        return {name: given[name] for name in [*order, *(name for name in given if name not in order)]}
    if framework == "keras":
        known = converting.keras_names(model, len(given))
        if getattr(model, "input", None) is None:
            return given
        if set(known) != set(given):
            raise BadFeed(f"the sample has {', '.join(given)}; the inputs of the model are {', '.join(known)}")
        return {name: given[name] for name in known}
    return given


def _array(name: object, value: Any) -> Array:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    try:
        array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise BadFeed(f"sample: {name} is no array: {' '.join(str(error).split())}") from error
    if array.dtype.kind == "O" and not all(isinstance(each, str) for each in array.flat):
        raise BadFeed(f"sample: {name} is no array of numbers or texts")
    return array


def _random_sample(framework: converting.Framework, model: Any, options: InputOptions) -> dict[str, Array] | None:
    shapes = dict(options.shapes)
    columns = getattr(model, "n_features_in_", None)
    if framework == "scikit-learn" and not shapes and isinstance(columns, int):
        shapes = {"X": (_ROWS, columns)}
    if framework == "keras" or not shapes:
        return None
    return _ordered(framework, model, _drawn(shapes, options))


def _drawn(shapes: Mapping[str, tuple[int, ...]], options: InputOptions) -> dict[str, Array]:
    dtype = np.dtype(np.float32)
    return {
        name: generate(name, dtype, shape, options.ranges.get(name), options.seed) for name, shape in shapes.items()
    }


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


# ---------------------------------------------------------------- calls


def caller_of(framework: converting.Framework, model: Any, links: Mapping[str, str], keys: Sequence[str]) -> Call:
    """The source as a function of arrays by the names of the converted model's inputs; its outputs in their order."""
    device = "cuda" if framework == "torch" and str(converting.device_of(model)).startswith("cuda") else "cpu"

    def call(feeds: Mapping[str, Array]) -> list[Any]:
        arrays = {name: feeds[new] for name, new in links.items()} if links else dict(feeds)
        with warnings.catch_warnings(), converting.as_it_was(model):
            warnings.simplefilter("ignore")
            if framework == "scikit-learn":
                return _listed(as_callable(model)(_table(arrays)))
            outputs = as_callable(model, input_names=tuple(arrays), device=device)(*arrays.values())
        if not isinstance(outputs, dict):
            return _listed(outputs)
        return [outputs[key] for key in keys] if set(keys) <= set(outputs) else list(outputs.values())

    return call


def _table(arrays: Mapping[str, Array]) -> Any:
    """What an estimator takes: one array, or a frame whose columns were inputs of their own."""
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    from pandas import DataFrame

    return DataFrame({name: array.reshape(len(array), -1)[:, 0] for name, array in arrays.items()})


def _listed(outputs: Any) -> list[Any]:
    values = outputs if isinstance(outputs, list) else [outputs]
    return [each.toarray() if hasattr(each, "toarray") else each for each in values]
