"""What the usual iteration of a profile is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.records.profile import added, steady, usual


@pytest.mark.parametrize(
    ("values", "counted", "time"),
    [
        ((), (), 0.0),
        ((7,), (7,), 7.0),
        ((9, 1), (9, 1), 1.0),
        ((9, 2200, 27000), (2200, 27000), 2200.0),  # one interrupted iteration of two
        ((9, 1, 2), (1, 2), 1.0),
        ((9, 1, 2, 4, 4000), (1, 2, 4, 4000), 1.5),
        ((9, 5, 5, 5, 5, 5, 90, 90, 90), (5, 5, 5, 5, 5, 90, 90, 90), 5.0),
    ],
)
def test_the_usual_iteration_is_neither_the_first_nor_an_interrupted_one(
    values: tuple[int, ...], counted: tuple[int, ...], time: float
) -> None:
    assert steady(values) == counted
    assert usual(values) == time


@pytest.mark.parametrize(
    ("values", "alike", "time"),
    [
        ((0, 10, 0, 10, 0), (0, 1, 0, 1, 0), 5.0),  # a branch that every second iteration takes
        ((9, 10, 99, 10, 30), (0, 1, 1, 1, 2), (3 * 10 + 30) / 4),
    ],
)
def test_iterations_that_did_other_work_have_a_faster_half_of_their_own(
    values: tuple[int, ...], alike: tuple[int, ...], time: float
) -> None:
    assert usual(values, alike) == pytest.approx(time)


@st.composite
def parts_and_kinds(draw: st.DrawFn) -> tuple[list[list[int]], list[int]]:
    length = draw(st.integers(1, 30))
    part = st.lists(st.integers(0, 10**6), min_size=length, max_size=length)
    kinds = st.lists(st.integers(0, 2), min_size=length, max_size=length)
    return draw(st.lists(part, min_size=1, max_size=6)), draw(st.just([]) | kinds)


@given(parts_and_kinds())
def test_parts_never_add_up_to_more_than_their_whole(made: tuple[list[list[int]], list[int]]) -> None:
    parts, kinds = made
    whole = usual(added(parts), kinds)
    assert sum(usual(part, kinds) for part in parts) <= whole * (1 + 1e-12)
    for part in parts:
        assert min(part) <= usual(part, kinds) * (1 + 1e-12)
        assert usual(part, kinds) <= max(part) * (1 + 1e-12)
