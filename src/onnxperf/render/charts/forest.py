"""A forest: comparisons with their intervals, one row each, around the line at 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from onnxperf.render.charts.base import (
    GREY,
    VERDICT_COLORS,
    Axis,
    Chart,
    Layer,
    Picture,
    chosen_chart,
    linear_ticks,
    log_ticks,
)
from onnxperf.render.kit.comparison import Compared, comparison_table, ends_of, with_intervals
from onnxperf.render.kit.table import On, Table
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import factor, interval, ratio

R = TypeVar("R")

_FURTHEST = 2.0
"""How far beyond the outermost value intervals are drawn: those of few launches would squeeze all others."""
_SPREAD, _OUTLIER = 8, 12.0
"""From so many marks on, one that is further from the next than this is clipped."""
_LOG_FROM = 5.0
"""Ratio of the ends of the axis from which on it is logarithmic."""
_MARGIN = 0.06
_ROW, _AROUND = 40, 62
"""Heights in pixels: of a row, and of the axis."""


class Mark(Struct, frozen=True):
    """A comparison; without an interval, both ends are its value."""

    name: str
    value: float
    low: float
    high: float
    color: int
    label: str
    """Ratio and verdict, written at the mark."""
    words: str
    """What a tooltip says."""
    key: str = ""
    limit: float | None = None
    """Which of its values are accepted, if it has a limit of its own."""
    below: str = ""
    above: str = ""
    """What lies beyond the ends of the axis: its value, or an end of its interval."""


class Forest(Picture, frozen=True):
    """What a painter of forests draws; what lies beyond the axis is clipped there, with an arrow and its value."""

    kind: ClassVar[str] = "forest"
    marks: Sequence[Mark]
    axis: Axis
    effect: float | None = None
    """Around 1, what does not matter."""

    @property
    def height(self) -> int:
        """A row per mark."""
        return _AROUND + _ROW * max(len(self.marks), 1)


def forest(by: Compared[R], rows: Sequence[R], effect: float | None = None) -> Forest:
    """The comparisons that have a ratio."""
    marks = [_mark(by, row) for row in rows if _sound(by.of(row).ratio)]
    low, high, is_log = _range(marks)
    ticks = log_ticks(low, high) if is_log else linear_ticks(low, high)
    return Forest(cut(marks, low, high), Axis(by.axis or by.ratio, low, high, is_log, ticks), effect)


def cut(marks: Sequence[Mark], low: float, high: float) -> list[Mark]:
    """The same marks with words for what lies beyond the ends of the axis."""
    return [
        replace(
            mark,
            below=factor(mark.value if mark.value < low else mark.low) if mark.low < low else "",
            above=factor(mark.value if mark.value > high else mark.high) if mark.high > high else "",
        )
        for mark in marks
    ]


def forest_chart(
    title: str,
    summary: str,
    by: Compared[R],
    rows: Sequence[R],
    effect: float | None = None,
    table: Table[Any] | None = None,
    on: On = "all",
) -> list[Chart]:
    """A chart of comparisons with their table behind it; none if no comparison has a ratio."""
    drawn = forest(by, rows, effect)
    if not drawn.marks:
        return []
    shown = comparison_table(by, rows) if table is None else with_intervals(table, by, rows, effect)
    return [Chart(title, summary, [Layer(drawn)], shown, on=on)]


def forests_chart(
    title: str, summary: str, forests: Mapping[str, Forest], table: Table[Any], name: str, on: On = "all"
) -> list[Chart]:
    """The same for several cases, with a select box of that name."""
    drawn = {label: each for label, each in forests.items() if each.marks}
    return chosen_chart(title, summary, drawn, table, name, on)


def _mark(by: Compared[R], row: R) -> Mark:
    comparison, word, ends = by.of(row), by.shown(row), ends_of(by.of(row))
    value = comparison.ratio or 1.0
    low, high = (each if _sound(each) else value for each in ends or (value, value))
    label = word if word == "baseline" else f"{ratio(value, ends)} {word}".strip()
    within = f"95 % CI {interval(low, high)}" if ends else ""
    words = [label, within, by.tooltip(row) if by.tooltip else "", comparison.reason]
    return Mark(
        name=name_of(by.name(row)),
        value=value,
        low=low,
        high=high,
        color=VERDICT_COLORS.get(by.said(row), GREY) if by.color is None else by.color(row),
        label=visible(label),
        words="\n".join(visible(each) for several in filter(None, words) for each in several.split("\n")),
        key=visible(by.link(row)) if by.link is not None else "",
        limit=by.limit(row) if by.limit is not None else None,
    )


def _range(marks: Sequence[Mark]) -> tuple[float, float, bool]:
    """Both ends of the axis, and whether it is logarithmic."""
    values = _without_outliers(sorted([1.0, *(mark.value for mark in marks)]))
    shown = [mark for mark in marks if values[0] <= mark.value <= values[-1]]
    limits = [1.0, *(mark.limit for mark in shown if mark.limit is not None)]
    low = max(min([*limits, *(mark.low for mark in shown)]), values[0] / _FURTHEST)
    high = min(max([*limits, *(mark.high for mark in shown)]), values[-1] * _FURTHEST)
    if high / low > _LOG_FROM:
        margin = (high / low) ** _MARGIN
        return low / margin, high * margin, True
    span = max(high - low, 0.02)
    return low - _MARGIN * span, high + _MARGIN * span, False


def _without_outliers(values: Sequence[float]) -> list[float]:
    """The sorted values without outliers, if there are many; 1 stays."""
    kept = list(values)
    while len(kept) > _SPREAD and kept[-1] != 1.0 and kept[-1] / kept[-2] > _OUTLIER:
        kept.pop()
    while len(kept) > _SPREAD and kept[0] != 1.0 and kept[1] / kept[0] > _OUTLIER:
        kept.pop(0)
    return kept


def _sound(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0
