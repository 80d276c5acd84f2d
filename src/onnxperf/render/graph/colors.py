"""Colors of drawn nodes: those of charts by the family of the operator, or a scale by what a node costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from onnxperf.records.view import Metrics, ViewNode
from onnxperf.render.charts.base import BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, RED
from onnxperf.render.graph.boxes import Paint
from onnxperf.wording.names import visible
from onnxperf.wording.numbers import percent

EDGE_INK = "#6b7280"
SCALE = ("#faebdd", "#f6b48f", "#f37651", "#e13342", "#ad1759", "#701f57")
"""From nothing to the largest share, in even steps of lightness (seaborn's rocket)."""
UNKNOWN = "#f3f4f6"
_TINT = 0.8
"""Part of white in what boxes are filled with: words on them are dark."""
_LARGER = 0.6
"""A node with the largest share is drawn so much larger than one that costs nothing."""


class Family(NamedTuple):
    """Operators of a kind."""

    name: str
    fill: str
    stroke: str
    operators: frozenset[str] = frozenset()


def _family(name: str, color: int, operators: str = "") -> Family:
    return Family(name, _mixed(LIGHT[color], "#ffffff", _TINT), LIGHT[color], frozenset(operators.split()))


def _mixed(first: str, second: str, part: float) -> str:
    """A color between two others."""
    channels = zip(_channels(first), _channels(second), strict=True)
    return "#" + "".join(f"{round(one + (other - one) * part):02x}" for one, other in channels)


def _channels(color: str) -> tuple[int, ...]:
    return tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))


FAMILIES = (
    _family(
        "convolution, matrix product",
        BLUE,
        "Conv ConvTranspose ConvInteger QLinearConv MatMul Gemm MatMulInteger QLinearMatMul Einsum LSTM GRU RNN "
        "Attention MultiHeadAttention FusedConv FusedMatMul FusedGemm DeformConv",
    ),
    _family(
        "activation",
        ORANGE,
        "Relu LeakyRelu PRelu Elu Selu Celu Gelu FastGelu BiasGelu QuickGelu Sigmoid HardSigmoid HardSwish Swish Tanh "
        "Softmax LogSoftmax Softplus Softsign Mish Erf Clip ThresholdedRelu",
    ),
    _family(
        "normalization, pooling, reduction",
        GREEN,
        "BatchNormalization LayerNormalization SkipLayerNormalization InstanceNormalization GroupNormalization LRN "
        "RMSNormalization SimplifiedLayerNormalization LpNormalization MaxPool AveragePool GlobalAveragePool "
        "GlobalMaxPool LpPool ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare "
        "ReduceLogSum ReduceLogSumExp ArgMax ArgMin TopK CumSum Normalizer Scaler EmbedLayerNormalization",
    ),
    _family(
        "shape, data movement",
        PINK,
        "Reshape Transpose Flatten Squeeze Unsqueeze Concat Split Slice Gather GatherND GatherElements Scatter "
        "ScatterND ScatterElements Expand Tile Pad Shape Size Cast CastLike Identity Constant ConstantOfShape Range "
        "Resize Upsample DepthToSpace SpaceToDepth OneHot EyeLike NonZero Where Compress ReorderInput ReorderOutput "
        "QuantizeLinear DequantizeLinear DynamicQuantizeLinear ArrayFeatureExtractor ZipMap",
    ),
    _family("control flow", RED, "If Loop Scan SequenceMap"),
)
OTHERS = _family("other operators", GREY)


def family_of(node: ViewNode) -> Family:
    """The family of a node's operator."""
    return next((family for family in FAMILIES if node.op_type in family.operators), OTHERS)


def by_family(node: ViewNode) -> Paint:
    """How a node looks when nothing is known but its operator."""
    family = family_of(node)
    return Paint(family.fill, family.stroke)


def by_share(metrics: Metrics) -> Callable[[ViewNode], Paint]:
    """How nodes look by what they cost: color, size, and the share in words."""
    largest = largest_share(metrics)

    def paint(node: ViewNode) -> Paint:
        cost = metrics.nodes.get(node.key)
        if cost is None:
            return Paint(UNKNOWN, "#9ca3af")
        part = min(max(cost.share / largest, 0.0), 1.0) if largest else 0.0
        fill = color_at(part)
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


def color_at(part: float) -> str:
    """The color at a place of the scale, from 0 to 1."""
    place = part * (len(SCALE) - 1)
    step = min(int(place), len(SCALE) - 2)
    return _mixed(SCALE[step], SCALE[step + 1], place - step)
