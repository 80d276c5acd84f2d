"""Stored tensors: what they declare is what they have."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from onnxperf.errors import BadModel
from onnxperf.model.load import open_model
from onnxperf.model.tensors import stored_bytes
from tests.bombs import model

FLOAT = TensorProto.FLOAT
NUMBERS = sorted({*TensorProto.DataType.values()} - {TensorProto.UNDEFINED, TensorProto.STRING})
DAMAGED = {
    "short bytes": TensorProto(data_type=FLOAT, dims=[2], raw_data=b"123"),
    "long bytes": TensorProto(data_type=FLOAT, dims=[2], raw_data=bytes(12)),
    "few numbers": TensorProto(data_type=FLOAT, dims=[3], float_data=[1.0]),
    "no numbers": TensorProto(data_type=FLOAT, dims=[1]),
    "numbers of another type": TensorProto(data_type=FLOAT, dims=[1], int32_data=[1]),
    "huge": TensorProto(data_type=FLOAT, dims=[2**40], raw_data=bytes(8)),
    "half a byte": TensorProto(data_type=TensorProto.INT4, dims=[3], raw_data=bytes(1)),
    "few texts": TensorProto(data_type=TensorProto.STRING, dims=[2], string_data=[b"a"]),
    "half a complex number": TensorProto(data_type=TensorProto.COMPLEX64, dims=[1], float_data=[1.0]),
    "a product beyond all bounds": TensorProto(data_type=FLOAT, dims=[2**40, 2**40]),
    "a negative size": TensorProto(data_type=FLOAT, dims=[-1], raw_data=bytes(4)),
}


def with_attribute(tensor: TensorProto) -> None:
    node = helper.make_node("Constant", [], ["c"])
    node.attribute.add(name="value", type=4, t=tensor)
    open_model(model([node, helper.make_node("Neg", ["x"], ["y"])]))


def with_initializer(tensor: TensorProto) -> None:
    open_model(model([helper.make_node("Neg", ["x"], ["y"])], initializers=(tensor,)))


@pytest.mark.parametrize("place", [with_attribute, with_initializer])
@pytest.mark.parametrize("tensor", DAMAGED.values(), ids=DAMAGED)
def test_a_tensor_that_declares_another_size_than_it_has_is_refused(tensor: TensorProto, place: object) -> None:
    assert callable(place)
    tensor.name = "w"
    with pytest.raises(BadModel, match=r"damaged: tensor 'w' (declares|has) the shape"):
        place(tensor)


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("data_type", NUMBERS)
@pytest.mark.parametrize("shape", [(), (3,), (0, 5), (2, 2)])
def test_what_onnx_writes_is_accepted(data_type: int, shape: tuple[int, ...], raw: bool) -> None:
    numbers = np.ones(shape, helper.tensor_dtype_to_np_dtype(data_type))
    if raw:
        tensor = numpy_helper.from_array(numbers, "w")
    else:
        tensor = helper.make_tensor("w", data_type, shape, numbers.ravel())
    with_initializer(tensor)


def test_texts_are_counted_not_measured() -> None:
    with_initializer(TensorProto(name="w", data_type=TensorProto.STRING, dims=[2], string_data=[b"a", b"longer"]))
    assert stored_bytes(TensorProto.STRING, 2) is None


@given(st.integers(0, 9))
def test_small_types_share_bytes(elements: int) -> None:
    assert stored_bytes(TensorProto.UINT4, elements) == (elements + 1) // 2
    assert stored_bytes(TensorProto.BFLOAT16, elements) == elements * np.dtype(ml_dtypes.bfloat16).itemsize
