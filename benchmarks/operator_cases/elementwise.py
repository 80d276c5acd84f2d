"""Operators with one result per element, and reductions."""

from __future__ import annotations

import numpy as np

from benchmarks.operator_cases.base import FLOATS, NUMBERS, WHOLE, Array, Case, Random, operator, whole

_RANGES: dict[str, tuple[float, float]] = {
    "Log": (0.1, 9),
    "Sqrt": (0, 9),
    "Asin": (-1, 1),
    "Acos": (-1, 1),
    "Acosh": (1, 9),
    "Atanh": (-0.9, 0.9),
    "Tan": (-1.5, 1.5),
    "Reciprocal": (0.1, 3),
}
_OTHER_TYPES = frozenset(("Abs", "Neg", "Sign", "Identity", "Relu"))


_UNARY = [
    "Exp", "Floor", "Ceil", "Round", "Sin", "Cos", "Sinh", "Cosh", "Atan", "Asinh", "Tanh", "Sigmoid", "Erf",
    "Softplus", "Softsign", "IsNaN", "Mish", "HardSwish", "Log", "Sqrt", "Asin", "Acos", "Acosh", "Atanh", "Tan",
    "Reciprocal", "Abs", "Neg", "Sign", "Identity", "Relu",
]  # fmt: skip


@operator(*_UNARY)
def unary(random: Random, name: str) -> Case:
    types = NUMBERS if name in _OTHER_TYPES else FLOATS
    x = random.array(random.shape(smallest=0), random.one_of(*types), *_RANGES.get(name, (-9, 9)))
    if name == "IsNaN":
        x = np.where(x > 3, x.dtype.type("nan"), x)
    return Case(name, [x], opset=random.one_of(18, 21))


_PARAMETERS: dict[str, tuple[str, ...]] = {
    "LeakyRelu": ("alpha",),
    "Elu": ("alpha",),
    "Celu": ("alpha",),
    "ThresholdedRelu": ("alpha",),
    "Selu": ("alpha", "gamma"),
    "HardSigmoid": ("alpha", "beta"),
    "Shrink": ("lambd", "bias"),
}


@operator(*_PARAMETERS)
def activation(random: Random, name: str) -> Case:
    given = {each: random.integer(1, 30) / 10 for each in _PARAMETERS[name] if random.chance()}
    return Case(name, [random.array(random.shape(smallest=0))], given)


@operator("Gelu")
def gelu(random: Random, name: str) -> Case:
    return Case(name, [random.array(random.shape())], {"approximate": random.one_of("none", "tanh")})


@operator("IsInf")
def is_inf(random: Random, name: str) -> Case:
    x = random.array(random.shape())
    x = np.where(x > 1, np.float32("inf"), np.where(x < -1, np.float32("-inf"), x))
    return Case(name, [x], {each: random.flag() for each in ("detect_negative", "detect_positive") if random.chance()})


@operator("Clip")
def clip(random: Random, name: str) -> Case:
    dtype = random.one_of(*NUMBERS, np.uint8, np.int8)
    x = random.array(random.shape(smallest=0), dtype, -9, 9)
    low, high = (random.array((), dtype, *each) if random.chance() else None for each in ((-5, 0), (0, 5)))
    return Case(name, [x, low, high] if high is not None else [x, low] if low is not None else [x])


@operator("Not", "BitwiseNot")
def negated(random: Random, name: str) -> Case:
    return Case(
        name, [random.array(random.shape(), bool if name == "Not" else random.one_of(np.int8, np.uint8, *WHOLE))]
    )


