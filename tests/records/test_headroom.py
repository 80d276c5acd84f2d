"""Peaks between measured sizes, and what a limit says about a time."""

from __future__ import annotations

import pytest

from onnxperf.records.headroom import Bandwidth, Limit, Peaks
from tests.headrooms import KB, MB, PEAKS


@pytest.mark.parametrize(
    ("size", "rate"),
    [(0, 100), (100 * KB, 100), (1 * MB, 75), (10 * MB, 50), (100 * MB, 30), (1000 * MB, 10), (10**15, 10)],
)
def test_bandwidth_between_two_sizes_is_on_the_line_through_both(size: int, rate: float) -> None:
    assert PEAKS.gb_per_s(size) == pytest.approx(rate)


def test_larger_arrays_are_never_faster_than_smaller_ones() -> None:
    disturbed = Peaks(
        threads=1,
        gflop_per_s=1,
        bandwidths=tuple(
            Bandwidth(size_bytes=size, gb_per_s=rate) for size, rate in ((10, 3.0), (100, 8.0), (1000, 2.0))
        ),
    )
    assert [disturbed.gb_per_s(size) for size in (5, 10, 100, 1000)] == [8, 8, 8, 2]
    assert (disturbed.cache_gb_per_s, disturbed.memory_gb_per_s) == (8, 2)


@pytest.mark.parametrize(
    ("time", "limit", "best", "won", "ratio", "gflop_per_s"),
    [
        (100.0, 40.0, 40.0, 60.0, 2.5, 10.0),
        (40.0, 40.0, 40.0, 0.0, 1.0, 25.0),
        (20.0, 40.0, 20.0, 0.0, 1.0, 25.0),  # faster than its limit: at the limit, never above the peak
        (7.0, 0.0, 0.0, 7.0, None, 1000.0 / 7),
        (0.0, 0.0, 0.0, 0.0, None, None),
    ],
)
def test_what_could_be_won_is_never_negative_and_speed_never_above_the_limit(
    time: float, limit: float, best: float, won: float, ratio: float | None, gflop_per_s: float | None
) -> None:
    found = Limit(time_us=time, limit_us=limit, best_us=best, flop=1e6, moved_bytes=1e6)
    assert found.could_win_us == won
    assert found.ratio == ratio
    assert found.gflop_per_s == pytest.approx(gflop_per_s)
    assert found.gb_per_s == found.gflop_per_s


def test_arithmetic_that_is_not_counted_has_no_speed() -> None:
    assert Limit(time_us=1, limit_us=1, best_us=1, flop=0, moved_bytes=1, counted=False).gflop_per_s is None
