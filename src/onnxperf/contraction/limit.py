"""The limit of a contraction: one product of matrices of the same size, whose operands lie as it wants them."""

from __future__ import annotations

from math import prod

import onnx

from onnxperf.contraction.equation import Equation
from onnxperf.contraction.graph import Draft, DraftNode, to_model
from onnxperf.contraction.pair import roles


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
    left, right = (batch, rows, inner), (batch, inner, columns)
    nodes = (
        DraftNode("Reshape", (0,), left, (("shape", left),)),
        DraftNode("Reshape", (1,), right, (("shape", right),)),
        DraftNode("MatMul", (2, 3), (batch, rows, columns)),
    )
    return to_model(Draft(equation.shapes, nodes), dtype, opset)
