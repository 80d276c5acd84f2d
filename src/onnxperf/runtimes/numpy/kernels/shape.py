"""Shapes and layout: the same elements viewed, rearranged, repeated or cast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from onnx.helper import tensor_dtype_to_np_dtype

from onnxperf.runtimes.numpy.base import PLAIN_KINDS, Array, DType, Kernel, Node, kernel

Index = tuple[Any, ...]

ALL = slice(None)


def index_at(axis: int, item: Any) -> Index:
    """The index that applies an item to one axis, whatever the rank."""
    return (ALL,) * axis + (item,) if axis >= 0 else (..., item) + (ALL,) * (-axis - 1)


@kernel("Reshape", since=5)
def make_reshape(node: Node) -> Kernel:
    """Another shape for the same elements; 0 copies a size unless `allowzero` is set."""
    copies = not node.get("allowzero", 0)

    def resolved(shape: Sequence[int], sizes: Sequence[int]) -> list[int]:
        return [sizes[i] if size == 0 else size for i, size in enumerate(shape)]

    def reshape(x: Array, shape: Any) -> Array:
        wanted = shape.tolist()
        return x.reshape(resolved(wanted, x.shape) if copies and 0 in wanted else wanted)

    constant = node.constant(1)
    if constant is None:
        return Kernel(reshape, "view")
    bound = tuple(constant.tolist())
    if copies and 0 in bound:
        return Kernel(lambda x: x.reshape(resolved(bound, x.shape)), "view", uses=(0,))
    return Kernel(lambda x: x.reshape(bound), "view", uses=(0,))


@kernel("Flatten")
def make_flatten(node: Node) -> Kernel:
    """A matrix: axes before `axis` are rows, all others are columns."""
    axis = node.get("axis", 1)

    def flatten(x: Array) -> Array:
        shape = x.shape
        return x.reshape(prod(shape[:axis]), prod(shape[axis:]))

    return Kernel(flatten, "view")


@kernel("Transpose")
def make_transpose(node: Node) -> Kernel:
    """Axes in another order, reversed by default."""
    permutation = node.get("perm")
    if permutation is None:
        return Kernel(lambda x: x.T, "view")
    return Kernel(lambda x: x.transpose(permutation), "view")


def _squeeze(axes: Sequence[int] | None) -> Kernel:
    chosen = None if axes is None else tuple(axes)
    return Kernel(lambda x: x.squeeze(chosen), "view", uses=(0,))


def _unsqueeze(axes: Sequence[int], rank: int | None) -> Kernel:
    if min(axes, default=0) < 0:
        if rank is None:
            chosen = tuple(axes)
            return Kernel(lambda x: np.expand_dims(x, chosen), "view", uses=(0,))
        axes = [axis % (rank + len(axes)) for axis in axes]
    index = tuple(None if i in axes else ALL for i in range(max(axes, default=-1) + 1))
    return Kernel(lambda x: x[index], "view", uses=(0,))


@kernel("Squeeze")
def make_squeeze_attribute(node: Node) -> Kernel:
    """Axes of size 1 removed."""
    return _squeeze(node.get("axes"))


@kernel("Squeeze", since=13)
def make_squeeze(node: Node) -> Kernel:
    """Axes of size 1 removed; the axes are an input."""
    if not node.has(1):
        return _squeeze(None)
    axes = node.constant(1)
    if axes is None:
        return Kernel(lambda x, chosen: x.squeeze(tuple(chosen.tolist())), "view")
    return _squeeze(axes.reshape(-1).tolist())


@kernel("Unsqueeze")
def make_unsqueeze_attribute(node: Node) -> Kernel:
    """Axes of size 1 inserted."""
    return _unsqueeze(node.get("axes"), node.rank())


@kernel("Unsqueeze", since=13)
def make_unsqueeze(node: Node) -> Kernel:
    """Axes of size 1 inserted; the axes are an input."""
    axes = node.constant(1)
    if axes is None:
        return Kernel(lambda x, chosen: np.expand_dims(x, tuple(chosen.reshape(-1).tolist())), "view")
    return _unsqueeze(axes.reshape(-1).tolist(), node.rank())


@kernel("Concat")
def make_concat(node: Node) -> Kernel:
    """Tensors joined along an axis."""
    axis = node.get("axis", 1)
    concatenate = np.concatenate
    return Kernel(lambda *values: concatenate(values, axis), "fresh")


@kernel("Split", since=2)
def make_split(node: Node) -> Kernel | None:
    """Parts along an axis: of given sizes, or equal ones (the last may be smaller)."""
    axis, count, used = node.get("axis", 0), len(node.outputs), node.output_count
    given = node.get("split") if node.version < 13 else node.constant(1)

    def indices(sizes: Sequence[int]) -> list[Index]:
        ends = np.cumsum(sizes).tolist()
        return [index_at(axis, slice(end - size, end)) for size, end in zip(sizes[:used], ends, strict=False)]

    def parts(x: Array, chosen: list[Index]) -> Any:
        return x[chosen[0]] if used == 1 else tuple([x[index] for index in chosen])

    @lru_cache(maxsize=8)
    def equal(total: int) -> list[Index]:
        size = -(-total // count)
        return indices([size] * (count - 1) + [total - size * (count - 1)])

    if node.version >= 13 and node.has(1) and given is None:
        return Kernel(lambda x, sizes: parts(x, indices(sizes.tolist())), "view")
    if given is None:
        return Kernel(lambda x: parts(x, equal(x.shape[axis])), "view", uses=(0,))
    bound = indices([int(size) for size in given])
    return Kernel(lambda x: parts(x, bound), "view", uses=(0,))


def _slices(
    starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int], shape: Sequence[int | None]
) -> Index | None:
    """The index of a range per axis; None if that depends on an unknown size.

    Numpy clamps out-of-range bounds as ONNX requires, except a start before the first element of an axis that is read
    backward: ONNX then starts with that element.
    """
    index = [ALL] * len(shape)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size, first = shape[axis], start
        if step < 0 and start < -1:
            if size is None:
                return None
            first = max(start, -size)
        index[axis] = slice(first, end, step)
    return tuple(index)


@kernel("Slice")
def make_slice_attribute(node: Node) -> Kernel:
    """A range per axis, given as attributes."""
    starts, ends = node.get("starts"), node.get("ends")
    axes = node.get("axes") or range(len(starts))
    steps = [1] * len(starts)
    return Kernel(lambda x: x[_slices(starts, ends, axes, steps, x.shape)], "view")


@kernel("Slice", since=10)
def make_slice(node: Node) -> Kernel:
    """A range per axis, given as inputs."""

    def run(x: Array, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
        chosen = range(len(starts)) if axes is None else axes.tolist()
        strides = [1] * len(starts) if steps is None else steps.tolist()
        return x[_slices(starts.tolist(), ends.tolist(), chosen, strides, x.shape)]

    rank, given = node.rank(), [node.constant(i) for i in range(1, len(node.inputs)) if node.has(i)]
    if rank is None or any(values is None for values in given):
        return Kernel(run, "view")
    starts, ends = node.constant(1).tolist(), node.constant(2).tolist()
    axes = node.constant(3).tolist() if node.has(3) else range(len(starts))
    steps = node.constant(4).tolist() if node.has(4) else [1] * len(starts)
    index = _slices(starts, ends, axes, steps, [None] * rank)
    if index is None:
        return Kernel(lambda x: x[_slices(starts, ends, axes, steps, x.shape)], "view", uses=(0,))
    return Kernel(lambda x: x[index], "view", uses=(0,))


@kernel("Shape")
def make_shape(node: Node) -> Kernel:
    """The sizes of a tensor, or a range of them."""
    array, int64, chosen = np.array, np.int64, slice(node.get("start", 0), node.get("end"))
    return Kernel(lambda x: array(x.shape[chosen], int64), "fresh")


@kernel("Size")
def make_size(_node: Node) -> Kernel:
    """The number of elements."""
    int64 = np.int64
    return Kernel(lambda x: int64(x.size), "fresh")


def _filled(shape: Sequence[int], x: Array) -> Array:
    y = np.empty(shape, x.dtype)
    y[...] = x
    return y


@kernel("Expand", since=8)
def make_expand(node: Node) -> Kernel:
    """Broadcast in both directions; a copy, since later nodes are then faster and may overwrite it."""
    constant, rank = node.constant(1), node.rank()

    def expand(x: Array, shape: Sequence[int]) -> Array:
        return _filled(np.broadcast_shapes(x.shape, tuple(shape)), x)

    if constant is None:
        return Kernel(lambda x, shape: expand(x, shape.tolist()), "fresh")
    wanted = tuple(constant.tolist())
    if rank is not None and rank <= len(wanted) and 1 not in wanted:
        return Kernel(lambda x: _filled(wanted, x), "fresh", uses=(0,))
    return Kernel(lambda x: expand(x, wanted), "fresh", uses=(0,))


@kernel("Tile", since=6)
def make_tile(node: Node) -> Kernel:
    """A tensor repeated along every axis, in the longest possible contiguous pieces."""

    def tile(x: Array, repeats: Sequence[int]) -> Array:
        sizes = x.shape
        shape = [repeat * size for repeat, size in zip(repeats, sizes, strict=True)]
        if x.size == 0 or 0 in repeats:
            return np.empty(shape, x.dtype)
        y, length = x, x.size
        for repeat, size in zip(repeats, sizes, strict=True):
            if repeat != 1:
                y = y.reshape(-1, length).repeat(repeat, 0)
            length //= size
        return np.array(x) if y is x else y.reshape(shape)

    constant = node.constant(1)
    if constant is None:
        return Kernel(lambda x, repeats: tile(x, repeats.tolist()), "fresh")
    bound = constant.tolist()
    return Kernel(lambda x: tile(x, bound), "fresh", uses=(0,))


@kernel("Cast", since=6)
def make_cast(node: Node) -> Kernel | None:
    """A cast to another type, given as an attribute."""
    return _cast(node, np.dtype(tensor_dtype_to_np_dtype(node.get("to"))))


@kernel("CastLike", since=15)
def make_cast_like(node: Node) -> Kernel | None:
    """A cast to the type of another tensor."""
    return _cast(node, node.dtype(1))


def _is_plain(dtype: DType) -> bool:
    # One of ml_dtypes' types has the same kind as numpy's floats.
    return dtype.kind in PLAIN_KINDS and dtype.isbuiltin == 1


def _cast(node: Node, target: DType | None) -> Kernel | None:
    """Casts between numpy's own types; strings and small floats follow different rules."""
    source = node.dtype()
    if source is None or target is None or not (_is_plain(source) and _is_plain(target)):
        return None
    if source == target:
        return Kernel(lambda x: x, "view", uses=(0,))
    return Kernel(lambda x: x.astype(target), "fresh", uses=(0,))


