"""The work of one execution of a node: operations and bytes, from its actual shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from onnxperf.records.headroom import LEFT_OUT, NodeSettings
from onnxperf.records.trace import TensorType, TensorTypes

ELEMENT_BYTES: Mapping[str, float] = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0"), 1),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16"), 2),
    **dict.fromkeys(("float", "int32", "uint32"), 4),
    **dict.fromkeys(("double", "int64", "uint64", "complex64"), 8),
    "complex128": 16,
    **dict.fromkeys(("int4", "uint4", "float4e2m1"), 0.5),
    **dict.fromkeys(("int2", "uint2"), 0.25),
}
"""Bytes per element; strings, whose length is not in a trace, count as 0."""


class Work(NamedTuple):
    """Work of one execution."""

    flop: float | None
    """Number of operations (an addition and a multiplication are two); None if the operator's arithmetic is unknown."""
    streamed_bytes: float
    """Bytes of computed or fed inputs and of outputs."""
    constant_bytes: float
    """Bytes of weights."""
    arithmetic: str = "float"
    """Applicable peak: float (up to 32 bits), double, or int8."""

    @property
    def moved_bytes(self) -> float:
        """All bytes read and written."""
        return self.streamed_bytes + self.constant_bytes


class Call(NamedTuple):
    """One execution, with every input at its position."""

    op_name: str
    inputs: tuple[TensorType | None, ...]
    """None for omitted or unknown inputs."""
    outputs: TensorTypes
    constant: tuple[bool, ...]
    """Whether each input is a weight."""
    numbers: Mapping[str, tuple[int, ...]]
    texts: Mapping[str, str]

    def shape(self, place: int) -> tuple[int, ...]:
        """Shape of an input; raises LookupError if unknown."""
        found = self.inputs[place]
        if found is None:
            raise LookupError(place)
        return found.shape

    def size(self, place: int) -> float:
        """Number of elements of an input."""
        return _elements(self.shape(place))

    @property
    def out(self) -> float:
        """Number of elements of the first output."""
        return _elements(self.outputs[0].shape)

    def flag(self, name: str) -> bool:
        """Whether an attribute is set and nonzero."""
        return any(self.numbers.get(name, ()))


def work_of(op_name: str, inputs: TensorTypes, outputs: TensorTypes, settings: NodeSettings | None = None) -> Work:
    """Count the work of one execution from the shapes in a trace; if operations cannot be counted, only moved bytes."""
    call = _call(op_name, inputs, outputs, settings)
    if op_name in _NOTHING_MOVED:
        return Work(0.0, 0.0, 0.0)
    counter = _COUNTERS.get(op_name)
    try:
        flop = counter(call) if counter is not None and outputs else None
    except LookupError:  # a shape missing in the trace
        flop = None
    flop = flop if flop is not None and 0 <= flop < math.inf else None
    streamed, constant = _moved(call)
    return Work(flop, streamed, constant, _arithmetic(call))


def constant_bytes_of(settings: Iterable[NodeSettings]) -> float:
    """Bytes of the weights read by an inference; weights read by several nodes count for each."""
    readers = [node for node in settings if node.op_name not in _PARTLY_READ]
    return sum(_bytes(each) for node in readers for each in node.constants if each is not None)


def _elements(shape: Sequence[int]) -> float:
    return math.prod(float(max(size, 0)) for size in shape)


def _bytes(tensor: TensorType) -> float:
    return _elements(tensor.shape) * ELEMENT_BYTES.get(tensor.dtype, 0)


def _arithmetic(call: Call) -> str:
    if call.op_name in _INTEGERS:
        return "int8"
    return "double" if any(each.dtype == "double" for each in call.outputs[:1]) else "float"


# ---------------------------------------------------------------- inputs and bytes


def _call(op_name: str, inputs: TensorTypes, outputs: TensorTypes, settings: NodeSettings | None) -> Call:
    """Assign the inputs in a trace to their positions: weights packed by a kernel are no longer among them."""
    if settings is None or not settings.constants:
        numbers, texts = (settings.numbers, settings.texts) if settings is not None else ({}, {})
        return Call(op_name, inputs, outputs, (False,) * len(inputs), numbers, texts)
    left = list(inputs)
    # Inputs missing in the trace were packed; if none is missing, it contains every weight.
    missing = sum(each != LEFT_OUT for each in settings.constants) - len(left)
    found: list[TensorType | None] = []
    for declared in settings.constants:
        if declared == LEFT_OUT:
            found.append(None)
        elif declared is not None and missing > 0 and (not left or left[0] != declared):
            found.append(declared)
            missing -= 1
        else:
            found.append(left.pop(0) if left else declared)
    constant = tuple(each is not None and each != LEFT_OUT for each in settings.constants)
    return Call(op_name, tuple(found), outputs, constant, settings.numbers, settings.texts)


