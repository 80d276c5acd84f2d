"""Intervals as a few characters: a small forest inside a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from onnxperf.records.comparison import Comparison

WIDTH = 9
_LINE, _POINT, _ONE, _BELOW, _ABOVE = "─", "●", "│", "◂", "▸"
_WIDEST = 2.0
"""Ratio of the ends of a strip at most: what lies beyond is an arrow."""


def strips(comparisons: Sequence[Comparison]) -> list[str]:
    """A strip for each comparison, all on one logarithmic axis with a line at 1; an empty one if it has no ratio."""
    low, high = _range(comparisons)
    return [_strip(each, low, high) if _is_sound(each.ratio) else "" for each in comparisons]


def _range(comparisons: Iterable[Comparison]) -> tuple[float, float]:
    ends = (value for each in comparisons for value in (each.ratio, each.low, each.high))
    values = [value for value in ends if _is_sound(value)]
    low, high = min([1.0, *values]), max([1.0, *values])
    return max(low, 1 / _WIDEST) / 1.02, min(high, _WIDEST) * 1.02


def _strip(comparison: Comparison, low: float, high: float) -> str:
    def place(value: float) -> int:
        return round((WIDTH - 1) * math.log(min(max(value, low), high) / low) / math.log(high / low))

    ratio = comparison.ratio or 1.0
    signs = [" "] * WIDTH
    signs[place(1.0)] = _ONE
    if _is_sound(comparison.low) and _is_sound(comparison.high):
        for at in range(place(comparison.low), place(comparison.high) + 1):
            signs[at] = _LINE
    signs[place(ratio)] = _BELOW if ratio < low else _ABOVE if ratio > high else _POINT
    return "".join(signs)


def _is_sound(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value) and value > 0
