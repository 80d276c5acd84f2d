"""`onnxperf.to_onnx`: a model of another framework as an ONNX model."""

from __future__ import annotations

from typing import Any

import onnx

from onnxperf.api.convert import convert
from onnxperf.errors import BadInput


def to_onnx(model: Any, sample: Any = None, **keywords: Any) -> onnx.ModelProto:
    """Convert a model as `onnxperf.convert` does, with its keywords; an error if it computes something else."""
    result = convert(model, sample, **keywords)
    if not result.record.equal:
        raise BadInput(f"{result.answer} onnxperf.convert(...) shows by how much; check=False accepts it as it is")
    return result.proto
