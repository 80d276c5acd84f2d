"""Which iterations count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.trace.iterations import mean_of, typical
from onnxperf.records.profile import steady


@pytest.mark.parametrize(
    ("values", "counted", "usual"),
    [
        ((), (), 0.0),
        ((7,), (7,), 7.0),
        ((9, 1), (9, 1), 5.0),
        ((9, 1, 2), (1, 2), 1.5),
        ((9, 1, 2, 4, 4000), (1, 2, 4, 4000), 3.0),  # an interrupted iteration changes nothing
        ((9, 5, 5, 5, 5, 1, 90, 5, 5), (5, 5, 5, 5, 1, 90, 5, 5), 5.0),
    ],
)
def test_the_usual_iteration_is_neither_the_first_nor_an_interrupted_one(
    values: tuple[int, ...], counted: tuple[int, ...], usual: float
) -> None:
    assert steady(values) == counted
    assert mean_of(values, typical(values)) == usual


@given(st.integers(0, 30).flatmap(lambda n: st.lists(st.lists(st.integers(0, 99), min_size=n, max_size=n), min_size=1)))
def test_usual_times_of_parts_add_up_to_that_of_the_whole(parts: list[list[int]]) -> None:
    whole = [sum(times) for times in zip(*parts, strict=True)]
    chosen = typical(whole)
    assert sum(mean_of(part, chosen) for part in parts) == pytest.approx(mean_of(whole, chosen))
