"""Pooling: one axis after the other, by the maximum or the sum over the window's positions."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from onnxperf.runtimes.numpy.base import Array, DType, Kernel, Node, kernel
from onnxperf.runtimes.numpy.kernels.windows import Axis, Windows, windows

CHUNK_BYTES = 512 << 10
"""Channels are pooled in chunks of about this size, so that intermediate results stay in the cache."""
_PLANS = 64
"""Number of input shapes whose plans are cached."""

Index = tuple[slice, ...]


class _Pass(NamedTuple):
    """Pooling along one axis."""

    sizes: tuple[int, ...]
    """Spatial sizes of its result."""
    whole: tuple[Index, ...]
    """The elements seen by positions that are never padding."""
    partial: tuple[tuple[Index, Index], ...]
    """Positions that are padding for some windows: the other windows, and what they see."""


class _Plan(NamedTuple):
    """How to pool inputs of one shape."""

    sizes: tuple[int, ...]
    passes: tuple[_Pass, ...]
    chunk: int
    """Channels at a time."""
    divisor: Any
    """The number of elements that each window averages over."""


def _pass(axes: Sequence[Axis], i: int) -> _Pass:
    """Axes before this one are already pooled."""
    axis = axes[i]
    sizes = tuple(a.windows if j <= i else a.size for j, a in enumerate(axes))
    head = (slice(None),) * (i + 1)
    placed = [axis.valid(offset) for offset in range(axis.kernel)]
    whole = [seen for where, seen in placed if where == slice(0, axis.windows)]
    some = [(where, seen) for where, seen in placed if where != slice(0, axis.windows) and where.stop > where.start]
    return _Pass(sizes, tuple((*head, s) for s in whole), tuple(((*head, w), (*head, s)) for w, s in some))


def _plan(shape: tuple[int, ...], placed: Windows, itemsize: int, include_padding: bool) -> _Plan:
    axes = placed.axes(shape[2:])
    passes = tuple(_pass(axes, i) for i, a in enumerate(axes) if a != Axis(a.size, a.size, 0, 0, 1, 1, 1))
    chunk = max(1, CHUNK_BYTES // max(1, itemsize * math.prod(shape[2:])))
    counts = [_counts(axis, include_padding) for axis in axes]
    divisor = math.prod(np.ix_(*counts)) if len(counts) > 1 else counts[0]
    return _Plan(tuple(axis.windows for axis in axes), passes, chunk, divisor)


def _counts(axis: Axis, include_padding: bool) -> Array:
    """Elements under each window: within the input, or within its declared padding."""
    low, high = (-axis.begin, axis.size + axis.end) if include_padding else (0, axis.size)
    starts = np.arange(axis.windows)[:, None] * axis.stride - axis.begin
    seen = starts + np.arange(axis.kernel) * axis.dilation
    counts: Array = ((seen >= low) & (seen < high)).sum(axis=1)
    return counts


def _along(x: Array, step: _Pass, combine: Callable[..., Any], neutral: Any, out: Array) -> None:
    whole = step.whole
    if len(whole) > 1:
        combine(x[whole[0]], x[whole[1]], out=out)
        for seen in whole[2:]:
            combine(out, x[seen], out=out)
    elif whole:
        out[...] = x[whole[0]]
    else:
        out.fill(neutral)
    for where, seen in step.partial:
        part = out[where]
        combine(part, x[seen], out=part)


def _pooling(
    placed: Windows, dtype: DType, combine: Callable[..., Any], neutral: Any, average: bool, padding: bool
) -> Callable[[Array], Array]:
    plans = lru_cache(_PLANS)(partial(_plan, placed=placed, itemsize=dtype.itemsize, include_padding=padding))

    def pool(x: Array) -> Array:
        plan = plans(x.shape)
        images, channels, *sizes = x.shape
        rows = images * channels
        flat = x.reshape(rows, *sizes)
        result = np.empty((rows, *plan.sizes), dtype)
        for start in range(0, rows, plan.chunk):
            part, target = flat[start : start + plan.chunk], result[start : start + plan.chunk]
            for step in plan.passes[:-1]:
                between = np.empty((len(part), *step.sizes), dtype)
                _along(part, step, combine, neutral, between)
                part = between
            if plan.passes:
                _along(part, plan.passes[-1], combine, neutral, target)
            else:
                target[...] = part
            if average:
                np.divide(target, plan.divisor, target, casting="same_kind")
        return result.reshape(images, channels, *plan.sizes)

    return pool


def _window_of(node: Node) -> Windows | None:
    placed = windows(node)
    return None if placed is None or node.rank() not in (None, len(placed.kernel) + 2) else placed


def _lowest(dtype: DType) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


@kernel("MaxPool")
def make_max_pool(node: Node) -> Kernel | None:
    """The largest element of each window, and its position."""
    placed, dtype = _window_of(node), node.dtype()
    if placed is None or dtype is None or dtype.kind not in "fiu" or dtype.isbuiltin != 1:
        return None
    if node.output_count > 1:
        return Kernel(_with_indices(placed, dtype, bool(node.get("storage_order", 0))), "fresh")
    return Kernel(_pooling(placed, dtype, np.maximum, _lowest(dtype), False, False), "fresh")


def _with_indices(placed: Windows, dtype: DType, columns_first: bool) -> Callable[[Array], tuple[Array, Array]]:
    """Maxima, and their positions in the flattened input without padding; of equal ones the first."""

    def pool(x: Array) -> tuple[Array, Array]:
        images, channels, *sizes = x.shape
        axes = placed.axes(sizes)
        steps = [math.prod(sizes[:i]) if columns_first else math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        shape = (images, channels, *(axis.windows for axis in axes))
        largest, places = np.full(shape, _lowest(dtype), dtype), np.full(shape, -1, np.int64)
        for offsets in itertools.product(*map(range, placed.kernel)):
            where, seen = zip(*map(Axis.valid, axes, offsets), strict=True)
            found = x[(slice(None), slice(None), *seen)]
            spots = [np.arange(s.start, s.stop, s.step) * step for s, step in zip(seen, steps, strict=True)]
            place = functools.reduce(np.add.outer, spots)
            part, part_places = (each[(slice(None), slice(None), *where)] for each in (largest, places))
            better = (found > part) | (part_places < 0)
            np.copyto(part, found, where=better)
            np.copyto(part_places, place, where=better)
        places += (np.arange(images * channels) * math.prod(sizes)).reshape(images, channels, *[1] * len(sizes))
        return largest, places

    return pool


def _in_single_precision(run: Callable[[Array], Array], dtype: DType) -> Callable[[Array], Array]:
    """Sum half precision in single precision."""
    return run if dtype != np.float16 else lambda x: run(x.astype(np.float32)).astype(np.float16)


def _sum_type(node: Node) -> DType | None:
    """The type in which the elements of windows are summed."""
    dtype = node.dtype()
    if dtype not in (np.float16, np.float32, np.float64):
        return None
    return np.dtype(np.float32) if dtype == np.float16 else dtype


@kernel("AveragePool")
def make_average_pool(node: Node) -> Kernel | None:
    """The mean of each window, with or without its padding."""
    placed, stash, dtype = _window_of(node), _sum_type(node), node.dtype()
    if placed is None or stash is None or dtype is None:
        return None
    padding = bool(node.get("count_include_pad", 0))
    return Kernel(_in_single_precision(_pooling(placed, stash, np.add, 0, True, padding), dtype), "fresh")


@kernel("LpPool", since=2)
def make_lp_pool(node: Node) -> Kernel | None:
    """The norm of each window."""
    placed, stash, dtype = _window_of(node), _sum_type(node), node.dtype()
    if placed is None or stash is None or dtype is None:
        return None
    add, power = _pooling(placed, stash, np.add, 0, False, False), stash.type(node.get("p", 2))

    def norm(x: Array) -> Any:
        total = add(np.power(np.abs(x), power))
        return np.power(total, 1 / power, total)

    return Kernel(_in_single_precision(norm, dtype), "fresh")


@kernel("GlobalLpPool", since=2)
def make_global_lp_pool(node: Node) -> Kernel | None:
    """The norm of each channel."""
    rank, stash, dtype = node.rank(), _sum_type(node), node.dtype()
    if rank is None or rank < 3 or stash is None or dtype is None:
        return None
    axes, power = tuple(range(2, rank)), stash.type(node.get("p", 2))

    def norm(x: Array) -> Any:
        total = np.add.reduce(np.power(np.abs(x), power), axes, keepdims=True)
        return np.power(total, 1 / power, total)

    return Kernel(_in_single_precision(norm, dtype), "fresh")


@kernel("GlobalAveragePool")
def make_global_average_pool(node: Node) -> Kernel | None:
    """The mean of each channel."""
    rank, dtype = node.rank(), node.dtype()
    if rank is None or rank < 3 or dtype not in (np.float32, np.float64):
        return None
    ones = (1,) * (rank - 2)

    def average(x: Array) -> Array:
        images, channels, *sizes = x.shape
        count = math.prod(sizes)
        total = np.add.reduce(x.reshape(images, channels, count), 2)
        total /= count
        mean: Array = total.reshape(images, channels, *ones)
        return mean

    return Kernel(average, "fresh")


@kernel("GlobalMaxPool")
def make_global_max_pool(node: Node) -> Kernel | None:
    """The largest element of each channel."""
    rank = node.rank()
    if rank is None or rank < 3 or node.kind() not in ("f", "i", "u"):
        return None
    axes = tuple(range(2, rank))
    return Kernel(lambda x: np.maximum.reduce(x, axes, keepdims=True), "fresh")
