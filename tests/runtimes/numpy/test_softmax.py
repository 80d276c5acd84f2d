"""The softmax family before and since opset 13, against onnx's reference implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.runtimes.numpy.session import NumpySession
from tests.runtimes.numpy.against_reference import one_node, random, run, same, same_as_reference

FAMILY = ["Softmax", "LogSoftmax", "Hardmax"]


@given(
    operator=st.sampled_from(FAMILY),
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    data=st.data(),
)
def test_any_axis_since_opset_13(operator: str, shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1).filter(lambda chosen: chosen != 0))
    same_as_reference(operator, [random(*shape)], opset=13, axis=axis)


@pytest.mark.parametrize("operator", FAMILY)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("opset", [10, 12])
def test_before_opset_13_all_axes_from_the_given_one_count_as_one(operator: str, axis: int, opset: int) -> None:
    x = random(2, 3, 4)
    rows = 1 if axis == 0 else int(np.prod(x.shape[:axis]))
    flat, feeds = one_node(operator, [x.reshape(rows, -1)], opset=13, axis=1)
    expected = run(flat, feeds)[0].reshape(x.shape)
    model, feeds = one_node(operator, [x], opset=opset, axis=axis)
    same(run(model, feeds)[0], expected)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_every_float_keeps_its_type(dtype: Any) -> None:
    same_as_reference("Softmax", [random(3, 5, dtype=dtype)], rtol=2e-3 if dtype == np.float16 else 1e-12, axis=1)


def test_large_numbers_do_not_overflow() -> None:
    model, feeds = one_node("Softmax", [np.array([[1e4, 1e4, -1e4]], np.float32)])
    same(run(model, feeds)[0], np.array([[0.5, 0.5, 0]], np.float32))


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
def test_the_memory_of_an_intermediate_result_is_taken_and_nothing_else_changes(operator: str) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
    chain (float[2, 3] X) => (float[2, 3] Y) {{ H = Neg(X)
      Y = {operator}(H) }}"""
    x = random(2, 3)
    session = NumpySession(onnx.parser.parse_model(text))
    model, feeds = one_node(operator, [-x])
    same(session.bind("run", {"X": x}, {})()[0], run(model, feeds)[0])
    np.testing.assert_array_equal(x, random(2, 3))
