"""`drop-casts`: removes Casts that have no effect, and merges chains of exact ones."""

from __future__ import annotations

import onnx

from onnxperf.model.rewrites.base import EditedModel, integer, is_op

_T = onnx.TensorProto
_EXACT: dict[int, frozenset[int]] = {
    _T.BOOL: frozenset(
        {_T.FLOAT16, _T.BFLOAT16, _T.FLOAT, _T.DOUBLE, _T.INT8, _T.UINT8, _T.INT16, _T.UINT16, _T.INT32, _T.INT64}
    ),
    _T.INT8: frozenset({_T.FLOAT16, _T.BFLOAT16, _T.FLOAT, _T.DOUBLE, _T.INT16, _T.INT32, _T.INT64}),
    _T.UINT8: frozenset({_T.FLOAT16, _T.BFLOAT16, _T.FLOAT, _T.DOUBLE, _T.INT16, _T.UINT16, _T.INT32, _T.INT64}),
    _T.INT16: frozenset({_T.FLOAT, _T.DOUBLE, _T.INT32, _T.INT64}),
    _T.UINT16: frozenset({_T.FLOAT, _T.DOUBLE, _T.INT32, _T.INT64}),
    _T.INT32: frozenset({_T.DOUBLE, _T.INT64}),
    _T.FLOAT16: frozenset({_T.FLOAT, _T.DOUBLE}),
    _T.BFLOAT16: frozenset({_T.FLOAT, _T.DOUBLE}),
    _T.FLOAT: frozenset({_T.DOUBLE}),
}
"""For each type, the types that can represent all its values."""
_EXACT_NAMES = frozenset(
    (onnx.helper.tensor_dtype_to_np_dtype(one).name, onnx.helper.tensor_dtype_to_np_dtype(other).name)
    for one, others in _EXACT.items()
    for other in others
)


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Skip every exact Cast before another Cast, and every Cast to the type that a tensor already has."""
    edited = EditedModel(proto)
    changed = 0
    for node in edited.nodes:
        if is_op(node, "Cast") and len(node.input) == len(node.output) == 1:
            changed += _skip_exact(edited, node)
            changed += _drop(edited, node)
    return edited.finished() if changed else None


def holds_all_of(dtype: str, other: str) -> bool:
    """Whether the second type, by numpy name, can represent every value of the first."""
    return (dtype, other) in _EXACT_NAMES


def _skip_exact(edited: EditedModel, node: onnx.NodeProto) -> bool:
    """Read the input of the previous Cast, if that Cast is exact; earlier ones were skipped already."""
    before = edited.maker(node.input[0], "Cast")
    if before is None or len(before.input) != 1:
        return False
    source, between = edited.element(before.input[0]), integer(before, "to")
    if between != source and between not in _EXACT.get(source, ()):
        return False
    edited.connect(node, node.input[0], before.input[0])
    return True


def _drop(edited: EditedModel, node: onnx.NodeProto) -> bool:
    element = edited.element(node.input[0])
    if not element or element != integer(node, "to"):
        return False
    return edited.bypass(node.output[0], node.input[0])
