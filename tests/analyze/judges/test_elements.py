"""The comparison of elements, beside a slow and obvious one."""

from __future__ import annotations

import cmath
import math
import tracemalloc
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from onnxperf.analyze.judges.accuracy import compare
from onnxperf.analyze.judges.elements import PIECE, compare_elements, pieces

TYPES: dict[str, list[Any]] = {
    "integers": ["?", "i1", "u1", "i2", "i4", "i8", "u8", ">i4"],
    "floats": ["f2", "f4", "f8", ">f8"],
    "complex": ["c8", "c16"],
    "texts": ["U3", "O"],
    "rare": [ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4],
}
RARE = {ml_dtypes.bfloat16: "f4", ml_dtypes.float8_e5m2: "f4", ml_dtypes.int4: "i1", ml_dtypes.uint4: "u1"}
"""Types that hypothesis cannot draw, and those whose values become theirs."""


def agree(a: Any, b: Any, rtol: float, atol: float) -> bool:
    """Two elements, as the documentation has it."""
    if isinstance(a, str | bool):
        return type(a) is type(b) and bool(a == b)
    if isinstance(a, int):
        return bool(a == b)
    numbers = complex(a), complex(b)
    if all(map(cmath.isfinite, numbers)):
        return bool(a == b or abs(a - b) <= atol + rtol * max(abs(a), abs(b)))
    parts = [(x.real, x.imag) for x in numbers]
    return all(p == q or (math.isnan(p) and math.isnan(q)) for p, q in zip(*parts, strict=True))


def drawn(dtype: Any) -> st.SearchStrategy[Any]:
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    elements = st.text(st.characters(codec="utf-8"), max_size=3) if dtype == "O" else None
    arrays = hnp.arrays(RARE.get(dtype, dtype), shapes, elements=elements)
    return arrays.map(lambda array: array.astype(dtype)) if dtype in RARE else arrays


def near(array: Any, data: st.DataObject) -> Any:
    """The array with some elements moved, by little or by much."""
    other = array.copy()
    for place in data.draw(st.lists(st.integers(0, array.size - 1), max_size=3)) if array.size else ():
        index = np.unravel_index(place, array.shape)
        with np.errstate(all="ignore"):
            if array.dtype.kind in "UO":
                other[index] = data.draw(st.text("ab", max_size=2))
            elif "int" in array.dtype.name or array.dtype.kind == "b":
                other[index] = np.asarray(other[index]).astype("i8") ^ data.draw(st.sampled_from([1, 2]))
            else:
                other[index] = other[index] * np.asarray(data.draw(st.sampled_from([1.0001, 1.01, -1]))).astype("f4")
    return other


@pytest.mark.parametrize("kind", TYPES)
@given(data=st.data())
def test_elements_agree_where_a_slow_comparison_finds_so(kind: str, data: st.DataObject) -> None:
    first = data.draw(st.sampled_from(TYPES[kind]).flatmap(drawn))
    second = near(first, data)
    rtol, atol = data.draw(st.sampled_from([(1e-3, 1e-5), (0.0, 0.0), (1.0, 0.5)]))
    wide = first.dtype if first.dtype.kind in "biuUO" else "i8" if "int" in first.dtype.name else "c16"
    a, b = (np.asarray(each).astype(wide).ravel().tolist() for each in (first, second))
    right = [agree(p, q, rtol, atol) for p, q in zip(a, b, strict=True)]
    found = compare("y", first, second, rtol, atol)
    assert (found.equal, found.differing, found.elements) == (all(right), right.count(False), first.size)


INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, 2**53, 2**53 + 1, -(2**53) - 1])


@given(INTEGERS, st.floats() | INTEGERS.map(float))
def test_an_integer_equals_only_the_float_that_is_the_same_number(whole: int, other: float) -> None:
    same = math.isfinite(other) and Fraction(other) == whole
    one, two = np.array([whole]), np.array([other])
    assert compare("y", one, two, form="table").equal is same
    assert compare("y", two, one, form="table").equal is same
    assert not compare("y", one, two, form="precision").equal


@given(INTEGERS, st.integers(0, 2**64 - 1))
def test_integers_of_two_types_are_equal_only_where_the_numbers_are(signed: int, unsigned: int) -> None:
    for a in (signed, unsigned % 2**63):
        one, two = np.array([a], np.int64), np.array([unsigned], np.uint64)
        assert compare("y", one, two, form="table").equal is (a == unsigned)
        assert compare("y", two, one, form="table").equal is (a == unsigned)


# ---------------------------------------------------------------- pieces

LONG = 3 * PIECE + 7


@pytest.mark.parametrize(
    "array",
    [
        np.arange(LONG),
        np.arange(2 * LONG).reshape(2, -1).T,
        np.arange(2 * LONG)[::-2],
        np.broadcast_to(np.float32(1), (7, PIECE)),
        np.arange(5),
        np.zeros((0, 3)),
        np.array(4),
        np.array(["text"] * (PIECE + 1), object),
        np.ones(PIECE + 1, ml_dtypes.bfloat16),
    ],
    ids=lambda array: f"{array.dtype}{list(array.shape)}",
)
def test_pieces_are_short_and_together_the_whole_in_c_order(array: Any) -> None:
    found = [(one.copy(), other.copy()) for one, other in pieces(array, array.copy())]
    assert all(len(one) <= PIECE for one, _ in found)
    for side in range(2):
        assert np.concatenate([pair[side] for pair in found]).tolist() == array.ravel().tolist()


@pytest.mark.parametrize("place", [0, PIECE - 1, PIECE, 2 * PIECE + 5, LONG - 1])
@pytest.mark.parametrize("dtype", ["i8", "f4", "?", "O"])
def test_one_difference_is_found_in_any_piece_and_at_its_place(dtype: str, place: int) -> None:
    first = np.zeros((1, LONG)).astype(dtype)
    second = first.copy()
    second[0, place] = 1
    found = compare_elements("y", "", first, second, 0.0, 0.0)
    assert (found.differing, found.elements, found.differs_at) == (1, LONG, f"[0, {place}]")


def test_the_figures_of_all_pieces_come_together() -> None:
    first, second = np.zeros(LONG), np.zeros(LONG)
    first[[1, PIECE + 1, LONG - 1]] = [1.0, 8.0, np.nan]
    second[[2, PIECE + 2]] = [4.0, np.inf]
    found = compare("y", first, second)
    assert (found.differing, found.differs_by, found.differs_at) == (5, 8.0, f"[{PIECE + 1}]")
    assert (found.max_absolute, found.nans, found.infinities) == (8.0, (1, 0), (0, 1))


@pytest.mark.parametrize("dtype", ["f4", "i8", "f2", "?"])
def test_a_comparison_takes_little_memory_whatever_is_compared(dtype: str) -> None:
    first, second = np.ones(4_000_000, dtype), np.ones(4_000_000, dtype)
    compare("y", first[:10], second[:10])
    tracemalloc.start()
    assert compare("y", first, second, form="table").equal
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12_000_000
