"""Arrays and what models return, packed to travel to another process and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from onnxperf.runtimes.base import Array


class PackedTensor(Struct, frozen=True, tag="tensor"):
    """An array on its way to another process."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Steps in bytes, kept because a runtime may have to copy what is not contiguous, and that takes time."""
    data: bytes | list[str]
    """The values in C order, or texts."""

    @property
    def nbytes(self) -> int:
        """Size of the contents."""
        return len(self.data) if isinstance(self.data, bytes) else sum(map(len, self.data))


class PackedList(Struct, frozen=True, tag="list"):
    """A list or tuple on its way to another process."""

    items: list[Packed]


class PackedDictionary(Struct, frozen=True, tag="map"):
    """A dictionary on its way to another process."""

    keys: list[str | int | float]
    values: list[Packed]


Packed = PackedTensor | PackedList | PackedDictionary | None
"""A value of a model on its way to another process; None is an optional without a value."""


def pack_feeds(arrays: Mapping[str, Any]) -> dict[str, PackedTensor]:
    """Turn arrays into messages; strings travel as text."""
    return {name: _pack(np.asarray(array)) for name, array in arrays.items()}


def _pack(array: Array) -> PackedTensor:
    if array.dtype.kind in "OUS":
        return PackedTensor("string", array.shape, (), [str(item) for item in array.ravel()])
    # A name does not include the byte order, and ml_dtypes' types have nothing but a name.
    dtype = array.dtype.name if array.dtype.isnative else array.dtype.str
    return PackedTensor(dtype, array.shape, array.strides, array.tobytes())


def unpack_feeds(tensors: Mapping[str, PackedTensor]) -> dict[str, Array]:
    """Turn messages into arrays that own their memory and have the layout of the originals."""
    return {name: _unpack(tensor) for name, tensor in tensors.items()}


def pack_value(value: Any) -> Packed:
    """Turn whatever a model or a callable returns into messages."""
    if value is None:
        return None
    if isinstance(value, dict):
        return PackedDictionary(
            [k.item() if hasattr(k, "item") else k for k in value], [pack_value(v) for v in value.values()]
        )
    if isinstance(value, list | tuple) or type(value).__name__ == "OrtValueVector":
        return PackedList([pack_value(each) for each in value])
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return _pack(array.astype(array.dtype.newbyteorder("="), copy=False))


def unpack_value(value: Packed) -> Any:
    """Turn messages back into arrays, lists and dictionaries."""
    match value:
        case None:
            return None
        case PackedList():
            return [unpack_value(each) for each in value.items]
        case PackedDictionary():
            return dict(zip(value.keys, map(unpack_value, value.values), strict=True))
        case PackedTensor():
            return _unpack(value)


def _unpack(tensor: PackedTensor) -> Array:
    if isinstance(tensor.data, list):
        return np.array(tensor.data, dtype=object).reshape(tensor.shape)
    plain = np.frombuffer(bytearray(tensor.data), dtype=_dtype(tensor.dtype)).reshape(tensor.shape)
    if plain.strides == tensor.strides or plain.size == 0:
        return plain
    reach = [(size - 1) * step for size, step in zip(tensor.shape, tensor.strides, strict=True)]
    before = -sum(step for step in reach if step < 0)
    memory = bytearray(before + sum(step for step in reach if step > 0) + plain.itemsize)
    array: Array = np.ndarray(tensor.shape, plain.dtype, memory, before, tensor.strides)
    array[...] = plain
    return array


def _dtype(name: str) -> np.dtype[Any]:
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes  # bfloat16 and its kin; installed with onnx

        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return dtype
