"""Compares the declared shape of a stored tensor with its actual bytes, so that other code may trust it."""

from __future__ import annotations

import math
from collections.abc import Callable

import onnx

from onnxperf.errors import BadModel
from onnxperf.model.graph import all_tensors, element_dtype, is_external

_LARGEST = 2**63
"""No tensor, dense or sparse, has more elements."""
_BITS_BY_NAME = {
    "INT4": 4,
    "UINT4": 4,
    "FLOAT4E2M1": 4,
    "INT2": 2,
    "UINT2": 2,
    "FLOAT6E2M3": 6,
    "FLOAT6E3M2": 6,
}
_TYPES = dict(onnx.TensorProto.DataType.items())
_BITS: dict[int, int] = {_TYPES[name]: bits for name, bits in _BITS_BY_NAME.items() if name in _TYPES}
"""Types whose elements share bytes, if this version of onnx has them."""
_NUMBERS: dict[int, Callable[[onnx.TensorProto], int]] = {
    onnx.TensorProto.FLOAT: lambda tensor: len(tensor.float_data),
    onnx.TensorProto.COMPLEX64: lambda tensor: len(tensor.float_data) // 2,
    onnx.TensorProto.DOUBLE: lambda tensor: len(tensor.double_data),
    onnx.TensorProto.COMPLEX128: lambda tensor: len(tensor.double_data) // 2,
    onnx.TensorProto.INT64: lambda tensor: len(tensor.int64_data),
    onnx.TensorProto.UINT32: lambda tensor: len(tensor.uint64_data),
    onnx.TensorProto.UINT64: lambda tensor: len(tensor.uint64_data),
    onnx.TensorProto.STRING: lambda tensor: len(tensor.string_data),
}
"""The field that holds a tensor's elements if they are not raw bytes, by type; by default it is `int32_data`."""


def stored_bytes(data_type: int, elements: int) -> int | None:
    """The number of bytes of that many elements in a file; None for texts and for unknown types."""
    if data_type in _BITS:
        return -(-elements * _BITS[data_type] // 8)
    dtype = element_dtype(data_type)
    return None if dtype is None or data_type == onnx.TensorProto.STRING else elements * dtype.itemsize


def check_tensors(proto: onnx.ModelProto, what: str) -> None:
    """Reject a model in which a tensor's declared size differs from its actual one."""
    for tensor in all_tensors(proto):
        _check_shape(tensor, what)
        problem = _problem_with_external(tensor) if is_external(tensor) else _problem(tensor)
        if problem:
            shape = list(tensor.dims)
            raise BadModel(
                f"{what} is damaged: tensor {tensor.name!r} declares the shape {shape}, {problem}; "
                "fetch or export it again"
            )


def _check_shape(tensor: onnx.TensorProto, what: str) -> None:
    shape = list(tensor.dims)
    if any(size < 0 for size in shape) or math.prod(shape) >= _LARGEST:
        raise BadModel(f"{what} is damaged: tensor {tensor.name!r} has the shape {shape}; fetch or export it again")


def _problem(tensor: onnx.TensorProto) -> str:
    """How the contents contradict the shape; empty if they match, or if the type is unknown."""
    elements = math.prod(tensor.dims)
    if tensor.HasField("segment") or element_dtype(tensor.data_type) is None:
        return ""
    wanted = stored_bytes(tensor.data_type, elements)
    if tensor.HasField("raw_data") and wanted is not None:
        found = len(tensor.raw_data)
        return "" if found == wanted else f"which is {wanted} bytes, but has {found}"
    count = _NUMBERS.get(tensor.data_type)
    found = len(tensor.int32_data) if count is None else count(tensor)
    packed = wanted if tensor.data_type in _BITS else elements
    return "" if found in (elements, packed) else f"which is {elements} elements, but has {found}"


def _problem_with_external(tensor: onnx.TensorProto) -> str:
    """The same for a tensor in another file, whose length is declared, too."""
    length = {each.key: each.value for each in tensor.external_data}.get("length", "")
    wanted = stored_bytes(tensor.data_type, math.prod(tensor.dims))
    is_size = length.isdecimal() and len(length) < 20
    if wanted is None or not is_size or int(length) in (0, wanted):
        return ""
    return f"which is {wanted} bytes, but has {length} in another file"
