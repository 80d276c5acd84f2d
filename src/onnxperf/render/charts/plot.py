"""A plot: lines, steps and points over two axes, with bands, levels, spans and marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from onnxperf.render.charts.base import BLUE, GREY, RED, Axis, Picture, rounded

Shape = Literal["line", "points", "step", "area"]
"""A line with a symbol at each point; points alone; a level per point, as in memory per node; a filled histogram."""
Dash = Literal["solid", "dashed", "dotted"]
Symbol = Literal["peak", "sampled", "cross", "up", "down", "diamond"]
"""A peak, filled or seen only by samples; a missing value; a value beyond the axis; anything else."""

_OUTLIER = 2.0
"""How many times beyond the range of most values one is clipped."""
_MOST = 0.98
"""Share of the values that always lie on the axis."""
_FEW = 20
"""Values from which on outliers can be told."""


class Series(Struct, frozen=True):
    """Points that belong together; without a y the line has a gap there."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float | None]
    color: int = BLUE
    shape: Shape = "line"
    words: Sequence[str] = ()
    """What a tooltip says about each point."""
    lows: Sequence[float | None] = ()
    highs: Sequence[float | None] = ()
    """Ends of a band around the line."""
    dash: Dash = "solid"
    sizes: Sequence[float] = ()
    """Parts of the largest area, of points that differ in size."""
    keys: Sequence[str] = ()
    """What each point stands for elsewhere on a page."""
    labels: Sequence[str] = ()
    """Names next to the points, if there is room."""
    symbol: int = 0
    """Place among the symbols; tells apart what shares a color."""


class PlotMark(Struct, frozen=True):
    """A sign at a place."""

    x: float
    y: float
    words: str
    symbol: Symbol = "diamond"
    color: int = RED
    text: str = ""
    """Written next to it."""
    series: str = ""
    """The series that it belongs to."""


class PlotSpan(Struct, frozen=True):
    """A stretch of the x axis, shaded; of the y axis if it is `across`."""

    low: float
    high: float
    name: str = ""
    """In the legend, once for all spans of that name."""
    color: int = GREY
    label: str = ""
    """Written at its top if there is room."""
    across: bool = False


class Level(Struct, frozen=True):
    """A line across, with words at its end."""

    y: float
    label: str = ""


class Edge(Struct, frozen=True):
    """A line upright: where something begins or changes."""

    x: float
    color: int = GREY
    dash: Dash = "dotted"


class Plot(Picture, frozen=True):
    """What a painter of plots draws."""

    kind: ClassVar[str] = "plot"
    x: Axis
    y: Axis
    series: Sequence[Series]
    marks: Sequence[PlotMark] = ()
    spans: Sequence[PlotSpan] = ()
    levels: Sequence[Level] = ()
    edges: Sequence[Edge] = ()
    zooms: bool = False
    """Whether a reader can pan and zoom; then the browser computes the ticks."""
    until: float | None = None
    """End of the first view of a plot that zooms."""
    tall: int = 340
    """Pixels."""

    @property
    def height(self) -> int:
        """As its maker wants it."""
        return self.tall


def with_rounded(series: Series) -> Series:
    """With as many digits as a chart can show."""
    return replace(
        series,
        xs=[rounded(x) or 0.0 for x in series.xs],
        ys=[rounded(y) for y in series.ys],
        lows=[rounded(y) for y in series.lows],
        highs=[rounded(y) for y in series.highs],
    )


def robust(values: Sequence[float | None]) -> list[float]:
    """The values that an axis must have room for: without the few that would squeeze all others."""
    sound = sorted(value for value in values if value is not None and math.isfinite(value))
    if len(sound) < _FEW:
        return sound
    count = len(sound)
    inner = sound[math.floor((1 - _MOST) / 2 * count) : math.ceil((1 + _MOST) / 2 * count)]
    span = (inner[-1] - inner[0]) or abs(inner[-1]) * 0.05
    return [value for value in sound if inner[0] - _OUTLIER * span <= value <= inner[-1] + _OUTLIER * span]


def clipped(series: Series, y: Axis, texts: Sequence[str]) -> tuple[Series, list[PlotMark]]:
    """A series without its points beyond the axis, and an arrow at the edge for each of them, with its value."""
    inside = [value if value is None or y.low <= value <= y.high else None for value in series.ys]
    marks = [
        PlotMark(
            x=x,
            y=y.high if value > y.high else y.low,
            words=series.words[place] if series.words else text,
            symbol="up" if value > y.high else "down",
            color=series.color,
            text=text,
            series=series.name,
        )
        for place, (x, value, text) in enumerate(zip(series.xs, series.ys, texts, strict=True))
        if value is not None and not y.low <= value <= y.high
    ]
    return replace(series, ys=inside), marks
