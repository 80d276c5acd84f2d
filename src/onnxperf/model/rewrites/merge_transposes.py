"""`merge-transposes`: removes Transposes that undo each other, and merges consecutive ones."""

from __future__ import annotations

import onnx

from onnxperf.model.rewrites.base import EditedModel, integers, is_op

_UNARY = frozenset(
    [
        "Abs", "Cast", "Ceil", "Clip", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish",
        "Identity", "LeakyRelu", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid",
        "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Tanh", "ThresholdedRelu",
    ]
)  # fmt: skip
"""Operators that compute each element from one: a Transpose may come before or after them."""


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Merge each Transpose with the previous one, even with elementwise operators in between."""
    edited = EditedModel(proto)
    changed = 0
    for node in edited.nodes:
        if is_op(node, "Transpose") and len(node.input) == len(node.output) == 1:
            changed += _merge(edited, node)
            changed += _drop(edited, node)
    return edited.finished() if changed else None


def _merge(edited: EditedModel, node: onnx.NodeProto) -> bool:
    """Read the input of the previous Transpose, directly or across elementwise operators with no other users."""
    between: list[onnx.NodeProto] = []
    before = edited.makers.get(node.input[0])
    while before is not None and before.op_type in _UNARY and is_op(before, before.op_type) and len(between) < 8:
        if not before.input or not edited.is_private(before.output[0]):
            return False
        between.append(before)
        before = edited.makers.get(before.input[0])
    if before is None or not is_op(before, "Transpose") or len(before.input) != 1:
        return False
    first, second = integers(before, "perm"), integers(node, "perm")
    if not _fit(first, second) or (between and not edited.is_private(before.output[0])):
        return False
    together = tuple(first[axis] for axis in second)
    if between and together != tuple(range(len(together))):
        return False  # one Transpose would remain in place: no gain
    _set_perm(node, together)
    edited.forgotten.update(name for each in between for name in each.output)
    edited.connect(between[-1] if between else node, before.output[0], before.input[0])
    return True


def _fit(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Whether both are explicit and permute the same number of axes: the default, a reversal, needs the rank."""
    axes = list(range(len(first)))
    return bool(first) and sorted(first) == axes and sorted(second) == axes


def _set_perm(node: onnx.NodeProto, perm: tuple[int, ...]) -> None:
    attribute = next(each for each in node.attribute if each.name == "perm")
    attribute.ints[:] = perm


def _drop(edited: EditedModel, node: onnx.NodeProto) -> bool:
    perm = integers(node, "perm")
    if not perm or perm != tuple(range(len(perm))):
        return False
    return edited.bypass(node.output[0], node.input[0])
