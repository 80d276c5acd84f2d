"""A model as other modules use it: its place, interface and identity, without its graph."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard

from onnxperf.errors import BadModel
from onnxperf.records.options import Signature
from onnxperf.scratch import remover
from onnxperf.wording.numbers import size

if TYPE_CHECKING:
    from onnx import ModelProto

LARGEST_PROTO_BYTES = 2**31 - 1
"""The size limit of a protobuf message."""
UNKNOWN_TYPE = "unknown"
"""Element type of an output that declares none."""


class OwnFolder:
    """A private folder that is removed with the last object that holds it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="onnxperf-"))
        weakref.finalize(self, remover(self.path))


@dataclass(frozen=True, eq=False)
class Placed:
    """A file that has not been read yet."""

    path: Path
    label: str
    what: str
    """Its name in messages."""
    alone: bool = False
    """It has no folder, so it cannot have external data."""
    folder: OwnFolder | None = field(default=None, repr=False)
    """Keeps the file alive if it is ours."""


@dataclass(frozen=True, eq=False)
class Model:
    """An ONNX graph on disk with its signature and fingerprint, whatever its source."""

    label: str
    path: Path
    fingerprint: str
    """SHA-256 of the file, or of the digests of all files if there are external data."""
    inputs: tuple[Signature, ...]
    """The required inputs."""
    overridable: tuple[Signature, ...]
    """Initializers that are also inputs: they have a value, but may be overridden."""
    outputs: tuple[Signature, ...]
    size_bytes: int
    """Size of the file and of its external data."""
    table_sizes: Mapping[str, int] = field(default_factory=dict, repr=False)
    """Exclusive upper bounds of integer inputs that index a table of the model."""
    what: str = "the model"
    """Its name in messages."""
    timeout_s: float | None = None
    """Maximum seconds for reading anything of it, if requested."""
    folder: OwnFolder | None = field(default=None, repr=False)
    """Keeps the file alive if it is ours."""

    def for_another_process(self) -> tuple[Model, bytes | None]:
        """Its description alone, and the content of a file that is ours and may be gone by then."""
        described = {each.name: getattr(self, each.name) for each in fields(Model)}
        is_ours = self.folder is not None and self.path.stat().st_size == self.size_bytes  # no external data
        return Model(**{**described, "folder": None}), self.path.read_bytes() if is_ours else None


def place(source: str | os.PathLike[str] | bytes | ModelProto, label: str | None = None) -> Placed:
    """The location of a model: a path is used in place, anything else is written to a private folder."""
    if isinstance(source, str | os.PathLike):
        path = Path(source).absolute()
        return Placed(path, label or path.name.removesuffix(".onnx"), repr(str(source)))
    if isinstance(source, bytes | bytearray | memoryview):
        return place_bytes(source, label or "model", "the model given as bytes")
    if _is_proto(source):
        from onnxperf.model.load import place_proto  # imports onnx, which is already loaded

        return place_proto(source, label)
    raise BadModel(f"a model is a path, bytes or an onnx.ModelProto, not {type(source).__name__}")


def place_bytes(data: bytes | bytearray | memoryview, label: str, what: str) -> Placed:
    """Write a model to a private folder."""
    check_size(len(data), what)
    folder = OwnFolder()
    path = folder.path / "model.onnx"
    path.write_bytes(data)
    return Placed(path, label, what, alone=True, folder=folder)


def _is_proto(source: object) -> TypeGuard[ModelProto]:
    """Whether this is a ModelProto; a process without onnx has none."""
    onnx = sys.modules.get("onnx")
    return onnx is not None and isinstance(source, onnx.ModelProto)


def check_size(nbytes: int, what: str) -> None:
    """Reject models that exceed the size limit of protobuf."""
    if nbytes > LARGEST_PROTO_BYTES:
        raise BadModel(
            f"{what} has {size(nbytes)}, and an ONNX file cannot exceed 2 GiB; "
            "save it with its weights as external data"
        )


def fingerprint_of(path: Path, files: Iterable[Path]) -> str:
    """The identity of a model: the digest of its file, or of the digests of the file and its external data."""
    digests = [_digest(path, f"{str(path)!r}"), *(_digest(file, f"external data {str(file)!r}") for file in files)]
    if len(digests) == 1:
        return digests[0].hex()
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _digest(file: Path, what: str) -> bytes:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except OSError as error:
        raise BadModel(f"{what} cannot be read: {error.strerror or error}") from error
