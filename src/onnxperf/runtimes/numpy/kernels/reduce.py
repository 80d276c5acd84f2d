"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import NUMBER_KINDS, PLAIN_KINDS, Array, DType, Kernel, Node, kernel

Axes = tuple[int, ...] | None
Reduction = Callable[[Array, Axes, bool], Array]
"""Takes data, axes (None for all), and whether to keep these as axes of size 1."""

# Numpy's stubs accept only keywords, which are slower.
add: Callable[..., Array] = np.add.reduce
multiply: Callable[..., Array] = np.multiply.reduce
maximum: Callable[..., Array] = np.maximum.reduce
minimum: Callable[..., Array] = np.minimum.reduce


def _sum(dtype: DType) -> Reduction:
    return lambda x, axes, keep: add(x, axes, dtype, None, keep)


def _mean(dtype: DType) -> Reduction:
    if dtype == np.float16:
        return lambda x, axes, keep: np.mean(x, axes, None, None, keep)
    number = dtype.type

    def mean(x: Array, axes: Axes, keep: bool) -> Array:
        y = add(x, axes, None, None, keep)
        y /= number(x.size / (y.size or 1))
        return y

    return mean


def _extreme(reduce: Callable[..., Array], largest: bool) -> Callable[[DType], Reduction]:
    def make(dtype: DType) -> Reduction:
        empty = _lowest(dtype) if largest else _highest(dtype)

        def extreme(x: Array, axes: Axes, keep: bool) -> Array:
            if x.size == 0:
                return reduce(x, axes, None, None, keep, empty)
            return reduce(x, axes, None, None, keep)

        return extreme

    return make


def _lowest(dtype: DType) -> Any:
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def _highest(dtype: DType) -> Any:
    return np.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


def _product(dtype: DType) -> Reduction:
    return lambda x, axes, keep: multiply(x, axes, dtype, None, keep)


def _l1(dtype: DType) -> Reduction:
    return lambda x, axes, keep: add(np.abs(x), axes, dtype, None, keep)


_SHORT = 64
"""BLAS sums rows up to this length faster, and as exactly: numpy sums longer ones in pairs."""


def _sum_square(dtype: DType) -> Reduction:
    ones = lru_cache(_SHORT)(partial(np.ones, dtype=dtype))
    blas = dtype in (np.float32, np.float64)

    def sum_square(x: Array, axes: Axes, keep: bool) -> Array:
        squares = np.square(x)
        if blas and x.ndim == 2 and axes in ((1,), (-1,)) and x.shape[1] <= _SHORT:
            total: Array = squares.dot(ones((x.shape[1], 1) if keep else x.shape[1]))
            return total
        return add(squares, axes, dtype, None, keep)

    return sum_square


def _l2(dtype: DType) -> Reduction:
    return lambda x, axes, keep: np.sqrt(add(np.square(x), axes, dtype, None, keep))


def _in_double_precision(make: Callable[[DType], Reduction]) -> Callable[[DType], Reduction]:
    """Integers are converted, and the result is rounded toward zero."""

    def converted(dtype: DType) -> Reduction:
        if dtype.kind == "f":
            return make(dtype)
        reduce = make(np.dtype(np.float64))
        return lambda x, axes, keep: reduce(x.astype(np.float64), axes, keep).astype(dtype)

    return converted


def _log_sum(dtype: DType) -> Reduction:
    return lambda x, axes, keep: np.log(add(x, axes, dtype, None, keep))


def _log_sum_exp(dtype: DType) -> Reduction:
    zero = dtype.type(0)

    def log_sum_exp(x: Array, axes: Axes, keep: bool) -> Array:
        largest = maximum(x, axes, None, None, True, -np.inf)
        # An infinite maximum would make the difference a NaN.
        largest = np.where(np.isfinite(largest), largest, zero)
        y = np.log(add(np.exp(x - largest), axes, None, None, True)) + largest
        return y if keep else y.squeeze(axes)

    return log_sum_exp


_FLOAT = frozenset("f")
_REDUCTIONS: dict[str, tuple[frozenset[str], Callable[[DType], Reduction]]] = {
    "ReduceSum": (NUMBER_KINDS, _sum),
    "ReduceMean": (_FLOAT, _mean),
    "ReduceMax": (PLAIN_KINDS, _extreme(maximum, True)),
    "ReduceMin": (PLAIN_KINDS, _extreme(minimum, False)),
    "ReduceProd": (NUMBER_KINDS, _product),
    "ReduceL1": (NUMBER_KINDS, _l1),
    "ReduceL2": (NUMBER_KINDS, _in_double_precision(_l2)),
    "ReduceSumSquare": (NUMBER_KINDS, _sum_square),
    "ReduceLogSum": (NUMBER_KINDS, _in_double_precision(_log_sum)),
    "ReduceLogSumExp": (NUMBER_KINDS, _in_double_precision(_log_sum_exp)),
}
_IDENTITIES = frozenset(("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"))
"""Operators that leave an element unchanged if nothing is reduced."""


def _reduction(node: Node) -> Reduction | None:
    kinds, make = _REDUCTIONS[node.op]
    dtype = node.dtype()
    return make(dtype) if dtype is not None and dtype.kind in kinds else None


def _bound(reduce: Reduction, axes: Axes, keep: bool) -> Kernel:
    return Kernel(lambda x: reduce(x, axes, keep), "fresh", uses=(0,))


def _from_attribute(node: Node) -> Kernel | None:
    """Axes given as an attribute."""
    reduce, axes = _reduction(node), node.get("axes")
    if reduce is None:
        return None
    return _bound(reduce, None if axes is None else tuple(axes), bool(node.get("keepdims", 1)))


def _from_input(node: Node) -> Kernel | None:
    """Axes given as an input; none means all, or no axis if `noop_with_empty_axes` is set."""
    reduce, keep, noop = _reduction(node), bool(node.get("keepdims", 1)), bool(node.get("noop_with_empty_axes", 0))
    if reduce is None:
        return None
    axes = node.constant(1)
    if node.has(1) and axes is None:
        if not noop:
            return Kernel(lambda x, chosen: reduce(x, tuple(chosen.tolist()) or None, keep), "fresh")
        if node.op not in _IDENTITIES:
            return Kernel(lambda x, chosen: reduce(x, tuple(chosen.tolist()), keep), "fresh")
        return Kernel(lambda x, chosen: reduce(x, tuple(chosen.tolist()), keep) if chosen.size else x, "view")
    if axes is not None and axes.size:
        return _bound(reduce, tuple(axes.tolist()), keep)
    if not noop:
        return _bound(reduce, None, keep)
    return Kernel(lambda x: x, "view", uses=(0,)) if node.op in _IDENTITIES else _bound(reduce, (), keep)


for _operator in _REDUCTIONS:
    kernel(_operator)(_from_attribute)
    kernel(_operator, since=13 if _operator == "ReduceSum" else 18)(_from_input)
