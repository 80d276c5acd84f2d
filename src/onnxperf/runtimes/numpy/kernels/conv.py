"""Convolutions as matrix products: windows are copied, a tile at a time, into a workspace of bounded size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from onnxperf.runtimes.numpy.base import Affine, Array, Channels, Finish, Kernel, Node, kernel
from onnxperf.runtimes.numpy.kernels.absorb import absorb
from onnxperf.runtimes.numpy.kernels.windows import Axis, Windows, windows
from onnxperf.runtimes.numpy.kernels.workspace import WORKSPACE, WORKSPACE_BYTES

_PLANS = 64
"""Number of input shapes whose tiles are cached."""

Convolution = Callable[[Array, Array, Array | None, Finish | None], Array]
"""Function of an input (N, C, …), weights (groups, filters of a group, taps), a bias (groups, filters of a group, 1),
and the function that finishes a tile."""


class _Tile(NamedTuple):
    """Some images, and a contiguous range of their windows."""

    images: slice
    windows: slice
    """Range of the result, with its spatial axes flattened."""
    counts: tuple[int, ...]
    """Images, channels, and windows per axis."""
    source: tuple[slice, ...]
    """The part of the input that the windows see, without padding."""
    padded: tuple[int, ...] | None
    """Shape of that part with its padding; None if there is none."""
    target: tuple[slice, ...]
    """Position of the input within that."""


class _Plan(NamedTuple):
    """How to convolve inputs of one shape."""

    sizes: tuple[int, ...]
    """Spatial sizes of the result."""
    tiles: tuple[_Tile, ...]
    columns: int
    """Elements of the largest tile's windows."""
    elements: int
    """Elements of those windows, and of the largest tile's padded input."""


