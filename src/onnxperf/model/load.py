"""Opens a model in this process, or raises a one-line error."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import onnx
from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped]

from onnxperf.errors import BadModel
from onnxperf.model.external import external_files
from onnxperf.model.functions import check_functions
from onnxperf.model.graph import all_nodes, all_tensors, dims_of, element_dtype, initialisers, is_external
from onnxperf.model.index_limits import index_limits
from onnxperf.model.opened import (
    LARGEST_PROTO_BYTES,
    UNKNOWN_TYPE,
    Model,
    OwnFolder,
    Placed,
    check_size,
    fingerprint_of,
    place,
    place_bytes,
)
from onnxperf.model.tensors import check_tensors
from onnxperf.records.options import Signature
from onnxperf.wording.names import one_line

Kind = Literal["tensor", "sequence", "map", "optional", "sparse"]

_KINDS: dict[str, Kind] = {
    "tensor_type": "tensor",
    "sequence_type": "sequence",
    "map_type": "map",
    "optional_type": "optional",
    "sparse_tensor_type": "sparse",
}
_FOREIGN_FILES: tuple[tuple[int, bytes, str], ...] = (
    (4, b"ORTM", "it is in onnxruntime's own .ort format; use the .onnx file that it was made from"),
    (4, b"TFL3", "it is a TensorFlow Lite model; convert it with tf2onnx"),
    (0, b"version https://git-lfs", "it is only a Git LFS pointer; fetch the model with: git lfs pull"),
    (0, b"PK\x03\x04", "it is a zip archive (as written by torch.save); export the model to ONNX"),
    (0, b"\x89HDF", "it is an HDF5 file (as written by Keras); convert it with tf2onnx"),
)
BAD_TEXT = "it contains a name that is not text; fetch or export it again"
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_IR_VERSION_TAG = b"\x08"
_FIRST_IR_WITH_OPSETS = 3
_LARGEST_OPSET = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Parsed:
    """A ModelProto, the size of its file, and its name in messages."""

    what: str
    size_bytes: int
    proto: onnx.ModelProto


@dataclass(frozen=True, eq=False)
class Description:
    """What other modules need to know about a model before it runs."""

    inputs: tuple[Signature, ...]
    overridable: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    files: tuple[Path, ...]
    """The files of its external data."""
    size_bytes: int
    table_sizes: dict[str, int]


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadedModel(Model):
    """A model whose graph is loaded in this process."""

    proto: onnx.ModelProto = field(repr=False)
    """The graph as in the file; external data are not loaded."""


def open_model(source: str | os.PathLike[str] | bytes | onnx.ModelProto, label: str | None = None) -> LoadedModel:
    """Opens a model in this process: only if the caller created it, or explicitly wants it here."""
    try:
        placed = place(source, label)
        parsed = parse_file(placed.path, placed.what)
        found = describe(parsed, placed.path, placed.alone)
    except UnicodeDecodeError as error:  # raised by older versions of protobuf when such text is read
        raise BadModel(f"the model is damaged: {BAD_TEXT}") from error
    return LoadedModel(
        label=placed.label,
        path=placed.path,
        fingerprint=fingerprint_of(placed.path, found.files),
        inputs=found.inputs,
        overridable=found.overridable,
        outputs=found.outputs,
        size_bytes=found.size_bytes,
        table_sizes=found.table_sizes,
        what=placed.what,
        folder=placed.folder,
        proto=parsed.proto,
    )


# ---------------------------------------------------------------- models in memory


def place_proto(proto: onnx.ModelProto, label: str | None) -> Placed:
    """Write a ModelProto to a private folder, with its weights next to it if they are too large."""
    if not isinstance(proto.graph.name, str):
        raise BadModel(f"the ModelProto is damaged: {BAD_TEXT}")
    label = label or proto.graph.name or "model"
    what = f"the ModelProto {label!r}"
    _refuse_missing_folder(proto, what)
    inline = _inline(proto)
    try:
        data = inline.SerializeToString()
    except (EncodeError, ValueError):
        data = None
    if data is not None and len(data) <= LARGEST_PROTO_BYTES:
        return place_bytes(data, label, what)
    return _place_large_proto(inline, label, what)


def _place_large_proto(proto: onnx.ModelProto, label: str, what: str) -> Placed:
    folder = OwnFolder()
    path = folder.path / "model.onnx"
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)  # saving moves the weights out of its argument
    try:
        # a fixed name, so that the same model has the same fingerprint
        onnx.save_model(copy, path, save_as_external_data=True, location="model.onnx.data", size_threshold=1024)
    except (EncodeError, ValueError, OSError) as error:
        raise BadModel(f"{what} exceeds 2 GiB and cannot be saved with external data: {one_line(error)}") from error
    return Placed(path, label, what, folder=folder)


def _refuse_missing_folder(proto: onnx.ModelProto, what: str) -> None:
    for tensor in all_tensors(proto):
        if is_external(tensor) and not tensor.HasField("raw_data"):
            raise BadModel(
                f"{what} stores tensor {tensor.name!r} in another file, but its folder is unknown; "
                "pass the path of the .onnx file, or load the external data first"
            )


def _inline(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The proto itself, or a copy in which loaded tensors are no longer marked as external."""
    if not any(is_external(t) for t in all_tensors(proto)):
        return proto
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for tensor in all_tensors(copy):
        if is_external(tensor):
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
    return copy


# ---------------------------------------------------------------- reading


