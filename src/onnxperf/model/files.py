"""Reads arrays from .npy, .npz and .pb files without ever running what they contain."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from onnxperf.errors import BadFeed
from onnxperf.model.generate import Array
from onnxperf.model.graph import is_external
from onnxperf.wording.names import one_line

_NPY_MAGIC = b"\x93NUMPY"
_UNREADABLE = (ValueError, TypeError, KeyError, EOFError, OSError, MemoryError, zipfile.BadZipFile, DecodeError)


def read_inputs(files: Mapping[str, str | Path]) -> dict[str, Array]:
    """The array in each file, by the name of the input that it is for."""
    return {name: _read(name, Path(file)) for name, file in files.items()}


def _read(name: str, file: Path) -> Array:
    what = f"{str(file)!r}, given for input {name!r},"
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise BadFeed(f"{what} is of a kind that cannot be read; use {', '.join(_READERS)}")
    if not file.is_file():
        raise BadFeed(f"{what} {'is a folder' if file.is_dir() else 'does not exist'}")
    try:
        return reader(file, what)
    except _UNREADABLE as error:
        raise BadFeed(f"{what} is truncated or damaged: {one_line(error)}") from error


def _read_npy(file: Path, what: str) -> Array:
    with file.open("rb") as stream:
        if stream.read(len(_NPY_MAGIC)) != _NPY_MAGIC:
            raise BadFeed(f"{what} is not a .npy file; write it with np.save")
    return _unpickled(lambda: np.load(file, allow_pickle=False), what)


def _read_npz(file: Path, what: str) -> Array:
    if not zipfile.is_zipfile(file):
        raise BadFeed(f"{what} is not a .npz file; write it with np.savez")
    with np.load(file, allow_pickle=False) as archive:
        if len(archive.files) != 1:
            raise BadFeed(
                f"{what} holds {len(archive.files)} arrays ({', '.join(archive.files)}); give a file with one"
            )
        return _unpickled(lambda: archive[archive.files[0]], what)


def _read_pb(file: Path, what: str) -> Array:
    tensor = onnx.TensorProto()
    tensor.ParseFromString(file.read_bytes())
    if is_external(tensor):
        raise BadFeed(f"{what} keeps its values in another file; save them inside, or as .npy")
    if not tensor.data_type:
        raise BadFeed(f"{what} is not a tensor; write it with onnx.numpy_helper.from_array")
    return np.asarray(onnx.numpy_helper.to_array(tensor))


def _unpickled(load: Callable[[], Array], what: str) -> Array:
    try:
        return load()
    except ValueError as error:
        if "allow_pickle" in str(error):
            raise BadFeed(
                f"{what} holds pickled Python objects, which are never loaded; save plain numbers or text"
            ) from error
        raise


_READERS: dict[str, Callable[[Path, str], Array]] = {".npy": _read_npy, ".npz": _read_npz, ".pb": _read_pb}
