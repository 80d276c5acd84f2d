"""Bars as matplotlib draws them, words at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from onnxperf.render.charts.bars import Bars, BarSeries
from onnxperf.render.paint.axes import value_axis
from onnxperf.render.paint.shared import (
    MOST_ROWS,
    SCALE,
    Handles,
    Look,
    Room,
    Size,
    bare,
    draw_tip,
    inches_of,
    ink_on,
    look_of,
    mixed,
    more_rows,
    name_rows,
    nothing,
    row_height,
    rows_in,
    sound,
    widened,
    write,
)
from onnxperf.render.paint.words import SMALL, limited, width_of

_BAR, _BETWEEN = 15.0, 12.0
"""Pixels of a bar, and between the bars of two rows."""
_PALE = 0.4
"""Part of its color that a bar has which does not matter."""
_WORDS = 0.5
"""Part of the width that words at the end of a bar may take."""
_AWAY = 3.0
"""Points from a bar to its words."""


class _Bar(NamedTuple):
    """One bar, clipped where it leaves the axis."""

    place: float
    start: float
    end: float
    words: str
    color: str
    is_cut: bool


def size(picture: Bars, room: Room) -> Size:
    """A row needs room for all of its bars."""
    side_by_side = 1 if picture.stacked else max(len(picture.series), 1)
    pitch = (_BETWEEN + _BAR * side_by_side) * SCALE
    least = 0.0 if side_by_side == 1 else side_by_side * 1.15 * SMALL / 72 + 0.03
    height = row_height(len(picture.names), pitch, picture.names, room)
    return Size(max(height, least * min(len(picture.names), MOST_ROWS), 1.4 * pitch))


def paint(ax: Axes, picture: Bars, room: Room) -> Handles:
    """Horizontal bars; returns what the legend explains."""
    if not picture.names:
        return nothing(ax)
    look = look_of(ax)
    bare(ax, look)
    side_by_side = 1 if picture.stacked else max(len(picture.series), 1)
    rows = rows_in(ax, len(picture.names), side_by_side * 1.15 * SMALL / 72)
    name_rows(ax, picture.names[:rows], room, look)
    drawn = _stacked(picture, rows, look) if picture.stacked else _side_by_side(picture, rows, look)
    width, _ = inches_of(ax)
    drawn = [bar._replace(words=limited(bar.words, _WORDS * width, SMALL)) for bar in drawn]
    value_axis(ax, picture.axis, look, _high(picture, drawn, width), more_rows(len(picture.names), rows))
    _draw(ax, drawn, picture, look)
    return _handles(picture, look)


def _thickness(picture: Bars) -> float:
    """Of a bar, in parts of a row."""
    bars = 1 if picture.stacked else max(len(picture.series), 1)
    return _BAR / (_BETWEEN + _BAR * bars)


def _side_by_side(picture: Bars, rows: int, look: Look) -> list[_Bar]:
    thickness = _thickness(picture)
    base = picture.axis.low if picture.axis.is_log else 0.0
    drawn = []
    for number, series in enumerate(picture.series):
        offset = (number - (len(picture.series) - 1) / 2) * thickness
        for row in range(rows):
            value = _value(series, row, base)
            end = min(max(value, picture.axis.low), picture.axis.high)
            color = _color(series, row, look)
            drawn.append(_Bar(row + offset, base, end, _words(series, row), color, end != value != base))
    return drawn


def _stacked(picture: Bars, rows: int, look: Look) -> list[_Bar]:
    drawn = []
    for row in range(rows):
        start = 0.0
        for series in picture.series:
            end = start + _value(series, row, 0.0)
            drawn.append(_Bar(row, start, end, _words(series, row), _color(series, row, look), False))
            start = end
    return drawn


def _words(series: BarSeries, row: int) -> str:
    """The first line; what follows is for tooltips."""
    return series.words[row].partition("\n")[0]


def _value(series: BarSeries, row: int, base: float) -> float:
    value = series.values[row]
    return value if sound(value) and (value > 0 or base == 0) else base


def _color(series: BarSeries, row: int, look: Look) -> str:
    color = look.colors[series.colors[row] if series.colors else series.color]
    return mixed(color, look.back, _PALE) if series.pale and series.pale[row] else color


def _high(picture: Bars, drawn: Sequence[_Bar], width: float) -> float:
    if picture.stacked:
        return picture.axis.high
    away = (2 * _AWAY + 2) / 72
    return widened(
        picture.axis,
        ((max(bar.end, bar.start), (width_of(bar.words, SMALL) + away) / width) for bar in drawn if bar.words),
    )


def _draw(ax: Axes, drawn: Sequence[_Bar], picture: Bars, look: Look) -> None:
    thickness = _thickness(picture) * (1.0 if picture.stacked or len(picture.series) == 1 else 0.92)
    edge = {"edgecolor": look.back, "linewidth": 0.5} if picture.stacked else {"linewidth": 0}
    ax.barh(
        [bar.place for bar in drawn],
        [bar.end - bar.start for bar in drawn],
        thickness,
        left=[bar.start for bar in drawn],
        color=[bar.color for bar in drawn],
        zorder=2,
        **edge,
    )
    if picture.axis.low < 0:
        ax.axvline(0, color=look.dim, linewidth=0.6, zorder=3)
    for bar in drawn:
        (_write_inside if picture.stacked else _write_behind)(ax, bar, look)
        if bar.is_cut:
            draw_tip(ax, (bar.end, bar.place), "right" if bar.end > bar.start else "left", look.ink)


def _write_behind(ax: Axes, bar: _Bar, look: Look) -> None:
    if bar.words:
        behind = {"boxstyle": "square,pad=0.05", "facecolor": look.back, "edgecolor": "none"}
        shift = (_AWAY, 0)
        write(ax, bar.words, (max(bar.end, bar.start), bar.place), shift, color=look.ink, bbox=behind)


def _write_inside(ax: Axes, bar: _Bar, _look: Look) -> None:
    left, right = (float(ax.transData.transform((at, 0))[0]) for at in (bar.start, bar.end))
    figure = ax.get_figure()
    if figure is not None and (right - left) / figure.dpi > width_of(bar.words, SMALL) + 0.06:
        write(ax, bar.words, ((bar.start + bar.end) / 2, bar.place), ha="center", color=ink_on(bar.color))


def _handles(picture: Bars, look: Look) -> Handles:
    several = [(each.name, each.color) for each in picture.series] if len(picture.series) > 1 else []
    named = dict([*several, *picture.legend])
    return [Patch(color=look.colors[color], label=name, linewidth=0) for name, color in named.items()]