def _extent(axis: Axis, count: int) -> int:
    """Elements covered by that many consecutive windows."""
    return (count - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1


def _cost(axes: Sequence[Axis], counts: Sequence[int]) -> int:
    """Elements that a tile needs per channel: its windows and its padded input."""
    seen = math.prod(_extent(axis, count) for axis, count in zip(axes, counts, strict=True))
    return math.prod(counts) * math.prod(axis.kernel for axis in axes) + seen


def _tile(images: tuple[int, int], channels: int, block: Sequence[tuple[int, int]], axes: Sequence[Axis]) -> _Tile:
    first = last = 0
    source, target, sizes = [slice(*images), slice(None)], [slice(None)] * 2, [images[1] - images[0], channels]
    padding = False
    for (start, stop), axis in zip(block, axes, strict=True):
        first, last = first * axis.windows + start, last * axis.windows + stop - 1
        begin, size = start * axis.stride - axis.begin, _extent(axis, stop - start)
        low = min(max(begin, 0), axis.size)
        high = max(min(begin + size, axis.size), low)
        source.append(slice(low, high))
        target.append(slice(low - begin, high - begin))
        sizes.append(size)
        padding = padding or high - low != size
    counts = (*sizes[:2], *(stop - start for start, stop in block))
    padded = tuple(sizes) if padding else None
    return _Tile(slice(*images), slice(first, last + 1), counts, tuple(source), padded, tuple(target))


def _plan(shape: tuple[int, ...], placed: Windows, budget: int) -> _Plan:
    """Choose tiles that fit into the workspace: several images if they are small, else parts of the leading axes.

    A tile has at least one window, however large that is.
    """
    axes = placed.axes(shape[2:])
    lengths = [axis.windows for axis in axes]
    sizes, channels = tuple(lengths), shape[1]
    if not math.prod(shape) * math.prod(sizes):
        return _Plan(sizes, (), 0, 0)
    for i in range(len(axes)):
        while lengths[i] > 1 and channels * _cost(axes, lengths) > budget:
            lengths[i] = (lengths[i] + 1) // 2
    together = max(1, budget // (channels * _cost(axes, lengths))) if tuple(lengths) == sizes else 1
    starts = [range(0, shape[0], together), *(range(0, n, k) for n, k in zip(sizes, lengths, strict=True))]
    tiles = []
    for corner in itertools.product(*starts):
        ends = zip(corner, (together, *lengths), (shape[0], *sizes), strict=True)
        images, *block = [(start, min(start + length, size)) for start, length, size in ends]
        tiles.append(_tile(images, channels, block, axes))
    columns = max(math.prod(tile.counts) for tile in tiles) * math.prod(placed.kernel)
    padded = max((math.prod(tile.padded) for tile in tiles if tile.padded), default=0)
    return _Plan(sizes, tuple(tiles), columns, columns + padded)


def _windowed(placed: Windows, groups: int, itemsize: int) -> Convolution:
    """Any convolution: copy a tile's windows, multiply, add the bias, and finish while the tile is in the cache."""
    plans = lru_cache(_PLANS)(partial(_plan, placed=placed, budget=WORKSPACE_BYTES // itemsize))
    kernel_shape, dilations, strides = placed.kernel, placed.dilations, placed.strides

    def convolve(x: Array, weights: Array, bias: Array | None, finish: Finish | None) -> Array:
        plan = plans(x.shape)
        dtype, filters, taps = x.dtype, weights.shape[1], weights.shape[2]
        result = np.empty((x.shape[0], groups * filters, *plan.sizes), dtype)
        flat = result.reshape(x.shape[0], groups, filters, math.prod(plan.sizes))
        memory = WORKSPACE.lend(plan.elements * itemsize)
        workspace = memory[: plan.elements * itemsize].view(dtype)
        scratch = workspace[plan.columns :]
        for images, span, counts, source, shape, target in plan.tiles:
            seen = x[source]
            if shape is not None:
                padded = scratch[: math.prod(shape)].reshape(shape)
                padded.fill(0)
                padded[target] = seen
                seen = padded
            image, channel, *steps = seen.strides
            inner = [step * d for step, d in zip(steps, dilations, strict=True)]
            outer = [step * s for step, s in zip(steps, strides, strict=True)]
            view = as_strided(seen, (*counts[:2], *kernel_shape, *counts[2:]), (image, channel, *inner, *outer))
            columns = workspace[: view.size]
            columns.reshape(view.shape)[...] = view
            part = flat[images, :, :, span]
            np.matmul(weights, columns.reshape(counts[0], groups, taps, -1), part)
            if bias is not None:
                part += bias
            if finish is not None:
                finish(part, part)
        WORKSPACE.take_back(memory)
        return result

    return convolve


def _pointwise(placed: Windows, groups: int, itemsize: int) -> Convolution:
    """Windows of one element without padding: the input is the matrix."""
    del placed, itemsize

    def convolve(x: Array, weights: Array, bias: Array | None, finish: Finish | None) -> Array:
        images, channels, *sizes = x.shape
        y = np.matmul(weights, x.reshape(images, groups, channels // groups, math.prod(sizes)))
        if bias is not None:
            y += bias
        if finish is not None:
            finish(y, y)
        result: Array = y.reshape(images, groups * weights.shape[1], *sizes)
        return result

    return convolve


def _shaped(weights: Array, groups: int) -> Array:
    return weights.reshape(groups, weights.shape[0] // groups, -1)


def _shaped_bias(bias: Array, weights: Array, groups: int) -> Array:
    if bias.shape != weights.shape[:1]:  # a shorter one would be broadcast
        raise ValueError(f"a bias of shape {bias.shape} does not fit weights of shape {weights.shape}")
    return bias.reshape(groups, -1, 1)


def _free(convolve: Convolution, groups: int, finish: Finish | None = None) -> Kernel:
    """Reshape weights and bias for the product in every run."""

    def run(x: Array, w: Array, b: Array | None = None) -> Array:
        return convolve(x, _shaped(w, groups), None if b is None else _shaped_bias(b, w, groups), finish)

    return Kernel(run, "fresh", finished=None if finish else partial(_free, convolve, groups))


def _bound(
    convolve: Convolution, groups: int, weights: Array, bias: Array | None, finish: Finish | None = None
) -> Kernel:
    """Reshape weights and bias for the product once."""
    shaped_weights = np.ascontiguousarray(_shaped(weights, groups))
    shaped_bias = None if bias is None else _shaped_bias(bias, weights, groups)

    def run(x: Array) -> Array:
        return convolve(x, shaped_weights, shaped_bias, finish)

    def scaled(affine: Affine) -> Kernel | None:
        both = absorb(weights, bias, affine)
        return None if both is None else _bound(convolve, groups, *both)

    if finish is not None:
        return Kernel(run, "fresh", uses=(0,))
    channels = Channels(weights.ndim, weights.shape[0], scaled)
    return Kernel(run, "fresh", (), (0,), channels, partial(_bound, convolve, groups, weights, bias))


@kernel("Conv")
def make_conv(node: Node) -> Kernel | None:
    """A convolution over any number of axes, with or without groups."""
    dtype, weights = node.dtype(), node.inputs[1]
    if dtype not in (np.float32, np.float64) or node.dtype(1) != dtype or weights is None or weights.shape is None:
        return None
    groups = node.get("group", 1)
    if not all(isinstance(size, int) for size in weights.shape[2:]):
        return _of_any_weights(node, groups, dtype.itemsize)
    placed = windows(node, weights.shape[2:])
    return None if placed is None else _placed(node, placed, groups, dtype.itemsize)


def _of_any_weights(node: Node, groups: int, itemsize: int) -> Kernel:
    """Windows whose size is known only when the weights are passed."""

    @lru_cache(_PLANS)
    def kernel_of(window: tuple[int, ...]) -> Kernel:
        placed = windows(node, window)
        if placed is None:
            raise ValueError(f"the attributes of the windows do not fit weights of {window}")
        return _placed(node, placed, groups, itemsize)

    return Kernel(lambda x, w, *b: kernel_of(w.shape[2:]).function(x, w, *b), "fresh")


def _placed(node: Node, placed: Windows, groups: int, itemsize: int) -> Kernel:
    plain = all(n == 1 for n in (*placed.kernel, *placed.strides)) and not any(placed.pads)
    make = _pointwise if plain else _windowed
    convolve = make(placed, groups, itemsize)
    kernel_weights, bias = node.constant(1), node.constant(2)
    if kernel_weights is None or (node.has(2) and bias is None):
        return _free(convolve, groups)
    return _bound(convolve, groups, kernel_weights, bias)
