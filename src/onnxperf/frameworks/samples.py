"""Samples of a model's inputs by name: given ones, and random ones if only shapes are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onnxperf.errors import BadFeed
from onnxperf.frameworks.base import AnyFramework, Shape
from onnxperf.frameworks.outputs import as_array
from onnxperf.model.generate import check_memory, generate
from onnxperf.records.options import InputOptions
from onnxperf.runtimes.base import Array


def named_sample(
    framework: AnyFramework,
    source: object,
    sample: object,
    options: InputOptions,
    names: Sequence[str] | None = None,
) -> dict[str, Array] | None:
    """Arrays by source input name: random ones if only shapes are known, None if nothing is known."""
    if sample is None:
        example = None if options.shapes else framework.example(source)
        if example is not None:
            return example
        shapes = framework.shapes(source, options.shapes)
        return framework.ordered(source, _drawn(shapes, options)) if shapes else None
    if isinstance(sample, Mapping):
        given = {str(name): _array(name, value) for name, value in sample.items()}
        given |= _drawn({name: shape for name, shape in options.shapes.items() if name not in given}, options)
        return framework.ordered(source, given)
    columns = _columns(sample)
    if columns is not None:
        return columns
    values = list(sample) if isinstance(sample, list | tuple) and not framework.takes_table else [sample]
    known = framework.input_names(source, len(values)) if names is None else list(names)
    if len(known) != len(values):
        raise BadFeed(f"the sample has {len(values)} arrays, but the model takes {len(known)}: {', '.join(known)}")
    return {name: _array(name, value) for name, value in zip(known, values, strict=True)}


def _columns(sample: Any) -> dict[str, Array] | None:
    """The columns of a data frame, one input each; None if the sample is not a data frame."""
    if not hasattr(sample, "columns") or not hasattr(sample, "iloc"):
        return None
    return {str(name): _array(name, sample[[name]].to_numpy()) for name in sample.columns}


def _array(name: object, value: Any) -> Array:
    try:
        array = np.asarray(as_array(value))
    except (ValueError, TypeError, RuntimeError) as error:
        raise BadFeed(f"sample: {name} is not an array: {' '.join(str(error).split())}") from error
    if array.dtype.kind == "O" and not all(isinstance(each, str) for each in array.flat):
        raise BadFeed(f"sample: {name} is not an array of numbers or texts")
    return array


def _drawn(shapes: Mapping[str, Shape], options: InputOptions) -> dict[str, Array]:
    dtype = np.dtype(np.float32)
    check_memory({name: (dtype, shape) for name, shape in shapes.items()})
    return {
        name: generate(name, dtype, shape, options.ranges.get(name), options.seed) for name, shape in shapes.items()
    }
