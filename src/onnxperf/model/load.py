"""Opens a model from a path, bytes or a ModelProto, or raises what is wrong with it in one line."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import onnx
from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped]

from onnxperf.errors import BadModel
from onnxperf.model.external import external_files
from onnxperf.model.graph import all_nodes, all_tensors, dims_of, element_dtype, initialisers, is_external
from onnxperf.records.options import Signature
from onnxperf.wording.names import one_line
from onnxperf.wording.numbers import size

Kind = Literal["tensor", "sequence", "map", "optional", "sparse"]

LARGEST_PROTO_BYTES = 2**31 - 1
"""What protobuf can hold in one message."""
UNKNOWN_TYPE = "unknown"
"""Element type of an output that declares none."""

_KINDS: dict[str, Kind] = {
    "tensor_type": "tensor",
    "sequence_type": "sequence",
    "map_type": "map",
    "optional_type": "optional",
    "sparse_tensor_type": "sparse",
}
_FOREIGN_FILES: tuple[tuple[int, bytes, str], ...] = (
    (4, b"ORTM", "it is in onnxruntime's own .ort format; give the .onnx file it was made from"),
    (4, b"TFL3", "it is a TensorFlow Lite model; convert it with tf2onnx"),
    (0, b"version https://git-lfs", "it is only a Git LFS pointer; fetch the model with: git lfs pull"),
    (0, b"PK\x03\x04", "it is a zip archive (as torch.save writes); export the model to ONNX"),
    (0, b"\x89HDF", "it is an HDF5 file (as Keras writes); convert it with tf2onnx"),
)
_BAD_TEXT = "it holds a name that is not text; fetch or export it again"
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_IR_VERSION_TAG = b"\x08"
_FIRST_IR_WITH_OPSETS = 3


class OwnFolder:
    """A private folder that disappears with the last object that holds it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="onnxperf-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, eq=False)
class _Parsed:
    """A ModelProto, the bytes it was read from, and what messages call it."""

    what: str
    data: bytes
    proto: onnx.ModelProto


@dataclass(frozen=True, eq=False)
class Model:
    """An ONNX graph on disk with its signature and fingerprint, however it came in."""

    label: str
    path: Path
    fingerprint: str
    """SHA-256 of the file; of the digests of all files when there is external data."""
    inputs: tuple[Signature, ...]
    """What must be fed."""
    overridable: tuple[Signature, ...]
    """Initialisers that are also inputs: they have a value and may be fed."""
    outputs: tuple[Signature, ...]
    proto: onnx.ModelProto = field(repr=False)
    """The graph as it is in the file; external data are not loaded."""
    size_bytes: int
    """Size of the file and of its external data."""
    folder: OwnFolder | None = field(default=None, repr=False)
    """Keeps the file alive when it is ours."""


def open_model(source: str | os.PathLike[str] | bytes | onnx.ModelProto, label: str | None = None) -> Model:
    """Opens a model; a path is used in place, anything else is written to a private folder."""
    try:
        if isinstance(source, str | os.PathLike):
            return _open_path(source, label)
        if isinstance(source, onnx.ModelProto):
            return _open_proto(source, label)
        if isinstance(source, bytes | bytearray | memoryview):
            return _open_bytes(bytes(source), label or "model", "the model given as bytes")
    except UnicodeDecodeError as error:  # what older versions of protobuf raise when such a text is looked at
        raise BadModel(f"the model is damaged: {_BAD_TEXT}") from error
    raise BadModel(f"a model is a path, bytes or an onnx.ModelProto, not {type(source).__name__}")


def _open_path(source: str | os.PathLike[str], label: str | None) -> Model:
    path, what = Path(source).absolute(), repr(str(source))
    return _describe(_parse(_read(path, what), what), path, label or path.name.removesuffix(".onnx"))


