"""Dots as matplotlib draws them."""

from __future__ import annotations

from matplotlib.axes import Axes
from onnxperf.render.charts.dots import Dots  # type: ignore[import-not-found]

from onnxperf.render.paint.axes import value_axis
from onnxperf.render.paint.shared import Handles, Room, Size, bare, look_of, name_rows, row_height


def size(picture: Dots, room: Room) -> Size:
    """A row each."""
    return Size(row_height(len(picture.names), 0.25, picture.names, room))


def paint(ax: Axes, picture: Dots, room: Room) -> Handles:
    """A dot in every row."""
    look = look_of(ax)
    bare(ax, look)
    name_rows(ax, picture.names, room, look)
    value_axis(ax, picture.axis, look)
    ax.plot(picture.values, range(len(picture.values)), "o", color=look.colors[0])
    return []
