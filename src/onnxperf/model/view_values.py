"""Types, tensors and attributes of a model as words and numbers for readers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from onnxperf.errors import BadModel
from onnxperf.model.graph import dims_of, is_external
from onnxperf.model.load import dtype_name
from onnxperf.model.opened import UNKNOWN_TYPE
from onnxperf.model.tensors import stored_bytes
from onnxperf.records.view import Dims, Element, ViewTensor, ViewValue
from onnxperf.wording.numbers import count

if TYPE_CHECKING:
    from onnxperf.model.generate import Array

SMALL = 10
"""Tensors with at most this many elements are shown with their values."""
DAMAGED = "damaged"
"""Shown in place of unreadable values."""
_LONGEST_TEXT = 1000
"""Maximum number of characters shown of a text; some models hold whole documents."""
_LONGEST_LIST = 32
"""Maximum number of elements shown of a list attribute; those of tree ensembles have a hundred thousand."""
_ELEMENT_TYPES = frozenset({"to", "dtype", "output_dtype"})
"""Attributes whose value is the number of an element type."""
_INVENTED = "unk__"
"""Prefix of the names that shape inference gives to sizes that it cannot infer."""

# ---------------------------------------------------------------- types


def view_value(value: onnx.ValueInfoProto) -> ViewValue:
    """Name, type and shape of a tensor, or of another value."""
    if value.type.WhichOneof("value") != "tensor_type":
        return ViewValue(name=value.name, type=type_text(value.type))
    tensor = value.type.tensor_type
    return ViewValue(name=value.name, type=dtype_name(tensor.elem_type), shape=_dims(tensor))


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
            return UNKNOWN_TYPE


def _dims(tensor: onnx.TypeProto.Tensor | onnx.TypeProto.SparseTensor) -> Dims | None:
    dims = dims_of(tensor)
    return dims and tuple(None if isinstance(size, str) and size.startswith(_INVENTED) else size for size in dims)


def shape_text(shape: Dims | None) -> str:
    """A shape as `[N, 3]`, unknown sizes as `?`; nothing if not even the rank is known."""
    return "" if shape is None else f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


# ---------------------------------------------------------------- tensors


def view_tensor(tensor: onnx.TensorProto, folder: Path, values: bool = False) -> ViewTensor:
    """A stored tensor; only small ones are decoded, unless all values are requested."""
    shape = _sizes(tensor.name, tensor.dims)
    external = is_external(tensor)
    is_wanted = values or (math.prod(shape) <= SMALL and not external)
    array = _decoded(tensor, folder) if is_wanted else None
    return ViewTensor(
        name=tensor.name,
        dtype=dtype_name(tensor.data_type),
        shape=shape,
        size_bytes=_stored_bytes(tensor),
        preview=_preview(array) if array is not None else DAMAGED if is_wanted else "",
        values=tuple(map(_element, array.ravel())) if values and array is not None else None,
        external=external,
    )


def view_sparse(sparse: onnx.SparseTensorProto, folder: Path, values: bool = False) -> ViewTensor:
    """A sparse tensor, which stores only its nonzero values."""
    stored = view_tensor(sparse.values, folder, values)
    return ViewTensor(
        name=stored.name,
        dtype=stored.dtype,
        shape=_sizes(stored.name, sparse.dims),
        size_bytes=stored.size_bytes + _stored_bytes(sparse.indices),
        preview=DAMAGED if stored.preview == DAMAGED else "",
        values=stored.values,
        external=stored.external,
        sparse=True,
    )


def _sizes(name: str, dims: Iterable[int]) -> tuple[int, ...]:
    sizes = tuple(dims)
    if any(size < 0 for size in sizes) or math.prod(sizes) >= 2**63:
        raise BadModel(f"the model is damaged: tensor {name!r} has the shape {list(sizes)}; fetch or export it again")
    return sizes


def _decoded(tensor: onnx.TensorProto, folder: Path) -> Array | None:
    """The values; None if the bytes do not match type and shape, or if the type is unknown."""
    try:
        return onnx.numpy_helper.to_array(tensor, str(folder))
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, OSError, onnx.checker.ValidationError):
        return None


def _preview(array: Array) -> str:
    if array.size == 0:
        return "[]"
    return _nested(array) if array.size <= SMALL else ""


def _stored_bytes(tensor: onnx.TensorProto) -> int:
    """Bytes of the elements, computed from type and shape: asking protobuf for the bytes themselves would copy them."""
    if tensor.data_type == onnx.TensorProto.STRING:
        return sum(len(text) for text in tensor.string_data)
    return stored_bytes(tensor.data_type, math.prod(tensor.dims)) or 0


def _element(value: Any) -> Element:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bytes):
        return plain.decode(errors="replace")
    if isinstance(plain, bool | int | str) or (isinstance(plain, float) and math.isfinite(plain)):
        return plain
    return str(value)


def _nested(array: Array) -> str:
    if array.ndim == 0:
        return _word(array[()])
    return f"[{', '.join(map(_nested, array))}]" if array.ndim > 1 else f"[{', '.join(map(_word, array))}]"


def _word(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return _shortened(repr(value)) if isinstance(value, str) and not isinstance(value, np.number) else str(value)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}… {count(len(text), 'character')}"


# ---------------------------------------------------------------- attributes


def attribute_text(attribute: onnx.AttributeProto, folder: Path, values: bool = False) -> str:
    """The value of an attribute; long values are summarized, unless all values are requested."""
    if attribute.ref_attr_name:
        return f"@{attribute.ref_attr_name}"  # set by the caller of the function
    kind = _kind(attribute)
    if kind == onnx.AttributeProto.TENSOR:
        return _tensor_text(view_tensor(attribute.t, folder, values))
    if kind == onnx.AttributeProto.SPARSE_TENSOR:
        return _tensor_text(view_sparse(attribute.sparse_tensor, folder, values))
    if attribute.name in _ELEMENT_TYPES and kind == onnx.AttributeProto.INT:
        name = dtype_name(attribute.i)
        return name if name != UNKNOWN_TYPE else str(attribute.i)
    if kind in _SINGLE:
        text = _SINGLE[kind](attribute)
        return text if values else _shortened(text)
    if kind in _LISTS:
        return _list_text(*_LISTS[kind](attribute), values)
    return f"{len(attribute.tensors) or len(attribute.sparse_tensors)} tensors"


def _kind(attribute: onnx.AttributeProto) -> int:
    """Its type; before IR version 2 it is implied by the field that is set."""
    fields = (_TYPES_BY_FIELD.get(descriptor.name, 0) for descriptor, _ in attribute.ListFields())
    return attribute.type or max(fields, default=0)


def _tensor_text(tensor: ViewTensor) -> str:
    values = tensor.preview or (f"[{', '.join(map(str, tensor.values))}]" if tensor.values is not None else "")
    kind = "sparse " if tensor.sparse else ""
    return f"{kind}{tensor.dtype}{shape_text(tensor.shape)}{' ' if values else ''}{values}"


def _list_text(elements: Sequence[Any], word: Callable[[Any], str], whole: bool) -> str:
    if whole:
        return f"[{', '.join(map(word, elements))}]"
    shown = ", ".join(_shortened(word(element)) for element in elements[:_LONGEST_LIST])
    return f"[{shown}]" if len(elements) <= _LONGEST_LIST else f"[{shown}, … {count(len(elements), 'value')}]"


def _text(content: bytes) -> str:
    return repr(content.decode(errors="replace"))


def _single_precision(number: float) -> str:
    return str(np.float32(number))  # 0.1 as written, not as the nearest double prints


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
_TYPES_BY_FIELD: dict[str, int] = {
    "f": onnx.AttributeProto.FLOAT,
    "i": onnx.AttributeProto.INT,
    "s": onnx.AttributeProto.STRING,
    "t": onnx.AttributeProto.TENSOR,
    "g": onnx.AttributeProto.GRAPH,
    "floats": onnx.AttributeProto.FLOATS,
    "ints": onnx.AttributeProto.INTS,
    "strings": onnx.AttributeProto.STRINGS,
    "tensors": onnx.AttributeProto.TENSORS,
    "graphs": onnx.AttributeProto.GRAPHS,
}


def is_graph(attribute: onnx.AttributeProto) -> bool:
    """Whether an attribute is a body, or several of them."""
    return _kind(attribute) in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
