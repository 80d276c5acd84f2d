"""The meaning of products and sums in a graph, however they are spelled."""

from __future__ import annotations

import math
from collections.abc import Collection

from msgspec import Struct

from onnxperf.model.rewrites.base import FLOATS, EditedModel, is_op

_MOST_STEPS = 32
_MOST_TERMS = 4
_TOLERANCE = 2e-3
"""Tolerance of constants: exporters write 0.7978845608, 0.797885, or its float16 rounding."""


class ScaledTerms(Struct, frozen=True):
    """A number times some tensors."""

    factor: float
    terms: tuple[str, ...]
    """Sorted; a squared tensor is listed twice."""


def near(value: float | None, wanted: float) -> bool:
    """Whether a constant is meant to be this number."""
    return value is not None and math.isclose(value, wanted, rel_tol=_TOLERANCE, abs_tol=1e-12)


def origin(edited: EditedModel, name: str) -> str:
    """The tensor before nodes that pass it on: Identity, a Cast between floats, a Reshape to the same shape."""
    for _ in range(_MOST_STEPS):
        node = edited.makers.get(name)
        if node is None or not node.input or not _hands_on(edited, name):
            break
        name = node.input[0]
    return name


def _hands_on(edited: EditedModel, name: str) -> bool:
    node = edited.makers[name]
    source = node.input[0]
    if is_op(node, "Identity"):
        return True
    if is_op(node, "Cast"):
        return edited.element(source) in FLOATS and edited.element(name) in FLOATS
    if is_op(node, "Reshape", "Expand", "Flatten", "Squeeze", "Unsqueeze"):
        shape = edited.shape(name)
        return shape is not None and shape == edited.shape(source)
    return False


def product(edited: EditedModel, name: str, whole: Collection[str] = ()) -> ScaledTerms:
    """The factors of a tensor; those in `whole` are not split."""
    factor, pending = 1.0, [(name, 1)]
    terms: list[str] = []
    for _ in range(_MOST_STEPS):
        if not pending:
            return ScaledTerms(factor, tuple(sorted(terms)))
        tensor, times = pending.pop()
        tensor = origin(edited, tensor)
        value = edited.scalar(tensor)
        if value is not None:
            factor *= _power(value, times)
            continue
        parts = None if tensor in whole else _parts(edited, tensor)
        if parts is None or len(terms) + times > _MOST_TERMS:
            terms += [tensor] * times
        else:
            factor *= _power(parts[0], times)
            pending += [(each, power * times) for each, power in parts[1]]
        if len(terms) > _MOST_TERMS:
            break
    return ScaledTerms(1.0, (origin(edited, name),))


def _power(value: float, times: int) -> float:
    try:
        return value**times
    except OverflowError:
        return math.inf


def _parts(edited: EditedModel, name: str) -> tuple[float, list[tuple[str, int]]] | None:
    """A number, and tensors with their powers, whose product is a tensor; None if it is not a product."""
    node = edited.makers.get(name)
    if node is None or not all(node.input):
        return None
    if is_op(node, "Neg") and len(node.input) == 1:
        return -1.0, [(node.input[0], 1)]
    if len(node.input) != 2:
        return None
    left, right = node.input
    number = edited.scalar(origin(edited, right))
    if is_op(node, "Mul"):
        return 1.0, [(left, 1), (right, 1)]
    if is_op(node, "Div") and number:
        return 1.0 / number, [(left, 1)]
    if is_op(node, "Pow") and number in (1.0, 2.0, 3.0):
        return 1.0, [(left, int(number))]
    return None


def one_plus(edited: EditedModel, name: str) -> str | None:
    """The tensor to which 1 is added; None if there is no such addition."""
    node = edited.maker(origin(edited, name), "Add")
    if node is None or len(node.input) != 2:
        return None
    for number, other in (tuple(node.input), tuple(node.input)[::-1]):
        if near(edited.scalar(origin(edited, number)), 1.0):
            return origin(edited, other)
    return None
