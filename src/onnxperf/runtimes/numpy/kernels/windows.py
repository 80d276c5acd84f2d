"""Positions of sliding windows: sizes of results and padding, for convolutions and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from onnxperf.runtimes.numpy.base import Node


class Axis(NamedTuple):
    """Windows along one axis of an input."""

    size: int
    windows: int
    """The number of windows: the size of the result."""
    begin: int
    """Padding before the first element."""
    end: int
    """Padding after the last one, as declared (the last window may reach further if sizes are rounded up)."""
    kernel: int
    stride: int
    dilation: int

    def valid(self, offset: int) -> tuple[slice, slice]:
        """For one position within the windows: windows where it is not padding, and the elements it sees there."""
        shift = offset * self.dilation - self.begin
        first = max(0, -(shift // self.stride))
        last = min(self.windows - 1, (self.size - 1 - shift) // self.stride)
        start = first * self.stride + shift
        if last < first:
            return slice(0, 0), slice(0, 0)
        return slice(first, last + 1), slice(start, last * self.stride + shift + 1, self.stride)


class Windows(NamedTuple):
    """The attributes shared by convolutions and pooling."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    auto_pad: str
    ceil: bool

    def axes(self, sizes: Sequence[int]) -> tuple[Axis, ...]:
        """Windows over an input of these sizes."""
        return tuple(self._axis(i, size) for i, size in enumerate(sizes))

    def _axis(self, i: int, size: int) -> Axis:
        kernel, stride, dilation = self.kernel[i], self.strides[i], self.dilations[i]
        extent = (kernel - 1) * dilation + 1
        if self.auto_pad.startswith("SAME"):
            count = -(-size // stride)
            total = max(0, (count - 1) * stride + extent - size)
            begin = (total + 1) // 2 if self.auto_pad == "SAME_LOWER" else total // 2
            return Axis(size, count, begin, total - begin, kernel, stride, dilation)
        begin, end = self.pads[i], self.pads[i + len(self.kernel)]
        room = size + begin + end - extent
        ceil = self.ceil and self.auto_pad != "VALID"
        count = (-(-room // stride) if ceil else room // stride) + 1
        if ceil and (count - 1) * stride >= size + begin:
            count -= 1  # the last window must start inside the input or its padding at the left
        return Axis(size, max(count, 0), begin, end, kernel, stride, dilation)


def windows(node: Node, kernel: Sequence[int | str | None] | None = None) -> Windows | None:
    """Read the attributes of a node; None if they are incomplete or contradictory."""
    shape: tuple[Any, ...] = tuple(node.get("kernel_shape") or kernel or ())
    rank = len(shape)
    strides = tuple(node.get("strides") or (1,) * rank)
    dilations = tuple(node.get("dilations") or (1,) * rank)
    auto_pad = node.get("auto_pad", "NOTSET")
    pads = tuple(node.get("pads") or (0,) * 2 * rank) if auto_pad in ("NOTSET", "") else (0,) * 2 * rank
    known = all(isinstance(size, int) and size > 0 for size in shape)
    if not rank or not known or len(strides) != rank or len(dilations) != rank or len(pads) != 2 * rank:
        return None
    if min(pads) < 0 or (kernel is not None and tuple(kernel) != shape):
        return None
    return Windows(shape, strides, dilations, pads, auto_pad, bool(node.get("ceil_mode", 0)))
