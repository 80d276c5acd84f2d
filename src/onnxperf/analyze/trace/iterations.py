"""Which iterations of a profile stand for the usual one."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.profile import steady


def typical(totals: Sequence[int]) -> tuple[int, ...]:
    """Numbers of the steady iterations whose time is in the middle half.

    One interrupted iteration may double a mean, and medians of parts do not add up to the median of the whole: means
    over the same undisturbed iterations do.
    """
    first = len(totals) - len(steady(totals))
    by_time = sorted(range(first, len(totals)), key=lambda number: (totals[number], number))
    aside = len(by_time) // 4
    return tuple(sorted(by_time[aside : len(by_time) - aside]))


def mean_of(values: Sequence[int], numbers: Sequence[int]) -> float:
    """Mean over these iterations; 0 where there is none."""
    return sum(values[number] for number in numbers) / len(numbers) if numbers else 0.0
