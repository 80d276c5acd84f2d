"""Einsum: two operands become a matrix product; for more, the contraction order is computed once per shape."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import Array, Kernel, Node, kernel

_PATHS = 64
"""Number of input shapes whose paths are cached."""


def _has_equal_sizes(node: Node, terms: list[str]) -> bool:
    """Whether equal letters certainly have equal sizes: einsum broadcasts a size of 1 where matmul fails."""
    sizes: dict[str, Any] = {}
    for value, term in zip(node.inputs, terms, strict=True):
        if value is None or value.shape is None or len(value.shape) != len(term) or None in value.shape:
            return False
        if any(sizes.setdefault(letter, size) != size for letter, size in zip(term, value.shape, strict=True)):
            return False
    return True


def _as_product(left: str, right: str, result: str) -> Callable[[Array, Array], Array] | None:
    """The contraction as one matrix product; None for diagonals, and for letters summed within one operand."""
    shared = set(left) & set(right)
    repeated = any(len(set(term)) != len(term) for term in (left, right, result))
    if repeated or (set(left) | set(right)) - shared - set(result) or set(result) - set(left + right):
        return None
    batch = [letter for letter in result if letter in shared]
    rows = [letter for letter in result if letter in left and letter not in shared]
    columns = [letter for letter in result if letter in right and letter not in shared]
    inner = [letter for letter in left if letter in shared and letter not in result]
    if len(rows) == len(inner) == len(columns) == 1 and [*batch, *rows, *columns] == list(result):
        if left == "".join(batch + rows + inner) and right == "".join(batch + inner + columns):
            return np.matmul
        if left == "".join(batch + rows + inner) and right == "".join(batch + columns + inner):
            return lambda a, b: np.matmul(a, b.swapaxes(-1, -2))
    of_left = [left.index(letter) for letter in batch + rows + inner]
    of_right = [right.index(letter) for letter in batch + inner + columns]
    of_result = [(batch + rows + columns).index(letter) for letter in result]
    first_row, first_inner, first_column = len(batch), len(batch) + len(rows), len(batch) + len(inner)

    def contract(a: Array, b: Array) -> Any:
        a, b = a.transpose(of_left), b.transpose(of_right)
        head, tall, wide = a.shape[:first_row], a.shape[first_row:first_inner], b.shape[first_column:]
        depth = prod(a.shape[first_inner:])
        y = np.matmul(a.reshape(*head, prod(tall), depth), b.reshape(*head, depth, prod(wide)))
        return y.reshape((*head, *tall, *wide)).transpose(of_result)

    return contract


@kernel("Einsum", since=12)
def make_einsum(node: Node) -> Kernel | None:
    """A sum of products, given by its equation."""
    if any(node.kind(i) not in ("f", "i", "u") for i in range(len(node.inputs))):
        return None
    equation = node.get("equation", "").replace(" ", "")
    inputs, arrow, result = equation.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(node.inputs):
        return None
    if len(terms) == 1:
        return Kernel(lambda x: np.einsum(equation, x), "view")
    is_plain = arrow and "." not in equation and node.dtype(0) in (np.float32, np.float64)
    if is_plain and len(terms) == 2 and _has_equal_sizes(node, terms):
        contract = _as_product(terms[0], terms[1], result)
        if contract is not None:
            return Kernel(contract, "fresh")

    @lru_cache(_PATHS)
    def path(*shapes: tuple[int, ...]) -> Any:
        return np.einsum_path(equation, *map(np.empty, shapes), optimize="greedy")[0]

    def contract_all(*arrays: Any) -> Any:
        return np.einsum(equation, *arrays, optimize=path(*map(np.shape, arrays)))

    return Kernel(contract_all, "view")
