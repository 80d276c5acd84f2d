"""Denormal numbers in stored tensors: so close to zero that processors compute many times slower with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray

from onnxperf.model.graph import is_external

_CHUNK_BYTES = 1 << 24
_T = onnx.TensorProto
_EXPONENTS: dict[int, tuple[str, int, int]] = {
    _T.FLOAT: ("<u4", 0x7F800000, 0x007FFFFF),
    _T.DOUBLE: ("<u8", 0x7FF0000000000000, 0x000FFFFFFFFFFFFF),
    _T.BFLOAT16: ("<u2", 0x7F80, 0x007F),
}
"""How the elements of a type are stored, with the bits of exponent and fraction; a float16 becomes a normal float32
before it is computed with."""


def can_be_denormal(tensor: onnx.TensorProto) -> bool:
    """Whether denormals of its type are slow."""
    return tensor.data_type in _EXPONENTS


def count_denormals(tensor: onnx.TensorProto, folder: Path | None) -> int:
    """Number of denormals in a tensor, including its external data if the model's folder is known."""
    if not can_be_denormal(tensor):
        return 0
    kind, exponent, fraction = _EXPONENTS[tensor.data_type]
    found = 0
    for chunk in _chunks(tensor, folder):
        words = np.frombuffer(chunk, kind)
        found += int(np.count_nonzero(((words & exponent) == 0) & ((words & fraction) != 0)))
    return found


def without_denormals(tensor: onnx.TensorProto) -> bytes:
    """The stored bytes of a tensor in memory, with each denormal replaced by zero."""
    kind, exponent, _ = _EXPONENTS[tensor.data_type]
    words: NDArray[np.unsignedinteger] = np.frombuffer(b"".join(_chunks(tensor, None)), kind).copy()
    words[(words & exponent) == 0] = 0
    return words.tobytes()


def _chunks(tensor: onnx.TensorProto, folder: Path | None) -> Iterator[bytes]:
    if is_external(tensor):
        if folder is not None:
            yield from _external_chunks(tensor, folder)
    elif tensor.HasField("raw_data"):
        whole = memoryview(tensor.raw_data)
        yield from (bytes(whole[start : start + _CHUNK_BYTES]) for start in range(0, len(whole), _CHUNK_BYTES))
    else:
        yield onnx.numpy_helper.to_array(tensor).tobytes()


def _external_chunks(tensor: onnx.TensorProto, folder: Path) -> Iterator[bytes]:
    """Its bytes from a file that was checked to be inside the folder when the model was opened."""
    entries = {each.key: each.value for each in tensor.external_data}
    itemsize = np.dtype(_EXPONENTS[tensor.data_type][0]).itemsize
    left = itemsize * int(np.prod(list(tensor.dims), dtype=object))
    with (folder / entries["location"]).open("rb") as file:
        file.seek(int(entries.get("offset") or 0))
        while left > 0 and (chunk := file.read(min(left, _CHUNK_BYTES))):
            left -= len(chunk)
            yield chunk[: len(chunk) - len(chunk) % itemsize]
