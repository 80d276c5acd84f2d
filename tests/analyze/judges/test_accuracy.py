"""Two results agree or not, and by how much."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from ml_dtypes import bfloat16, float8_e4m3fn, int4

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
        (np.array([1 + 1j]), np.array([1 + 2j]), 1),
        (np.zeros((0, 3)), np.zeros((0, 3)), 0),
        ([np.array([1.0]), np.array([2.0])], [np.array([1.0]), np.array([3.0])], 1),
        ([{0: 0.25, 1: 0.75}], [{0: 0.25, 1: 0.5}], 1),
        ([{0: np.float32(0.25)}], [{0: np.float64(0.25)}], 0),  # a map holds plain numbers
        (np.array([30522]), np.array([30523]), 1),
        (np.array([2**53]), np.array([2**53 + 1]), 1),
        (np.array([2**64 - 1], np.uint64), np.array([2**64 - 2], np.uint64), 1),
        (np.array([-(2**63)]), np.array([2**63 - 1]), 1),
        (np.array([1, 7], int4), np.array([1, -8], int4), 1),
        (np.array([1.0, 2.0], bfloat16), np.array([1.0, 3.0], bfloat16), 1),
        (np.array(["a", "b\0"], object), np.array(["a", "b"], object), 1),
        (np.array(["a", "b"], "U9"), np.array(["a", "b"], object), 0),
        (np.array([1.0], ">f4"), np.array([1.0], "<f4"), 0),
        (np.array([0.0, -0.0]), np.array([-0.0, 0.0]), 0),
        (np.array([NAN + 1j, 1 + 1j]), np.array([NAN + 2j, 1 + 1j]), 1),
        (np.array([complex(INF, NAN), complex(INF, 1)]), np.array([complex(INF, NAN), complex(INF, 1)]), 0),
        (np.array([1.0, NAN], float8_e4m3fn), np.array([1.125, NAN], float8_e4m3fn), 1),
        (np.array([True]), np.array([True]), 0),
        (np.array(["2026-01-01", "NaT"], "M8[s]"), np.array(["2026-01-01", "NaT"], "M8[s]"), 0),
        (np.array(["2026-01-01"], "M8[ns]"), np.array(["2026-01-01T00:00:00.000000001"], "M8[ns]"), 1),
        (np.array([(1, 2.0)], "i4,f4"), np.array([(1, 2.5)], "i4,f4"), 1),
        (np.array(["a", 1], object), np.array(["a", "1"], object), 1),
        (np.array(["a", None, NAN], object), np.array(["a", None, NAN], object), 0),
        (np.array([b"a", b"b"], object), np.array(["a", "b"], object), 0),  # as TensorFlow returns texts
        (np.array([1, 2], object), np.array([1, 2]), 0),
        (np.zeros((0,), object), np.zeros((0,), "U3"), 0),
        ({"a": [np.array([1]), None]}, {"a": [np.array([2]), None]}, 1),
        ([], [], 0),
        (np.ones(1, "g"), np.ones(1, "g") + np.finfo("g").eps, 0),
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
        (np.zeros(3), np.zeros((3, 1)), "shapes (3,) and (3, 1)"),
        (np.zeros(3, np.int64), np.zeros(3, F32), "types int64 and float32"),
        (np.zeros(3, np.float64), np.zeros(3, F32), "types float64 and float32"),
        (np.zeros(3, bool), np.zeros(3, np.int8), "types bool and int8"),
        (np.array(["1"], object), np.array([1]), "types string and int64"),
        (np.zeros(3), np.zeros((3, 1), F32), "shapes (3,) and (3, 1), types float64 and float32"),
        ([np.zeros(1)], [np.zeros(1), np.zeros(1)], "1 against 2 items"),
        ([{"a": 1.0}], [{"b": 1.0}], "[0] keys ['a'] against ['b']"),
        (None, np.zeros(1), "nothing against ndarray"),
        ({"a": 1.0}, np.zeros(1), "dict against ndarray"),
        ({1: 1.0}, {1.0: 1.0}, "keys ['1'] against ['1.0']"),
        ({1: 1.0}, {True: 1.0}, "keys ['1'] against ['True']"),
        ({0: 1}, {0: 1.0}, "[0] types int64 and float64"),
        (np.array([None, 1], object), np.array(["a", "b"], object), "types object and string"),
        (np.array([1, 2], object), np.array([1.0, 2.0]), "types int64 and float64"),
        (np.array([0], "M8[s]"), np.array([0], "M8[ns]"), "types datetime64[s] and datetime64[ns]"),
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
    assert compare("y", np.array([-0.0], F32), np.array([0.0], F32)).max_ulp is None


@pytest.mark.parametrize(
    ("first", "second", "steps"),
    [
        ([1e-8, 1.0], [-1e-8, 1.0], 0.0),
        ([1e-9, 1.0], [3e-9, 1.0000001], 1.0),
        ([-1.0], [1.0], None),
        ([0.0, 0.0], [1e-7, 0.0], None),
    ],
)
def test_around_zero_there_are_no_steps_only_an_absolute_difference(
    first: list[float], second: list[float], steps: float | None
) -> None:
    found = compare("y", np.array(first, F32), np.array(second, F32), rtol=1e-3, atol=1e-5)
    assert found.max_ulp == steps
    assert found.max_absolute == pytest.approx(max(abs(a - b) for a, b in zip(first, second, strict=True)), rel=0.2)


@pytest.mark.parametrize(
    ("first", "second", "by", "at"),
    [
        (np.array([[1.0, 5.0], [2.0, 7.0]]), np.array([[1.0, 5.5], [2.0, 9.0]]), 2.0, "[1, 1]"),
        # The element of 1e6 is off by more, and within the tolerances.
        (np.array([1e6, 1.0]), np.array([1e6 + 100, 1.5]), 0.5, "[1]"),
        (np.array([1.0, NAN]), np.array([1.0, 1.0]), None, "[1]"),
        (np.array([4, 5]), np.array([4, 15]), 10.0, "[1]"),
        (np.array([-(2**63)]), np.array([2**63 - 1]), float(2**64 - 1), "[0]"),
        (np.array(["a", "b"], object), np.array(["a", "c"], object), None, "[1]"),
        (np.array(1.0), np.array(2.0), 1.0, ""),
        ([np.zeros(2), np.zeros(2)], [np.zeros(2), np.array([0.0, 3.0])], 3.0, "[1] [1]"),
        (np.zeros(2), np.zeros(2), None, ""),
    ],
)
def test_the_largest_difference_is_located_among_the_elements_that_differ(
    first: Any, second: Any, by: float | None, at: str
) -> None:
    found = compare("y", first, second)
    assert (found.differs_by, found.differs_at) == (by, at)


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
    assert found.max_ulp in (0, None)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.floats(-1, 1, width=32))
def test_steps_are_symmetric(value: float, change: float) -> None:
    a, b = np.array([value], F32), np.array([value + change], F32)
    assert compare("y", a, b).max_ulp == compare("y", b, a).max_ulp


ANY_ARRAY = st.sampled_from(
    [np.bool_, np.int8, np.int32, np.int64, np.uint8, np.uint64, np.float16, np.float32, np.float64, np.complex64]
).flatmap(lambda kind: hnp.arrays(kind, hnp.array_shapes(max_dims=3, max_side=4)))


@given(ANY_ARRAY, ANY_ARRAY)
def test_both_sides_have_the_same_say(first: Any, second: Any) -> None:
    assert compare("y", first, second).equal == compare("y", second, first).equal


@given(st.lists(st.tuples(st.floats(), st.floats()), min_size=1))
def test_both_sides_have_the_same_say_about_floats_that_lie_close(pairs: list[tuple[float, float]]) -> None:
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    near = second.copy()
    with np.errstate(all="ignore"):
        near[1:] = first[1:] * (1 + 1e-3)
    assert compare("y", first, near).equal == compare("y", near, first).equal


@given(ANY_ARRAY)
def test_equal_arrays_always_agree(values: Any) -> None:
    assert compare("y", values, values.copy(), rtol=0, atol=0).equal


@given(ANY_ARRAY.filter(lambda array: array.dtype.kind in "biu"), st.data())
def test_one_flipped_integer_never_agrees(values: Any, data: st.DataObject) -> None:
    changed = values.copy()
    place = data.draw(st.integers(0, values.size - 1))
    bit = 0 if values.dtype == bool else data.draw(st.integers(0, 8 * values.dtype.itemsize - 1))
    changed.view(np.dtype(f"u{values.dtype.itemsize}")).flat[place] ^= np.dtype(f"u{values.dtype.itemsize}").type(
        1 << bit
    )
    found = compare("y", values, changed, rtol=1.0, atol=0.99)
    assert (found.equal, found.differing) == (False, 1)
    assert found.differs_by


@pytest.mark.parametrize(
    ("dtype", "forgiven"),
    [
        (np.uint8, True),
        (np.int8, True),
        (np.int16, True),
        (int4, True),
        (np.int32, False),
        (np.int64, False),
        (np.uint64, False),
        (bool, False),
    ],
)
def test_only_integers_as_quantised_models_return_them_may_differ_and_only_by_an_explicit_tolerance(
    dtype: Any, forgiven: bool
) -> None:
    one, other = np.array([0, 1], dtype), np.array([1, 1], dtype)
    assert not compare("y", one, other).equal
    assert not compare("y", one, other, rtol=10.0).equal
    assert compare("y", one, other, atol=1.0).equal is forgiven
    assert not compare("y", np.array([0], np.uint8), np.array([255], np.uint8), atol=1.0).equal


@pytest.mark.parametrize("rtol", [0.0, 1e-3, 1e308, INF])
def test_what_is_the_same_agrees_whatever_the_tolerance(rtol: float) -> None:
    values = np.array([0.0, 1.0, -1e308, INF, NAN])
    assert compare("y", values, values.copy(), rtol=rtol, atol=0.0).equal


@given(st.lists(st.text(), min_size=1), st.data())
def test_one_changed_text_never_agrees(texts: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(texts) - 1))
    changed = [text + "x" * (index == place) for index, text in enumerate(texts)]
    found = compare("y", np.array(texts, object), np.array(changed, object))
    assert (found.equal, found.differing, found.differs_at) == (False, 1, f"[{place}]")


def test_outputs_are_compared_one_by_one_within_the_tolerances() -> None:
    first, second = [np.array([1.0]), np.array([2.0])], [np.array([1.0]), np.array([2.1])]
    assert [(each.name, each.equal) for each in compare_outputs("ab", first, second)] == [("a", True), ("b", False)]
    assert all(each.equal for each in compare_outputs("ab", first, second, atol=0.2))
    assert all(each.equal for each in compare_outputs("ab", first, second, rtol=0.2))
