"""The limit of a contraction: one matrix product of the same size, whose operands already have the best layout."""

from __future__ import annotations

from math import prod

from onnxperf.contraction.equation import Equation
from onnxperf.contraction.graph import Draft, DraftNode
from onnxperf.contraction.pair import roles


def bare_product(equation: Equation) -> Draft | None:
    """A graph that reads the same operands as matrices and multiplies them.

    None if that is not the whole work, or not a lower limit: a product with a vector is a sum of products, which other
    operators compute many times faster.
    """
    sizes = dict(equation.sizes)
    whole = all(
        tuple(sizes[letter] for letter in term) == shape
        for term, shape in zip(equation.operands, equation.shapes, strict=True)
    )
    distinct = all(len(set(term)) == len(term) for term in equation.operands)
    if len(equation.operands) != 2 or not whole or not distinct:
        return None
    groups = roles(*equation.operands, set(equation.output))
    if not {*groups.left, *groups.right} <= set(equation.output):
        return None
    batch, rows, columns, inner = (
        prod(sizes[letter] for letter in group) for group in (groups.batch, groups.left, groups.right, groups.inner)
    )
    if min(rows, columns, inner) < 2:
        return None
    outer = (batch,) if batch > 1 else ()
    draft, left = Draft(equation.shapes).reshape(0, (*outer, rows, inner), 0.0)
    draft, right = draft.reshape(1, (*outer, inner, columns), 0.0)
    draft, result = draft.add(DraftNode("MatMul", (left, right), (*outer, rows, columns)), 0.0)
    return draft.finished(result)
