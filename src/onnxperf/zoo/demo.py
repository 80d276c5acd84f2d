"""The model of `onnxperf demo`, small but realistic, and the names of its files."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MODEL_FILE = "onnxperf-demo.onnx"
CHART_FILE = "onnxperf-demo.png"
_ROWS, _FEATURES, _HIDDEN, _CLASSES = 1000, 20, 32, 4


def demo_model() -> onnx.ModelProto:
    """Fit a network with one hidden layer (random features, then least squares) to four clouds of points."""
    rng = np.random.default_rng(0)
    labels = rng.integers(_CLASSES, size=_ROWS)
    points = rng.normal(size=(_CLASSES, _FEATURES))[labels] + rng.normal(scale=0.5, size=(_ROWS, _FEATURES))
    first = rng.normal(size=(_FEATURES, _HIDDEN)) / np.sqrt(_FEATURES)
    shift = rng.normal(size=_HIDDEN)
    hidden = np.maximum(points @ first + shift, 0)
    second = np.linalg.lstsq(hidden, np.eye(_CLASSES)[labels], rcond=None)[0]
    weights = {"first": first, "shift": shift, "second": second}
    nodes = [
        helper.make_node("MatMul", ["points", "first"], ["projected"]),
        helper.make_node("Add", ["projected", "shift"], ["shifted"]),
        helper.make_node("Relu", ["shifted"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "second"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["probabilities"], axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "demo",
        [helper.make_tensor_value_info("points", TensorProto.FLOAT, ["batch", _FEATURES])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", _CLASSES])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