def _moved(call: Call) -> tuple[float, float]:
    """Bytes of activations, and bytes of weights."""
    written = sum(map(_bytes, call.outputs))
    sizes = [0.0 if each is None else _bytes(each) for each in call.inputs]
    if call.op_name in _PARTLY_READ:
        sizes = [min(size, written) for size in sizes]
    pairs = list(zip(sizes, call.constant, strict=True))
    streamed = sum(size for size, is_constant in pairs if not is_constant)
    return streamed + written, sum(size for size, is_constant in pairs if is_constant)


# ---------------------------------------------------------------- operators


Counter = Callable[[Call], float | None]


def _weights(call: Call, place: int) -> tuple[int, ...]:
    """Shape of the weights of a convolution or recurrent layer; if they are unknown, a bias is there instead."""
    shape = call.shape(place)
    if len(shape) < 3:
        raise LookupError(place)
    return shape


def _convolution(weights: int) -> Counter:
    """Every output element is a sum of products over the window and the input channels of its group."""
    return lambda call: 2 * call.out * _elements(_weights(call, weights)[1:])


def _transposed_convolution(call: Call) -> float:
    return 2 * call.size(0) * _elements(_weights(call, 1)[1:])


def _product(call: Call) -> float:
    """(Batched) matrix products: the inner size is the last one of the left operand."""
    left = call.shape(0)
    inner = left[-2] if call.flag("transA") and len(left) > 1 else left[-1]
    return 2 * call.out * max(inner, 0)


def _packed_product(call: Call) -> float:
    return 2 * call.out * call.numbers["K"][0]


def _attention(call: Call) -> float:
    """Queries times keys, and the result times values; contrib Attention computes all three first."""
    heads = 0.5 if call.flag("is_causal") or call.flag("unidirectional") else 1.0
    present = call.outputs[1].shape if len(call.outputs) > 1 and len(call.outputs[1].shape) >= 4 else ()
    if len(call.shape(1)) == 2:  # weights, not keys
        length = present[-2] if present else call.shape(0)[1]
        projection = 2 * _elements(call.shape(0)[:2]) * call.size(1)
        return projection + heads * 4 * call.out * length
    keys = call.shape(1)
    length = present[-2] if present else keys[1 if len(keys) == 3 else -2]
    return heads * 2 * length * (call.size(0) + call.out)


def _pool(call: Call) -> float:
    return call.out * _elements(call.numbers["kernel_shape"])


def _recurrent(call: Call) -> float:
    """Two products per step of each sequence."""
    return 2 * _elements(call.shape(0)[:2]) * (_elements(_weights(call, 1)) + _elements(_weights(call, 2)))


def _einsum(call: Call) -> float | None:
    """For one or two operands: a multiplication and an addition for each combination of indices."""
    equation = call.texts["equation"].replace(" ", "")
    terms = equation.partition("->")[0].split(",")
    if "." in equation or len(terms) > 2:
        return None
    sizes: dict[str, int] = {}
    for place, term in enumerate(terms):
        for letter, size in zip(term, call.shape(place), strict=False):
            sizes[letter] = max(size, sizes.get(letter, 0))
    return len(terms) * _elements(list(sizes.values()))


def _resize(call: Call) -> float:
    """No operations for nearest mode; else interpolation along every changed axis."""
    changed = sum(a != b for a, b in zip(call.shape(0), call.outputs[0].shape, strict=False))
    points = {"linear": 2, "cubic": 4}.get(call.texts.get("mode", "nearest"), 0)
    return call.out * 2 * points ** min(changed, 3) if points and changed else 0.0


def _linear_model(call: Call) -> float:
    return 2 * _elements(call.shape(0)[:1]) * call.numbers["coefficients"][0]


def _per_further_input(call: Call) -> float:
    """One operation per element for two inputs, two for three inputs."""
    return max(len(call.inputs) - 1, 0) * call.out


def _per_output(operations: float) -> Counter:
    return lambda call: operations * call.out


def _per_input(operations: float) -> Counter:
    return lambda call: operations * call.size(0)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _named(counter: Counter, names: str) -> dict[str, Counter]:
    return dict.fromkeys(_names(names), counter)


