"""`widen-float16`: replaces float16 inside a model with float32; inputs and outputs keep their types."""

from __future__ import annotations

import onnx

from onnxperf.model.rewrites.retype import in_float32


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Replace all float16 with float32."""
    return in_float32(proto, onnx.TensorProto.FLOAT16)
