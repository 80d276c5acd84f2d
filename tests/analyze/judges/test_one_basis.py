"""Times and speedups of a race have one basis: whatever was measured, they agree."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.judges.comparison import compare
from onnxperf.records.race import Block, Measurement, Subject
from onnxperf.wording.numbers import duration, factor

UNITS = {"": 1.0, "ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


class Draw(NamedTuple):
    """What a race is made of; times come from its seed."""

    seed: int
    launches: int
    rounds: int
    """Of each launch."""
    calls: int
    """Of each block."""
    lengths: list[float]
    """Of a call of each subject, in nanoseconds."""
    noise: float
    slow_calls: float
    """Share of those that take three times as long."""
    lost: int
    """Rounds that the last subject has not had when its race ended."""


draws = st.builds(
    Draw,
    seed=st.integers(0, 2**32 - 1),
    launches=st.integers(1, 12),
    rounds=st.integers(1, 6),
    calls=st.sampled_from([1, 7, 30]),
    lengths=st.lists(st.floats(10.0, 1e9), min_size=2, max_size=4),
    noise=st.sampled_from([0.0, 0.001, 0.02, 0.5]),
    slow_calls=st.sampled_from([0.0, 0.1]),
    lost=st.integers(0, 3),
)


def measured(draw: Draw) -> list[Measurement]:
    rng = np.random.default_rng(draw.seed)
    rounds = draw.launches * draw.rounds
    subjects = []
    for position, length in enumerate(draw.lengths):
        is_last = position == len(draw.lengths) - 1
        count = max(rounds - draw.lost * is_last, 1)
        speeds = rng.lognormal(0, draw.noise, (count, 1)) * rng.lognormal(0, draw.noise / 2, (count, draw.calls))
        times = length * speeds * np.where(rng.random(speeds.shape) < draw.slow_calls, 3.0, 1.0)
        blocks = tuple(
            Block(
                round=number,
                position=position,
                launch=number // draw.rounds,
                calls=draw.calls,
                start_ns=10**9 * number,
                duration_ns=round(own.sum()),
                quickest_ns=float(own.min()),
            )
            for number, own in enumerate(times)
        )
        each = tuple(times.ravel().round().astype(int).tolist())
        subjects.append(Measurement(name=f"subject {position}", blocks=blocks, call_ns=each))
    return subjects


def shown(text: str) -> tuple[float, float]:
    """The smallest and the largest value that is printed so."""
    number, _, unit = text.partition(" ")
    value = Decimal(number)
    half = Decimal((0, (5,), int(value.as_tuple().exponent) - 1))
    return float(value - half) * UNITS[unit], float(value + half) * UNITS[unit]


def time_of(subject: Subject) -> float:
    assert subject.time_ns is not None
    return subject.time_ns


@given(draws)
def test_the_ratio_of_two_times_is_their_speedup(draw: Draw) -> None:
    base, *rivals = compare(measured(draw), "subject 0", 0.01)
    for rival in rivals:
        assert time_of(base) / time_of(rival) == pytest.approx(rival.speedup, rel=1e-9)


@given(draws)
def test_printed_times_and_speedups_agree_to_the_digits_shown(draw: Draw) -> None:
    base, *rivals = compare(measured(draw), "subject 0", 0.01)
    for rival in rivals:
        least, most = shown(duration(time_of(base)))
        own_least, own_most = shown(duration(time_of(rival)))
        low, high = shown(factor(rival.speedup))
        assert least / own_most <= high
        assert low <= most / own_least


@given(draws)
def test_percentiles_are_in_order(draw: Draw) -> None:
    for subject in compare(measured(draw), "subject 0", 0.01):
        known = [subject.min_ns, subject.median_ns, subject.p90_ns, subject.p99_ns, subject.max_ns]
        times = [each for each in known if each is not None]
        assert times == sorted(times)
        assert len(times) >= 3
