"""The yardstick: a small fixed model whose time makes runs comparable that were not measured in turn."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BATCH = 16
WIDTHS = (64, 256, 256, 64)
"""Size of the input and the layers: about 100 µs per call with one thread, between cache-bound and large models."""
_FIRST, _STEP, _VALUES = 12345, 7919, 4093
"""Weights are derived from integers, so that their bytes are the same everywhere."""


def yardstick_model() -> onnx.ModelProto:
    """A perceptron of three layers; it must never change, or stored runs can no longer be compared."""
    nodes, weights, value = [], [], "X"
    for number, (width, height) in enumerate(pairwise(WIDTHS)):
        name = f"W{number}"
        weights.append(numpy_helper.from_array(_weights(number, width, height), name))
        nodes.append(helper.make_node("MatMul", [value, name], [f"M{number}"]))
        value = f"H{number}" if height != WIDTHS[-1] else "Y"
        nodes.append(helper.make_node("Tanh", [f"M{number}"], [value]))
    graph = helper.make_graph(
        nodes,
        "yardstick",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [BATCH, WIDTHS[0]])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [BATCH, WIDTHS[-1]])],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _weights(number: int, width: int, height: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    places = np.arange(width * height, dtype=np.int64)
    whole = ((places + number) * _STEP + _FIRST) % _VALUES - _VALUES // 2
    # divided by a power of two, which is exact
    return (whole.astype(np.float32) / np.float32(2**15)).reshape(width, height)
