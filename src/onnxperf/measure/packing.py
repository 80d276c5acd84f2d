"""Arrays and what models return, packed to travel to another process and back; numpy is imported with the first."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from onnxperf.measure.shared import CAN_SHARE, SharedBytes, SharedFile, share, writing
from onnxperf.wording.names import storable

if TYPE_CHECKING:
    import numpy as np

    from onnxperf.runtimes.base import Array

    Files = Mapping[int, Array]
    Write = Callable[[Array], SharedBytes]

_SHARED_BYTES = 1 << 20
"""Inputs from this size on are not copied into messages."""
_SHARED_OUTPUT_BYTES = 1 << 12
"""Outputs from this size on are not: there is a file for them anyway."""
_TEXTS = "OUST"
"""Kinds of arrays of texts, or of whatever else Python has."""
Item = str | int | float | bool | None
NO_FILES: Files = {}
"""Contents of files, by their numbers in the parent."""


class PackedTensor(Struct, frozen=True, tag="tensor"):
    """An array on its way to another process."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Steps in bytes, kept because a runtime may have to copy what is not contiguous, and that takes time; none for an
    output, whose layout matters to nothing."""
    data: bytes | list[Item] | SharedBytes
    """The values in C order, or where they are, or texts and what else an array of objects holds."""

    @property
    def nbytes(self) -> int:
        """Size of the contents."""
        return sum(len(str(each)) for each in self.data) if isinstance(self.data, list) else len(self.data)


class PackedList(Struct, frozen=True, tag="list"):
    """A list or tuple on its way to another process."""

    items: list[Packed]


class PackedDictionary(Struct, frozen=True, tag="map"):
    """A dictionary on its way to another process."""

    keys: list[str | int | float]
    values: list[Packed]


Packed = PackedTensor | PackedList | PackedDictionary | None
"""A value of a model on its way to another process; None is an optional without a value."""


def pack_feeds(arrays: Mapping[str, Any], elsewhere: bool = False) -> dict[str, PackedTensor]:
    """Turn arrays into messages; strings travel as text, and the values of large arrays in a file that all share.

    What travels to a process `elsewhere`, on another machine, holds its values.
    """
    import numpy as np

    plain = {name: np.asarray(array) for name, array in arrays.items()}
    large = {name: array for name, array in plain.items() if CAN_SHARE and not elsewhere and _is_large(array)}
    shared: dict[str, SharedBytes] = {}
    if large:
        with contextlib.suppress(OSError):  # no room for a file: as messages, they need more memory, but arrive
            shared = dict(zip(large, share(large.values()), strict=True))
    return {name: _pack(array, shared.get(name)) for name, array in plain.items()}


def _is_large(array: Array) -> bool:
    return array.nbytes >= _SHARED_BYTES and array.dtype.kind not in _TEXTS


def _pack(array: Array, shared: SharedBytes | None = None, strides: tuple[int, ...] | None = None) -> PackedTensor:
    if array.dtype.kind in _TEXTS:
        return PackedTensor("string", array.shape, (), [_item(each) for each in array.ravel().tolist()])
    # A name does not include the byte order, a record has none, and ml_dtypes' types have nothing but a name.
    import numpy as np

    has_name = array.dtype.isnative and array.dtype.type is not np.void
    dtype = array.dtype.name if has_name else array.dtype.str
    steps = array.strides if strides is None else strides
    return PackedTensor(dtype, array.shape, steps, array.tobytes() if shared is None else shared)


def _item(value: Any) -> Item:
    """A text as it is, a number too: 1 is not "1"; of any other object, what Python writes for it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    import numpy as np

    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        return storable(plain)
    fits = plain is None or isinstance(plain, bool | float) or (isinstance(plain, int) and abs(plain) < 2**63)
    return plain if fits else repr(plain)


def handles_in(feeds: Iterable[Mapping[str, PackedTensor]]) -> list[int]:
    """The files that hold values of these arrays."""
    data = (tensor.data for tensors in feeds for tensor in tensors.values())
    return list(dict.fromkeys(each.file.handle for each in data if isinstance(each, SharedBytes)))


def unpack_feeds(tensors: Mapping[str, PackedTensor], files: Files = NO_FILES) -> dict[str, Array]:
    """Turn messages into arrays that can be written to and have the layout of the originals."""
    return {name: _unpack(tensor, files) for name, tensor in tensors.items()}


def pack_outputs(value: Any, file: SharedFile | None, files: Mapping[int, int]) -> Packed:
    """Turn whatever a model or a callable returns into messages; large arrays go into a file that the parent sent."""
    if file is None:
        return pack_value(value)
    handle = files[file.handle]
    try:
        with writing(file, handle) as write:
            return pack_value(value, write)
    except OSError:  # no room for a file: as messages, they need more memory, but arrive
        return pack_value(value)
    finally:
        os.close(handle)


def pack_value(value: Any, write: Write | None = None) -> Packed:
    """Turn a value into messages; with `write`, arrays that are worth it go into a file."""
    import numpy as np

    if value is None:
        return None
    if isinstance(value, dict):
        return PackedDictionary([_key(key) for key in value], [pack_value(each, write) for each in value.values()])
    if isinstance(value, list | tuple) or type(value).__name__ == "OrtValueVector":
        return PackedList([pack_value(each, write) for each in value])
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    if array.dtype.kind in _TEXTS:
        return _pack(array)
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    is_large = native.nbytes >= _SHARED_OUTPUT_BYTES
    return _pack(native, write(native) if is_large and write is not None else None, strides=())


def _key(key: Any) -> str | int | float:
    plain = key.item() if hasattr(key, "item") else key
    return plain if isinstance(plain, str | int | float) and not isinstance(plain, bool) else str(plain)


def unpack_value(value: Packed, files: Files = NO_FILES) -> Any:
    """Turn messages back into arrays, lists and dictionaries."""
    match value:
        case None:
            return None
        case PackedList():
            return [unpack_value(each, files) for each in value.items]
        case PackedDictionary():
            return dict(zip(value.keys, (unpack_value(each, files) for each in value.values), strict=True))
        case PackedTensor():
            return _unpack(value, files)


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
    if not tensor.strides or plain.strides == tensor.strides or plain.size == 0:
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
