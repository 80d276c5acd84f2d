"""Models that several tests run."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper


def make_model(layers: int) -> onnx.ModelProto:
    """MatMul and Relu, several times."""
    random = np.random.default_rng(0)
    weights = [numpy_helper.from_array(random.random((32, 32)).astype(np.float32), f"w{i}") for i in range(layers)]
    nodes = []
    for i in range(layers):
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"m{i}"], name=f"mul{i}"))
        nodes.append(helper.make_node("Relu", [f"m{i}"], [f"x{i + 1}"], name=f"relu{i}"))
    x = helper.make_tensor_value_info("x0", onnx.TensorProto.FLOAT, [8, 32])
    y = helper.make_tensor_value_info(f"x{layers}", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "layers", [x], [y], initializer=weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