def parse_file(path: Path, what: str) -> Parsed:
    """The ModelProto in a file, if it is complete and safe to use."""
    data = _read(path, what)
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise BadModel(f"{what} {_why_no_model(data)}") from error
    if not _is_whole(proto):
        raise BadModel(f"{what} {_why_no_model(data)}")
    # protobuf returns bytes if text does not decode; better detected here than on first use
    if not all(isinstance(text, str) for text in _texts(proto)):
        raise BadModel(f"{what} is damaged: {BAD_TEXT}")
    _check_opsets(proto, what)
    check_tensors(proto, what)
    check_functions(proto, what)
    return Parsed(what, len(data), proto)


def _read(path: Path, what: str) -> bytes:
    try:
        if not path.exists():
            raise BadModel(f"no such file: {what}")
        if not path.is_file():
            raise BadModel(f"{what} is {'a folder' if path.is_dir() else 'not a regular file'}; use an .onnx file")
        check_size(path.stat().st_size, what)
        return path.read_bytes()
    except OSError as error:
        raise BadModel(f"{what} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # the name contains a null byte
        raise BadModel(f"no such file: {what} ({error})") from error


def _check_opsets(proto: onnx.ModelProto, what: str) -> None:
    functions = (each for function in proto.functions for each in function.opset_import)
    for each in (*proto.opset_import, *functions):
        if not 0 <= each.version <= _LARGEST_OPSET:
            raise BadModel(
                f"{what} is damaged: it declares version {each.version} of the operators of "
                f"{each.domain or 'ai.onnx'!r}; export it again"
            )


def _texts(proto: onnx.ModelProto) -> Iterator[str]:
    yield proto.graph.name
    yield from _interface_names(proto)
    for node in all_nodes(proto):
        yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
        yield from (a.name for a in node.attribute)
    for tensor in all_tensors(proto):
        yield tensor.name
        yield from (text for e in tensor.external_data for text in (e.key, e.value))


def _interface_names(proto: onnx.ModelProto) -> Iterator[str]:
    for value in (*proto.graph.input, *proto.graph.output):
        yield value.name
        yield from (d.dim_param for d in _innermost(value.type).shape.dim)


def _why_no_model(data: bytes) -> str:
    for offset, magic, reason in _FOREIGN_FILES:
        if data[offset : offset + len(magic)] == magic:
            return f"is not an ONNX file: {reason}"
    if data[:1] == _IR_VERSION_TAG:
        return "is truncated or damaged; fetch or export it again"
    return "is not an ONNX file" if data else "is empty: not an ONNX file"


def _is_whole(proto: onnx.ModelProto) -> bool:
    has_opsets = len(proto.opset_import) > 0 or 0 < proto.ir_version < _FIRST_IR_WITH_OPSETS
    return proto.HasField("graph") and len(proto.graph.output) > 0 and has_opsets


def describe(parsed: Parsed, path: Path, alone: bool = False) -> Description:
    """Inputs, outputs and files of a model; one that is `alone` has no folder for external data."""
    what, proto = parsed.what, parsed.proto
    if alone:
        _refuse_missing_folder(proto, what)
    files = external_files(proto, path, what)
    initialised = initialisers(proto.graph)
    for name in _interface_names(proto):
        if _CONTROL_CHARACTERS.search(name):  # they would appear in terminals and reports
            raise BadModel(f"{what} is damaged: {name!r}, a name of an input, output or dimension, is not printable")
    inputs = tuple(_signature(i, "input", what) for i in proto.graph.input)
    return Description(
        inputs=tuple(i for i in inputs if i.name not in initialised),
        overridable=tuple(i for i in inputs if i.name in initialised),
        outputs=tuple(_signature(o, "output", what) for o in proto.graph.output),
        files=files,
        size_bytes=parsed.size_bytes + sum(f.stat().st_size for f in files),
        table_sizes=index_limits(proto),
    )


# ---------------------------------------------------------------- signatures


def _signature(value: onnx.ValueInfoProto, role: str, what: str) -> Signature:
    which = value.type.WhichOneof("value")
    if which is None and role == "output":  # runtimes infer it
        return Signature(name=value.name, dtype=UNKNOWN_TYPE)
    if which not in _KINDS:
        raise BadModel(f"{what}: {role} {value.name!r} has a type that no runtime accepts; export the model again")
    kind = _KINDS[which]
    tensor = _innermost(value.type)
    shape = dims_of(tensor) if kind in ("tensor", "sparse", "optional") else None
    dtype = dtype_name(tensor.elem_type)
    if dtype == UNKNOWN_TYPE and role == "input" and kind == "tensor":
        raise BadModel(f"{what}: input {value.name!r} has the unknown element type {tensor.elem_type}")
    return Signature(name=value.name, kind=kind, dtype=dtype, shape=shape)


def _innermost(type_proto: onnx.TypeProto) -> onnx.TypeProto.Tensor | onnx.TypeProto.SparseTensor:
    """The tensor type inside sequences, maps and optionals."""
    match type_proto.WhichOneof("value"):
        case "sequence_type":
            return _innermost(type_proto.sequence_type.elem_type)
        case "optional_type":
            return _innermost(type_proto.optional_type.elem_type)
        case "map_type":
            return _innermost(type_proto.map_type.value_type)
        case "sparse_tensor_type":
            return type_proto.sparse_tensor_type
        case _:
            return type_proto.tensor_type


def dtype_name(elem_type: int) -> str:
    """An element type by its numpy name."""
    if elem_type == onnx.TensorProto.STRING:
        return "string"
    dtype = element_dtype(elem_type)
    return UNKNOWN_TYPE if dtype is None else dtype.name
