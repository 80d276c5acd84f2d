"""Small models that take all memory, all time, or the whole stack of whatever follows what they declare."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import onnx
from onnx import TensorProto, helper

OPSETS = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]


def model(
    nodes: list[onnx.NodeProto],
    *,
    shape: tuple[int, ...] = (2,),
    initializers: tuple[TensorProto, ...] = (),
    functions: tuple[onnx.FunctionProto, ...] = (),
) -> onnx.ModelProto:
    """A model from x to y."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "bomb", [x], [y], list(initializers))
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=8, functions=functions)


def function(name: str, *nodes: onnx.NodeProto) -> onnx.FunctionProto:
    """A local function from a to b."""
    return helper.make_function("own", name, ["a"], ["b"], list(nodes), OPSETS)


def call(name: str, source: str, result: str) -> onnx.NodeProto:
    """A call of a local function."""
    return helper.make_node(name, [source], [result], domain="own")


def nested(levels: int, calls: int) -> onnx.ModelProto:
    """Functions of which each calls the next so many times."""
    functions = []
    for level in range(levels):
        steps = ["a", *(f"t{number}" for number in range(1, calls)), "b"]
        pairs = list(pairwise(steps))
        last = level == levels - 1
        functions.append(
            function(
                f"F{level}",
                *(
                    helper.make_node("Neg", [one], [other]) if last else call(f"F{level + 1}", one, other)
                    for one, other in pairs
                ),
            )
        )
    return model([call("F0", "x", "y")], functions=tuple(functions))


def declared(size: int) -> onnx.ModelProto:
    """A tensor of this many elements, of which one is there."""
    tensor = TensorProto(name="w", data_type=TensorProto.INT64, dims=[size], raw_data=bytes(8))
    nodes = [
        helper.make_node("Shape", ["w"], ["s"]),
        helper.make_node("Mul", ["s", "s"], ["n"]),
        helper.make_node("Reshape", ["x", "n"], ["y"]),
    ]
    return model(nodes, initializers=(tensor,))


def flattened(size: int) -> onnx.ModelProto:
    """A vector of so many times so many elements, whose size is computed in the graph."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Mul", ["n", "n"], ["all"]),
        helper.make_node("Reshape", ["x", "all"], ["v"]),
        helper.make_node("Add", ["v", "v"], ["y"]),
    ]
    zero = helper.make_tensor("zero", TensorProto.INT64, [1], [0])
    return model(nodes, shape=(size, size), initializers=(zero,))


BOMBS: dict[str, Callable[[], onnx.ModelProto]] = {
    "declared": lambda: declared(2**40),
    "flattened": lambda: flattened(2**20),
    "long input": lambda: model([helper.make_node("Add", ["x", "x"], ["y"])], shape=(2**40,)),
    "doubling functions": lambda: nested(24, 2),
    "chain of functions": lambda: nested(3000, 1),
    "many axes": lambda: model([helper.make_node("Neg", ["x"], ["y"])], shape=(1,) * 65),
}
