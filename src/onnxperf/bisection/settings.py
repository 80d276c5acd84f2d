"""Settings that may explain a change: differences of two sessions, and single graph optimizers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec.structs import asdict, replace

from onnxperf.records.options import SessionOptions

WORTH_TRYING: dict[str, str] = {
    "session.intra_op.allow_spinning": "0",
    "session.set_denormal_as_zero": "1",
    "session.dynamic_block_base": "4",
    "session.disable_prepacking": "1",
    "arena": "off",
    "mem_pattern": "off",
    "mem_reuse": "off",
}
"""Non-default CPU settings of onnxruntime that affect time or memory."""

OPTIMIZERS = (
    "EliminateIdentity",
    "EliminateSlice",
    "UnsqueezeElimination",
    "EliminateDropout",
    "ExpandElimination",
    "CastElimination",
    "PreShapeNodeElimination",
    "NoopElimination",
    "DivMulFusion",
    "FuseReluClip",
    "GemmSumFusion",
    "GemmTransposeFusion",
    "NotWhereFusion",
    "ConvAddFusion",
    "ConvMulFusion",
    "ConvBNFusion",
    "Pad_Fusion",
    "MatMul_BatchNormalization_Fusion",
    "LabelEncoderFusion",
    "ClipQuantRewrite",
    "ReluQuantRewrite",
    "ConstantSharing",
    "CommonSubexpressionElimination",
    "ConstantFolding",
    "MatMulAddFusion",
    "ReshapeFusion",
    "GeluFusionL1",
    "LayerNormFusionL1",
    "QDQPropagationTransformer",
    "WeightBiasQuantization",
    "EnsureUniqueDQForNodeUnit",
    "WhereDummyDq",
    "DoubleQDQPairsRemover",
    "TransposeOptimizer",
    "SliceConcatToSpaceToDepthFusion",
    "GatherSliceToSplitFusion",
    "GatherToSliceFusion",
    "QDQS8ToU8Transformer",
    "QDQSelectorActionTransformer",
    "GemmActivationFusion",
    "MatMulIntegerToFloatFusion",
    "DynamicQuantizeMatMulFusion",
    "ConvActivationFusion",
    "GeluFusionL2",
    "LayerNormFusionL2",
    "SimplifiedLayerNormFusion",
    "AttentionFusion",
    "GroupQueryAttentionFusion",
    "GroupQueryAttentionPreNormFusion",
    "EmbedLayerNormFusion",
    "BiasDropoutFusion",
    "MatmulTransposeFusion",
    "BiasGeluFusion",
    "BiasSoftmaxFusion",
    "SkipLayerNormFusion",
    "BiasSkipLayerNormFusion",
    "FastGeluFusion",
    "QuickGeluFusion",
    "MatMulScaleFusion",
    "MatMulActivationFusion",
    "MatMulNBitsFusion",
    "QDQFinalCleanupTransformer",
    "NhwcTransformer",
    "NchwcTransformer",
    "ConvAddActivationFusion",
)
"""CPU graph optimizers of onnxruntime, in the order it applies them; it ignores unknown names."""


class SettingStep(NamedTuple):
    """A value of one session field."""

    name: str
    field: str
    key: str
    """Key within a field with values by name; otherwise empty."""
    value: Any


def settings_between(first: SessionOptions, second: SessionOptions) -> list[SettingStep]:
    """Settings in `second` that differ from `first`, one by one; values only in `first` are removed together."""
    ours, theirs = asdict(first), asdict(second)
    found = []
    for field, value in theirs.items():
        if isinstance(value, dict):
            own = ours[field]
            keys = [key for key in value if own.get(key) != value[key]]
            found += [SettingStep(f"{key}={value[key]}", field, key, value[key]) for key in keys]
            if any(key not in value for key in own):
                found.append(SettingStep(f"{field} without {', '.join(sorted({*own} - {*value}))}", field, "", value))
        elif value != ours[field]:
            found.append(SettingStep(f"{field}={_text(value)}", field, "", value))
    return found


def with_settings(session: SessionOptions, settings: Iterable[SettingStep]) -> SessionOptions:
    """The session with these settings applied."""
    for each in settings:
        value = {**getattr(session, each.field), each.key: each.value} if each.key else each.value
        session = replace(session, **{each.field: value})
    return session


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)
