"""Transposed convolutions: each position of the window adds a matrix product to the result."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onnxperf.runtimes.numpy.base import Array, Kernel, Node, kernel
from onnxperf.runtimes.numpy.kernels.windows import Axis


class _Placement(NamedTuple):
    """The attributes; empty ones have their defaults."""

    strides: Sequence[int]
    dilations: Sequence[int]
    pads: Sequence[int]
    extra: Sequence[int]
    """`output_padding`: additional elements at the end of the result."""
    sizes: Sequence[int]
    """`output_shape`, which determines the padding."""
    auto_pad: str

    def axes(self, sizes: Sequence[int], kernel: Sequence[int]) -> list[Axis]:
        """Windows over the result, one per element of an input of these sizes."""
        rank = len(sizes)
        if len(kernel) != rank or any(len(each) not in (0, rank) for each in self[:2]):
            raise ValueError(f"strides, dilations or a window of shape {tuple(kernel)} do not fit {rank} axes")
        return [self._axis(i, size, kernel[i], rank) for i, size in enumerate(sizes)]

    def _axis(self, i: int, size: int, kernel: int, rank: int) -> Axis:
        stride, dilation = (each[i] if each else 1 for each in self[:2])
        whole = (size - 1) * stride + (kernel - 1) * dilation + 1 + (self.extra[i] if self.extra else 0)
        wanted = self.sizes[len(self.sizes) - rank + i] if self.sizes else None
        if wanted is None and self.auto_pad.startswith("SAME"):
            wanted = size * stride
        if wanted is None:
            begin, end = (self.pads[i], self.pads[rank + i]) if self.pads and self.auto_pad == "NOTSET" else (0, 0)
            return Axis(whole - begin - end, size, begin, end, kernel, stride, dilation)
        total = max(0, whole - wanted)
        begin = total // 2 if self.auto_pad == "SAME_UPPER" else total - total // 2
        result = wanted if self.sizes else whole - total
        return Axis(result, size, begin, total - begin, kernel, stride, dilation)


def _placement(node: Node) -> _Placement:
    names = ("strides", "dilations", "pads", "output_padding", "output_shape")
    strides, dilations, pads, extra, sizes = (node.get(name) or () for name in names)
    return _Placement(strides, dilations, pads, extra, sizes, node.get("auto_pad") or "NOTSET")


@kernel("ConvTranspose")
def make_conv_transpose(node: Node) -> Kernel | None:
    """The gradient of a convolution, over any number of axes, with or without groups."""
    dtype = node.dtype()
    if dtype is None or dtype.kind != "f" or dtype.isbuiltin != 1:
        return None
    placed, groups, declared = _placement(node), node.get("group", 1), node.get("kernel_shape")
    stash = np.dtype(np.float32) if dtype == np.float16 else dtype

    def transpose(x: Array, w: Array, b: Array | None = None) -> Array:
        images, channels, *sizes = x.shape
        inner, filters, *window = w.shape
        if declared and window != declared:
            raise ValueError(f"kernel_shape is {declared}, but weights have the shape {w.shape}")
        if inner != channels or (b is not None and b.shape != (groups * filters,)):
            raise ValueError(f"weights of shape {w.shape} or their bias do not fit {channels} channels")
        x, w = x.astype(stash, copy=False), w.astype(stash, copy=False)
        taps = w.reshape(groups, channels // groups, filters, -1).transpose(3, 0, 2, 1)
        axes = placed.axes(sizes, window)
        result = np.zeros((images, groups * filters, *(axis.size for axis in axes)), stash)
        columns = x.reshape(images, groups, channels // groups, -1)
        for tap, offsets in zip(taps, itertools.product(*map(range, window)), strict=True):
            added = np.matmul(tap, columns).reshape(images, groups * filters, *sizes)
            where, seen = zip(*map(Axis.valid, axes, offsets), strict=True)
            part = result[(slice(None), slice(None), *seen)]
            part += added[(slice(None), slice(None), *where)]
        if b is not None:
            result += b.reshape(-1, *[1] * len(axes))
        return result.astype(dtype, copy=False)

    return Kernel(transpose, "fresh")
