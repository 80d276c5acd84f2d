"""Types, tensors and attributes of a model as the words and numbers that a reader sees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from onnxperf.records.view import Dims, Element, ViewTensor, ViewValue

SMALL = 10
"""Tensors with at most this many elements are shown with their values."""
_LONGEST_LIST = 32
"""Elements of a list attribute that are written out; those of tree ensembles have a hundred thousand."""
_ELEMENT_TYPES = frozenset({"to", "dtype", "output_dtype"})
"""Attributes that hold the number of an element type."""
_INVENTED = "unk__"
"""How the names begin that shape inference gives to sizes that it cannot tell."""
_BITS: dict[int, int] = {
    onnx.TensorProto.INT4: 4,
    onnx.TensorProto.UINT4: 4,
    onnx.TensorProto.FLOAT4E2M1: 4,
    onnx.TensorProto.INT2: 2,
    onnx.TensorProto.UINT2: 2,
}
"""Types of which several elements share a byte."""

# ---------------------------------------------------------------- types


def view_value(value: onnx.ValueInfoProto) -> ViewValue:
    """Name, type and shape of a tensor, or of whatever else it is."""
    return ViewValue(name=value.name, type=_outer_type(value.type), shape=_outer_shape(value.type))


def dtype_name(element: int) -> str:
    """An element type in numpy's words."""
    if element == onnx.TensorProto.STRING:
        return "string"
    try:
        return str(onnx.helper.tensor_dtype_to_np_dtype(element).name)
    except KeyError:
        return "unknown"


def _outer_type(type_proto: onnx.TypeProto) -> str:
    if type_proto.WhichOneof("value") == "tensor_type":
        return dtype_name(type_proto.tensor_type.elem_type)
    return type_text(type_proto)


def _outer_shape(type_proto: onnx.TypeProto) -> Dims | None:
    return _dims(type_proto.tensor_type) if type_proto.WhichOneof("value") == "tensor_type" else None


def type_text(type_proto: onnx.TypeProto) -> str:
    """A whole type in one word: `float32[N, 3]`, `sequence(map(int64, float32))`."""
    match type_proto.WhichOneof("value"):
        case "tensor_type":
            tensor = type_proto.tensor_type
            return dtype_name(tensor.elem_type) + shape_text(_dims(tensor))
        case "sparse_tensor_type":
            sparse = type_proto.sparse_tensor_type
            return f"sparse({dtype_name(sparse.elem_type)}{shape_text(_dims(sparse))})"
        case "sequence_type":
            return f"sequence({type_text(type_proto.sequence_type.elem_type)})"
        case "optional_type":
            return f"optional({type_text(type_proto.optional_type.elem_type)})"
        case "map_type":
            pair = type_proto.map_type
            return f"map({dtype_name(pair.key_type)}, {type_text(pair.value_type)})"
        case _:
            return "unknown"


def _dims(tensor: Any) -> Dims | None:
    return tuple(_dim(each) for each in tensor.shape.dim) if tensor.HasField("shape") else None


