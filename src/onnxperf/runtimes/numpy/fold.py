"""How much memory the results of a node with constant inputs can take, before computing them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil, prod

import numpy as np

from onnxperf.runtimes.numpy.base import Node, Value

Bound = Callable[[Node], float]
"""The maximum number of elements of a result; inputs are constants."""

_STRING_BYTES = 64
"""The approximate size of an element of a string array; numpy counts only the reference to it."""


def most_bytes(node: Node) -> float | None:
    """The maximum size of all results together; None if it is not known before they are computed.

    Declared shapes are not used: they are claims of the model.
    """
    if node.bodies:
        # Constants in the branches of an If were computed when these were compiled. Loops are never run here.
        return 0 if node.op == "If" and not any(body.steps for body in node.bodies.values()) else None
    bound = None if node.domain else _BOUNDS.get(node.op)
    if bound is None:
        return None
    return bound(node) * sum(_itemsize(value) for value in node.outputs if value is not None)


def _itemsize(value: Value) -> int:
    if value.dtype is None:
        return 8
    return _STRING_BYTES if value.dtype.hasobject else value.dtype.itemsize


def _shapes(node: Node) -> list[tuple[int, ...]]:
    return [np.shape(value.constant) for value in node.inputs if value is not None]


def _numbers(node: Node, index: int) -> list[int]:
    """An input as Python numbers, whose products never overflow."""
    constant = node.constant(index)
    return [] if constant is None else list(np.asarray(constant).reshape(-1).tolist())


def _all_inputs(node: Node) -> float:
    """At most the elements of all inputs, plus one shape (for results that are shapes)."""
    return sum(map(prod, _shapes(node))) + max(map(len, _shapes(node)), default=0)


def _together(shapes: Iterable[Sequence[int]]) -> float:
    """Elements of shapes that are broadcast to each other."""
    sizes: list[int] = []
    for shape in shapes:
        sizes += [1] * (len(shape) - len(sizes))
        for i, size in enumerate(reversed(shape)):
            sizes[i] = max(sizes[i], size)
    return prod(sizes)


def _broadcast(node: Node) -> float:
    return _together(_shapes(node))


def _expand(node: Node) -> float:
    return _together([_shapes(node)[0], _numbers(node, 1)])


def _tile(node: Node) -> float:
    return prod([*_shapes(node)[0], *_numbers(node, 1)])


def _constant_of_shape(node: Node) -> float:
    return prod(_numbers(node, 0))


def _range(node: Node) -> float:
    start, limit, delta = (_numbers(node, i)[0] for i in range(3))
    return max(0, ceil((limit - start) / delta))


def _pad(node: Node) -> float:
    pads = _numbers(node, 1) or node.get("pads") or node.get("paddings") or []
    shape, half = _shapes(node)[0], len(pads) // 2
    axes = _numbers(node, 3) or range(len(shape))
    sizes = list(shape)
    for axis, before, after in zip(axes, pads[:half], pads[half:], strict=True):
        sizes[axis] += max(before, 0) + max(after, 0)
    return prod(sizes)


def _gather(node: Node) -> float:
    shape, indices = _shapes(node)[:2]
    axis = node.get("axis", 0) % len(shape)
    return prod((*shape[:axis], *indices, *shape[axis + 1 :]))


def _indices(node: Node) -> float:
    return prod(_shapes(node)[1])


def _gather_nd(node: Node) -> float:
    shape, indices = _shapes(node)[:2]
    return prod(indices[:-1]) * prod(shape[node.get("batch_dims", 0) + indices[-1] :])


def _one_hot(node: Node) -> float:
    return prod(_shapes(node)[0]) * max(0, _numbers(node, 1)[0])


def _non_zero(node: Node) -> float:
    shape = _shapes(node)[0]
    return len(shape) * prod(shape)


def _matmul(node: Node) -> float:
    left, right = _shapes(node)[:2]
    rows, columns = (left[-2] if len(left) > 1 else 1), (right[-1] if len(right) > 1 else 1)
    return _together([left[:-2], right[:-2]]) * rows * columns


def _gemm(node: Node) -> float:
    left, right = _shapes(node)[:2]
    return left[1 if node.get("transA", 0) else 0] * right[0 if node.get("transB", 0) else 1]


def _einsum(node: Node) -> float:
    """With one or two operands; with more, intermediate results can be larger than the result."""
    inputs, arrow, result = node.get("equation").replace(" ", "").partition("->")
    terms, sizes = inputs.split(","), {}  # type: list[str], dict[str, int]
    if len(terms) > 2 or "." in inputs:
        raise ValueError(f"the size of {inputs} is not known")
    for term, shape in zip(terms, _shapes(node), strict=True):
        for letter, size in zip(term, shape, strict=True):
            sizes[letter] = max(sizes.get(letter, 1), size)
    return prod(sizes[letter] for letter in (result if arrow else set(inputs) - {","}))


_NO_LARGER = [
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Cast", "CastLike", "Ceil", "Celu",
    "Clip", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "IsInf",
    "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign",
    "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "ArgMax", "ArgMin",
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare", "BatchNormalization", "Compress", "Concat", "CumSum", "CumProd", "DepthToSpace",
    "Dropout", "EyeLike", "Flatten", "GroupNormalization", "Hardmax", "InstanceNormalization", "LayerNormalization",
    "LogSoftmax", "LpNormalization", "LRN", "MeanVarianceNormalization", "RMSNormalization", "Reshape",
    "ReverseSequence", "Scatter", "ScatterElements", "ScatterND", "Shape", "Size", "Slice", "Softmax", "SpaceToDepth",
    "Split", "Squeeze", "TopK", "Transpose", "Trilu", "Unique", "Unsqueeze", "DequantizeLinear",
    "DynamicQuantizeLinear", "QuantizeLinear", "Constant",
]  # fmt: skip
"""No result has more elements than all inputs together."""
_BROADCASTING = [
    "Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater", "GreaterOrEqual",
    "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "Pow", "PRelu", "Sub", "Sum", "Where", "Xor",
]  # fmt: skip
_BOUNDS: dict[str, Bound] = {
    **dict.fromkeys(_NO_LARGER, _all_inputs),
    **dict.fromkeys(_BROADCASTING, _broadcast),
    "ConstantOfShape": _constant_of_shape,
    "Einsum": _einsum,
    "Expand": _expand,
    "Gather": _gather,
    "GatherElements": _indices,
    "GatherND": _gather_nd,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Range": _range,
    "Tile": _tile,
}
"""Other operators are computed in every run."""