_BOOLEAN = frozenset(("And", "Or", "Xor"))
_BITS = frozenset(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"))


_BINARY = [
    "Add", "Sub", "Mul", "Div", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor",
    "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift", "Mod", "Pow", "PRelu",
]  # fmt: skip


@operator(*_BINARY)
def binary(random: Random, name: str) -> Case:
    types = (bool,) if name in _BOOLEAN else (np.uint8, np.uint32, np.uint64) if name in _BITS else NUMBERS
    dtype = random.one_of(*types)
    shape = random.shape(smallest=0)
    first, second = random.broadcast(shape), random.broadcast(shape)
    x, y = random.array(first, dtype, -9, 9), random.array(second, dtype, -9, 9)
    attributes: dict[str, int | str] = {}
    if name in ("Div", "Mod"):
        y = np.where(np.abs(y) < 1, y.dtype.type(2), y)
        attributes = {"fmod": 1 if x.dtype.kind == "f" else random.flag()} if name == "Mod" else {}
    if name == "BitShift":
        y, attributes = y % y.dtype.type(8), {"direction": random.one_of("LEFT", "RIGHT")}
    if name == "Pow":
        x, y = np.abs(x), random.array(second, random.one_of(*NUMBERS), 0, 3)
    if name == "PRelu":
        x, y = random.array(shape, dtype, -9, 9), random.array(second, dtype, -9, 9)
    return Case(name, [x, y], attributes, opset=random.one_of(18, 21))


@operator("Max", "Min", "Sum", "Mean")
def variadic(random: Random, name: str) -> Case:
    shape, dtype = random.shape(smallest=0), random.one_of(*(FLOATS if name in ("Sum", "Mean") else NUMBERS))
    return Case(name, [random.array(random.broadcast(shape), dtype) for _ in range(random.integer(1, 4))])


@operator("Where")
def where(random: Random, name: str) -> Case:
    shape, dtype = random.shape(smallest=0), random.one_of(*NUMBERS, np.uint8, object)
    condition = random.array(random.broadcast(shape), bool)
    return Case(name, [condition, *(random.array(random.broadcast(shape), dtype) for _ in range(2))])


@operator("Softmax", "LogSoftmax", "Hardmax")
def softmax(random: Random, name: str) -> Case:
    shape, opset = random.shape(1, 4, 0), random.one_of(11, 13, 21)
    attributes = {"axis": random.axis(len(shape))} if random.chance() else {}
    if opset == 11 and len(shape) == 1 and not attributes:
        attributes = {"axis": 0}
    return Case(name, [random.array(shape, random.one_of(*FLOATS), -9, 9)], attributes, opset=opset)


_REDUCTIONS = [
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
    "ReduceLogSum", "ReduceLogSumExp",
]  # fmt: skip


@operator(*_REDUCTIONS)
def reduction(random: Random, name: str) -> Case:
    shape, opset = random.shape(0, 4, random.one_of(0, 1, 1, 1)), random.one_of(11, 13, 18, 21)
    low = 0.5 if name == "ReduceLogSum" else -3
    x = random.array(shape, random.one_of(*NUMBERS), low, 3)
    if name == "ReduceLogSum" and x.dtype.kind == "i":
        x = np.maximum(x, 1)
    attributes: dict[str, object] = {"keepdims": random.flag()} if random.chance() else {}
    axes = random.axes(len(shape))
    if opset >= (13 if name == "ReduceSum" else 18):
        if random.chance():
            attributes["noop_with_empty_axes"] = random.flag()
        return Case(name, [x, whole(axes)] if random.chance() else [x], attributes, opset=opset)
    if axes and random.chance():
        attributes["axes"] = axes
    return Case(name, [x], attributes, opset=opset)


@operator("ArgMax", "ArgMin")
def arg(random: Random, name: str) -> Case:
    shape = random.shape(1, 4)
    attributes = {"axis": random.axis(len(shape)), "keepdims": random.flag(), "select_last_index": random.flag()}
    x: Array = random.array(shape, random.one_of(*FLOATS, np.int32, np.uint8))
    return Case(name, [x], {key: value for key, value in attributes.items() if random.chance()}, opset=13)


@operator("CumSum")
def cumulative(random: Random, name: str) -> Case:
    shape, dtype = random.shape(1, 4, 0), random.one_of(*NUMBERS)
    axis = whole(random.axis(len(shape)), random.one_of(*WHOLE))
    return Case(name, [random.array(shape, dtype), axis], {"exclusive": random.flag(), "reverse": random.flag()})
