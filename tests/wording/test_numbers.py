"""Numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.wording.names import visible
from onnxperf.wording.numbers import (
    NOTHING,
    average,
    count,
    decimal_size_unit,
    duration,
    duration_unit,
    durations,
    factor,
    grouped,
    hundredths,
    in_megabytes,
    interval,
    magnitude,
    mean_count,
    megabytes,
    microseconds,
    per_second,
    percent,
    percent_at_most,
    plain,
    probability,
    ratio,
    rough_time,
    sampled_percent,
    share_percent,
    signed,
    significant,
    size,
    spoken_size,
    time_text,
    whole_percent,
)

NANOSECONDS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


def in_ns(text: str) -> float:
    number, unit = text.split(" ")
    return float(number) * NANOSECONDS[unit]


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0, "0.00 ns"),
        (9.996, "10.0 ns"),
        (950, "950 ns"),
        (999.4, "999 ns"),
        (999.7, "1.00 µs"),
        (8430, "8.43 µs"),
        (99_960, "100 µs"),
        (999_500, "1.00 ms"),
        (1_200_000, "1.20 ms"),
        (2_310_000_000, "2.31 s"),
        (4_000_000_000_000, "4000 s"),
    ],
)
def test_a_duration_has_three_digits_and_the_unit_that_suits_it(ns: float | None, text: str) -> None:
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(5360, 5680, "5.36–5.68 µs"), (980_000, 1_020_000, "980 µs–1.02 ms"), (8e6, 8e6, "8.00–8.00 ms")],
)
def test_an_interval_of_times_has_its_unit_once(low: float, high: float, text: str) -> None:
    assert durations(low, high) == text


@given(st.floats(0.01, 9e11), st.floats(0.01, 9e11))
def test_a_longer_time_never_reads_shorter(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert in_ns(duration(low)) <= in_ns(duration(high))


@given(st.floats(1, 9e11))
def test_a_duration_is_never_a_thousand_of_a_unit_and_is_right_to_half_a_percent(ns: float) -> None:
    text = duration(ns)
    assert float(text.split()[0]) < 1000
    assert in_ns(text) == pytest.approx(ns, rel=0.00501)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0, "0 B"),
        (999, "999 B"),
        (999.6, "1.00 kB"),
        (40_200, "40.2 kB"),
        (999_600, "1.00 MB"),
        (240_000_000, "240 MB"),
        (-1_500_000, "-1.50 MB"),
        (2_340_000_000, "2.34 GB"),
        (5e15, "5000 TB"),
    ],
)
def test_a_size_counts_in_powers_of_ten(count: float | None, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "–"),
        (0, "0 MB"),
        (40, "<0.001 MB"),
        (40_200, "0.04 MB"),
        (24_900, "0.025 MB"),
        (99_600, "0.1 MB"),
        (1_770_000, "1.77 MB"),
        (-2_000_000, "-2 MB"),
        (302_400_000, "302 MB"),
        (2_340_000_000, "2340 MB"),
    ],
)
def test_what_is_compared_with_each_other_is_in_one_unit(count: float | None, text: str) -> None:
    assert in_megabytes(count) == text


@given(st.floats(0, 9e14))
def test_a_size_is_never_a_thousand_of_a_unit(count: float) -> None:
    assert float(size(count).split()[0]) < 1000


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "–"),
        (0, "0.00"),
        (-4000, "0.00"),
        (65_536, "0.07"),
        (-240_000_000, "-240"),
        (12_300_000, "12.3"),
        (2_340_000_000, "2340"),
    ],
)
def test_megabytes_have_one_unit_for_a_whole_column(count: float | None, text: str) -> None:
    assert megabytes(count) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.inf, "–"),
        (0.00004, "4e-05×"),
        (0.007, "0.0070×"),
        (0.6535, "0.65×"),
        (1.0, "1.00×"),
        (2.345, "2.35×"),
        (123.4, "123×"),
    ],
)
def test_a_ratio_shows_hundredths_near_one(value: float | None, text: str) -> None:
    assert ratio(value) == text


@pytest.mark.parametrize(
    ("value", "ends", "text", "within"),
    [
        (1.62, (1.59, 1.66), "1.62×", "1.59–1.66"),
        (1.001, (0.9996, 1.003), "1.001×", "1.000–1.003"),
        (0.0070, (0.0069, 0.0071), "0.0070×", "0.0069–0.0071"),
        (23.14, (22.5, 23.6), "23.1×", "22.5–23.6"),
        (230.4, (228.0, 231.0), "230×", "228–231"),
        (2.0, (2.0, 2.0), "2.00×", "2.00–2.00"),
        (1.00000004, (1.0, 1.00000008), "1.000×", "1.000–1.000"),
    ],
)
def test_a_ratio_has_as_many_decimals_as_its_interval(
    value: float, ends: tuple[float, float], text: str, within: str
) -> None:
    assert ratio(value, ends) == text
    assert interval(*ends) == within


def test_an_interval_without_an_end_is_a_dash() -> None:
    assert interval(0.99, 1.01) == "0.99–1.01"
    assert interval(None, 1.01) == NOTHING


def test_a_share_reads_as_percent() -> None:
    assert percent(0.1234) == "12.3 %"
    assert percent(None) == NOTHING


@given(st.floats(0, 1e15))
def test_texts_for_plain_terminals_are_ascii(value: float) -> None:
    texts = [duration(value), ratio(value), interval(value, value), size(value), NOTHING]
    assert all(visible(text, "ascii").isascii() and "\\" not in visible(text, "ascii") for text in texts)


@pytest.mark.parametrize(("ns", "unit"), [(0.5, "ns"), (999, "ns"), (1000, "µs"), (5e6, "ms"), (9e12, "s")])
def test_an_axis_gets_the_largest_unit_below_its_value(ns: float, unit: str) -> None:
    assert duration_unit(ns) == (NANOSECONDS[unit], unit)
    assert decimal_size_unit(5e6) == (1e6, "MB")


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 µs"),
        (8, "8 µs"),
        (8.5, "8.5 µs"),
        (43, "43 µs"),
        (999, "999 µs"),
        (999.4, "999 µs"),
        (999.7, "1.00 ms"),
        (1200, "1.20 ms"),
        (-43, "-43 µs"),
        (2_500_000, "2.50 s"),
        (None, NOTHING),
    ],
)
def test_no_digit_is_made_up_below_a_microsecond(us: float | None, text: str) -> None:
    assert microseconds(us) == text


@pytest.mark.parametrize(("number", "text"), [(0, NOTHING), (3, "+3"), (-1200, "-1,200")])
def test_a_change_has_its_sign(number: int, text: str) -> None:
    assert signed(number) == text


@pytest.mark.parametrize(("value", "text"), [(3, "3"), (2.0, "2"), (2.55, "2.5"), (1234, "1,234")])
def test_a_mean_number_has_a_decimal_only_where_it_is_not_whole(value: float, text: str) -> None:
    assert mean_count(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.12, "12 %"), (0.995, "100 %"), (0.9951, "99.5 %"), (0.99999, "99.9 %"), (1, "100 %")]
)
def test_only_the_whole_is_a_hundred_percent(share: float, text: str) -> None:
    assert share_percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, NOTHING), (0.05, "0.050"), (0.99, "0.99"), (1.0516, "1.05"), (12.34, "12.3")]
)
def test_a_factor_is_a_speedup_without_its_sign(value: float | None, text: str) -> None:
    assert factor(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1"), (0.5, "0.5"), (1.2345, "1.23"), (999.4, "999"), (12345.0, "12345"), (-2.5, "-2.5")]
)
def test_plain_numbers_have_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("ns", "text"), [(5.0, "5 ns"), (999.7, "1 µs"), (12_345.0, "12.3 µs"), (1e6, "1 ms"), (2.5e9, "2.5 s")]
)
def test_times_in_sentences_have_no_zeros_at_the_end(ns: float, text: str) -> None:
    assert time_text(ns) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(None, "–"), (math.inf, "–"), (1.234, "1.23"), (15.04, "15.0"), (1284.2, "1,284")],
)
def test_rates_are_grouped(rate: float | None, text: str) -> None:
    assert per_second(rate) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0 %"), (0.00801, "0.81 %"), (0.01, "1 %"), (0.0204, "2.1 %"), (0.1201, "13 %")]
)
def test_a_share_that_must_not_be_exceeded_is_rounded_up(share: float, text: str) -> None:
    assert percent_at_most(share) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (0.004, "less than 1 %"), (0.345, "34 %"), (0.997, "more than 99 %"), (1.0, "100 %")],
)
def test_a_share_has_no_more_digits_than_samples_allow(share: float, text: str) -> None:
    assert sampled_percent(share) == text


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (spoken_size, 0, "0 B"),
        (spoken_size, 999, "999 B"),
        (spoken_size, 999_700, "1 MB"),
        (spoken_size, 200_000_000, "200 MB"),
        (spoken_size, 2_340_000_000, "2.34 GB"),
        (significant, 0.012345, "0.0123"),
        (plain, 60.0, "60"),
        (plain, 0.25, "0.25"),
        (plain, 1e30, "1e+30"),
        (grouped, 1_234_567, "1,234,567"),
        (grouped, 2**63, "9,223,372,036,854,775,808"),
        (grouped, 1234.6, "1,235"),
        (average, 12.34, "12"),
        (average, 1234.5, "1,234"),
        (average, 1.25, "1.2"),
        (hundredths, 0.4, "0.40"),
        (magnitude, 999, "999"),
        (magnitude, 1500, "1.5 k"),
        (magnitude, 2_340_000_000, "2.34 G"),
        (whole_percent, 0.126, "13 %"),
    ],
)
def test_a_number_reads_as_its_kind_is_written(write: Callable[[Any], str], value: float, text: str) -> None:
    assert write(value) == text


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ["thread"], "0 threads"),
        (1, ["thread"], "1 thread"),
        (1200, ["call"], "1,200 calls"),
        (2, ["node has", "nodes have"], "2 nodes have"),
        (1, ["node has", "nodes have"], "1 node has"),
    ],
)
def test_plurals_agree_with_their_numbers(number: int, words: list[str], text: str) -> None:
    assert count(number, *words) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (math.inf, "an unknown time"),
        (0, "0 s"),
        (0.2, "1 s"),
        (89.1, "90 s"),
        (90, "2 min"),
        (125, "2 min"),
        (3600, "1 h"),
        (5400, "1 h 30 min"),
    ],
)
def test_a_rough_time_is_in_whole_units(seconds: float, text: str) -> None:
    assert rough_time(seconds) == text


@pytest.mark.parametrize(("p_value", "text"), [(0.04, "0.04"), (1e-6, "1e-06"), (1e-9, "< 1e-06"), (0.0, "< 1e-06")])
def test_a_tiny_p_value_is_only_called_smaller(p_value: float, text: str) -> None:
    assert probability(p_value) == text
