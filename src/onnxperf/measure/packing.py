"""Arrays and model outputs, packed for other processes; numpy is imported on first use."""

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
"""Inputs of this size or more are not copied into messages."""
_SHARED_OUTPUT_BYTES = 1 << 12
"""Outputs of this size or more are not copied into messages: there is a file for them anyway."""
_TEXTS = "OUST"
"""Kinds of string and object arrays."""
Item = str | int | float | bool | None
NO_FILES: Files = {}
"""Contents of files by their file descriptors in the parent."""


class PackedTensor(Struct, frozen=True, tag="tensor"):
    """An array packed for another process."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Strides in bytes, kept because a runtime may have to copy non-contiguous arrays, which takes time; empty for
    outputs, whose layout does not matter."""
    data: bytes | list[Item] | SharedBytes
    """The values in C order, or their location in a file, or the items of a string or object array."""

    @property
    def nbytes(self) -> int:
        """Size of the contents."""
        return sum(len(str(each)) for each in self.data) if isinstance(self.data, list) else len(self.data)


class PackedList(Struct, frozen=True, tag="list"):
    """A list or tuple packed for another process."""

    items: list[Packed]


class PackedDictionary(Struct, frozen=True, tag="map"):
    """A dictionary packed for another process."""

    keys: list[str | int | float]
    values: list[Packed]


Packed = PackedTensor | PackedList | PackedDictionary | None
"""A value of a model packed for another process; None is an optional without a value."""


def pack_feeds(arrays: Mapping[str, Any], elsewhere: bool = False) -> dict[str, PackedTensor]:
    """Turn arrays into messages; strings are sent as text, and the values of large arrays are put into a shared file.

    With `elsewhere`, for a process on another machine, messages contain all values.
    """
    import numpy as np

    plain = {name: np.asarray(array) for name, array in arrays.items()}
    large = {name: array for name, array in plain.items() if CAN_SHARE and not elsewhere and _is_large(array)}
    shared: dict[str, SharedBytes] = {}
    if large:
        with contextlib.suppress(OSError):  # no space for a file: messages need more memory, but work
            shared = dict(zip(large, share(large.values()), strict=True))
    return {name: _pack(array, shared.get(name)) for name, array in plain.items()}


def _is_large(array: Array) -> bool:
    return array.nbytes >= _SHARED_BYTES and array.dtype.kind not in _TEXTS


def _pack(array: Array, shared: SharedBytes | None = None, strides: tuple[int, ...] | None = None) -> PackedTensor:
    if array.dtype.kind in _TEXTS:
        return PackedTensor("string", array.shape, (), [_item(each) for each in array.ravel().tolist()])
    # A name omits the byte order, records have no name, and ml_dtypes' types have only a name.
    import numpy as np

    has_name = array.dtype.isnative and array.dtype.type is not np.void
    dtype = array.dtype.name if has_name else array.dtype.str
    steps = array.strides if strides is None else strides
    return PackedTensor(dtype, array.shape, steps, array.tobytes() if shared is None else shared)


def _item(value: Any) -> Item:
    """Strings and numbers unchanged (1 is not "1"); for any other object its repr."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    import numpy as np

    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str):
        return storable(plain)
    fits = plain is None or isinstance(plain, bool | float) or (isinstance(plain, int) and abs(plain) < 2**63)
    return plain if fits else repr(plain)


def handles_in(feeds: Iterable[Mapping[str, PackedTensor]]) -> list[int]:
    """The files that contain values of these arrays."""
    data = (tensor.data for tensors in feeds for tensor in tensors.values())
    return list(dict.fromkeys(each.file.handle for each in data if isinstance(each, SharedBytes)))


def unpack_feeds(tensors: Mapping[str, PackedTensor], files: Files = NO_FILES) -> dict[str, Array]:
    """Turn messages into writable arrays with the layout of the originals."""
    return {name: _unpack(tensor, files) for name, tensor in tensors.items()}


def pack_outputs(value: Any, file: SharedFile | None, files: Mapping[int, int]) -> Packed:
    """Turn the result of a model or callable into messages; large arrays are put into a file sent by the parent."""
    if file is None:
        return pack_value(value)
    handle = files[file.handle]
    try:
        with writing(file, handle) as write:
            return pack_value(value, write)
    except OSError:  # no space for a file: messages need more memory, but work
        return pack_value(value)
    finally:
        os.close(handle)


def pack_value(value: Any, write: Write | None = None) -> Packed:
    """Turn a value into messages; with `write`, large arrays are put into a file."""
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
        import ml_dtypes  # bfloat16 and similar types; installed with onnx

        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return dtype
