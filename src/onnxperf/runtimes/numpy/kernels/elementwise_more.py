"""Activation functions and arithmetic that need several numpy functions."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np

from onnxperf.records.view import Dims
from onnxperf.runtimes.numpy.base import NUMBER_KINDS, Array, Kernel, Node, kernel
from onnxperf.runtimes.numpy.kernels.elementwise import make_erf

Activation = Callable[[Array], Array]
Number = Callable[[float], Any]
"""Converts a number to the type of the data: with other types, numpy may compute in double precision."""


def _in_place(y: Array) -> Array | None:
    """Memory for the next step; results without axes are scalars, which provide none."""
    return y if isinstance(y, np.ndarray) else None


def _hard_sigmoid(node: Node, number: Number) -> Activation:
    alpha, beta = number(node.get("alpha", 0.2)), number(node.get("beta", 0.5))
    return _ramp(alpha, beta, number)


def _ramp(alpha: Any, beta: Any, number: Number) -> Activation:
    zero, one = number(0), number(1)

    def ramp(x: Array) -> Any:
        y = x * alpha
        y += beta
        y = np.maximum(y, zero, out=_in_place(y))
        return np.minimum(y, one, out=_in_place(y))

    return ramp


def _hard_swish(_node: Node, number: Number) -> Activation:
    ramp = _ramp(number(1 / 6), number(0.5), number)

    def hard_swish(x: Array) -> Array:
        y = ramp(x)
        y *= x
        return y

    return hard_swish


def _exponential(negative: Any, divisor: Any, positive: Any, number: Number) -> Activation:
    """positive * x above 0, negative * (exp(x / divisor) - 1) below."""
    zero = number(0)

    def run(x: Array) -> Array:
        y = np.minimum(x, zero)
        if divisor != 1:
            y /= divisor
        y = np.expm1(y, _in_place(y))
        if negative != 1:
            y *= negative
        above = np.maximum(x, zero)
        if positive != 1:
            above *= positive
        y += above
        return y

    return run


def _elu(node: Node, number: Number) -> Activation:
    return _exponential(number(node.get("alpha", 1.0)), number(1), number(1), number)


def _celu(node: Node, number: Number) -> Activation:
    alpha = number(node.get("alpha", 1.0))
    return _exponential(alpha, alpha, number(1), number)


def _selu(node: Node, number: Number) -> Activation:
    alpha, gamma = node.get("alpha", 1.67326319217681884765625), node.get("gamma", 1.05070102214813232421875)
    return _exponential(number(alpha * gamma), number(1), number(gamma), number)


def _softplus(_node: Node, number: Number) -> Activation:
    zero = number(0)

    def softplus(x: Array) -> Array:
        # log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)), which cannot overflow.
        y = np.abs(x)
        y = np.negative(y, _in_place(y))
        y = np.exp(y, _in_place(y))
        y = np.log1p(y, _in_place(y))
        y += np.maximum(x, zero)
        return y

    return softplus


def _mish(node: Node, number: Number) -> Activation:
    softplus = _softplus(node, number)

    def mish(x: Array) -> Array:
        y = softplus(x)
        y = np.tanh(y, _in_place(y))
        y *= x
        return y

    return mish


def _softsign(_node: Node, number: Number) -> Activation:
    one = number(1)

    def softsign(x: Array) -> Array:
        y = np.abs(x)
        y += one
        return np.divide(x, y, _in_place(y))

    return softsign


def _thresholded_relu(node: Node, number: Number) -> Activation:
    alpha, zero = number(node.get("alpha", 1.0)), number(0)
    return lambda x: np.where(x > alpha, x, zero)


def _swish(node: Node, number: Number) -> Activation:
    half_alpha, half, one = number(node.get("alpha", 1.0) / 2), number(0.5), number(1)

    def swish(x: Array) -> Any:
        # The sigmoid as (1 + tanh(x / 2)) / 2, which cannot overflow.
        y = x * half_alpha
        y = np.tanh(y, _in_place(y))
        y += one
        y *= half
        y *= x
        return y

    return swish


def _gelu_tanh(number: Number) -> Activation:
    outer, inner, half, one = number(sqrt(2 / np.pi)), number(0.044715), number(0.5), number(1)

    def gelu(x: Array) -> Array:
        y = np.square(x)
        y *= inner
        y += one
        y *= x
        y *= outer
        y = np.tanh(y, _in_place(y))
        y += one
        y *= x
        y *= half
        return y

    return gelu


_ACTIVATIONS: dict[str, tuple[int, Callable[[Node, Number], Activation]]] = {
    "HardSigmoid": (6, _hard_sigmoid),
    "HardSwish": (14, _hard_swish),
    "Elu": (6, _elu),
    "Celu": (12, _celu),
    "Selu": (6, _selu),
    "Softplus": (1, _softplus),
    "Softsign": (1, _softsign),
    "ThresholdedRelu": (10, _thresholded_relu),
    "Mish": (18, _mish),
    "Swish": (24, _swish),
}


def _register_activation(operator: str, since: int, make: Callable[[Node, Number], Activation]) -> None:
    @kernel(operator, since=since)
    def maker(node: Node) -> Kernel | None:
        dtype = node.dtype()
        if dtype is None or dtype.kind != "f":
            return None
        if dtype != np.float16:
            return Kernel(make(node, dtype.type), "fresh")
        # Half precision loses digits in every step, and numpy converts it in every step anyway.
        run = make(node, np.float32)
        return Kernel(lambda x: run(x.astype(np.float32)).astype(dtype), "fresh")


for _operator, (_since, _make) in _ACTIVATIONS.items():
    _register_activation(_operator, _since, _make)


@kernel("Gelu", since=20)
def make_gelu(node: Node) -> Kernel | None:
    """x times the probability that a normal variable is below x, exactly or through tanh."""
    dtype, erf = node.dtype(), make_erf(node)
    if dtype is None or erf is None:
        return None
    if node.get("approximate", "none") == "tanh":
        return Kernel(_gelu_tanh(dtype.type), "fresh")
    root, half, one, function = dtype.type(sqrt(0.5)), dtype.type(0.5), dtype.type(1), erf.function

    def gelu(x: Array) -> Any:
        y = function(x * root)
        y += one
        y *= x
        y *= half
        return y

    return Kernel(gelu, "fresh")


@kernel("PRelu", since=7)
def make_prelu(node: Node) -> Kernel | None:
    """Negative values are multiplied by a slope, which is an input."""
    dtype = node.dtype()
    if dtype is None or dtype.kind not in NUMBER_KINDS or node.rank() is None or node.rank(1) is None:
        return None
    zero = dtype.type(0)
    slope, data = node.inputs[1], node.inputs[0]
    if slope is None or data is None or not _may_broadcast(slope.shape or (), data.shape or ()):
        return None

    def prelu(x: Array, slope: Array) -> Array:
        return np.where(x < zero, x * slope, x)

    return Kernel(prelu, "fresh")


def _may_broadcast(small: Dims, large: Dims) -> bool:
    """Whether a shape can broadcast to another, as far as is known."""
    known = [(a, b) for a, b in zip(reversed(small), reversed(large), strict=False) if isinstance(a, int)]
    return len(small) <= len(large) and all(a in (1, b) or not isinstance(b, int) for a, b in known)


@kernel("Mod", since=10)
def make_mod(node: Node) -> Kernel | None:
    """The remainder, with the sign of the divisor, or of the dividend if `fmod` is set."""
    if node.kind() not in NUMBER_KINDS:
        return None
    return Kernel(np.fmod if node.get("fmod", 0) else np.remainder, "fresh", (0, 1))


@kernel("BitShift", since=11)
def make_bit_shift(node: Node) -> Kernel | None:
    """Bits shifted left or right; signed types follow different rules."""
    if node.kind() != "u":
        return None
    return Kernel(np.left_shift if node.get("direction") == "LEFT" else np.right_shift, "fresh", (0, 1))


@kernel("IsInf", since=10)
def make_is_inf(node: Node) -> Kernel | None:
    """Whether an element is infinite, with either sign or only one."""
    if node.kind() != "f":
        return None
    negative, positive = bool(node.get("detect_negative", 1)), bool(node.get("detect_positive", 1))
    if negative and positive:
        return Kernel(np.isinf, "fresh")
    if not negative and not positive:
        return Kernel(lambda x: np.zeros(x.shape, bool), "fresh")
    infinity = np.inf if positive else -np.inf
    return Kernel(lambda x: np.equal(x, infinity), "fresh")


@kernel("Mean", since=8)
def make_mean(node: Node) -> Kernel | None:
    """The mean of several tensors, with broadcasting."""
    dtype, count = node.dtype(), len(node.inputs)
    if dtype is None or dtype.kind != "f":
        return None
    share = dtype.type(1 / count)

    def mean(first: Array, *others: Array) -> Any:
        total = first
        for value in others:
            total = total + value
        return total * share

    return Kernel(mean, "fresh")
