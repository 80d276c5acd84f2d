"""Margins around a tensor, or cropping if they are negative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import PLAIN_KINDS, Array, Kernel, Node, kernel

Widths = Sequence[tuple[int, int]]
"""Elements before and after, per axis."""


def _widths(pads: Sequence[int], axes: Sequence[int] | None, rank: int) -> list[tuple[int, int]]:
    chosen, half = range(rank) if axes is None else axes, len(pads) // 2
    if len(pads) != 2 * len(chosen):
        raise ValueError(f"{len(pads)} pads do not fit {len(chosen)} axes")
    widths = [(0, 0)] * rank
    for i, axis in enumerate(chosen):
        widths[axis] = (pads[i], pads[half + i])
    return widths


def _pad_constant(x: Array, widths: Widths, value: Any) -> Array:
    y = np.empty([before + size + after for size, (before, after) in zip(x.shape, widths, strict=True)], x.dtype)
    y.fill(value)
    kept = [(max(0, -before), size + min(0, after)) for size, (before, after) in zip(x.shape, widths, strict=True)]
    if all(start < stop for start, stop in kept):
        places = [slice(a + before, b + before) for (a, b), (before, _) in zip(kept, widths, strict=True)]
        y[tuple(places)] = x[tuple(slice(start, stop) for start, stop in kept)]
    return y


def _pad_other(mode: Any) -> Callable[[Array, Widths, Any], Array]:
    """Cropped elements are not seen by the added ones."""

    def pad(x: Array, widths: Widths, _: Any) -> Array:
        if min(map(min, widths), default=0) < 0:
            cut = zip(x.shape, widths, strict=True)
            x = x[tuple(slice(max(0, -before), max(0, size + min(0, after))) for size, (before, after) in cut)]
            widths = [(max(0, before), max(0, after)) for before, after in widths]
        return np.pad(x, widths, mode)

    return pad


def _padding(node: Node) -> Callable[[Array, Widths, Any], Array]:
    mode = node.get("mode", "constant")
    return _pad_constant if mode == "constant" else _pad_other(mode)


@kernel("Pad", since=2)
def make_pad_attribute(node: Node) -> Kernel | None:
    """Margins given as attributes."""
    if node.kind() not in PLAIN_KINDS:
        return None
    pads, value, pad = node.get("pads"), node.get("value", 0.0), _padding(node)
    return Kernel(lambda x: pad(x, _widths(pads, None, x.ndim), value), "fresh")


@kernel("Pad", since=11)
def make_pad(node: Node) -> Kernel | None:
    """Margins given as inputs."""
    if node.kind() not in PLAIN_KINDS:
        return None
    rank, pad = node.rank(), _padding(node)
    pads, filler, axes = (node.constant(i) for i in (1, 2, 3))

    def run(x: Array, pads: Any, value: Any = None, axes: Any = None) -> Array:
        widths = _widths(pads.tolist(), None if axes is None else axes.tolist(), x.ndim)
        return pad(x, widths, 0 if value is None else value.item())

    if rank is None or pads is None or (node.has(2) and filler is None) or (node.has(3) and axes is None):
        return Kernel(run, "fresh")
    widths = _widths(pads.tolist(), None if axes is None else axes.tolist(), rank)
    value = 0 if filler is None else filler.item()
    return Kernel(lambda x: pad(x, widths, value), "fresh", uses=(0,))
