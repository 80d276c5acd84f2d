"""Which iterations count."""

from __future__ import annotations

import pytest

from onnxperf.records.iterations import steady, usual_us


@pytest.mark.parametrize(
    ("values", "counted", "usual"),
    [
        ((), (), 0.0),
        ((7,), (7,), 7.0),
        ((9, 1), (9, 1), 5.0),
        ((9, 1, 2), (1, 2), 1.5),
        ((9, 1, 2, 4000), (1, 2, 4000), 2.0),  # an interrupted iteration changes nothing
        ((9, 0, 0, 30), (0, 0, 30), 10.0),  # a branch that is rarely taken is not free
        ((5, 0, 0), (0, 0), 0.0),
    ],
)
def test_the_usual_iteration_is_neither_the_first_nor_an_interrupted_one(
    values: tuple[int, ...], counted: tuple[int, ...], usual: float
) -> None:
    assert steady(values) == counted
    assert usual_us(values) == usual
