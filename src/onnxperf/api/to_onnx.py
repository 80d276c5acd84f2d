"""`onnxperf.to_onnx`: a model of another framework as an ONNX model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx

from onnxperf.api._shared.public import public
from onnxperf.api.convert import convert
from onnxperf.errors import BadInput
from onnxperf.options.functions import CONVERT


@public(CONVERT)
def to_onnx(model: Any, sample: Any = None, *, given: Mapping[str, Any]) -> onnx.ModelProto:
    """Convert a model as `onnxperf.convert` does, with its options; an error if it computes something else."""
    result = convert(model, sample, **given)
    if not result.record.equal:
        raise BadInput(f"{result.answer} onnxperf.convert(...) shows by how much; check=False accepts it as it is")
    return result.proto
