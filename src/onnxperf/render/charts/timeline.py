"""A timeline: spans in lanes, and below them sizes over the same time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from onnxperf.render.charts.base import Axis, Picture
from onnxperf.render.charts.plot import Dash
from onnxperf.render.charts.spans import Spans

BELOW = 150
"""Pixels that the sizes take."""


class Curve(Struct, frozen=True):
    """A size that holds until the next one."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float | None]
    color: int
    dash: Dash = "solid"
    words: Sequence[str] = ()
    """What a tooltip says about each point."""
    peak: str = ""
    """Written at its highest point."""


class Timeline(Picture, frozen=True):
    """What a painter of timelines draws; zooming moves both parts."""

    kind: ClassVar[str] = "timeline"
    uses: ClassVar[Sequence[str]] = ("spans",)
    spans: Spans
    sizes: Axis = Axis()
    curves: Sequence[Curve] = ()

    @property
    def with_items_of_first(self) -> Timeline:
        """Behind a select box: the names of the nodes are in its first picture, as there may be thousands."""
        return replace(self, spans=replace(self.spans, items=()))

    @property
    def height(self) -> int:
        """Lanes, and the curves if there are any."""
        return self.spans.height + (BELOW if self.curves else 0)
