"""Graphics in the rows of tables: intervals on one axis, and shares of a whole; every screen draws the same marks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeGuard

from onnxperf.records.comparison import Comparison

Shape = Literal["one", "range", "point", "below", "above", "before", "bar", "after"]
"""The line at 1, an interval, a value, one beyond either end; a bar and what stands before and after it."""
_LINES: dict[Shape, str] = {"one": "│", "range": "─", "point": "●", "below": "◂", "above": "▸"}
_FILLS: dict[Shape, str] = {"before": "░", "bar": "█", "after": "▒"}
_INTERVAL_CELLS, _BAR_CELLS = 9, 12
_WIDEST = 2.0
"""Ratio of the ends of an axis at most: what lies beyond is an arrow."""


class Mark(NamedTuple):
    """A shape between two parts of the width of a cell."""

    shape: Shape
    start: float
    end: float


class Figure(NamedTuple):
    """What is drawn in one cell."""

    marks: Sequence[Mark] = ()
    cells: int = _BAR_CELLS
    """Characters on a terminal."""

    @property
    def text(self) -> str:
        """The marks as characters."""
        signs = [" "] * self.cells
        for shape, start, end in self.marks:
            if shape in _FILLS:
                places, sign = range(round(self.cells * start), round(self.cells * end)), _FILLS[shape]
            else:
                first, last = (round((self.cells - 1) * at) for at in (start, end))
                places, sign = range(first, last + 1), _LINES[shape]
            for at in places:
                signs[at] = sign
        return "".join(signs).rstrip()


def share_figure(*shares: float) -> Figure:
    """Consecutive shares of a whole: the one before the bar, the bar, and the one after it."""
    shapes: tuple[Shape, ...] = ("before", "bar", "after")
    marks, start = [], 0.0
    for shape, share in zip(shapes, shares, strict=False):
        end = min(start + max(share, 0.0), 1.0)
        marks.append(Mark(shape, start, end))
        start = end
    return Figure([mark for mark in marks if mark.end > mark.start])


def change_figure(before: float, after: float) -> Figure:
    """What stays of a share as a bar, then what is gone, pale, or what was added."""
    kept = max(min(before, after), 0.0)
    shape: Shape = "before" if before > after else "after"
    marks = [Mark("bar", 0.0, kept), Mark(shape, kept, max(before, after, 0.0))]
    return Figure([mark for mark in marks if mark.end > mark.start])


def interval_figures(comparisons: Iterable[Comparison]) -> Callable[[Comparison], Figure]:
    """Draws ratios with their intervals on one logarithmic axis for all of these, with a line at 1."""
    low, high = _range(comparisons)
    return lambda comparison: _interval(comparison, low, high)


def _range(comparisons: Iterable[Comparison]) -> tuple[float, float]:
    ends = (value for each in comparisons for value in (each.ratio, each.low, each.high))
    values = [value for value in ends if _is_sound(value)]
    low, high = min([1.0, *values]), max([1.0, *values])
    return max(low, 1 / _WIDEST) / 1.02, min(high, _WIDEST) * 1.02


def _interval(comparison: Comparison, low: float, high: float) -> Figure:
    def place(value: float) -> float:
        return math.log(min(max(value, low), high) / low) / math.log(high / low)

    ratio = comparison.ratio
    if not _is_sound(ratio):
        return Figure(cells=_INTERVAL_CELLS)
    marks = [Mark("one", place(1.0), place(1.0))]
    if _is_sound(comparison.low) and _is_sound(comparison.high):
        marks.append(Mark("range", place(comparison.low), place(comparison.high)))
    shape: Shape = "below" if ratio < low else "above" if ratio > high else "point"
    return Figure([*marks, Mark(shape, place(ratio), place(ratio))], _INTERVAL_CELLS)


def _is_sound(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value) and value > 0