_COUNTERS: dict[str, Counter] = {
    **_named(_convolution(1), "Conv FusedConv NhwcFusedConv NhwcConv ConvInteger DeformConv"),
    **_named(_convolution(3), "QLinearConv"),
    **_named(_transposed_convolution, "ConvTranspose ConvTransposeWithDynamicPads"),
    **_named(
        _product,
        "MatMul FusedMatMul TransposeMatMul Gemm FusedGemm MatMulInteger MatMulInteger16 MatMulIntegerToFloat "
        "DynamicQuantizeMatMul QLinearMatMul QGemm FusedMatMulActivation",
    ),
    **_named(_packed_product, "MatMulNBits MatMulBnb4 MatMulFpQ4"),
    **_named(_attention, "Attention QAttention MultiHeadAttention GroupQueryAttention DecoderMaskedMultiHeadAttention"),
    **_named(_pool, "MaxPool AveragePool LpPool QLinearAveragePool NhwcMaxPool MaxpoolWithMask"),
    **_named(
        _per_input(1),
        "GlobalAveragePool GlobalMaxPool QLinearGlobalAveragePool ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd "
        "ArgMax ArgMin CumSum CumProd Hardmax QLinearReduceMean",
    ),
    **_named(_per_input(2), "ReduceL1 ReduceL2 ReduceSumSquare GlobalLpPool LpNormalization MeanVarianceNormalization"),
    **_named(_per_input(14), "ReduceLogSum ReduceLogSumExp"),
    **_named(_recurrent, "LSTM GRU RNN DynamicQuantizeLSTM"),
    **_named(_einsum, "Einsum"),
    **_named(_resize, "Resize Upsample"),
    **_named(_linear_model, "LinearRegressor LinearClassifier"),
    # Operations per element; for functions, approximately those of the polynomials evaluated by vector kernels.
    **_named(
        _per_output(1),
        "Add Sub Mul Div Mod Neg Abs Sign Floor Ceil Round Sqrt Reciprocal Relu Clip And Or Xor Not "
        "Equal Greater GreaterOrEqual Less LessOrEqual BitShift BitwiseAnd BitwiseOr BitwiseXor BitwiseNot IsNaN "
        "IsInf ThresholdedRelu Shrink Binarizer BiasDropout",
    ),
    **_named(_per_further_input, "Min Max Sum Mean"),
    **_named(
        _per_output(2),
        "LeakyRelu PRelu HardSigmoid BatchNormalization Scaler QLinearAdd QLinearMul QLinearConcat QLinearLeakyRelu "
        "DequantizeLinear BiasAdd",
    ),
    **_named(_per_output(3), "QuantizeLinear HardSwish LRN Normalizer"),
    **_named(_per_input(4), "DynamicQuantizeLinear"),
    **_named(_per_output(12), "Exp Log Elu Selu Celu Softsign Sin Cos"),
    **_named(
        _per_output(16),
        "Sigmoid Tanh Erf Softplus Pow Softmax LogSoftmax QLinearSoftmax QLinearSigmoid Tan Atan Asin Acos Sinh Cosh",
    ),
    **_named(_per_output(20), "Gelu BiasGelu FastGelu QuickGelu Mish Swish Silu BiasSplitGelu"),
    **_named(
        _per_output(8), "LayerNormalization InstanceNormalization GroupNormalization GroupNorm EmbedLayerNormalization"
    ),
    **_named(_per_output(9), "SkipLayerNormalization SkipGroupNorm BiasSoftmax"),
    **_named(
        _per_output(5), "RMSNormalization SimplifiedLayerNormalization SkipSimplifiedLayerNormalization RotaryEmbedding"
    ),
    # These only move elements, or compare and select them.
    **_named(
        _per_output(0),
        "Transpose Concat Split SplitToSequence Slice Gather GatherND GatherElements Scatter ScatterND ScatterElements "
        "Pad Tile Expand Cast CastLike Where ReorderInput ReorderOutput DepthToSpace SpaceToDepth Trilu Compress "
        "ConstantOfShape Range EyeLike OneHot ReverseSequence Dropout Bernoulli MemcpyToHost MemcpyFromHost "
        "ArrayFeatureExtractor ConcatFromSequence FeatureVectorizer ZipMap",
    ),
}
"""Counters of operations by operator name; for all others only moved bytes are known."""

_NOTHING_MOVED = _names(
    "Reshape Flatten Squeeze Unsqueeze Identity Shape Size Constant If Loop Scan SequenceMap Optional "
    "OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceInsert SequenceEmpty SequenceLength "
    "SequenceErase"
)
"""Views of tensors, and nodes whose bodies do the work."""
_PARTLY_READ = _names(
    "Gather GatherND GatherElements Slice Compress ArrayFeatureExtractor EmbedLayerNormalization DynamicSlice"
)
"""Operators that read no more of an input than they write."""
_INTEGERS = _names(
    "ConvInteger MatMulInteger MatMulIntegerToFloat DynamicQuantizeMatMul QLinearMatMul QLinearConv QGemm QAttention "
    "DynamicQuantizeLSTM"
)
"""Operators that multiply 8-bit integers."""
