"""What travels between parent and worker arrives as it left."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onnxperf.measure import messages as ms
from onnxperf.measure import packing
from onnxperf.records.options import SessionOptions

Array = np.ndarray[Any, np.dtype[Any]]


def travelled(array: Array) -> Array:
    """An array after its way through bytes."""
    sent = ms.encode((1, ms.Load(ms.WorkerSpec(subjects=(), threads=1, feeds=packing.pack_feeds({"X": array})))))
    _, request = ms.decode_request(sent)
    assert isinstance(request, ms.Load)
    received: Array = packing.unpack_feeds(request.spec.feeds)["X"]
    return received


DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="<"),
    hnp.unsigned_integer_dtypes(endianness="<"),
    hnp.floating_dtypes(endianness="<", sizes=(16, 32, 64)),
    hnp.complex_number_dtypes(endianness="<", sizes=(64, 128)),
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)


def same(a: Array, b: Array) -> bool:
    """Equal to the last bit, NaN and signed zeros included."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@given(hnp.arrays(DTYPES, SHAPES))
def test_numbers_of_any_type_and_shape_survive_the_trip(array: Array) -> None:
    received = travelled(array)
    assert same(received, array)
    assert received.strides == array.strides or array.size == 0
    assert received.flags.writeable


LAYOUTS: dict[str, Any] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "transposed": np.transpose,
    "every second": lambda a: a[..., ::2],
    "reversed": lambda a: a[..., ::-1],
    "reversed first axis": lambda a: a[::-1],
    "a column": lambda a: a[..., 1:2],
    "broadcast": lambda a: np.broadcast_to(a, (3, *a.shape)),
    "broadcast inside": lambda a: np.broadcast_to(a[..., :1], a.shape),
    "reversed steps of a Fortran array": lambda a: np.asfortranarray(a)[::-2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@given(array=hnp.arrays(DTYPES, hnp.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=5)))
def test_every_layout_keeps_its_strides_and_values(layout: str, array: Array) -> None:
    laid_out = LAYOUTS[layout](array)
    received = travelled(laid_out)
    assert same(received, laid_out)
    assert received.strides == laid_out.strides


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4])
def test_the_types_of_ml_dtypes_survive_the_trip(dtype: Any) -> None:
    array = np.arange(-4, 4).astype(dtype).reshape(2, 4)
    assert same(travelled(array), array)
    assert same(travelled(array[:, ::2]), array[:, ::2])


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i8", ">u2"])
def test_numbers_in_foreign_byte_order_keep_their_values(dtype: str) -> None:
    array = np.arange(6).astype(dtype).reshape(2, 3)
    received = travelled(array)
    np.testing.assert_array_equal(received, array)
    assert received.dtype == array.dtype


@given(hnp.arrays(np.dtype(object), SHAPES, elements=st.text(st.characters(codec="utf-8"))))
def test_strings_survive_the_trip(array: Array) -> None:
    received = travelled(array)
    assert received.shape == array.shape
    assert received.tolist() == array.tolist()


def test_strings_of_fixed_width_arrive_as_texts() -> None:
    received = travelled(np.array(["a", "longer"]))
    assert received.dtype == object
    assert received.tolist() == ["a", "longer"]


@pytest.mark.parametrize(
    ("array", "nbytes"),
    [(np.zeros((2, 3), np.float32), 24), (np.array(["ab", "c"]), 3), (np.zeros((0, 3)), 0), (np.float64(1), 8)],
)
def test_a_tensor_has_the_size_of_its_contents(array: Array, nbytes: int) -> None:
    assert packing.pack_feeds({"X": array})["X"].nbytes == nbytes


SPEC = ms.WorkerSpec(
    subjects=(ms.ModelSubject(name="run", call="run"), ms.FunctionSubject(name="f", function=b"\x00\xff")),
    threads=2,
    feeds=packing.pack_feeds({"X": np.ones((2, 3), np.float32), "S": np.array(["ä"])}),
    runtime="ort",
    model_label="m",
    model_path="/tmp/m.onnx",
    session=SessionOptions(threads=2, options={"a": "b"}),
    casts={"X": "float32"},
    memory_bytes=7,
)
REQUESTS: list[ms.Request[Any]] = [
    ms.Load(SPEC),
    ms.Prepare(1),
    ms.WarmUp(0, 10**10),
    ms.TimeBlock(0, 5, 3),
    ms.TimeBlock(0, 5, 3, every_ns=50),
    ms.TimeEach(2, 5, 3),
    ms.TimeEach(2, 5, None),
    ms.MoveTo((0, 255)),
]
REPLIES: list[ms.Reply] = [
    ms.Ready(),
    ms.Done(),
    ms.Loaded(None, {}),
    ms.Loaded(5, {"threads": 2, "spinning": True, "version": "1", "share": 0.5, "gpu": None}),
    ms.Prepared(9, {"assume_finite": True}),
    ms.WarmedUp(1.5),
    ms.TimedBlock(2**62, 3),
    ms.TimedBlock(1, 30, [10, 20], 10.0, cpu_ns=70, span_ns=100),
    ms.TimedEach([1, 2]),
    ms.Failed("oom", "no memory"),
    ms.Failed("failed", "no such provider", bad_input=True),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: type(r).__name__)
def test_every_request_arrives_as_it_was_sent(request_: ms.Request[Any]) -> None:
    assert ms.decode_request(ms.encode((7, request_))) == (7, request_)


@pytest.mark.parametrize("reply", REPLIES, ids=lambda r: type(r).__name__)
def test_every_reply_arrives_as_it_was_sent(reply: ms.Reply) -> None:
    assert ms.decode_reply(ms.encode((7, reply))) == (7, reply)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"hello",
        ms.encode((1, {"type": "NoSuchRequest"})),
        ms.encode((1, {"subject": 1})),
        ms.encode((1, {"type": "Prepare", "subject": "first"})),
        ms.encode((1, {"type": "Prepare"})),
        ms.encode((1, ms.Ready())),
        ms.encode((1, ms.Prepare(1)))[:-1],
        ms.encode((1, ms.Prepare(1))) + b"\x00",
        ms.encode(ms.Prepare(1)),
    ],
)
def test_a_request_that_does_not_fit_its_type_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        ms.decode_request(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        ms.encode((1, ms.Prepare(1))),
        ms.encode(ms.Ready()),
        ms.encode((1, {"type": "Failed", "status": "sad", "reason": ""})),
        ms.encode((1, {"type": "TimedEach", "call_ns": [1, "2"]})),
    ],
)
def test_a_reply_that_does_not_fit_its_type_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        ms.decode_reply(data)


@given(st.binary(max_size=60))
def test_random_bytes_never_pass_for_a_request_unless_they_are_one(data: bytes) -> None:
    try:
        number, request = ms.decode_request(data)
    except msgspec.MsgspecError:
        return
    assert ms.decode_request(ms.encode((number, request))) == (number, request)
