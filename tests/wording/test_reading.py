"""Texts of numbers are read back in the order of the numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.wording.numbers import decimal_size, duration, magnitude, per_second, percent, ratio, size
from onnxperf.wording.reading import number_in


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.23 ms", 1.23e6),
        ("±68.9 µs", 68.9e3),
        ("43 µs", 43e3),
        ("1.50 MiB", 1.5 * 2**20),
        ("240 MB", 240e6),
        ("12.3 %", 0.123),
        ("1.052×", 1.052),  # noqa: RUF001
        ("0.985…1.018", 0.985),
        ("+1,200", 1200.0),
        ("-3 ms", -3e6),
        ("1e-05", 1e-5),
        ("> 100×", 100.0),  # noqa: RUF001
        ("3 threads", 3.0),
        ("–", None),  # noqa: RUF001
        ("", None),
        ("faster", None),
        ("MatMul_3", None),
    ],
)
def test_a_text_begins_with_its_number(text: str, number: float | None) -> None:
    assert number_in(text) == (None if number is None else pytest.approx(number))


@pytest.mark.parametrize("text_of", [duration, size, decimal_size, percent, ratio, per_second, magnitude])
@given(number=st.floats(1, 1e12))
def test_what_was_written_is_read_back(text_of: Callable[[float], str], number: float) -> None:
    assert number_in(text_of(number)) == pytest.approx(number, rel=0.01, abs=0.5)
