"""Spans: rectangles in lanes, from where something begins to where it ends: timelines and flame graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct

from onnxperf.render.charts.base import Axis, Picture

_LANE, _THIN, _AROUND, _TALLEST = 34, 22, 128, 1_400
"""Heights in pixels: of a lane with a name, of one without, of the axis, the legend and the slider; at most."""


class SpanItem(Struct, frozen=True, array_like=True):
    """What several spans are executions of: a node, a function. A page may have 100,000: fields have no names in it."""

    name: str
    """Written in them."""
    where: str
    """The first line of a tooltip."""
    color: int
    keys: Sequence[str] = ()
    """What it stands for elsewhere on a page, the narrowest first: a node, its operator, its modules."""


class Spans(Picture, frozen=True):
    """What a painter of spans draws, in columns: there may be tens of thousands."""

    kind: ClassVar[str] = "spans"
    axis: Axis
    lanes: Sequence[str]
    """Names of the lanes from the top; empty ones are not written."""
    starts: Sequence[float]
    widths: Sequence[float]
    lane: Sequence[int]
    item: Sequence[int]
    """Places in `items`."""
    items: Sequence[SpanItem]
    words: Sequence[str]
    """What tooltips say behind the first line; `said` chooses one for each span."""
    said: Sequence[int]
    legend: Sequence[tuple[str, int]] = ()
    """Names of colors."""
    enlarges: bool = False
    """Whether a click enlarges a span to the whole width, as in a flame graph."""

    @property
    def height(self) -> int:
        """A lane each."""
        return min(_AROUND + (_LANE if any(self.lanes) else _THIN) * max(len(self.lanes), 2), _TALLEST)
