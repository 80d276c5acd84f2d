"""`onnxperf.to_onnx`: a model of another framework as an ONNX model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from onnxperf.api.convert import convert
from onnxperf.errors import BadInput


def to_onnx(
    model: Any,
    sample: Any = None,
    *,
    opset: int | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic: Mapping[str, str] | None = None,
    check: bool = True,
    **keywords: Any,
) -> onnx.ModelProto:
    """Convert a model as `onnxperf.convert` does; an error if it does not compute what its source does."""
    result = convert(
        model,
        sample,
        opset=opset,
        input_names=input_names,
        output_names=output_names,
        dynamic=dynamic,
        check=check,
        **keywords,
    )
    if not result.record.equal:
        raise BadInput(f"{result.answer} onnxperf.convert(...) shows by how much; check=False takes it as it is")
    return result.proto
