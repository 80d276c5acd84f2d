"""`flush-denormals`: replaces every denormal weight with zero."""

from __future__ import annotations

import onnx

from onnxperf.model.denormals import count_denormals, without_denormals
from onnxperf.model.graph import all_tensors, is_external

_VALUES = ("float_data", "double_data", "int32_data")


def rewrite(proto: onnx.ModelProto) -> onnx.ModelProto | None:
    """Change the tensors with denormals; their external data must be loaded already."""
    if not any(_is_slow(tensor) for tensor in all_tensors(proto)):
        return None
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for tensor in filter(_is_slow, all_tensors(copy)):
        flushed = without_denormals(tensor)
        for field in _VALUES:
            tensor.ClearField(field)
        tensor.raw_data = flushed
    return copy


def _is_slow(tensor: onnx.TensorProto) -> bool:
    return not is_external(tensor) and count_denormals(tensor, None) > 0
