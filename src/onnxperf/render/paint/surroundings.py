"""The room around axes of the user's, which keep their size."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.transforms import Bbox, BboxBase

from onnxperf.render.paint.shared import Room, dots

_EDGE = 0.1
"""Inches between names and what is next to them."""
_SHARE = 0.36
"""Part of the width of a figure that names may take if it makes room for them."""
_BELOW, _ABOVE = 1.0, 2.0


def room_around(ax: Axes) -> Room:
    """Inches from an axes to its neighbors and to the ends of its figure; a layout engine makes room by itself."""
    figure = ax.get_figure()
    if figure is None:
        raise AssertionError("an axes that is drawn on belongs to a figure")
    dpi, here, whole = dots(ax), ax.get_window_extent(), figure.bbox
    if figure.get_layout_engine() is not None:
        return Room(_SHARE * whole.width / dpi, _BELOW, _ABOVE, _EDGE)
    others = [each.get_window_extent() for each in figure.axes if each is not ax and each.get_visible()]
    rows = [box for box in others if box.y0 < here.y1 and here.y0 < box.y1]
    columns = [box for box in others if box.x0 < here.x1 and here.x0 < box.x1]
    left = here.x0 - max([whole.x0, *(box.x1 for box in rows if box.x1 <= here.x0)])
    right = min([whole.x1, *(box.x0 for box in rows if box.x0 >= here.x1)]) - here.x1
    return Room(
        max(left / dpi - _EDGE, _EDGE),
        _to_below(here, whole, columns) / dpi,
        _to_above(here, whole, columns) / dpi,
        max(right / dpi, 0.0),
    )


def _to_below(here: Bbox, whole: BboxBase, others: list[Bbox]) -> float:
    """A neighbor needs half of what is between both for its title."""
    gap = here.y0 - max((box.y1 for box in others if box.y1 <= here.y0), default=-math.inf)
    return float(min(gap / 2, here.y0 - whole.y0))


def _to_above(here: Bbox, whole: BboxBase, others: list[Bbox]) -> float:
    gap = min((box.y0 for box in others if box.y0 >= here.y1), default=math.inf) - here.y1
    return float(min(gap / 2, whole.y1 - here.y1))
