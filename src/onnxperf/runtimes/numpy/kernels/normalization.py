"""Normalizations: by bound statistics, or by those of the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import Affine, Array, Channels, DType, Finish, Kernel, Node, kernel
from onnxperf.runtimes.numpy.kernels.absorb import absorb
from onnxperf.runtimes.numpy.kernels.reduce import add
from onnxperf.runtimes.numpy.kernels.workspace import WORKSPACE


def _per_channel(values: Any, rank: int) -> Any:
    return values.reshape((-1,) + (1,) * (rank - 2))


_BLOCK_ELEMENTS = 1 << 16
"""Elements that are scaled, shifted and finished at a time, so that they stay in the cache."""


def _channels(x: Array) -> int:
    return x.shape[1] if x.ndim > 1 else 1


def _check_lengths(channels: int, *vectors: Array) -> None:
    """Vectors of another length, even of one element, would be broadcast."""
    if any(vector.shape != (channels,) for vector in vectors):
        raise ValueError(f"{channels} channels need vectors of that length, not {[v.shape for v in vectors]}")


def _is_inference(node: Node) -> bool:
    return not node.get("training_mode", 0) and bool(node.get("spatial", 1)) and node.output_count == 1


def _affine(epsilon: float, scale: Any, bias: Any, mean: Any, variance: Any) -> Affine:
    """In double precision: factors and shifts are small, and only their rounded values reach the data."""
    factor = np.asarray(scale, np.float64) / np.sqrt(np.asarray(variance, np.float64) + epsilon)
    return Affine(factor, bias - mean * factor)


def affine_of_statistics(node: Node) -> Affine | None:
    """The effect of a BatchNormalization on its channels, if that never changes."""
    statistics = [node.constant(i) for i in range(1, 5)]
    if not _is_inference(node) or any(values is None for values in statistics):
        return None
    with np.errstate(all="ignore"):
        return _affine(node.get("epsilon", 1e-5), *statistics)


@kernel("BatchNormalization", since=7)
def make_batch_normalization(node: Node) -> Kernel | None:
    """x * a + b per channel, at inference; a and b are bound if the statistics are constant."""
    dtype, rank = node.dtype(), node.rank()
    if dtype is None or dtype.kind != "f" or not rank or not _is_inference(node):
        return None
    epsilon = node.get("epsilon", 1e-5)

    def normalise(x: Array, scale: Array, bias: Array, mean: Array, variance: Array, out: Array | None = None) -> Any:
        _check_lengths(_channels(x), scale, bias, mean, variance)
        factor, shift = _affine(epsilon, scale, bias, mean, variance)
        y = np.multiply(x, _per_channel(factor.astype(dtype), rank), out)
        y += _per_channel(shift.astype(dtype), rank)
        return y

    affine = affine_of_statistics(node)
    if affine is not None:
        _check_lengths(len(affine.factor), *(node.constant(i) for i in range(1, 5)))
    return Kernel(normalise, "fresh", (0,)) if affine is None else _bound(affine, dtype, rank)


def _parts(shape: tuple[int, ...]) -> Iterator[tuple[slice | int, slice]]:
    """Images and channels of parts that fit into the cache."""
    images, channels = shape[:2]
    image = math.prod(shape[1:])
    if image <= _BLOCK_ELEMENTS:
        together = _BLOCK_ELEMENTS // image
        yield from ((slice(start, start + together), slice(None)) for start in range(0, images, together))
    else:
        step = max(1, _BLOCK_ELEMENTS * channels // image)
        starts = range(0, channels, step)
        yield from ((index, slice(start, start + step)) for index in range(images) for start in starts)


def _bound(affine: Affine, dtype: DType, rank: int, finish: Finish | None = None) -> Kernel:
    """Scale, shift and finish, part by part if the whole exceeds the cache."""
    factor, shift = (_per_channel(vector.astype(dtype), rank) for vector in affine)
    count = len(affine.factor)

    def whole(x: Array, a: Array, b: Array, out: Array | None) -> Any:
        y = np.multiply(x, a, out)
        y += b
        if finish is not None:
            finish(y, y)
        return y

    def normalise(x: Array, out: Array | None = None) -> Any:
        if (x.shape[1] if rank > 1 else 1) != count:
            _check_lengths(_channels(x), *affine)
        if x.size <= _BLOCK_ELEMENTS or rank < 2:
            return whole(x, factor, shift, out)
        result = np.empty(x.shape, dtype) if out is None else out
        for part in _parts(x.shape):
            whole(x[part], factor[part[1]], shift[part[1]], result[part])
        return result

    def scaled(more: Affine) -> Kernel | None:
        both = absorb(affine.factor.astype(dtype), affine.shift, more)
        return None if both is None else _bound(Affine(*both), dtype, rank)

    if finish is not None or rank < 2:
        return Kernel(normalise, "fresh", (0,), (0,))
    channels = Channels(rank, len(factor), scaled)
    return Kernel(normalise, "fresh", (0,), (0,), channels, lambda function: _bound(affine, dtype, rank, function))


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    total = add(x, axes, None, None, True)
    total /= x.dtype.type(x.size / (total.size or 1))
    return total


def _inverse_deviation(variance: Array, epsilon: Any) -> Array:
    """1 / sqrt(variance + epsilon), in the memory of the variance."""
    variance += epsilon
    np.sqrt(variance, variance)
    return np.reciprocal(variance, variance)


def _mean_square(x: Array, axes: tuple[int, ...]) -> Array:
    if axes != (-1,):
        return _mean(np.square(x), axes)
    # Multiplying rows by themselves needs no memory for the squares.
    total = (x[..., None, :] @ x[..., :, None])[..., 0]
    total /= x.dtype.type(x.shape[-1] or 1)
    return total


def _precision(node: Node) -> tuple[DType, DType] | None:
    """Type of the data and of its statistics: small floats are normalized in single precision."""
    dtype = node.dtype()
    if dtype is None or dtype.kind != "f" or dtype.isbuiltin != 1 or node.get("stash_type", 1) != 1:
        return None
    return dtype, np.dtype(np.float32) if dtype == np.float16 else dtype


def _trailing_axes(node: Node) -> tuple[int, ...] | None:
    axis, rank = node.get("axis", -1), node.rank()
    if not rank:
        return None
    return tuple(range(axis - rank if axis >= 0 else axis, 0))


@kernel("LayerNormalization", since=17)
def make_layer_normalization(node: Node) -> Kernel | None:
    """Mean 0 and variance 1 over the last axes, then a scale and a bias."""
    precision, axes = _precision(node), _trailing_axes(node)
    if precision is None or axes is None:
        return None
    dtype, stash = precision
    epsilon, count, cast = stash.type(node.get("epsilon", 1e-5)), node.output_count, dtype != stash

    def normalise(x: Array, scale: Array, bias: Array | None = None) -> Any:
        if cast:
            x = x.astype(stash)
        mean = _mean(x, axes)
        y = x - mean
        inverse = _inverse_deviation(_mean_square(y, axes), epsilon)
        y *= inverse
        y *= scale
        if bias is not None:
            y += bias
        if cast:
            y = y.astype(dtype)
        return y if count == 1 else (y, mean, inverse)[:count]

    return Kernel(normalise, "fresh")


@kernel("RMSNormalization", since=23)
def make_rms_normalization(node: Node) -> Kernel | None:
    """A mean square of 1 over the last axes, then a scale."""
    precision, axes = _precision(node), _trailing_axes(node)
    if precision is None or axes is None or node.dtype(1) != node.dtype():
        return None
    dtype, stash = precision
    epsilon, cast = stash.type(node.get("epsilon", 1e-5)), dtype != stash

    def normalise(x: Array, scale: Array) -> Array:
        if cast:
            x = x.astype(stash)
        y = x * _inverse_deviation(_mean_square(x, axes), epsilon)
        y *= scale
        return y.astype(dtype) if cast else y

    return Kernel(normalise, "fresh")


def _grouped(node: Node, groups: int | None, expand: Callable[[Array, int], Array]) -> Kernel | None:
    """Mean 0 and variance 1 per sample and group of channels, then a scale and a bias per channel."""
    precision, rank = _precision(node), node.rank()
    if precision is None or rank is None or rank < 3:
        return None
    dtype, stash = precision
    epsilon, cast = stash.type(node.get("epsilon", 1e-5)), dtype != stash

    def normalise(x: Array, scale: Array, bias: Array) -> Array:
        shape = x.shape
        scale, bias = expand(scale, shape[1]), expand(bias, shape[1])
        _check_lengths(shape[1], scale, bias)
        x = x.reshape(shape[0], shape[1] if groups is None else groups, -1)
        if cast:
            x = x.astype(stash)
        y = x - _mean(x, (-1,))
        y *= _inverse_deviation(_mean_square(y, (-1,)), epsilon)
        y = y.reshape(shape)
        y *= _per_channel(scale, rank)
        y += _per_channel(bias, rank)
        return y.astype(dtype) if cast else y

    return Kernel(normalise, "fresh")


@kernel("InstanceNormalization", since=6)
def make_instance_normalization(node: Node) -> Kernel | None:
    """Every channel of every sample separately."""
    return _grouped(node, None, lambda values, _: values)


@kernel("GroupNormalization", since=18)
def make_group_normalization_per_group(node: Node) -> Kernel | None:
    """Groups of channels; the scale and the bias are given per group."""
    groups = node.get("num_groups")
    return _grouped(node, groups, lambda values, channels: np.repeat(values, channels // groups))


@kernel("GroupNormalization", since=21)
def make_group_normalization(node: Node) -> Kernel | None:
    """Groups of channels; the scale and the bias are given per channel."""
    return _grouped(node, node.get("num_groups"), lambda values, _: values)


_NORMS: dict[int, Callable[[Array, int], Array]] = {
    1: lambda x, axis: add(np.abs(x), axis, None, None, True),
    2: lambda x, axis: np.sqrt(add(np.square(x), axis, None, None, True)),
}


@kernel("LpNormalization")
def make_lp_normalization(node: Node) -> Kernel | None:
    """A norm of 1 along an axis; vectors of norm 0 stay 0."""
    norm, axis = _NORMS.get(node.get("p", 2)), node.get("axis", -1)
    if norm is None or node.kind() != "f" or not node.rank():
        return None

    def normalise(x: Array) -> Array:
        size = norm(x, axis)
        size[size == 0] = 1
        return x / size

    return Kernel(normalise, "fresh")


@kernel("MeanVarianceNormalization", since=9)
def make_mean_variance_normalization(node: Node) -> Kernel | None:
    """Mean 0 and variance 1 over given axes."""
    axes, dtype = tuple(node.get("axes", (0, 2, 3))), node.dtype()
    if dtype is None or dtype.kind != "f" or dtype == np.float16 or not node.rank():
        return None
    epsilon = dtype.type(1e-9)

    def normalise(x: Array) -> Array:
        y = x - _mean(x, axes)
        deviation = np.sqrt(_mean_square(y, axes))
        deviation += epsilon
        y /= deviation
        return y

    return Kernel(normalise, "fresh")


def _power(beta: float) -> Callable[[Array, Array], Array]:
    """x to the power of beta, in its memory; the usual 0.75 needs two square roots instead, and more memory."""
    if beta != 0.75:
        return lambda x, _: np.power(x, x.dtype.type(beta), x)

    def three_quarters(x: Array, memory: Array) -> Array:
        root = np.sqrt(x, memory)
        np.sqrt(root, x)
        return np.multiply(x, root, x)

    return three_quarters


_LRN_ELEMENTS = 1 << 16


@kernel("LRN")
def make_lrn(node: Node) -> Kernel | None:
    """Every element divided by the energy of its neighboring channels."""
    dtype = node.dtype()
    if dtype is None or dtype.kind != "f":
        return None
    size, power = node.get("size"), _power(round(node.get("beta", 0.75), 7))
    alpha, bias = dtype.type(node.get("alpha", 1e-4) / size), dtype.type(node.get("bias", 1.0))
    before, after = (size - 1) // 2, size // 2

    def energies(x: Array, squares: Array, energy: Array) -> Array:
        np.square(x, squares)
        squares *= alpha
        np.add(squares, bias, energy)
        # Shifted sums stay exact; differences of cumulative sums would lose digits.
        for shift in range(1, min(before, x.shape[1] - 1) + 1):
            energy[:, shift:] += squares[:, :-shift]
        for shift in range(1, min(after, x.shape[1] - 1) + 1):
            energy[:, :-shift] += squares[:, shift:]
        return power(energy, squares)

    def normalise(x: Array) -> Array:
        images, channels = x.shape[:2]
        flat = x.reshape(images, channels, -1)
        result = np.empty(flat.shape, dtype)
        # Positions are independent: processing a part at a time keeps temporaries small and in the cache.
        step = max(1, _LRN_ELEMENTS // max(1, images * channels))
        memory = WORKSPACE.lend(2 * images * channels * step * dtype.itemsize)
        for start in range(0, flat.shape[2], step):
            part = flat[:, :, start : start + step]
            halves = memory[: 2 * part.size * dtype.itemsize].view(dtype).reshape(2, *part.shape)
            np.divide(part, energies(part, *halves), result[:, :, start : start + step])
        WORKSPACE.take_back(memory)
        return result.reshape(x.shape)

    return Kernel(normalise, "fresh")
