"""A forest as matplotlib draws it: names at the left, intervals around the line at 1, words at the right."""

from __future__ import annotations

from typing import Any, Literal

from matplotlib.axes import Axes

from onnxperf.render.charts.base import Axis
from onnxperf.render.charts.forest import Forest, Mark
from onnxperf.render.paint.axes import value_axis
from onnxperf.render.paint.shared import (
    Handles,
    Look,
    Room,
    Size,
    bare,
    dots,
    draw_tip,
    inches_of,
    look_of,
    more_rows,
    name_rows,
    nothing,
    row_height,
    rows_in,
    widened,
    write,
)
from onnxperf.render.paint.words import SMALL, limited, width_of

_PITCH = 0.235
"""Inches from row to row."""
_WORDS = 0.55
"""Part of the width that the words at the right may take."""
_GAP = 0.14
"""Inches between both."""
_CAP, _DOT = 2.6, 2.3
"""Half the height of an end of an interval, and half the size of a value, in points."""
_LIMIT = 5.0
"""Half the height of a limit in points."""


def size(picture: Forest, room: Room) -> Size:
    """A row per mark."""
    names = [mark.name for mark in picture.marks]
    return Size(max(row_height(len(names), _PITCH, names, room), 2 * _PITCH))


def paint(ax: Axes, picture: Forest, room: Room) -> Handles:
    """A row per comparison: value, interval, and what lies beyond the axis as an arrow with its value."""
    if not picture.marks:
        return nothing(ax)
    look = look_of(ax)
    bare(ax, look)
    rows = rows_in(ax, len(picture.marks))
    marks = picture.marks[:rows]
    name_rows(ax, [mark.name for mark in marks], room, look)
    width, _ = inches_of(ax)
    labels = [limited(mark.label, _WORDS * width, SMALL) for mark in marks]
    words = max(width_of(label, SMALL) for label in labels)
    high = widened(picture.axis, [(picture.axis.high, (words + _GAP) / width)])
    value_axis(ax, picture.axis, look, high, more_rows(len(picture.marks), rows))
    _draw_behind(ax, picture, look)
    for row, (mark, label) in enumerate(zip(marks, labels, strict=True)):
        _draw_mark(ax, mark, row, picture.axis, look)
        write(ax, label, (high, row), (-72 * words, 0), color=look.ink)
    return []


def _draw_behind(ax: Axes, picture: Forest, look: Look) -> None:
    """The line at 1, and the band of what does not matter."""
    axis = picture.axis
    if picture.effect:
        ends = (1 / (1 + picture.effect), 1 + picture.effect)
        ax.axvspan(*(_within(end, axis) for end in ends), color=look.grid, linewidth=0, zorder=0.4)
    if axis.low <= 1 <= axis.high:
        ax.axvline(1, color=look.dim, linewidth=0.8, zorder=1)


def _draw_mark(ax: Axes, mark: Mark, row: int, axis: Axis, look: Look) -> None:
    color = look.colors[mark.color]
    low, value, high = (_within(each, axis) for each in (mark.low, mark.value, mark.high))
    ax.plot([low, high], [row, row], color=color, linewidth=1.4, solid_capstyle="butt", zorder=3)
    for end, of in ((low, mark.low), (high, mark.high)):
        # An end behind the dot of its value would only make that square.
        if end == of and abs(_points(ax, end) - _points(ax, value)) > _DOT + 1:
            ax.plot([end], [row], "|", color=color, markersize=2 * _CAP, markeredgewidth=1.2, zorder=3)
    if value == mark.value:
        how: dict[str, Any] = {"markersize": 2 * _DOT, "markeredgecolor": look.back, "markeredgewidth": 0.5}
        ax.plot([value], [row], "o", color=color, zorder=4, **how)
    if mark.limit is not None and mark.limit == _within(mark.limit, axis):
        ax.plot([mark.limit], [row], "|", color=look.ink, markersize=2 * _LIMIT, markeredgewidth=1.2, zorder=3.5)
    ends: list[tuple[float, str, Literal["left", "right"]]] = [
        (axis.low, mark.below, "left"),
        (axis.high, mark.above, "right"),
    ]
    for at, words, side in ends:
        if words:  # an arrow at the edge with its value above the line
            draw_tip(ax, (at, row), side, color)
            write(ax, words, (at, row), (0, 1.2), ha=side, va="bottom", color=look.ink)


def _points(ax: Axes, value: float) -> float:
    return float(ax.transData.transform((value, 0))[0]) * 72 / dots(ax)


def _within(value: float, axis: Axis) -> float:
    return min(max(value, axis.low), axis.high)
