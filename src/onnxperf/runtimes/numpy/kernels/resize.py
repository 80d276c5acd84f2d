"""Resized images: interpolated one axis at a time, or channels traded for pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, isclose
from typing import Any, NamedTuple

import numpy as np

from onnxperf.runtimes.numpy.base import Array, DType, Kernel, Node, kernel

_PREPARED_SHAPES = 8
"""Number of shapes whose positions and weights are cached."""


class _Axis(NamedTuple):
    """One axis before and after; the scaled width may be fractional."""

    before: int
    after: int
    scale: float

    @property
    def width(self) -> float:
        return self.scale * self.before


def _half_pixel(y: Array, axis: _Axis) -> Array:
    return (y + 0.5) / axis.scale - 0.5


def _half_pixel_symmetric(y: Array, axis: _Axis) -> Array:
    # Summed in the order of the definition: rounding decides between two equally near pixels.
    return axis.before / 2 * (1 - axis.after / axis.width) + (y + 0.5) / axis.scale - 0.5


def _pytorch_half_pixel(y: Array, axis: _Axis) -> Array:
    return np.zeros(y.shape) if axis.after <= 1 else _half_pixel(y, axis)


def _align_corners(y: Array, axis: _Axis) -> Array:
    return np.zeros(y.shape) if axis.width == 1 else y * (axis.before - 1) / (axis.width - 1)


_POSITIONS: dict[str, Callable[[Array, _Axis], Array]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": lambda y, axis: y / axis.scale,
    "tf_half_pixel_for_nn": lambda y, axis: (y + 0.5) / axis.scale,
}
_NEAREST: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _triangle(distance: Array) -> Any:
    return np.clip(1 - distance, 0, 1)


def _cubic(a: float) -> Callable[[Array], Array]:
    def weights(distance: Array) -> Array:
        near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        return np.where(distance <= 1, near, np.where(distance < 2, far, 0))

    return weights


class _Taps(NamedTuple):
    """Where to read and what to multiply with, per output position; without weights there is one place to read."""

    axis: int
    positions: list[Array]
    weights: list[Array] | None


Prepare = Callable[[int, int, _Axis], _Taps]
"""Takes the axis, the rank and the sizes."""


def _nearest(node: Node, positions: Callable[[Array, _Axis], Array], mode: str) -> Prepare:
    rounding = _NEAREST[node.get("nearest_mode", mode)]

    def prepare(axis: int, rank: int, sizes: _Axis) -> _Taps:
        del rank
        chosen = rounding(positions(np.arange(sizes.after, dtype=np.float64), sizes))
        return _Taps(axis, [np.clip(chosen, 0, sizes.before - 1).astype(np.intp)], None)

    return prepare


def _weighted(node: Node, positions: Callable[[Array, _Axis], Array], dtype: DType) -> Prepare:
    linear = node.get("mode") == "linear"
    reach, probe = (1, _triangle) if linear else (2, _cubic(node.get("cubic_coeff_a", -0.75)))
    antialias, exclude = bool(node.get("antialias", 0)), bool(node.get("exclude_outside", 0))

    def prepare(axis: int, rank: int, sizes: _Axis) -> _Taps:
        source = positions(np.arange(sizes.after, dtype=np.float64), sizes)
        stretch = min(sizes.scale, 1.0) if antialias else 1.0
        first = floor(-reach / stretch) + 1
        taps = np.ceil(source)[:, None] - 1 + np.arange(first, 2 - first)
        weights = probe(np.abs(taps - source[:, None]) * stretch)
        if exclude:
            weights[(taps < 0) | (taps >= sizes.before)] = 0
        if exclude or antialias:
            weights /= weights.sum(1, keepdims=True)
        clamped = np.clip(taps, 0, sizes.before - 1).astype(np.intp)
        column = (-1,) + (1,) * (rank - axis - 1)
        return _Taps(axis, list(clamped.T.copy()), [w.reshape(column) for w in weights.T.astype(dtype)])

    return prepare


def _applied(x: Array, taps: _Taps) -> Array:
    y = x.take(taps.positions[0], taps.axis)
    if taps.weights is None:
        return y
    y *= taps.weights[0]
    for position, weight in zip(taps.positions[1:], taps.weights[1:], strict=True):
        part = x.take(position, taps.axis)
        part *= weight
        y += part
    return y


Sizes = Callable[[Sequence[int], Sequence[float]], list[tuple[int, _Axis]]]
"""Turns a shape and scales or sizes into the resized axes."""


def _by_scales(axes: Sequence[int] | None) -> Sizes:
    def sizes(shape: Sequence[int], scales: Sequence[float]) -> list[tuple[int, _Axis]]:
        chosen = range(len(shape)) if axes is None else [axis % len(shape) for axis in axes]
        # Scales are in single precision, and sizes are rounded down after a product in single precision.
        lengths = [int(np.float32(shape[a]) * np.float32(s)) for a, s in zip(chosen, scales, strict=True)]
        return [(a, _Axis(shape[a], n, s)) for a, n, s in zip(chosen, lengths, scales, strict=True)]

    return sizes


_POLICIES: dict[str, Callable[[list[float]], float] | None] = {"stretch": None, "not_larger": min, "not_smaller": max}


def _by_sizes(axes: Sequence[int] | None, policy: Callable[[list[float]], float] | None) -> Sizes:
    def sizes(shape: Sequence[int], wanted: Sequence[float]) -> list[tuple[int, _Axis]]:
        chosen = range(len(shape)) if axes is None else [axis % len(shape) for axis in axes]
        scales = [size / shape[axis] for axis, size in zip(chosen, wanted, strict=True)]
        if policy is None:
            return [(a, _Axis(shape[a], int(n), s)) for a, n, s in zip(chosen, wanted, scales, strict=True)]
        scale = policy(scales)
        return [(a, _Axis(shape[a], int(scale * shape[a] + 0.5), scale)) for a in chosen]

    return sizes


def _resize(prepare: Prepare, sizes: Sizes, stash: DType | None) -> Callable[[Array, Sequence[float]], Array]:
    prepared: dict[tuple[Any, ...], list[_Taps]] = {}

    def plan(shape: tuple[int, ...], wanted: Sequence[float]) -> list[_Taps]:
        changed = [
            (axis, each)
            for axis, each in sizes(shape, wanted)
            if each.after != each.before or not isclose(each.scale, 1)
        ]
        # Shrinking axes come first: this leaves less work for the others.
        return [prepare(axis, len(shape), each) for axis, each in sorted(changed, key=lambda pair: pair[1].scale)]

    def resize(x: Array, wanted: Sequence[float]) -> Array:
        key = (x.shape, *wanted)
        if key not in prepared:
            if len(prepared) >= _PREPARED_SHAPES:
                prepared.clear()
            prepared[key] = plan(x.shape, wanted)
        y = x if stash is None else x.astype(stash)
        for taps in prepared[key]:
            y = _applied(y, taps)
        if stash is not None:
            return y.astype(x.dtype)
        return x.copy() if y is x else y

    return resize


def _make(node: Node, where: str, rounding: str, sizes: Sizes, source: int) -> Kernel | None:
    """A kernel that reads scales or sizes from an input, bound if it is constant."""
    dtype, mode = node.dtype(), node.get("mode", "nearest")
    positions = _POSITIONS.get(node.get("coordinate_transformation_mode", where))
    if dtype is None or positions is None or (mode != "nearest" and (dtype.kind != "f" or dtype.isbuiltin != 1)):
        return None
    stash = np.dtype(np.float32) if mode != "nearest" and dtype == np.float16 else None
    prepare = _nearest(node, positions, rounding) if mode == "nearest" else _weighted(node, positions, stash or dtype)
    resize = _resize(prepare, sizes, stash)
    constant = node.get("scales") if source == 0 else node.constant(source)
    if constant is None:
        return Kernel(lambda x, wanted: resize(x, wanted.tolist()), "fresh", uses=(0, source))
    bound = tuple(np.asarray(constant).tolist())
    return Kernel(lambda x: resize(x, bound), "fresh", uses=(0,))


@kernel("Upsample", since=7)
def make_upsample_attribute(node: Node) -> Kernel | None:
    """Enlarged by scales given as an attribute."""
    return _make(node, "asymmetric", "floor", _by_scales(None), 0)


@kernel("Upsample", since=9)
@kernel("Resize", since=10)
def make_resize_by_scales(node: Node) -> Kernel | None:
    """Enlarged or reduced by scales given as the second input."""
    return _make(node, "asymmetric", "floor", _by_scales(None), 1)


@kernel("Resize", since=11)
def make_resize(node: Node) -> Kernel | None:
    """Enlarged or reduced by scales, or to sizes; a region of interest is left to the fallback."""
    axes = node.get("axes")
    scales = node.inputs[2] if node.has(2) else None
    if scales is not None and not (node.has(3) and scales.shape == (0,)):
        return _make(node, "half_pixel", "round_prefer_floor", _by_scales(axes), 2)
    policy = _POLICIES[node.get("keep_aspect_ratio_policy", "stretch")]
    return _make(node, "half_pixel", "round_prefer_floor", _by_sizes(axes, policy), 3)


def _depth_to_space(x: Array, size: int, order: Sequence[int]) -> Array:
    n, c, h, w = x.shape
    shape = (n, size, size, c // size**2, h, w) if order[1] == 3 else (n, c // size**2, size, size, h, w)
    return x.reshape(shape).transpose(order).reshape(n, c // size**2, h * size, w * size)


@kernel("DepthToSpace")
def make_depth_to_space(node: Node) -> Kernel:
    """Blocks of channels become blocks of pixels."""
    size = node.get("blocksize")
    order = (0, 3, 4, 1, 5, 2) if node.get("mode", "DCR") == "DCR" else (0, 1, 4, 2, 5, 3)
    return Kernel(lambda x: _depth_to_space(x, size, order), "view")


@kernel("SpaceToDepth")
def make_space_to_depth(node: Node) -> Kernel:
    """Blocks of pixels become blocks of channels."""
    size = node.get("blocksize")
    order = (0, 3, 5, 1, 2, 4) if node.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)

    def space_to_depth(x: Array) -> Array:
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // size, size, w // size, size).transpose(order)
        return blocks.reshape(n, c * size**2, h // size, w // size)

    return Kernel(space_to_depth, "view")
