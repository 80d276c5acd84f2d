"""Bars, which several sections draw: rows of names, and in every row a bar for each series, or all of them in one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.web.old_base import Chart
from onnxperf.render.web.plots import ChartAxis
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import decimal_size_unit, duration_unit

_ROW, _BAR, _AROUND = 12, 15, 66
"""Heights in pixels: between rows, of a bar, of the axis and the legend."""
Unit = tuple[float, str]
"""What a value is divided by, and the words of the axis."""
MEGABYTES: Unit = (1e6, "MB")
"""The unit of all charts of a process's memory, so that they can be compared with each other and with the tables."""


class BarSeries(NamedTuple):
    """A bar in every row."""

    name: str
    values: Sequence[float]
    words: Sequence[str]
    """What is written at the end of each bar, or in its tooltip."""
    colour: int = 0
    """Place among the colours of a page."""
    pale: Sequence[bool] = ()
    """Which of them do not matter: noise."""
    colours: Sequence[int] = ()
    """Of each bar, where they differ."""


def time_unit(values_us: Sequence[float], words: str = "per inference") -> Unit:
    """The unit in which the longest of these times reads best."""
    scale, unit = duration_unit(max(map(abs, values_us), default=0.0) * 1e3)
    return scale / 1e3, f"{unit} {words}".strip()


def size_unit(values: Sequence[float], words: str = "") -> Unit:
    """The unit in which the largest of these sizes reads best."""
    scale, unit = decimal_size_unit(max(map(abs, values), default=0.0))
    return scale, f"{unit} {words}".strip()


def bars_data(
    names: Sequence[str],
    series: Sequence[BarSeries],
    axis: ChartAxis,
    keys: Sequence[str] = (),
    stacked: bool = False,
) -> dict[str, object]:
    """What the script of the chart takes; stacked ones stand behind each other in one bar per row."""
    return {
        "names": [name_of(name) for name in names],
        "keys": [name_of(key) for key in keys],
        "axis": axis.data,
        "stacked": stacked,
        "series": [each._replace(name=name_of(each.name) if each.name else "")._asdict() for each in series],
    }


def bars(
    title: str, summary: str, names: Sequence[str], series: Sequence[BarSeries], unit: Unit, keys: Sequence[str] = ()
) -> Chart:
    """A chart of bars; the table behind it has the words of every bar."""
    scale, axis = unit
    scaled = [each._replace(values=[value / scale for value in each.values]) for each in series]
    data = bars_data(names, scaled, ChartAxis(axis, from_zero=True), keys)
    columns = [Column("name", left=True), *(Column(name_of(each.name) if each.name else axis) for each in series)]
    rows = [Row([name_of(name), *(each.words[at] for each in series)]) for at, name in enumerate(names)]
    height = _AROUND + len(names) * (_ROW + _BAR * len(series))
    return Chart("bars", title, summary, data, Table(columns, rows), height)
