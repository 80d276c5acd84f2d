"""A timeline as matplotlib draws it: lanes of spans, and sizes below them over the same time."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from onnxperf.render.charts.plot import Dash
from onnxperf.render.charts.timeline import Curve, Timeline
from onnxperf.render.paint import spans
from onnxperf.render.paint.axes import plot_axes
from onnxperf.render.paint.shared import Handles, Look, Room, Size, bare, inches_of, look_of, nothing, write

_SIZES, _GAP = 0.9, 0.12
"""Inches of the sizes, and between both parts."""
_DASHES: dict[Dash, Any] = {"solid": "-", "dashed": (0, (4, 2)), "dotted": (0, (1, 1.4))}


def size(picture: Timeline, room: Room) -> Size:
    """The lanes, and what the sizes need."""
    lanes = spans.size(picture.spans, room)
    return Size(lanes.height + _SIZES + _GAP) if picture.curves else lanes


def paint(ax: Axes, picture: Timeline, room: Room) -> Handles:
    """Both parts in the axes, one above the other; returns what the colors and lines mean."""
    if not picture.curves:
        return spans.paint(ax, picture.spans, room)
    if not len(picture.spans.starts):
        return nothing(ax)
    look, (_, height) = look_of(ax), inches_of(ax)
    part, start = _SIZES / height, (_SIZES + _GAP) / height
    ax.set_axis_off()
    upper, lower = ax.inset_axes((0, start, 1, 1 - start)), ax.inset_axes((0, 0, 1, part))
    handles = spans.paint(upper, picture.spans, room)
    upper.set_xlabel("")
    upper.tick_params(axis="x", labelbottom=False)
    bare(lower, look)
    plot_axes(lower, picture.spans.axis, picture.sizes, look, room)
    lines = [_draw(lower, each, picture.spans.axis.high, look) for each in picture.curves]
    return [*handles, *lines]


def _draw(ax: Axes, curve: Curve, end: float, look: Look) -> Line2D:
    """Levels that hold until the next one, with the name of the highest."""
    ys = [math.nan if y is None else float(y) for y in curve.ys]
    xs, levels, color = [*curve.xs, end], [*ys, *ys[-1:]], look.colors[curve.color]
    (line,) = ax.step(
        xs, levels, where="post", color=color, linewidth=1.2, linestyle=_DASHES[curve.dash], label=curve.name
    )
    if curve.peak:
        highest = max(range(len(ys)), key=lambda at: -1.0 if math.isnan(ys[at]) else ys[at])
        is_late = curve.xs[highest] > end / 2
        shift, side = ((-4, 3), "right") if is_late else ((4, 3), "left")
        write(ax, curve.peak, (curve.xs[highest], ys[highest]), shift, ha=side, va="bottom", color=look.ink)
    return line
