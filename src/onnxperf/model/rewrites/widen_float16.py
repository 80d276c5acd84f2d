"""`widen-float16`: what is computed in float16 inside a model is computed in float32; the interface keeps its types."""

from __future__ import annotations

import onnx

from onnxperf.model.rewrites.retype import in_float32


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Make float32 of all float16."""
    return in_float32(proto, onnx.TensorProto.FLOAT16)
