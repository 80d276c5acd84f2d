"""Spans as matplotlib draws them: lanes of rectangles; those that are narrower than a dot are drawn together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from onnxperf.render.charts.spans import Spans
from onnxperf.render.paint.axes import value_axis
from onnxperf.render.paint.shared import (
    Handles,
    Look,
    Room,
    Size,
    bare,
    inches_of,
    ink_on,
    look_of,
    name_rows,
    nothing,
    write,
)
from onnxperf.render.paint.words import SMALL, height_of, limited

_NAMED, _THIN, _LEAST = 0.24, 0.165, 0.04
"""Inches from lane to lane: with names, without, and of very many."""
_TALLEST = 8.0
_DOT = 1 / 300
"""Inches below which spans are drawn together."""
_LEAST_WORDS = 0.28
"""Inches of a span from which on part of its name is written."""


class _Box(NamedTuple):
    """A span, or several that are too narrow to distinguish; `item` is the widest."""

    start: float
    end: float
    lane: int
    item: int
    widest: float


def size(picture: Spans, room: Room) -> Size:  # noqa: ARG001
    """A lane each."""
    lanes = max(len(picture.lanes), 2)
    pitch = _NAMED if any(picture.lanes) else _THIN
    return Size(max(lanes * max(min(pitch, _TALLEST / lanes), _LEAST), 2 * pitch))


def paint(ax: Axes, picture: Spans, room: Room) -> Handles:
    """Rectangles in lanes; returns what the colors mean."""
    if not picture.lanes or not len(picture.starts):
        return nothing(ax)
    look = look_of(ax)
    bare(ax, look)
    value_axis(ax, picture.axis, look)
    _name_lanes(ax, picture, room, look)
    width, height = inches_of(ax)
    per_inch = (picture.axis.high - picture.axis.low) / width
    boxes = list(_boxes(picture, per_inch * _DOT))
    _draw(ax, boxes, picture, per_inch, look)
    if height / len(picture.lanes) >= height_of(1, SMALL):
        _write_names(ax, boxes, picture, per_inch, look)
    return [Patch(color=look.colors[color], label=name, linewidth=0) for name, color in picture.legend]


def _name_lanes(ax: Axes, picture: Spans, room: Room, look: Look) -> None:
    """Names of lanes, or of every nth one if there is no room for all."""
    _, height = inches_of(ax)
    step = -(-len(picture.lanes) * height_of(1) // height)
    shown = [name if place % step == 0 else "" for place, name in enumerate(picture.lanes)]
    name_rows(ax, shown, room, look)
    if not any(picture.lanes):
        ax.set_yticks([])


def _boxes(picture: Spans, dot: float) -> Iterator[_Box]:
    """All spans of each lane in their order; short neighbors are one."""
    lanes: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
    for start, width, lane, item in zip(picture.starts, picture.widths, picture.lane, picture.item, strict=True):
        end = start + width
        if end >= picture.axis.low and start <= picture.axis.high:
            lanes[lane].append((max(start, picture.axis.low), min(end, picture.axis.high), item))
    for lane, spans in lanes.items():
        yield from _merged(lane, sorted(spans), dot)


def _merged(lane: int, spans: list[tuple[float, float, int]], dot: float) -> Iterator[_Box]:
    run: _Box | None = None
    for start, end, item in spans:
        box = _Box(start, end, lane, item, end - start)
        if run is not None and box.widest < dot and run.end - run.start < 2 * dot and start - run.start < 2 * dot:
            widest = max(run, box, key=lambda each: each.widest)
            run = widest._replace(start=run.start, end=max(run.end, end))
            continue
        if run is not None:
            yield run
        run = box
    if run is not None:
        yield run


def _draw(ax: Axes, boxes: list[_Box], picture: Spans, per_inch: float, look: Look) -> None:
    """All boxes at once; thin lines of the background part those that are wide enough."""
    half = 0.48 if picture.enlarges or not any(picture.lanes) else 0.39
    for parted in (False, True):
        some = [box for box in boxes if (box.end - box.start > 4 * per_inch * _DOT) is parted]
        corners = [_corners(box, half, per_inch * _DOT) for box in some]
        faces = [look.colors[picture.items[box.item].color] for box in some]
        edge = {"edgecolors": look.back, "linewidths": 0.35} if parted else {"linewidths": 0.0}
        ax.add_collection(PolyCollection(corners, facecolors=faces, zorder=2, **edge), autolim=False)


def _corners(box: _Box, half: float, least: float) -> list[tuple[float, float]]:
    end = max(box.end, box.start + least)
    low, high = box.lane - half, box.lane + half
    return [(box.start, low), (box.start, high), (end, high), (end, low)]


def _write_names(ax: Axes, boxes: list[_Box], picture: Spans, per_inch: float, look: Look) -> None:
    """Names in the boxes that are wide enough for them, or for their beginning."""
    for box in boxes:
        inches = (box.end - box.start) / per_inch
        item = picture.items[box.item]
        words = limited(item.name, inches - 0.06, SMALL) if inches >= _LEAST_WORDS else ""
        if len(words) > 3 or words == item.name:
            write(ax, words, ((box.start + box.end) / 2, box.lane), ha="center", color=ink_on(look.colors[item.color]))
