"""Small drawings as SVG without styles or scripts: scales, marks, and the sparkline of a series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, NamedTuple

from onnxperf.records.history import HistorySeries
from onnxperf.render.race.history_chart import NEAR, band_ends, band_of, calm_times
from onnxperf.wording.names import visible
from onnxperf.wording.numbers import count, duration, durations, percent

WIDTH, HEIGHT, _MARGIN = 168, 36, 4
MOST_DOTS = 60
"""The newest runs that a sparkline shows."""


class Scale(NamedTuple):
    """A vertical axis from `low` at the bottom to `high` at the top."""

    low: float
    high: float
    height: float
    margin: float = 0.0

    def y(self, value: float) -> float:
        """Pixels from the top; values outside are at the edge."""
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.margin + (1 - part) * (self.height - 2 * self.margin), 1)

    def is_outside(self, value: float) -> bool:
        """Whether a value is beyond the axis."""
        return not self.low <= value <= self.high


def scale_of(values: Sequence[float], height: float, margin: float = 0.0) -> Scale:
    """An axis with room for these values, and for 3 % at least: little noise need not look like mountains."""
    low, high = (min(values), max(values)) if values else (1.0, 1.0)
    lack = NEAR * high - (high - low)
    if lack > 0:
        low, high = low - lack / 2, high + lack / 2
    return Scale(low, high, height, margin)


def tag(element: str, content: str = "", /, **attributes: Any) -> str:
    """An element; names end with _ if Python reserves them."""
    said = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items())
    return f"<{element}{said}>{content}</{element}>" if content else f"<{element}{said}/>"


# ---------------------------------------------------------------- the sparkline


def sparkline(series: HistorySeries) -> str:
    """The newest runs of a series as dots, its levels with their noise bands, outliers as triangles at the edge."""
    timed = series.timed()
    first = max(0, len(timed) - MOST_DOTS)
    times = [ns for _, ns in timed[first:]]
    if not times:
        return ""
    scale = scale_of([*calm_times(series), *band_ends(series)], HEIGHT, _MARGIN)
    step = (WIDTH - 2 * _MARGIN) / max(len(times) - 1, 1)
    places = [round(_MARGIN + step * place, 1) for place in range(len(times))]
    parts = [*_levels(series, first, scale, step), *_changes(series, first, step), *_dots(times, places, scale)]
    parts.append(tag("circle", class_="now", cx=places[-1], cy=scale.y(times[-1]), r=3))
    box = f"0 0 {WIDTH} {HEIGHT}"
    words = _words(series, times)
    return tag(
        "svg", "".join(parts), class_="spark", viewBox=box, width=WIDTH, height=HEIGHT, role="img", aria_label=words
    )


def _levels(series: HistorySeries, first: int, scale: Scale, step: float) -> Iterator[str]:
    for level in series.levels():
        if level.last < first:
            continue
        begin = max(level.first - first - 0.5, 0)
        x, width = round(_MARGIN + step * begin, 1), round(step * (level.last - first + 0.5 - begin), 1)
        width = round(min(width, WIDTH - _MARGIN - x), 1)
        band = band_of(level, series.noise)
        if band is not None:
            top, bottom = scale.y(band[1]), scale.y(band[0])
            yield tag("rect", class_="band", x=x, y=top, width=max(width, 1), height=round(max(bottom - top, 1), 1))
        yield tag("line", class_="level", x1=x, x2=round(x + width, 1), y1=scale.y(level.ns), y2=scale.y(level.ns))


def _changes(series: HistorySeries, first: int, step: float) -> Iterator[str]:
    for change in series.changes:
        if change.index > first:
            x = round(_MARGIN + step * (change.index - first - 0.5), 1)
            way = "slower" if change.ratio > 1 else "faster"
            yield tag("line", class_=f"edge {way}", x1=x, x2=x, y1=0, y2=HEIGHT)


def _dots(times: Sequence[float], places: Sequence[float], scale: Scale) -> Iterator[str]:
    inside = [f"M{x} {scale.y(ns)}h0" for x, ns in zip(places, times, strict=True) if not scale.is_outside(ns)]
    yield tag("path", class_="dots", d="".join(inside))
    for x, ns in zip(places, times, strict=True):
        if scale.is_outside(ns):
            tip, base = (1, 7) if ns > scale.high else (HEIGHT - 1, HEIGHT - 7)
            yield tag("path", class_="outlier", d=f"M{x} {tip}L{round(x - 3.5, 1)} {base}H{round(x + 3.5, 1)}Z")


def _words(series: HistorySeries, times: Sequence[float]) -> str:
    """The same for those who cannot see it."""
    noise = f", noise ±{percent(series.noise)}" if series.noise is not None else ""
    level = f", level {duration(series.level_ns)}" if series.level_ns is not None else ""
    return visible(f"{count(len(times), 'run')}, {durations(min(times), max(times))}{level}{noise}")
