"""Relu and Clip give what numpy gives element by element, however many elements there are and wherever they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.runtimes.numpy.kernels.bounds import bounded
from onnxperf.runtimes.numpy.session import NumpySession
from tests.runtimes.numpy.against_reference import one_node, same_as_reference

Array = np.ndarray[Any, Any]
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -1e-45, 3.5, -3.5]
MANY = 1 << 14
ROW = 1 << 13


def numbers(count: int, dtype: Any = np.float32) -> Array:
    values = np.resize(SPECIAL if np.dtype(dtype).kind == "f" else [-3, 0, 7], count)
    return values.astype(dtype)


@pytest.mark.parametrize("function", [np.maximum, np.minimum])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("count", [0, 1, MANY - 1, MANY, MANY + 1, 3 * ROW, 5 * ROW + 17])
def test_any_number_of_elements_is_bounded(function: Any, dtype: Any, count: int) -> None:
    x, bound = numbers(count, dtype), np.dtype(dtype).type(0)
    expected, other, bounds = function(x, bound), np.empty_like(x), bounded(function, bound)
    np.testing.assert_array_equal(bounds(x), expected)
    assert bounds(x).dtype == dtype
    assert bounds(x, other) is other
    np.testing.assert_array_equal(other, expected)
    bounds(x, x)
    np.testing.assert_array_equal(x, expected)


VIEWS = {
    "columns": lambda x: x.reshape(64, -1)[:, 3:-5],
    "wide columns": lambda x: x.reshape(4, -1)[:, 1:],
    "narrow columns": lambda x: x.reshape(-1, 16)[:, :9],
    "transposed": lambda x: x.reshape(256, -1).T,
    "every other": lambda x: x[::2],
    "backwards": lambda x: x[::-1],
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_are_bounded_in_place_and_around_them_nothing_changes(view: str) -> None:
    x = numbers(6 * MANY)
    part = VIEWS[view](x)
    expected_part, outside = np.maximum(part, np.float32(0)), x.copy()
    VIEWS[view](outside)[...] = expected_part
    assert bounded(np.maximum, np.float32(0))(part, part) is part
    np.testing.assert_array_equal(part, expected_part)
    np.testing.assert_array_equal(x, outside)
    np.testing.assert_array_equal(bounded(np.maximum, np.float32(0))(VIEWS[view](numbers(6 * MANY))), expected_part)


def test_zero_has_the_sign_that_onnx_gives_it() -> None:
    x = np.full(2 * MANY, -0.0, np.float32)
    assert not np.signbit(bounded(np.maximum, np.float32(0))(x)).any()


@pytest.mark.parametrize("count", [9, 2 * MANY])
@pytest.mark.parametrize(
    ("operator", "bounds", "options"),
    [
        ("Relu", [], {}),
        ("Clip", [np.float32(-1), np.float32(2)], {}),
        ("Clip", [np.float32(2), np.float32(-1)], {}),
        ("Clip", [None, np.float32(2)], {}),
        ("Clip", [np.float32(-1)], {}),
        ("Clip", [], {}),
        ("Clip", [], {"opset": 6, "min": -1.0, "max": 2.0}),
    ],
)
def test_bounds_agree_with_the_reference(operator: str, bounds: list[Any], options: Any, count: int) -> None:
    same_as_reference(operator, [numbers(count), *bounds], **options)


def test_without_bounds_the_input_is_the_result() -> None:
    model, feeds = one_node("Clip", [numbers(9)])
    (result,) = NumpySession(model).bind("run", feeds, {})()
    np.testing.assert_array_equal(result, feeds["x0"])


@given(st.integers(1, 5), st.integers(1, 40000), st.floats(-2, 2, width=32))
def test_rows_of_any_width_are_bounded(rows: int, width: int, bound: float) -> None:
    x = numbers(rows * (width + 1)).reshape(rows, -1)[:, :width]
    number = np.float32(bound)
    np.testing.assert_array_equal(bounded(np.minimum, number)(x), np.minimum(x, number))
