"""`drop-nan-guards`: removes the test for NaN that torch's exporter writes after a Softmax."""

from __future__ import annotations

import onnx

from onnxperf.model.rewrites.base import EditedModel, is_op


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Skip Where(IsNaN(s), 0, s) after a Softmax; this only changes fully masked rows."""
    edited = EditedModel(proto)
    changed = 0
    for node in edited.nodes:
        if not is_op(node, "Where") or len(node.input) != 3 or len(node.output) != 1:
            continue
        test, other, softmax = node.input
        is_nan = edited.maker(test, "IsNaN")
        guarded = is_nan is not None and list(is_nan.input) == [softmax] and edited.scalar(other) == 0.0
        if guarded and edited.maker(softmax, "Softmax") is not None:
            changed += edited.bypass(node.output[0], softmax)
    return edited.finished() if changed else None
