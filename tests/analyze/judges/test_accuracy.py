"""Two results agree or not, and by how much."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onnxperf.analyze.judges.accuracy import compare, compare_outputs

F32 = np.float32
NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("first", "second", "differing"),
    [
        (np.array([1.0, 2.0]), np.array([1.0, 2.0]), 0),
        (np.array([1.0, 2.0005]), np.array([1.0, 2.0]), 0),
        (np.array([1.0, 2.1]), np.array([1.0, 2.0]), 1),
        (np.array([NAN, 1.0]), np.array([NAN, 1.0]), 0),
        (np.array([NAN, 1.0]), np.array([0.0, 1.0]), 1),
        (np.array([INF, -INF]), np.array([INF, INF]), 1),
        (np.array([1, 2, 3]), np.array([1, 2, 4]), 1),
        (np.array([True, False]), np.array([True, True]), 1),
        (np.array(["a", "b"], object), np.array(["a", "c"], object), 1),
        (np.array([[1.0], [2.0]]), np.array([1.0, 2.0]), 0),
        (np.array([1 + 1j]), np.array([1 + 2j]), 1),
        (np.zeros((0, 3)), np.zeros((0, 3)), 0),
        ([np.array([1.0]), np.array([2.0])], [np.array([1.0]), np.array([3.0])], 1),
        ([{0: 0.25, 1: 0.75}], [{0: 0.25, 1: 0.5}], 1),
        ([{0: 0.25, 1: 0.75}], np.array([[0.25, 0.75]]), 0),
        (None, None, 0),
    ],
)
def test_elements_outside_the_tolerances_are_counted(first: Any, second: Any, differing: int) -> None:
    found = compare("y", first, second)
    assert (found.differing, found.equal) == (differing, differing == 0)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (np.zeros((2, 3)), np.zeros((3, 2)), "shapes (2, 3) and (3, 2)"),
        ([np.zeros(1)], [np.zeros(1), np.zeros(1)], "1 against 2 items"),
        ([{"a": 1.0}], [{"b": 1.0}], "[0] keys ['a'] against ['b']"),
        (None, np.zeros(1), "nothing against ndarray"),
        ({"a": 1.0}, np.zeros(1), "dict against ndarray"),
    ],
)
def test_structures_that_differ_are_named(first: Any, second: Any, reason: str) -> None:
    found = compare("y", first, second)
    assert (found.equal, found.reason) == (False, reason)


def test_errors_are_absolute_relative_to_the_second_and_in_steps_of_the_type() -> None:
    second = np.array([1.0, 100.0, 0.0], F32)
    first = np.array([np.nextafter(F32(1), F32(2)), 101.0, 0.5], F32)
    found = compare("y", first, second)
    assert found.max_absolute == 1.0
    assert found.max_relative == pytest.approx(0.01)
    assert compare("y", first[:1], second[:1]).max_ulp == 1
    assert compare("y", np.array([-0.0], F32), np.array([0.0], F32)).max_ulp == 0


def test_nan_and_infinity_are_counted_on_both_sides() -> None:
    found = compare("y", np.array([NAN, INF, 1.0]), np.array([1.0, INF, -INF]))
    assert (found.nans, found.infinities) == ((1, 0), (1, 2))


@given(
    hnp.arrays(st.sampled_from([np.float16, np.float32, np.float64]), hnp.array_shapes(), elements={"allow_nan": True})
)
def test_everything_equals_itself(values: Any) -> None:
    found = compare("y", values, values.copy())
    assert found.equal
    assert found.max_absolute == 0
    assert found.max_ulp == 0


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.floats(-1, 1, width=32))
def test_steps_are_symmetric(value: float, change: float) -> None:
    a, b = np.array([value], F32), np.array([value + change], F32)
    assert compare("y", a, b).max_ulp == compare("y", b, a).max_ulp


def test_outputs_are_compared_one_by_one_within_the_tolerances() -> None:
    first, second = [np.array([1.0]), np.array([2.0])], [np.array([1.0]), np.array([2.1])]
    assert [(each.name, each.equal) for each in compare_outputs("ab", first, second)] == [("a", True), ("b", False)]
    assert all(each.equal for each in compare_outputs("ab", first, second, atol=0.2))
    assert all(each.equal for each in compare_outputs("ab", first, second, rtol=0.2))
