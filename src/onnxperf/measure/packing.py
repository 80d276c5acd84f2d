"""Arrays and what models return, packed to travel to another process and back; numpy is imported with the first."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from onnxperf.measure.shared import CAN_SHARE, SharedBytes, share

if TYPE_CHECKING:
    import numpy as np

    from onnxperf.runtimes.base import Array

    Files = Mapping[int, Array]

_SHARED_BYTES = 1 << 20
"""Arrays from this size on are not copied into messages."""
NO_FILES: Files = {}
"""Contents of files, by their numbers in the parent."""


class PackedTensor(Struct, frozen=True, tag="tensor"):
    """An array on its way to another process."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Steps in bytes, kept because a runtime may have to copy what is not contiguous, and that takes time."""
    data: bytes | list[str] | SharedBytes
    """The values in C order, or where they are, or texts."""

    @property
    def nbytes(self) -> int:
        """Size of the contents."""
        return sum(map(len, self.data)) if isinstance(self.data, list) else len(self.data)


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
    """Turn arrays into messages; strings travel as text, and the values of large arrays in a file that all share."""
    import numpy as np

    plain = {name: np.asarray(array) for name, array in arrays.items()}
    large = {name: array for name, array in plain.items() if CAN_SHARE and _is_large(array)}
    shared: dict[str, SharedBytes] = {}
    if large:
        with contextlib.suppress(OSError):  # no room for a file: as messages, they need more memory, but arrive
            shared = dict(zip(large, share(large.values()), strict=True))
    return {name: _pack(array, shared.get(name)) for name, array in plain.items()}


def _is_large(array: Array) -> bool:
    return array.nbytes >= _SHARED_BYTES and array.dtype.kind not in "OUS"


def _pack(array: Array, shared: SharedBytes | None = None) -> PackedTensor:
    if array.dtype.kind in "OUS":
        return PackedTensor("string", array.shape, (), [str(item) for item in array.ravel()])
    # A name does not include the byte order, and ml_dtypes' types have nothing but a name.
    dtype = array.dtype.name if array.dtype.isnative else array.dtype.str
    return PackedTensor(dtype, array.shape, array.strides, array.tobytes() if shared is None else shared)


def handles_in(feeds: Iterable[Mapping[str, PackedTensor]]) -> list[int]:
    """The files that hold values of these arrays."""
    data = (tensor.data for tensors in feeds for tensor in tensors.values())
    return list(dict.fromkeys(each.file.handle for each in data if isinstance(each, SharedBytes)))


def unpack_feeds(tensors: Mapping[str, PackedTensor], files: Files = NO_FILES) -> dict[str, Array]:
    """Turn messages into arrays that can be written to and have the layout of the originals."""
    return {name: _unpack(tensor, files) for name, tensor in tensors.items()}


def pack_value(value: Any) -> Packed:
    """Turn whatever a model or a callable returns into messages."""
    import numpy as np

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


def _unpack(tensor: PackedTensor, files: Files = NO_FILES) -> Array:
    import numpy as np

    data = tensor.data
    if isinstance(data, list):
        return np.array(data, dtype=object).reshape(tensor.shape)
    dtype = _dtype(tensor.dtype)
    if isinstance(data, SharedBytes):
        values = np.frombuffer(files[data.file.handle], dtype, math.prod(tensor.shape), data.start)
    else:
        values = np.frombuffer(bytearray(data), dtype)
    plain = values.reshape(tensor.shape)
    if plain.strides == tensor.strides or plain.size == 0:
        return plain
    reach = [(size - 1) * step for size, step in zip(tensor.shape, tensor.strides, strict=True)]
    before = -sum(step for step in reach if step < 0)
    memory = bytearray(before + sum(step for step in reach if step > 0) + plain.itemsize)
    array: Array = np.ndarray(tensor.shape, plain.dtype, memory, before, tensor.strides)
    array[...] = plain
    return array


def _dtype(name: str) -> np.dtype[Any]:
    import numpy as np

    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes  # bfloat16 and its kin; installed with onnx

        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return dtype
