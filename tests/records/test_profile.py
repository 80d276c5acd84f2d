"""What the usual iteration of a profile is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.records.profile import steady, usual


@pytest.mark.parametrize(
    ("values", "counted", "time"),
    [
        ((), (), 0.0),
        ((7,), (7,), 7.0),
        ((9, 1), (9, 1), 5.0),  # two at least
        ((9, 2200, 2202, 27000), (2200, 2202, 27000), 2201.0),  # one interrupted iteration of three
        ((9, 1, 2), (1, 2), 1.5),
        ((9, 1, 2, 4, 4000), (1, 2, 4, 4000), 1.5),
        ((9, 50, 50, 90, 90, 90, 90, 90, 90), (50, 50, 90, 90, 90, 90, 90, 90), 50.0),  # three quarters disturbed
        ((9, *[1, 2] * 30), (1, 2) * 30, 10 / 7),  # whole microseconds: averages, as the quickest are all alike
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
def test_iterations_that_did_other_work_have_a_quickest_quarter_of_their_own(
    values: tuple[int, ...], alike: tuple[int, ...], time: float
) -> None:
    assert usual(values, alike) == pytest.approx(time)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60), st.lists(st.integers(0, 2), min_size=60, max_size=60))
def test_a_time_lies_between_the_quickest_and_the_slowest_iteration(values: list[int], kinds: list[int]) -> None:
    for alike in ([], kinds[: len(values)]):
        assert min(values) <= usual(values, alike) * (1 + 1e-12)
        assert usual(values, alike) <= max(values) * (1 + 1e-12)
