"""Graphics in the rows of tables: intervals on one axis, and shares of a whole; every screen draws the same marks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, TypeGuard

from onnxperf.records.comparison import Comparison

Shape = Literal["band", "one", "limit", "range", "point", "below", "above", "before", "bar", "after"]
"""What does not matter, the line at 1, a limit, an interval, a value, what is beyond either end; a bar and what stands
before and after it."""
_LINES: dict[Shape, str] = {"one": "│", "limit": "┃", "range": "─", "point": "●", "below": "◂", "above": "▸"}
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
            if shape == "band":
                continue  # characters are too wide for it
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


def interval_figures(
    comparisons: Iterable[Comparison], limits: Iterable[float | None] = (), effect: float = 0.0
) -> Callable[[Comparison, float | None], Figure]:
    """Draws ratios with their intervals on one logarithmic axis for all of these, with a line at 1.

    Around it is a band of what does not matter; a row may have a limit of its own.
    """
    low, high = _range(comparisons, limits, effect)

    def place(value: float) -> float:
        return math.log(min(max(value, low), high) / low) / math.log(high / low)

    behind = [Mark("band", place(1 / (1 + effect)), place(1 + effect))] if effect > 0 else []
    behind.append(Mark("one", place(1.0), place(1.0)))

    def figure(comparison: Comparison, limit: float | None) -> Figure:
        value = comparison.ratio
        if not _is_sound(value):
            return Figure(cells=_INTERVAL_CELLS)
        marks = [*behind, *([Mark("limit", place(limit), place(limit))] if _is_sound(limit) else [])]
        ends = [each for each in (comparison.low, comparison.high) if _is_sound(each)]
        if len(ends) == len(("low", "high")):
            marks.append(Mark("range", place(ends[0]), place(ends[1])))
        marks += [Mark("point", place(value), place(value))] if low <= value <= high else []
        marks += [Mark("below", 0.0, 0.0)] if min([value, *ends]) < low else []
        marks += [Mark("above", 1.0, 1.0)] if max([value, *ends]) > high else []
        return Figure(marks, _INTERVAL_CELLS)

    return figure


def _range(comparisons: Iterable[Comparison], limits: Iterable[float | None], effect: float) -> tuple[float, float]:
    ends = (value for each in comparisons for value in (each.ratio, each.low, each.high))
    values = [value for value in (*ends, *limits) if _is_sound(value)]
    low, high = min([1 / (1 + effect), *values]), max([1 + effect, *values])
    return max(low, 1 / _WIDEST) / 1.02, min(high, _WIDEST) * 1.02


def _is_sound(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value) and value > 0
