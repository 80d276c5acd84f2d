"""Elements selected, placed, counted or ordered by index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import NUMBER_KINDS, PLAIN_KINDS, Array, Kernel, Maker, Node, kernel
from onnxperf.runtimes.numpy.kernels.shape import ALL, index_at

_NOT_COVERED = frozenset(("", "O"))
"""A single string taken from an array is no longer a numpy value."""


@kernel("Gather")
def make_gather(node: Node) -> Kernel | None:
    """Slices along an axis."""
    if node.kind() in _NOT_COVERED:
        return None
    axis, indices = node.get("axis", 0), node.constant(1)
    if indices is None:
        return Kernel(lambda x, chosen: x.take(chosen, axis), "fresh")
    if indices.ndim == 0:
        index = index_at(axis, int(indices))
        return Kernel(lambda x: x[index], "view", uses=(0,))
    return Kernel(lambda x: x.take(indices, axis), "fresh", uses=(0,))


def _along(indices: Array, axis: int) -> tuple[Any, ...]:
    """The index that takes or puts one element per entry; other axes may be shorter than those of the data."""
    rank = indices.ndim
    index = [np.arange(size).reshape((-1,) + (1,) * (rank - 1 - i)) for i, size in enumerate(indices.shape)]
    index[axis] = indices
    return tuple(index)


@kernel("GatherElements", since=11)
def make_gather_elements(node: Node) -> Kernel | None:
    """One element per index, along an axis."""
    axis = node.get("axis", 0)
    if node.constant(1) is None:
        return Kernel(lambda x, indices: x[_along(indices, axis)], "fresh")
    index = _along(node.constant(1), axis)
    return Kernel(lambda x: x[index], "fresh", uses=(0,))


def _nd_index(indices: Array, batch: int) -> tuple[Any, ...]:
    inner = indices.ndim - 1
    leading = [np.arange(size).reshape((-1,) + (1,) * (inner - 1 - i)) for i, size in enumerate(indices.shape[:batch])]
    return (*leading, *(indices[..., i] for i in range(indices.shape[-1])))


@kernel("GatherND", since=11)
def make_gather_nd(node: Node) -> Kernel | None:
    """Slices at positions given by index vectors."""
    if node.kind() in _NOT_COVERED:
        return None
    batch = node.get("batch_dims", 0)
    if node.constant(1) is None:
        return Kernel(lambda x, indices: x[_nd_index(indices, batch)], "view")
    index = _nd_index(node.constant(1), batch)
    return Kernel(lambda x: x[index], "view", uses=(0,))


def _assign(y: Array, index: tuple[Any, ...], updates: Array) -> None:
    y[index] = updates


_REDUCTIONS: dict[str, Callable[[Array, tuple[Any, ...], Array], None]] = {
    "none": _assign,
    "add": np.add.at,
    "mul": np.multiply.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}


def _scatter(node: Node, index_of: Callable[[Array], tuple[Any, ...]]) -> Kernel | None:
    """A copy with updates; duplicate entries are combined, or the last one stays."""
    reduction = node.get("reduction", "none")
    if reduction != "none" and node.kind() not in PLAIN_KINDS:
        return None
    combine = _REDUCTIONS[reduction]

    def scatter(x: Array, indices: Array, updates: Array) -> Array:
        y = np.array(x)
        combine(y, index_of(indices), updates)
        return y

    if node.constant(1) is None:
        return Kernel(scatter, "fresh")
    index = index_of(node.constant(1))

    def scatter_at_known(x: Array, updates: Array) -> Array:
        y = np.array(x)
        combine(y, index, updates)
        return y

    return Kernel(scatter_at_known, "fresh", uses=(0, 2))


@kernel("ScatterElements", since=11)
@kernel("Scatter", since=9)
def make_scatter_elements(node: Node) -> Kernel | None:
    """One update per index, along an axis."""
    axis = node.get("axis", 0)
    return _scatter(node, lambda indices: _along(indices, axis))


@kernel("ScatterND", since=11)
def make_scatter_nd(node: Node) -> Kernel | None:
    """Updates of slices at positions given by index vectors."""
    return _scatter(node, lambda indices: _nd_index(indices, 0))


@kernel("OneHot", since=9)
def make_one_hot(node: Node) -> Kernel | None:
    """A new axis with the on-value at each index; out-of-range indices get none."""
    if node.kind() not in NUMBER_KINDS or node.kind(2) not in PLAIN_KINDS:
        return None
    axis = node.get("axis", -1)

    def one_hot(indices: Array, depth: Any, values: Any) -> Any:
        size = int(np.asarray(depth).reshape(-1)[0])
        indices = np.asarray(indices)
        place = axis if axis >= 0 else axis + indices.ndim + 1
        hot = np.arange(size).reshape((-1,) + (1,) * (indices.ndim - place))
        wrapped = np.where(indices < 0, indices + size, indices)
        return np.where(wrapped[(ALL,) * place + (None,)] == hot, values[1], values[0])

    return Kernel(one_hot, "fresh")


@kernel("NonZero", since=9)
def make_non_zero(node: Node) -> Kernel | None:
    """Positions of nonzero elements, one row per axis."""
    if node.kind() not in PLAIN_KINDS or not node.rank():
        return None
    return Kernel(lambda x: np.array(x.nonzero(), np.int64), "fresh")


@kernel("Compress", since=9)
def make_compress(node: Node) -> Kernel:
    """Slices along an axis where a condition holds."""
    axis = node.get("axis")
    return Kernel(lambda x, condition: x.compress(condition, axis), "fresh")


@kernel("Unique", since=11)
def make_unique(node: Node) -> Kernel | None:
    """Unique elements, sorted or in order of first occurrence, with first positions, inverse indices and counts."""
    if node.kind() not in PLAIN_KINDS | {"O"}:
        return None
    axis, is_sorted, count, text = node.get("axis"), bool(node.get("sorted", 1)), node.output_count, node.kind() == "O"

    def unique(x: Array) -> Any:
        # Numpy sorts numbers along an axis, but not strings; their ranks have the same order.
        ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape) if text else x
        _, first, inverse, counts = np.unique(ranks, True, True, True, axis)
        inverse = inverse.reshape(-1)
        if not is_sorted:
            order = first.argsort()
            first, counts, inverse = first[order], counts[order], order.argsort()[inverse]
        values = x.reshape(-1)[first] if axis is None else x.take(first, axis)
        return values if count == 1 else (values, first, inverse, counts)[:count]

    return Kernel(unique, "fresh")


@kernel("TopK", since=10)
def make_top_k(node: Node) -> Kernel | None:
    """The largest or smallest elements and their positions; of equal ones the first comes first."""
    axis, largest = node.get("axis", -1), bool(node.get("largest", 1))
    if node.kind() not in NUMBER_KINDS or node.output_count == 1:
        return None
    backwards = index_at(axis, slice(None, None, -1))

    def top_k(x: Array, k: Any) -> Any:
        first = index_at(axis, slice(0, int(k[0])))
        if largest:
            # Sorted backwards and reversed, so that equal elements stay in order; this also works for unsigned types.
            order = x.shape[axis] - 1 - x[backwards].argsort(axis, kind="stable")[backwards][first]
        else:
            order = x.argsort(axis, kind="stable")[first]
        return x[_along(order, axis)], order

    return Kernel(top_k, "fresh")


def _arg(name: str) -> Maker:
    def make(node: Node) -> Kernel | None:
        if node.kind() not in PLAIN_KINDS:
            return None
        axis, keep = node.get("axis", 0), bool(node.get("keepdims", 1))
        function = getattr(np.ndarray, name)
        if not node.get("select_last_index", 0):
            return Kernel(lambda x: function(x, axis, None, keepdims=keep), "fresh")
        backwards = index_at(axis, slice(None, None, -1))
        return Kernel(lambda x: x.shape[axis] - 1 - function(x[backwards], axis, None, keepdims=keep), "fresh")

    return make


for _operator, _name in (("ArgMax", "argmax"), ("ArgMin", "argmin")):
    kernel(_operator)(_arg(_name))


def _accumulate(function: np.ufunc) -> Maker:
    def make(node: Node) -> Kernel | None:
        dtype, axis = node.dtype(), node.constant(1)
        if dtype is None or dtype.kind not in NUMBER_KINDS:
            return None
        exclusive, reverse = bool(node.get("exclusive", 0)), bool(node.get("reverse", 0))

        def accumulate(x: Array, along: int) -> Array:
            backwards = index_at(along, slice(None, None, -1))
            if reverse:
                x = x[backwards]
            if exclusive:
                y = np.empty(x.shape, dtype)
                y[index_at(along, slice(1))] = function.identity
                function.accumulate(x[index_at(along, slice(-1))], along, dtype, y[index_at(along, slice(1, None))])
            else:
                y = function.accumulate(x, along, dtype)
            return y[backwards] if reverse else y

        if axis is None:
            return Kernel(lambda x, along: accumulate(x, along.item()), "fresh")
        bound = axis.item()
        return Kernel(lambda x: accumulate(x, bound), "fresh", uses=(0,))

    return make


kernel("CumSum", since=11)(_accumulate(np.add))
kernel("CumProd", since=26)(_accumulate(np.multiply))


@kernel("ReverseSequence", since=10)
def make_reverse_sequence(node: Node) -> Kernel | None:
    """The first elements of each sequence in reverse."""
    batch, time = node.get("batch_axis", 1), node.get("time_axis", 0)
    if {batch, time} != {0, 1}:
        return None

    def reverse_sequence(x: Array, lengths: Array) -> Array:
        steps, rows = np.arange(x.shape[time])[:, None], np.arange(x.shape[batch])
        source = np.where(steps < lengths, lengths - 1 - steps, steps)
        return x[source, rows] if time == 0 else x[rows[:, None], source.T]

    return Kernel(reverse_sequence, "fresh")
