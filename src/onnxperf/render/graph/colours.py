"""Colours of drawn nodes: calm ones by the family of the operator, or a scale by what a node costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from onnxperf.records.view import Metrics, ViewNode
from onnxperf.render.graph.boxes import Paint
from onnxperf.wording.names import visible
from onnxperf.wording.numbers import percent

EDGE_INK = "#6b7280"
SCALE = ("#faebdd", "#f6b48f", "#f37651", "#e13342", "#ad1759", "#701f57")
"""From nothing to the largest share, in even steps of lightness (seaborn's rocket)."""
UNKNOWN = "#f3f4f6"
_LARGER = 0.6
"""A node with the largest share is drawn so much larger than one that costs nothing."""


class Family(NamedTuple):
    """Operators of a kind."""

    name: str
    fill: str
    stroke: str
    operators: frozenset[str] = frozenset()


def _family(name: str, fill: str, stroke: str, operators: str) -> Family:
    return Family(name, fill, stroke, frozenset(operators.split()))


FAMILIES = (
    _family(
        "convolution, matrix product",
        "#dbe8f8",
        "#5b86bf",
        "Conv ConvTranspose ConvInteger QLinearConv MatMul Gemm MatMulInteger QLinearMatMul Einsum LSTM GRU RNN "
        "Attention MultiHeadAttention FusedConv FusedMatMul FusedGemm DeformConv",
    ),
    _family(
        "activation",
        "#fde6d3",
        "#cf8a4d",
        "Relu LeakyRelu PRelu Elu Selu Celu Gelu FastGelu BiasGelu QuickGelu Sigmoid HardSigmoid HardSwish Swish Tanh "
        "Softmax LogSoftmax Softplus Softsign Mish Erf Clip ThresholdedRelu",
    ),
    _family(
        "normalisation, pooling, reduction",
        "#dff0e0",
        "#67a16b",
        "BatchNormalization LayerNormalization SkipLayerNormalization InstanceNormalization GroupNormalization LRN "
        "RMSNormalization SimplifiedLayerNormalization LpNormalization MaxPool AveragePool GlobalAveragePool "
        "GlobalMaxPool LpPool ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare "
        "ReduceLogSum ReduceLogSumExp ArgMax ArgMin TopK CumSum Normalizer Scaler EmbedLayerNormalization",
    ),
    _family(
        "shape, data movement",
        "#ece6f5",
        "#8d76b5",
        "Reshape Transpose Flatten Squeeze Unsqueeze Concat Split Slice Gather GatherND GatherElements Scatter "
        "ScatterND ScatterElements Expand Tile Pad Shape Size Cast CastLike Identity Constant ConstantOfShape Range "
        "Resize Upsample DepthToSpace SpaceToDepth OneHot EyeLike NonZero Where Compress ReorderInput ReorderOutput "
        "QuantizeLinear DequantizeLinear DynamicQuantizeLinear ArrayFeatureExtractor ZipMap",
    ),
    _family("control flow", "#fbdfe6", "#c0657f", "If Loop Scan SequenceMap"),
)
OTHERS = Family("other operators", "#f1f0ea", "#938f7d")


def family_of(node: ViewNode) -> Family:
    """The family of a node's operator."""
    return next((family for family in FAMILIES if node.op_type in family.operators), OTHERS)


def by_family(node: ViewNode) -> Paint:
    """How a node looks when nothing is known but its operator."""
    family = family_of(node)
    return Paint(family.fill, family.stroke)


def by_share(metrics: Metrics) -> Callable[[ViewNode], Paint]:
    """How nodes look by what they cost: colour, size, and the share in words."""
    largest = largest_share(metrics)

    def paint(node: ViewNode) -> Paint:
        cost = metrics.nodes.get(node.key)
        if cost is None:
            return Paint(UNKNOWN, "#9ca3af")
        part = min(max(cost.share / largest, 0.0), 1.0) if largest else 0.0
        fill = colour_at(part)
        return Paint(
            fill,
            "#7c4a3a",
            text="#ffffff" if part > 0.5 else "#222222",
            scale=1 + _LARGER * part,
            bar=part,
            badge=percent(cost.share),
            tips=tuple(map(visible, cost.lines)),
        )

    return paint


def largest_share(metrics: Metrics) -> float:
    """Where the scale ends."""
    return max((cost.share for cost in metrics.nodes.values()), default=0.0)


def colour_at(part: float) -> str:
    """The colour at a place of the scale, from 0 to 1."""
    place = part * (len(SCALE) - 1)
    step = min(int(place), len(SCALE) - 2)
    low, high = _channels(SCALE[step]), _channels(SCALE[step + 1])
    mixed = (round(a + (b - a) * (place - step)) for a, b in zip(low, high, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
