"""The limit of a contraction: one product of matrices of the same size, whose operands lie as it wants them."""

from __future__ import annotations

from math import prod

import numpy as np
import onnx
from onnx import helper, numpy_helper

from onnxperf.contraction.equation import Equation
from onnxperf.contraction.pair import roles

_IR_VERSION = 9


def bare_product(equation: Equation, dtype: str, opset: int) -> onnx.ModelProto | None:
    """A model that reads the same operands as matrices and multiplies them; None where that is not the whole work."""
    sizes = dict(equation.sizes)
    whole = all(
        tuple(sizes[letter] for letter in term) == shape
        for term, shape in zip(equation.operands, equation.shapes, strict=True)
    )
    distinct = all(len(set(term)) == len(term) for term in equation.operands)
    if len(equation.operands) != 2 or not whole or not distinct:
        return None
    groups = roles(*equation.operands, set(equation.output))
    if not groups.inner or not {*groups.left, *groups.right} <= set(equation.output):
        return None
    batch, rows, columns, inner = (
        prod(sizes[letter] for letter in group) for group in (groups.batch, groups.left, groups.right, groups.inner)
    )
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    shapes = {"left": (batch, rows, inner), "right": (batch, inner, columns)}
    nodes = [
        helper.make_node("Reshape", ["X0", "left"], ["A"]),
        helper.make_node("Reshape", ["X1", "right"], ["B"]),
        helper.make_node("MatMul", ["A", "B"], ["Y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "bare product",
        [helper.make_tensor_value_info(f"X{i}", element, shape) for i, shape in enumerate(equation.shapes)],
        [helper.make_tensor_value_info("Y", element, (batch, rows, columns))],
        [numpy_helper.from_array(np.array(shape, np.int64), name) for name, shape in shapes.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=_IR_VERSION)
