"""The softmax family: along one axis since opset 13, over all axes from `axis` on before."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from onnxperf.runtimes.numpy.base import Array, Kernel, Maker, Node, kernel
from onnxperf.runtimes.numpy.kernels.reduce import add, maximum

AlongAxis = Callable[..., Array]
"""Takes data and optional memory for the result. An empty axis has no maximum, and needs none."""


def _softmax(axis: int) -> AlongAxis:
    def softmax(x: Array, out: Array | None = None) -> Array:
        if not x.size:
            return np.empty(x.shape, x.dtype)
        y = np.subtract(x, maximum(x, axis, None, None, True), out)
        np.exp(y, y)
        y /= add(y, axis, None, None, True)
        return y

    return softmax


def _log_softmax(axis: int) -> AlongAxis:
    def log_softmax(x: Array, out: Array | None = None) -> Array:
        if not x.size:
            return np.empty(x.shape, x.dtype)
        y = np.subtract(x, maximum(x, axis, None, None, True), out)
        y -= np.log(add(np.exp(y), axis, None, None, True))
        return y

    return log_softmax


def _hardmax(axis: int) -> AlongAxis:
    def hardmax(x: Array) -> Array:
        y = np.zeros(x.shape, x.dtype)
        if x.size:
            np.put_along_axis(y, x.argmax(axis, None, keepdims=True), 1, axis)
        return y

    return hardmax


_FAMILY: dict[str, tuple[Callable[[int], AlongAxis], tuple[int, ...]]] = {
    "Softmax": (_softmax, (0,)),
    "LogSoftmax": (_log_softmax, (0,)),
    "Hardmax": (_hardmax, ()),
}


def _flattening(function: AlongAxis, axis: int) -> AlongAxis:
    def run(x: Array) -> Array:
        shape = x.shape
        return function(x.reshape(prod(shape[:axis]), prod(shape[axis:]))).reshape(shape)

    return run


def _along_one_axis(make: Callable[[int], AlongAxis], overwrites: tuple[int, ...]) -> Maker:
    def maker(node: Node) -> Kernel | None:
        if node.kind() != "f" or not node.rank():
            return None
        return Kernel(make(node.get("axis", -1)), "fresh", overwrites)

    return maker


def _over_all_axes_from(make: Callable[[int], AlongAxis], overwrites: tuple[int, ...]) -> Maker:
    def maker(node: Node) -> Kernel | None:
        axis, rank = node.get("axis", 1), node.rank()
        if node.kind() != "f" or not rank:
            return None
        if axis in (-1, rank - 1):
            return Kernel(make(-1), "fresh", overwrites)
        return Kernel(_flattening(make(-1), axis), "fresh")

    return maker


for _operator, (_make, _overwrites) in _FAMILY.items():
    kernel(_operator)(_over_all_axes_from(_make, _overwrites))
    kernel(_operator, since=13)(_along_one_axis(_make, _overwrites))
