"""Models that can be quantised, and one that cannot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import onnx.parser
from onnx import helper, numpy_helper

_CONVOLUTIONAL = """
<ir_version: 8, opset_import: ["" : 17]>
convolutional (float[1, 8, 12, 12] X) => (float[1, 10] probabilities)
{
    [first] A = Conv <pads = [1, 1, 1, 1]> (X, W0)
    [relu] B = Relu(A)
    [second] C = Conv <pads = [1, 1, 1, 1]> (B, W1)
    [sigmoid] D = Sigmoid(C)
    [pool] E = GlobalAveragePool(D)
    [flat] F = Flatten(E)
    [dense] G = Gemm(F, W2)
    [classes] probabilities = Softmax(G)
}
"""
_WEIGHTLESS = """
<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
weightless (int64[4] X) => (int64[4] Y)
{ [twice] Y = Add(X, X) }
"""


def weight(name: str, shape: Sequence[int], seed: int = 0) -> onnx.TensorProto:
    values = np.random.default_rng(seed).standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
    return numpy_helper.from_array(values.astype(np.float32), name)


def mlp(layers: int = 6, width: int = 32, names: str = "matmul{}", batch: str | int = "batch") -> onnx.ModelProto:
    """MatMul, Add and Relu, several times; in the end, probabilities."""
    nodes, weights = [], []
    for i in range(layers):
        last = i == layers - 1
        weights += [weight(f"W{i}", (width, width), i), weight(f"B{i}", (width,), i)]
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"W{i}"], [f"m{i}"], name=names.format(i)))
        nodes.append(helper.make_node("Add", [f"m{i}", f"B{i}"], [f"a{i}"], name=f"add{i}"))
        nodes.append(helper.make_node("Softmax" if last else "Relu", [f"a{i}"], [f"x{i + 1}"], name=f"act{i}"))
    x = helper.make_tensor_value_info("x0", onnx.TensorProto.FLOAT, [batch, width])
    y = helper.make_tensor_value_info(f"x{layers}", onnx.TensorProto.FLOAT, [batch, width])
    graph = helper.make_graph(nodes, "mlp", [x], [y], initializer=weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def convolutional() -> onnx.ModelProto:
    """Two convolutions, one of them before a Sigmoid, and a Gemm."""
    proto = onnx.parser.parse_model(_CONVOLUTIONAL)
    proto.graph.initializer.extend(
        [weight("W0", (16, 8, 3, 3)), weight("W1", (16, 16, 3, 3), 1), weight("W2", (16, 10), 2)]
    )
    return proto


def transposed() -> onnx.ModelProto:
    """A Gemm that transposes its weights, whose shape is noted twice, as torch exports it."""
    nodes = [helper.make_node("Gemm", ["X", "W", "B"], ["logits"], name="dense", transB=1)]
    sides = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2, size])
        for name, size in (("X", 32), ("logits", 8))
    ]
    graph = helper.make_graph(
        nodes, "transposed", sides[:1], sides[1:], initializer=[weight("W", (8, 32)), weight("B", (8,))]
    )
    graph.value_info.append(helper.make_tensor_value_info("W", onnx.TensorProto.FLOAT, [8, 32]))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def weightless() -> onnx.ModelProto:
    """Nothing of it is float32."""
    return onnx.parser.parse_model(_WEIGHTLESS)


def matmul_and_conv() -> onnx.ModelProto:
    """A MatMul and a convolution, of which one may stay in float32."""
    nodes = [
        helper.make_node("MatMul", ["X", "W"], ["m"], name="dense"),
        helper.make_node("Relu", ["m"], ["r"], name="relu"),
        helper.make_node("Reshape", ["r", "shape"], ["i"], name="reshape"),
        helper.make_node("Conv", ["i", "K"], ["Y"], name="conv", pads=[1, 1, 1, 1]),
    ]
    shape = numpy_helper.from_array(np.array([1, 16, 32, 32]), "shape")
    x = helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, [16, 1024])
    y = helper.make_tensor_value_info("Y", onnx.TensorProto.FLOAT, None)
    weights = [weight("W", (1024, 1024)), weight("K", (64, 16, 3, 3)), shape]
    graph = helper.make_graph(nodes, "matmul_and_conv", [x], [y], initializer=weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