def _read(path: Path, what: str) -> bytes:
    try:
        if not path.exists():
            raise BadModel(f"no such file: {what}")
        if not path.is_file():
            raise BadModel(f"{what} is {'a folder' if path.is_dir() else 'not a regular file'}; give an .onnx file")
        _check_size(path.stat().st_size, what)
        return path.read_bytes()
    except OSError as error:
        raise BadModel(f"{what} cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a null byte in the name
        raise BadModel(f"no such file: {what} ({error})") from error


def _check_size(nbytes: int, what: str) -> None:
    if nbytes > LARGEST_PROTO_BYTES:
        raise BadModel(
            f"{what} has {size(nbytes)}, and an ONNX file cannot exceed 2 GiB; "
            "save it with its weights as external data"
        )


def _open_bytes(data: bytes, label: str, what: str) -> Model:
    _check_size(len(data), what)
    parsed = _parse(data, what)
    _refuse_missing_folder(parsed.proto, what)
    folder = OwnFolder()
    path = folder.path / "model.onnx"
    path.write_bytes(data)
    return _describe(parsed, path, label, folder)


def _open_proto(proto: onnx.ModelProto, label: str | None) -> Model:
    label = label or proto.graph.name or "model"
    what = f"the ModelProto {label!r}"
    _refuse_missing_folder(proto, what)
    inline = _inline(proto)
    try:
        data = inline.SerializeToString()
    except (EncodeError, ValueError):
        data = None
    if data is not None and len(data) <= LARGEST_PROTO_BYTES:
        return _open_bytes(data, label, what)
    return _open_large_proto(inline, label, what)


def _open_large_proto(proto: onnx.ModelProto, label: str, what: str) -> Model:
    folder = OwnFolder()
    path = folder.path / "model.onnx"
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)  # saving moves the weights out of the proto it is given
    try:
        # a fixed name, so that the same model has the same fingerprint
        onnx.save_model(copy, path, save_as_external_data=True, location="model.onnx.data", size_threshold=1024)
    except (EncodeError, ValueError, OSError) as error:
        raise BadModel(f"{what} exceeds 2 GiB and cannot be saved with external data: {one_line(error)}") from error
    return _describe(_parse(_read(path, what), what), path, label, folder)


def _refuse_missing_folder(proto: onnx.ModelProto, what: str) -> None:
    for tensor in all_tensors(proto):
        if is_external(tensor) and not tensor.HasField("raw_data"):
            raise BadModel(
                f"{what} keeps tensor {tensor.name!r} in another file and names no folder; "
                "give the path of the .onnx file, or load the external data first"
            )


def _inline(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The proto itself, or a copy in which loaded tensors no longer claim to be external."""
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


def _parse(data: bytes, what: str) -> _Parsed:
    """The ModelProto in these bytes, if they hold a whole one."""
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise BadModel(f"{what} {_why_no_model(data)}") from error
    if not _is_whole(proto):
        raise BadModel(f"{what} {_why_no_model(data)}")
    # protobuf hands out bytes where text does not decode; better found here than at the first use
    if not all(isinstance(text, str) for text in _texts(proto)):
        raise BadModel(f"{what} is damaged: {_BAD_TEXT}")
    return _Parsed(what, data, proto)


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


def _describe(parsed: _Parsed, path: Path, label: str, folder: OwnFolder | None = None) -> Model:
    what, proto = parsed.what, parsed.proto
    files = external_files(proto, path, what)
    initialised = initialisers(proto.graph)
    for name in _interface_names(proto):
        if _CONTROL_CHARACTERS.search(name):  # they would reach terminals and reports
            raise BadModel(f"{what} is damaged: {name!r}, a name of an input, output or dimension, is not printable")
    inputs = tuple(_signature(i, "input", what) for i in proto.graph.input)
    return Model(
        label=label,
        path=path,
        fingerprint=_fingerprint(parsed.data, files),
        inputs=tuple(i for i in inputs if i.name not in initialised),
        overridable=tuple(i for i in inputs if i.name in initialised),
        outputs=tuple(_signature(o, "output", what) for o in proto.graph.output),
        proto=proto,
        size_bytes=len(parsed.data) + sum(f.stat().st_size for f in files),
        folder=folder,
    )


def _fingerprint(data: bytes, files: Iterable[Path]) -> str:
    digests = [hashlib.sha256(data)]
    for file in files:
        try:
            with file.open("rb") as stream:
                digests.append(hashlib.file_digest(stream, "sha256"))
        except OSError as error:
            raise BadModel(f"external data {str(file)!r} cannot be read: {error.strerror or error}") from error
    if len(digests) == 1:
        return digests[0].hexdigest()
    return hashlib.sha256(b"".join(d.digest() for d in digests)).hexdigest()


# ---------------------------------------------------------------- signatures


def _signature(value: onnx.ValueInfoProto, role: str, what: str) -> Signature:
    which = value.type.WhichOneof("value")
    if which is None and role == "output":  # runtimes infer it
        return Signature(name=value.name, dtype=UNKNOWN_TYPE)
    if which not in _KINDS:
        raise BadModel(f"{what}: {role} {value.name!r} has no type that a runtime could be fed; export the model again")
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
    """An element type in numpy's words."""
    if elem_type == onnx.TensorProto.STRING:
        return "string"
    dtype = element_dtype(elem_type)
    return UNKNOWN_TYPE if dtype is None else dtype.name
