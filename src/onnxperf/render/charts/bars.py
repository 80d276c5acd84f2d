"""Bars: rows of names, in every row a bar for each series, or all of them behind each other in one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from msgspec import Struct

from onnxperf.render.charts.base import BLUE, PLAIN, Axis, Chart, Picture, Unit, axis_of, chart, rounded
from onnxperf.render.kit.column import NUMBER, Column
from onnxperf.render.kit.table import On, Table
from onnxperf.wording.names import name_of

_ROW, _BAR, _AROUND, _LEGEND = 12, 15, 58, 26
"""Heights in pixels: between rows, of a bar, of the axis, of a legend."""


class BarSeries(Struct, frozen=True):
    """A bar in every row."""

    name: str
    """In the legend, if there are several series."""
    values: Sequence[float]
    words: Sequence[str]
    """What is written at the end of each bar, or in its tooltip."""
    color: int = BLUE
    pale: Sequence[bool] = ()
    """Which of them do not matter: noise."""
    colors: Sequence[int] = ()
    """Color of each bar, if they differ."""


class Bars(Picture, frozen=True):
    """What a painter of bars draws, the first row on top."""

    kind: ClassVar[str] = "bars"
    names: Sequence[str]
    series: Sequence[BarSeries]
    axis: Axis
    keys: Sequence[str] = ()
    """What each row stands for elsewhere on a page."""
    stacked: bool = False
    legend: Sequence[tuple[str, int]] = ()
    """What the colors of single bars mean."""

    @property
    def height(self) -> int:
        """A row needs room for all of its bars."""
        row = _ROW + _BAR * (1 if self.stacked else max(len(self.series), 1))
        has_legend = len(self.series) > 1 or self.legend
        return _AROUND + row * max(len(self.names), 1) + (_LEGEND if has_legend else 0)


def bars(
    names: Sequence[str],
    series: Sequence[BarSeries],
    title: str,
    unit: Unit = PLAIN,
    *,
    keys: Sequence[str] = (),
    stacked: bool = False,
    legend: Sequence[tuple[str, int]] = (),
    log_from: float | None = None,
) -> Bars:
    """Bars on an axis from zero, or on a logarithmic one where values differ by `log_from` times."""
    sums = [sum(of_row) for of_row in zip(*(each.values for each in series), strict=True)] if stacked else []
    values = [value for each in series for value in each.values]
    axis = axis_of(title, sums or values, unit, from_zero=True, log_from=log_from or float("inf"))
    return Bars(
        names=[name_of(name) for name in names],
        series=[_rounded(each) for each in series],
        axis=axis,
        keys=[name_of(key) if key else "" for key in keys],
        stacked=stacked,
        legend=legend,
    )


def _rounded(series: BarSeries) -> BarSeries:
    return BarSeries(
        name=name_of(series.name) if series.name else "",
        values=[rounded(value) or 0.0 for value in series.values],
        words=series.words,
        color=series.color,
        pale=series.pale,
        colors=series.colors,
    )


def bars_chart(title: str, summary: str, picture: Bars, table: Table[Any] | None = None, on: On = "all") -> Chart:
    """A chart of bars; unless another is given, the table behind it has the words of every bar."""
    return chart(title, summary, picture, table or bars_table(picture), on)


def bars_table(picture: Bars) -> Table[int]:
    """The words of every bar, a column per series."""
    columns: list[Column[int]] = [Column("name", "name", lambda row: picture.names[row])]
    for each in picture.series:
        heading = each.name or picture.axis.title
        columns.append(Column(heading, heading, _value(each), NUMBER, text=_words(each)))
    return Table(columns, range(len(picture.names)))


def _value(series: BarSeries) -> Callable[[int], float]:
    return lambda row: series.values[row]


def _words(series: BarSeries) -> Callable[[int], str]:
    return lambda row: series.words[row]
