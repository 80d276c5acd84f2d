"""Einsum: the order of contractions is found once per shape."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import Kernel, Node, kernel

_PATHS = 64
"""Shapes of inputs whose paths are remembered."""


def _as_matmul(terms: list[str], result: str) -> bool:
    """Whether numpy's product of two matrices (the leading axes in step) is this very contraction."""
    if len(terms) != 2 or min(map(len, terms)) < 2 or len(terms[0]) != len(terms[1]):
        return False
    left, right = terms
    batch, row, inner, column = left[:-2], left[-2], left[-1], right[-1]
    distinct = len({*batch, row, inner, column}) == len(batch) + 3
    return distinct and right == batch + inner + column and result == batch + row + column


def _static(node: Node, terms: list[str]) -> bool:
    """Whether equal letters have equal sizes for certain: einsum broadcasts a size of 1 where matmul fails."""
    sizes: dict[str, Any] = {}
    for i, term in enumerate(terms):
        value = node.inputs[i]
        if value is None or value.shape is None or len(value.shape) != len(term) or None in value.shape:
            return False
        if any(sizes.setdefault(letter, size) != size for letter, size in zip(term, value.shape, strict=True)):
            return False
    return True


@kernel("Einsum", since=12)
def make_einsum(node: Node) -> Kernel | None:
    """A sum of products by its equation."""
    if any(node.kind(i) not in ("f", "i", "u") for i in range(len(node.inputs))):
        return None
    equation = node.get("equation", "").replace(" ", "")
    inputs, arrow, result = equation.partition("->")
    terms = inputs.split(",")
    if arrow and "." not in equation and node.kind() == "f" and _static(node, terms):
        if _as_matmul(terms, result):
            return Kernel(np.matmul, "fresh")
        swapped = [terms[0], terms[1][:-2] + terms[1][:-3:-1]] if len(terms) == 2 else []
        if _as_matmul(swapped, result):
            return Kernel(lambda a, b: np.matmul(a, b.swapaxes(-1, -2)), "fresh")
    if len(terms) == 1:
        return Kernel(lambda x: np.einsum(equation, x), "view")

    @lru_cache(_PATHS)
    def path(shapes: tuple[tuple[int, ...], ...]) -> Any:
        return np.einsum_path(equation, *map(np.empty, shapes), optimize="greedy")[0]

    def contract(*arrays: Any) -> Any:
        return np.einsum(equation, *arrays, optimize=path(tuple(map(np.shape, arrays))))

    return Kernel(contract, "view")
