"""Reads arrays from .npy, .npz and .pb files without ever executing their contents."""

from __future__ import annotations

import math
import os
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
import onnx

from onnxperf.errors import BadFeed
from onnxperf.model.generate import Array, DType, fits, too_large
from onnxperf.model.graph import is_external
from onnxperf.wording.names import first_of, one_line, shortened, visible
from onnxperf.wording.numbers import count, size

T = TypeVar("T")

_NPY_MAGIC = b"\x93NUMPY"
_NPY_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_LARGEST_PB_BYTES = 2**31
"""The size limit of protobuf."""
_LEAST_BITS = 2
"""Per element; no ONNX type packs more of them into a byte."""
_LONGEST = 200
"""Characters that may be added to an error of a library."""


def read_inputs(files: Mapping[str, str | Path]) -> dict[str, Array]:
    """The array in each file, by input name."""
    return {name: _read(name, Path(file)) for name, file in files.items()}


def read_archive(file: Path) -> dict[str, Array]:
    """All arrays of a .npz file, by name."""
    what = repr(str(file))
    if file.suffix.lower() != ".npz":
        raise BadFeed(f"{what} has an unsupported format; use .npz, with one array per model input")
    return _carefully(_read_all, file, what)


def _read(name: str, file: Path) -> Array:
    what = f"{str(file)!r}, given for input {name!r},"
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise BadFeed(f"{what} has an unsupported format; use {', '.join(_READERS)}")
    return _carefully(reader, file, what)


def _carefully(reader: Callable[[Path, str], T], file: Path, what: str) -> T:
    """The result of a reader for a file; any error becomes one line."""
    if not file.is_file():
        raise BadFeed(f"{what} {'is a folder' if file.is_dir() else 'does not exist'}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers written by older versions of numpy
            return reader(file, what)
    except BadFeed:
        raise
    except MemoryError as error:
        raise BadFeed(f"{what} does not fit into memory; use a smaller one") from error
    except OSError as error:
        raise BadFeed(f"{what} cannot be read: {error.strerror or one_line(error)}") from error
    except Exception as error:  # numpy, zipfile and onnx raise almost any error for an unexpected file
        cause = shortened(visible(one_line(error)), _LONGEST) or type(error).__name__
        raise BadFeed(f"{what} is truncated or damaged: {cause}") from error


# ---------------------------------------------------------------- .npy and .npz


def _read_npy(file: Path, what: str) -> Array:
    with file.open("rb") as stream:
        if stream.read(len(_NPY_MAGIC)) != _NPY_MAGIC:
            raise BadFeed(f"{what} is not a .npy file; write it with np.save")
        stream.seek(0)
        return _array_in(stream, os.fstat(stream.fileno()).st_size, what)


def _read_npz(file: Path, what: str) -> Array:
    if not zipfile.is_zipfile(file):
        raise BadFeed(f"{what} is not a .npz file; write it with np.savez")
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        if len(names) != 1:
            shown = first_of([visible(name).removesuffix(".npy") for name in names])
            raise BadFeed(f"{what} contains {len(names)} arrays ({shown}); use a file with one")
        with archive.open(names[0]) as stream:
            return _array_in(stream, archive.getinfo(names[0]).file_size, what)


def _read_all(file: Path, what: str) -> dict[str, Array]:
    if not zipfile.is_zipfile(file):
        raise BadFeed(f"{what} is not a .npz file; write it with np.savez")
    found = {}
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as stream:
                found[entry.filename.removesuffix(".npy")] = _array_in(stream, entry.file_size, what)
    return found


def _array_in(stream: IO[bytes], held_bytes: int, what: str) -> Array:
    """The array in a stream with this many bytes; its header is checked before any memory is allocated."""
    version = np.lib.format.read_magic(stream)
    if version not in _NPY_HEADERS:
        raise BadFeed(
            f"{what} has version {'.'.join(map(str, version))} of numpy's format; supported versions are 1.0 and 2.0"
        )
    shape, fortran_order, dtype = _NPY_HEADERS[version](stream)
    if dtype.hasobject:
        raise BadFeed(f"{what} contains pickled Python objects, which are never loaded; save plain numbers or text")
    values = _count(shape)
    needed = values * dtype.itemsize
    if needed > held_bytes - stream.tell() or (values and not dtype.itemsize):
        raise ValueError(f"its header declares {size(needed)} of values, but it contains {size(held_bytes)}")
    _check_size(needed, what)
    array = _filled(stream, values, dtype)
    shaped = array.reshape(shape[::-1]).transpose() if fortran_order else array.reshape(shape)
    return shaped if dtype.isnative else shaped.astype(dtype.newbyteorder("="))


def _filled(stream: IO[bytes], values: int, dtype: DType) -> Array:
    raw = np.empty(values * dtype.itemsize, np.uint8)
    rest = raw.data
    while rest:
        part = stream.read(min(len(rest), 1 << 24))
        if not part:
            raise ValueError("values are missing")
        rest[: len(part)] = part
        rest = rest[len(part) :]
    return raw.view(dtype) if values else np.empty(0, dtype)


# ---------------------------------------------------------------- .pb


def _read_pb(file: Path, what: str) -> Array:
    held_bytes = file.stat().st_size
    if held_bytes > _LARGEST_PB_BYTES:
        raise BadFeed(f"{what} is larger than {size(_LARGEST_PB_BYTES)}, the limit of protobuf; save it as .npy")
    _check_size(held_bytes, what)
    tensor = onnx.TensorProto()
    tensor.ParseFromString(file.read_bytes())
    if is_external(tensor):
        raise BadFeed(f"{what} stores its values in another file; save them inside, or as .npy")
    if not tensor.data_type:
        raise BadFeed(f"{what} is not a tensor; write it with onnx.numpy_helper.from_array")
    if _count(tensor.dims) > held_bytes * 8 // _LEAST_BITS:
        declared = count(_count(tensor.dims), "value")
        raise ValueError(f"its dimensions declare {declared}, but it contains {size(held_bytes)}")
    return np.asarray(onnx.numpy_helper.to_array(tensor))


# ---------------------------------------------------------------- sizes


def _count(shape: tuple[int, ...] | list[int]) -> int:
    if any(length < 0 for length in shape):
        raise ValueError("a dimension is negative")
    return math.prod(shape)


def _check_size(needed: int, what: str) -> None:
    if not fits(needed):
        raise BadFeed(f"{what} {too_large(needed)}; use a smaller one")


_READERS: dict[str, Callable[[Path, str], Array]] = {".npy": _read_npy, ".npz": _read_npz, ".pb": _read_pb}