@kernel("ConstantOfShape", since=9)
def make_constant_of_shape(node: Node) -> Kernel:
    """One value everywhere, 0 by default."""
    value = np.asarray(node.get("value", np.zeros(1, np.float32))).reshape(-1)[:1].reshape(())
    return Kernel(lambda shape: _filled(shape.tolist(), value), "fresh")


_CONSTANTS: dict[str, Callable[[Any], Any]] = {
    "value": lambda value: value,
    "sparse_value": lambda value: value,
    "value_float": lambda value: np.array(value, np.float32),
    "value_floats": lambda value: np.array(value, np.float32),
    "value_int": lambda value: np.array(value, np.int64),
    "value_ints": lambda value: np.array(value, np.int64),
}


@kernel("Constant")
def make_constant(node: Node) -> Kernel | None:
    """A value stored in the model."""
    given = next((name for name in _CONSTANTS if name in node.attributes), None)
    if given is None:
        return None
    constant = _CONSTANTS[given](node.attributes[given])
    return Kernel(lambda: constant, "view")


@kernel("Range", since=11)
def make_range(node: Node) -> Kernel | None:
    """Numbers from a start up to a limit, which is excluded."""
    dtype = node.dtype()
    if dtype is None or dtype.kind not in "fiu" or dtype == np.float16:
        return None
    arange = np.arange
    return Kernel(lambda start, limit, delta: arange(start.item(), limit.item(), delta.item()).astype(dtype), "fresh")


