"""What the parent and its workers say to each other, encoded as MessagePack with a type tag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

import msgspec
import numpy as np
from msgspec import Struct

from onnxperf.errors import Ending
from onnxperf.records import Recording, Scalar, SessionOptions

Packed = Union["Tensor", "Listing", "Dictionary", None]
"""A value of a model on its way to another process; None is an optional without a value."""


class Tensor(Struct, frozen=True, tag="tensor"):
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


class Listing(Struct, frozen=True, tag="list"):
    """A list or tuple on its way to another process."""

    items: list[Packed]


class Dictionary(Struct, frozen=True, tag="map"):
    """A dictionary on its way to another process."""

    keys: list[str | int | float]
    values: list[Packed]


class ModelSubject(Struct, frozen=True, kw_only=True, tag="model"):
    """A call style on the session that its crew shares, or on one of its own."""

    name: str
    call: str
    model_path: str | None = None
    """A model of its own: candidates that are compared share a worker and a thread pool, but no session."""
    executed_path: str | None = None
    """File for the graph that its own session executes."""


class FunctionSubject(Struct, frozen=True, kw_only=True, tag="function"):
    """A live callable of the user, called with the feeds as positional arguments."""

    name: str
    function: bytes
    """Written by cloudpickle in this very run, and never stored."""
    check_finite: bool = False


class Crew(Struct, frozen=True, kw_only=True):
    """The subjects that one worker hosts, and what they share."""

    subjects: tuple[ModelSubject | FunctionSubject, ...]
    threads: int
    feeds: dict[str, Tensor]
    runtime: str = "callable"
    model_label: str | None = None
    model_path: str | None = None
    session: SessionOptions = SessionOptions()
    recording: Recording | None = None
    """What the session writes down about itself; every one of its calls is in its trace."""
    casts: dict[str, str] = {}
    memory_bytes: int = 0
    """Estimate of what the worker will hold."""


class Load(Struct, frozen=True, tag="load"):
    """Open the session that the crew shares."""

    crew: Crew


class Prepare(Struct, frozen=True, tag="prepare"):
    """Bind a subject to its inputs and call it for the first time."""

    subject: int


class WarmUp(Struct, frozen=True, tag="warm-up"):
    """Call a subject untimed."""

    subject: int
    duration_ns: int


class TimeBlock(Struct, frozen=True, tag="time-block"):
    """Time calls together."""

    subject: int
    calls: int
    warm_ns: int


class TimeEach(Struct, frozen=True, tag="time-each"):
    """Time calls one by one."""

    subject: int
    calls: int
    warm_ns: int


class CallEach(Struct, frozen=True, tag="call-each"):
    """Time calls one by one, and make no others."""

    subject: int
    calls: int


class EndRecording(Struct, frozen=True, tag="end-recording"):
    """Write the trace."""


class MoveTo(Struct, frozen=True, tag="move-to"):
    """Use these processors from now on, and no others."""

    cpus: tuple[int, ...]


class Moved(Struct, frozen=True, tag="moved"):
    """All threads of the worker are where they were asked to be."""


class Compute(Struct, frozen=True, tag="compute"):
    """Call a subject and send what it returns."""

    subject: int
    everything: bool = False
    """Also what lies between inputs and outputs."""


class Ready(Struct, frozen=True, tag="ready"):
    """The worker has started and imported its runtime."""


class Loaded(Struct, frozen=True, tag="loaded"):
    """The session is open."""

    load_ns: int | None
    conditions: dict[str, Scalar]


class Prepared(Struct, frozen=True, tag="prepared"):
    """A subject made its first call."""

    first_call_ns: int
    conditions: dict[str, Scalar] = {}


class Computed(Struct, frozen=True, tag="computed"):
    """What a subject returned."""

    names: list[str]
    """Names of the values of a model; none for a callable."""
    value: Packed


class WarmedUp(Struct, frozen=True, tag="warmed-up"):
    """A subject is warm."""

    call_ns: float


class TimedBlock(Struct, frozen=True, tag="timed-block"):
    """A block is done."""

    start_ns: int
    duration_ns: int


class TimedEach(Struct, frozen=True, tag="timed-each"):
    """Single calls are done."""

    call_ns: list[int]


class Recorded(Struct, frozen=True, tag="recorded"):
    """The trace is written."""

    path: str


class Failed(Struct, frozen=True, tag="failed"):
    """What was asked raised an error; the worker lives on."""

    status: Ending
    reason: str
    bad_input: bool = False
    """The user can mend it."""


TimingRequest = WarmUp | TimeBlock | TimeEach | CallEach
Request = Load | Prepare | Compute | MoveTo | EndRecording | TimingRequest
Reply = Ready | Moved | Computed | Loaded | Prepared | WarmedUp | TimedBlock | TimedEach | Recorded | Failed

encode = msgspec.msgpack.Encoder().encode
decode_request = msgspec.msgpack.Decoder(Request).decode
decode_reply = msgspec.msgpack.Decoder(Reply).decode


def pack_feeds(arrays: Mapping[str, Any]) -> dict[str, Tensor]:
    """Turn arrays into messages; strings travel as text."""
    return {name: _pack(np.asarray(array)) for name, array in arrays.items()}


def _pack(array: Any) -> Tensor:
    if array.dtype.kind in "OUS":
        return Tensor("string", array.shape, (), [str(item) for item in array.ravel()])
    # A name does not tell the byte order, and ml_dtypes' types have nothing but a name.
    dtype = array.dtype.name if array.dtype.isnative else array.dtype.str
    return Tensor(dtype, array.shape, array.strides, array.tobytes())


def unpack_feeds(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Turn messages into arrays that own their memory and have the layout of the originals."""
    return {name: _unpack(tensor) for name, tensor in tensors.items()}


def pack_value(value: Any) -> Packed:
    """Turn whatever a model or a callable returns into messages."""
    if value is None:
        return None
    if isinstance(value, dict):
        return Dictionary(
            [k.item() if hasattr(k, "item") else k for k in value], [pack_value(v) for v in value.values()]
        )
    if isinstance(value, list | tuple) or type(value).__name__ == "OrtValueVector":
        return Listing([pack_value(each) for each in value])
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return _pack(array.astype(array.dtype.newbyteorder("="), copy=False))


def unpack_value(value: Packed) -> Any:
    """Turn messages back into arrays, lists and dictionaries."""
    match value:
        case None:
            return None
        case Listing():
            return [unpack_value(each) for each in value.items]
        case Dictionary():
            return dict(zip(value.keys, map(unpack_value, value.values), strict=True))
        case Tensor():
            return _unpack(value)


def _unpack(tensor: Tensor) -> Any:
    if isinstance(tensor.data, list):
        return np.array(tensor.data, dtype=object).reshape(tensor.shape)
    plain = np.frombuffer(bytearray(tensor.data), dtype=_dtype(tensor.dtype)).reshape(tensor.shape)
    if plain.strides == tensor.strides or plain.size == 0:
        return plain
    reach = [(size - 1) * step for size, step in zip(tensor.shape, tensor.strides, strict=True)]
    before = -sum(step for step in reach if step < 0)
    memory = bytearray(before + sum(step for step in reach if step > 0) + plain.itemsize)
    array: Any = np.ndarray(tensor.shape, plain.dtype, memory, before, tensor.strides)
    array[...] = plain
    return array


def _dtype(name: str) -> Any:
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes  # bfloat16 and its kin; installed with onnx

        return np.dtype(getattr(ml_dtypes, name))
