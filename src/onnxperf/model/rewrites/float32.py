"""`float32`: replaces float64 inside a model with float32; inputs and outputs keep their types."""

from __future__ import annotations

import onnx

from onnxperf.model.rewrites.retype import in_float32


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Replace all float64 with float32, unless a weight is too large for it."""
    return in_float32(proto, onnx.TensorProto.DOUBLE)
