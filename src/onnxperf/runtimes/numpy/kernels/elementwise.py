"""Arithmetic, comparison, logic and activation functions: one result per element, with broadcasting."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import NUMBER_KINDS, PLAIN_KINDS, Array, Kernel, Maker, Node, kernel

Ufunc = Callable[..., Array]

_UNARY: dict[str, Ufunc] = {
    "Abs": np.abs,
    "Neg": np.negative,
    "Exp": np.exp,
    "Log": np.log,
    "Sqrt": np.sqrt,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Asin": np.arcsin,
    "Acos": np.arccos,
    "Atan": np.arctan,
    "Sinh": np.sinh,
    "Cosh": np.cosh,
    "Asinh": np.arcsinh,
    "Acosh": np.arccosh,
    "Atanh": np.arctanh,
    "Tanh": np.tanh,
    "Sign": np.sign,
    "Not": np.logical_not,
    "BitwiseNot": np.bitwise_not,
    "IsNaN": np.isnan,
    "Round": np.rint,
}
_BINARY: dict[str, tuple[int, Ufunc]] = {
    "Add": (7, np.add),
    "Sub": (7, np.subtract),
    "Mul": (7, np.multiply),
    "And": (7, np.logical_and),
    "Or": (7, np.logical_or),
    "Xor": (7, np.logical_xor),
    "Equal": (7, np.equal),
    "Less": (7, np.less),
    "Greater": (7, np.greater),
    "LessOrEqual": (12, np.less_equal),
    "GreaterOrEqual": (12, np.greater_equal),
    "BitwiseAnd": (18, np.bitwise_and),
    "BitwiseOr": (18, np.bitwise_or),
    "BitwiseXor": (18, np.bitwise_xor),
}
_BOOLEAN_RESULTS = frozenset(("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "IsNaN"))


def _register_ufunc(operator: str, since: int, function: Ufunc, inputs: int) -> None:
    overwrites = () if operator in _BOOLEAN_RESULTS else tuple(range(inputs))

    @kernel(operator, since=since)
    def make(node: Node) -> Kernel | None:
        if any(node.kind(i) not in PLAIN_KINDS for i in range(inputs)):
            return None
        return Kernel(function, "fresh", overwrites)


for _operator, _function in _UNARY.items():
    _register_ufunc(_operator, 1, _function, 1)
for _operator, (_since, _function) in _BINARY.items():
    _register_ufunc(_operator, _since, _function, 2)


@kernel("Div", since=7)
def make_div(node: Node) -> Kernel | None:
    """Division; integers are rounded toward zero, exactly."""

    def divide(x: Array, y: Array) -> Array:
        # The remainder has the sign of x, so x - remainder is a multiple of y that is nearer to zero.
        return np.floor_divide(np.subtract(x, np.fmod(x, y)), y)

    if node.kind() == "i":
        return Kernel(divide, "fresh")
    function = {"f": np.divide, "u": np.floor_divide}.get(node.kind())
    return None if function is None else Kernel(function, "fresh", (0, 1))


@kernel("Sigmoid", since=6)
def make_sigmoid(node: Node) -> Kernel | None:
    """1 / (1 + exp(-x)), as (1 + tanh(x / 2)) / 2, which cannot overflow."""
    dtype = node.dtype()
    if dtype is None or dtype.kind != "f":
        return None
    half, one = dtype.type(0.5), dtype.type(1)

    def sigmoid(x: Array, out: Array | None = None) -> Any:
        y = np.multiply(x, half, out)
        y = np.tanh(y, y if isinstance(y, np.ndarray) else None)
        y += one
        y *= half
        return y

    return Kernel(sigmoid, "fresh", (0,))


@kernel("Identity")
def make_identity(_node: Node) -> Kernel:
    """The same value."""
    return Kernel(lambda x: x, "view")


@kernel("Pow", since=7)
def make_pow(node: Node) -> Kernel | None:
    """A power; the result has the type of the base, and integers are rounded toward zero."""
    dtype = node.dtype()
    if dtype is None or dtype.kind not in NUMBER_KINDS or node.kind(1) not in NUMBER_KINDS:
        return None
    exponent = node.constant(1) if dtype.kind == "f" else None
    if exponent is not None and exponent.size == 1 and exponent.ndim <= (node.rank() or 0):
        number = float(exponent.reshape(()))
        if number == 2:
            return Kernel(np.square, "fresh", (0,), uses=(0,))
        if number == 0.5:
            return Kernel(np.sqrt, "fresh", (0,), uses=(0,))
    if node.dtype(1) == dtype:
        return Kernel(np.power, "fresh", (0,))
    return Kernel(lambda x, y: np.power(x, y).astype(dtype, copy=False), "fresh")


def _variadic(function: Ufunc) -> Maker:
    def make(node: Node) -> Kernel | None:
        if any(node.kind(i) not in PLAIN_KINDS for i in range(len(node.inputs))):
            return None

        def fold(*values: Any) -> Any:
            total = values[0]
            for value in values[1:]:
                total = function(total, value)
            return total

        # By keyword: numpy deprecates a third positional argument of maximum and minimum.
        pair = Kernel(lambda a, b, out=None: function(a, b, out=out), "fresh", (0, 1))
        return pair if len(node.inputs) == 2 else Kernel(fold)

    return make


for _operator, _function in (("Sum", np.add), ("Max", np.maximum), ("Min", np.minimum)):
    kernel(_operator, since=8)(_variadic(_function))


@kernel("Where", since=9)
def make_where(_node: Node) -> Kernel:
    """One of two values per element."""
    return Kernel(np.where, "fresh")


@kernel("LeakyRelu", since=6)
def make_leaky_relu(node: Node) -> Kernel | None:
    """Leaky ReLU: negative values are multiplied by alpha."""
    dtype = node.dtype()
    if dtype is None or dtype.kind != "f":
        return None
    alpha = dtype.type(node.get("alpha", 0.01))
    return Kernel(lambda x: np.where(x < 0, x * alpha, x), "fresh")


@kernel("Reciprocal", since=6)
def make_reciprocal(node: Node) -> Kernel | None:
    """1 / x."""
    return Kernel(np.reciprocal, "fresh", (0,)) if node.kind() == "f" else None


@kernel("Erf", since=9)
def make_erf(node: Node) -> Kernel | None:
    """The error function, vectorized if scipy is installed."""
    try:
        from scipy.special import erf
    except ImportError:
        erf = np.vectorize(math.erf)
    dtype = node.dtype()
    if dtype is None or dtype.kind != "f":
        return None
    return Kernel(lambda x: erf(x).astype(dtype, copy=False), "fresh")