def _dim(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None  # some exporters write -1 for a free dimension
    return dim.dim_param if dim.dim_param and not dim.dim_param.startswith(_INVENTED) else None


def shape_text(shape: Dims | None) -> str:
    """A shape as `[N, 3]`, unknown sizes as `?`; nothing if not even the rank is known."""
    return "" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


# ---------------------------------------------------------------- tensors


def view_tensor(tensor: onnx.TensorProto, folder: Path, values: bool = False) -> ViewTensor:
    """A stored tensor; only a small one is decoded, unless all values are wanted."""
    shape = tuple(tensor.dims)
    external = tensor.data_location == onnx.TensorProto.EXTERNAL
    is_small = math.prod(shape) <= SMALL and not external
    array = onnx.numpy_helper.to_array(tensor, str(folder)) if values or is_small else None
    return ViewTensor(
        name=tensor.name,
        dtype=dtype_name(tensor.data_type),
        shape=shape,
        size_bytes=_stored_bytes(tensor),
        preview=_nested(array) if array is not None and array.size <= SMALL else "",
        values=tuple(map(_element, array.ravel())) if values and array is not None else None,
        external=external,
    )


def view_sparse(sparse: onnx.SparseTensorProto, folder: Path, values: bool = False) -> ViewTensor:
    """A stored tensor of which only the values that are not zero are there."""
    stored = view_tensor(sparse.values, folder, values)
    return ViewTensor(
        name=stored.name,
        dtype=stored.dtype,
        shape=tuple(sparse.dims),
        size_bytes=stored.size_bytes + _stored_bytes(sparse.indices),
        values=stored.values,
        external=stored.external,
        sparse=True,
    )


def _stored_bytes(tensor: onnx.TensorProto) -> int:
    """Bytes of the elements, from type and shape: asking protobuf for the bytes themselves would copy them."""
    if tensor.data_type == onnx.TensorProto.STRING:
        return sum(len(text) for text in tensor.string_data)
    count: int = math.prod(tensor.dims)
    if tensor.data_type in _BITS:
        return -(-count * _BITS[tensor.data_type] // 8)
    try:
        return int(count * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize)
    except KeyError:
        return 0


def _element(value: Any) -> Element:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bytes):
        return plain.decode(errors="replace")
    if isinstance(plain, bool | int | str) or (isinstance(plain, float) and math.isfinite(plain)):
        return plain
    return str(value)


def _nested(array: np.ndarray[Any, Any]) -> str:
    if array.ndim == 0:
        return _word(array[()])
    return f"[{', '.join(map(_nested, array))}]" if array.ndim > 1 else f"[{', '.join(map(_word, array))}]"


def _word(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return repr(value) if isinstance(value, str) and not isinstance(value, np.number) else str(value)


# ---------------------------------------------------------------- attributes


def attribute_text(attribute: onnx.AttributeProto, folder: Path, values: bool = False) -> str:
    """The value of an attribute; what is long is summarised, unless all values are wanted."""
    if attribute.ref_attr_name:
        return f"@{attribute.ref_attr_name}"  # set by whoever calls the function
    if attribute.type == onnx.AttributeProto.TENSOR:
        return _tensor_text(view_tensor(attribute.t, folder, values))
    if attribute.type == onnx.AttributeProto.SPARSE_TENSOR:
        return _tensor_text(view_sparse(attribute.sparse_tensor, folder, values))
    if attribute.name in _ELEMENT_TYPES and attribute.type == onnx.AttributeProto.INT:
        name = dtype_name(attribute.i)
        return name if name != "unknown" else str(attribute.i)
    if attribute.type in _SINGLE:
        return _SINGLE[attribute.type](attribute)
    if attribute.type in _LISTS:
        return _list_text(*_LISTS[attribute.type](attribute), None if values else _LONGEST_LIST)
    return f"{len(attribute.tensors) or len(attribute.sparse_tensors)} tensors"


def _tensor_text(tensor: ViewTensor) -> str:
    values = tensor.preview or (f"[{', '.join(map(str, tensor.values))}]" if tensor.values is not None else "")
    kind = "sparse " if tensor.sparse else ""
    return f"{kind}{tensor.dtype}{shape_text(tensor.shape)}{' ' if values else ''}{values}"


def _list_text(elements: Sequence[Any], word: Callable[[Any], str], most: int | None) -> str:
    shown = ", ".join(map(word, elements[:most]))
    return f"[{shown}]" if most is None or len(elements) <= most else f"[{shown}, … {len(elements):,} values]"


def _text(content: bytes) -> str:
    return repr(content.decode(errors="replace"))


def _single_precision(number: float) -> str:
    return str(np.float32(number))  # 0.1 as it was written, not as the nearest double reads


_SINGLE: dict[int, Callable[[onnx.AttributeProto], str]] = {
    onnx.AttributeProto.FLOAT: lambda attribute: _single_precision(attribute.f),
    onnx.AttributeProto.INT: lambda attribute: str(attribute.i),
    onnx.AttributeProto.STRING: lambda attribute: _text(attribute.s),
    onnx.AttributeProto.TYPE_PROTO: lambda attribute: type_text(attribute.tp),
}
_LISTS: dict[int, Callable[[onnx.AttributeProto], tuple[Sequence[Any], Callable[[Any], str]]]] = {
    onnx.AttributeProto.FLOATS: lambda attribute: (attribute.floats, _single_precision),
    onnx.AttributeProto.INTS: lambda attribute: (attribute.ints, str),
    onnx.AttributeProto.STRINGS: lambda attribute: (attribute.strings, _text),
    onnx.AttributeProto.TYPE_PROTOS: lambda attribute: (attribute.type_protos, type_text),
}


def is_graph(attribute: onnx.AttributeProto) -> bool:
    """Whether an attribute is a body, or several of them."""
    return attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)


def bodies(attributes: Iterable[onnx.AttributeProto]) -> Iterable[tuple[str, onnx.GraphProto]]:
    """Bodies by the name of their attribute; those of a list are numbered."""
    for attribute in attributes:
        if attribute.HasField("g"):
            yield attribute.name, attribute.g
        yield from ((f"{attribute.name}[{number}]", body) for number, body in enumerate(attribute.graphs))