@kernel("Dropout", since=7)
def make_dropout(node: Node) -> Kernel | None:
    """The identity: nothing is dropped at inference."""
    training = node.version >= 12 and node.has(2)
    if training and (node.constant(2) is None or bool(node.constant(2))):
        return None
    if node.output_count > 1:
        return Kernel(lambda x: (x, np.ones(x.shape, bool)), "view", uses=(0,)) if node.version >= 10 else None
    return Kernel(lambda x: x, "view", uses=(0,))


@kernel("EyeLike", since=9)
def make_eye_like(node: Node) -> Kernel | None:
    """Ones on a diagonal."""
    given = node.get("dtype")
    dtype = node.dtype() if given is None else np.dtype(tensor_dtype_to_np_dtype(given))
    if dtype is None or dtype.kind not in PLAIN_KINDS:
        return None
    offset = node.get("k", 0)
    return Kernel(lambda x: np.eye(x.shape[0], x.shape[1], offset, dtype), "fresh")


@kernel("Trilu", since=14)
def make_trilu(node: Node) -> Kernel | None:
    """The upper or lower triangle of matrices."""
    if node.kind() not in PLAIN_KINDS:
        return None
    triangle = np.triu if node.get("upper", 1) else np.tril
    if not node.has(1):
        return Kernel(triangle, "fresh", uses=(0,))
    if node.constant(1) is None:
        return Kernel(lambda x, k: triangle(x, k.item()), "fresh")
    bound = node.constant(1).item()
    return Kernel(lambda x: triangle(x, bound), "fresh", uses=(0,))
