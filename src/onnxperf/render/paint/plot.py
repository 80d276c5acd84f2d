"""A plot as matplotlib draws it: lines, steps and points, and words where they cover nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, CARETUP
from matplotlib.patches import Patch
from matplotlib.path import Path
from msgspec.structs import replace

from onnxperf.render.charts.base import Axis, linear_ticks
from onnxperf.render.charts.plot import Dash, Level, Plot, PlotMark, PlotSpan, Series, Symbol
from onnxperf.render.paint.axes import plot_axes
from onnxperf.render.paint.free import Box, Floats, Free
from onnxperf.render.paint.shared import (
    NOTHING,
    SCALE,
    Handles,
    Look,
    Room,
    Size,
    bare,
    inches_of,
    look_of,
    mixed,
    nothing,
    sound,
    write,
)
from onnxperf.render.paint.words import SMALL, fitting_names, height_of, width_of
from onnxperf.wording.numbers import significant

_AROUND = 70
"""Pixels of its height that are not the axes."""
_SHAPES = ("o", "s", "D", "P", "X", "*", "h", "<")
_DASHES: dict[Dash, Any] = {"solid": "-", "dashed": (0, (4, 2)), "dotted": (0, (1, 1.4))}
_TIP = Path([(-1, 1.7), (0, 0), (1, 1.7), (-1, 1.7)], closed=True)
"""A triangle that points down to its place."""
_SIGNS: dict[Symbol, dict[str, Any]] = {
    "peak": {"marker": _TIP, "markersize": 10},
    "sampled": {"marker": _TIP, "markersize": 10, "markerfacecolor": "none"},
    "cross": {"marker": "x", "markersize": 5, "markeredgewidth": 1.2},
    # The tips of these are at their places, too.
    "up": {"marker": CARETUP, "markersize": 5},
    "down": {"marker": CARETDOWN, "markersize": 5},
    "diamond": {"marker": "D", "markersize": 4.2},
}
_CENTERED: dict[Symbol, dict[str, Any]] = {key: {"marker": "v", "markersize": 5} for key in ("peak", "sampled")}
"""What looks different in a legend: in the middle of its line, not above its place."""
_MEANINGS: dict[Symbol, str] = {
    "peak": "peak",
    "sampled": "highest sample",
    "cross": "not measured",
    "up": "beyond the axis",
    "down": "beyond the axis",
}
_BAND, _SHADE, _AREA = 0.2, 0.18, 0.25
"""Opacity of a band around a line, of a stretch of the axis, and of a histogram."""
_SMALLEST, _LARGEST = 10.0, 260.0
"""Areas of points in square points."""
_FEW_POINTS = 60
"""Points of a line up to which each has its interval drawn."""
_FAR, _NEAR = 400.0, 60.0
"""Points from a sign, and from a point, to its words at most."""
_MOST_WORDS = 40
_LABEL = 1.5
"""Inches of a name next to a point."""


def size(picture: Plot, room: Room) -> Size:  # noqa: ARG001
    """As its maker wants it."""
    return Size(max(picture.height - _AROUND, 60) * SCALE if _has_data(picture) else NOTHING)


def paint(ax: Axes, picture: Plot, room: Room) -> Handles:
    """All parts of a plot; returns what the legend explains."""
    if not _has_data(picture):
        return nothing(ax)
    look = look_of(ax)
    bare(ax, look)
    x = _first_view(picture)
    plot_axes(ax, x, picture.y, look, room)
    _draw_behind(ax, picture, look)
    signs = _signs(ax, picture)
    for series, sign in zip(picture.series, signs, strict=True):
        _draw_series(ax, series, picture, look, sign)
    marks = [*picture.marks, *(mark for series in picture.series for mark in _beyond(series, picture.y))]
    marks = [_at_edge(mark, picture.y) for mark in marks if x.low <= mark.x <= x.high]
    _draw_marks(ax, marks, look)
    _write_words(ax, picture, marks, look)
    return _handles(ax, picture, marks, look)


def _has_data(picture: Plot) -> bool:
    has_points = any(sound(y) for each in picture.series for y in each.ys)
    return has_points or bool(picture.marks or picture.spans or picture.levels)


def _first_view(picture: Plot) -> Axis:
    """The x axis, up to where a reader's first view ends."""
    x, until = picture.x, picture.until
    if until is None or not x.low < until < x.high:
        return x
    ticks = tuple(each for each in x.ticks if each[0] <= until)
    few = len(ticks) < 4 and not x.is_log
    return replace(x, high=until, ticks=linear_ticks(x.low, until, x.scale) if few else ticks)


# ---------------------------------------------------------------- lines and areas


def _draw_behind(ax: Axes, picture: Plot, look: Look) -> None:
    for span in picture.spans:
        color = mixed(look.colors[span.color], look.back, _SHADE)
        (ax.axhspan if span.across else ax.axvspan)(span.low, span.high, color=color, linewidth=0, zorder=0.4)
    for edge in picture.edges:
        color = look.colors[edge.color]
        ax.axvline(edge.x, color=color, linewidth=0.8, linestyle=_DASHES[edge.dash], zorder=1)
    for level in picture.levels:
        ax.axhline(level.y, color=look.dim, linewidth=0.8, linestyle=_DASHES["dashed"], zorder=1)


def _draw_series(ax: Axes, series: Series, picture: Plot, look: Look, sign: dict[str, Any]) -> None:
    color = look.colors[series.color]
    _draw_band(ax, series, color)
    line: dict[str, Any] = {"color": color, "linestyle": _DASHES[series.dash], "linewidth": 1.3, "zorder": 2.5}
    if series.shape == "points":
        _draw_points(ax, series, color, look)
    elif series.shape == "line":
        ax.plot(series.xs, _numbers(series.ys), **line, **_sign_of(series, look) | sign)
    else:
        xs, ys = _outline(series, picture.x)
        ax.plot(xs, ys, **line, solid_joinstyle="miter")
    if series.shape == "area":
        xs, ys = _outline(series, picture.x)
        ax.fill_between(xs, ys, picture.y.low if picture.y.is_log else 0.0, color=color, alpha=_AREA, linewidth=0)


def _draw_band(ax: Axes, series: Series, color: str) -> None:
    """Intervals of the points; each has its own line, too, for a point without neighbors has no band."""
    if not series.lows or not series.highs:
        return
    lows, highs = _numbers(series.lows), _numbers(series.highs)
    if series.shape != "points":
        ax.fill_between(series.xs, lows, highs, color=color, alpha=_BAND, linewidth=0, zorder=1.5)
    if len(series.xs) <= _FEW_POINTS:
        ax.vlines(series.xs, lows, highs, colors=color, alpha=0.6, linewidth=1, zorder=2)


def _draw_points(ax: Axes, series: Series, color: str, look: Look) -> None:
    """Whole points even on the edge of the axes; those beyond it are arrows."""
    sizes = [_area(part) for part in series.sizes] or _point_size(len(series.xs)) ** 2
    # Small points come last, so that large ones do not cover them.
    order = np.argsort(-np.asarray(series.sizes), kind="stable") if series.sizes else np.arange(len(series.xs))
    xs, ys = np.asarray(series.xs, dtype=float), _numbers(series.ys)
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    inside = (left <= xs) & (xs <= right) & (low <= ys) & (ys <= high)
    ax.scatter(
        xs[order],
        np.where(inside, ys, np.nan)[order],
        s=np.asarray(sizes)[order] if series.sizes else sizes,
        marker=_SHAPES[series.symbol % len(_SHAPES)],
        color=color,
        edgecolors=look.back,
        linewidths=0.4 if len(series.xs) <= 200 else 0.2,
        alpha=0.85,
        zorder=3,
        clip_on=False,
    )


def _point_size(number: int) -> float:
    return 4.5 if number <= 60 else 3.4 if number <= 400 else 2.4


def _area(part: float) -> float:
    return _SMALLEST + (_LARGEST - _SMALLEST) * (part if sound(part) else 0.0)


def _radius(series: Series, place: int) -> float:
    """Of a point, in points."""
    return _area(series.sizes[place]) ** 0.5 / 2 if series.sizes else _point_size(len(series.xs)) / 2


def _sign_of(series: Series, look: Look) -> dict[str, Any]:
    how = {"markersize": 4.2, "markeredgecolor": look.back, "markeredgewidth": 0.4}
    return {"marker": _SHAPES[series.symbol % len(_SHAPES)], **how}


def _signs(ax: Axes, picture: Plot) -> list[dict[str, Any]]:
    """At which points of each series signs stand."""
    sharing = Counter(series.color for series in picture.series)
    return [_every(ax, series, sharing[series.color] > 1) for series in picture.series]


def _every(ax: Axes, series: Series, has_twin: bool) -> dict[str, Any]:
    """A sign at each point of a line, if they are apart; of many only some, where signs tell lines apart."""
    width, _ = inches_of(ax)
    number = len(series.xs)
    if not series.words:
        return {"marker": ""}  # nothing is said about its points: a roof, or what was sampled
    if number <= 72 * width / 7:
        return {}
    return {"markevery": max(number // 9, 1)} if has_twin else {"marker": ""}


def _outline(series: Series, x: Axis) -> tuple[Floats, Floats]:
    """Corners of steps: around each point, and of a histogram from each point to the next one."""
    ys = _numbers(series.ys)
    edges = _edges(series, x) if series.shape == "step" else np.append(series.xs, series.xs[-1:])
    return np.repeat(edges, 2)[1:-1], np.repeat(ys, 2)


def _edges(series: Series, x: Axis) -> Floats:
    """Start and end of the level of each point: halfway between points."""
    xs = np.asarray(series.xs, dtype=float)
    if len(xs) == 1:
        return np.array([xs[0] * 0.98, xs[0] * 1.02] if x.is_log else [xs[0] - 0.5, xs[0] + 0.5])
    places = np.log(xs) if x.is_log else xs
    middles = (places[1:] + places[:-1]) / 2
    edges = np.concatenate([[2 * places[0] - middles[0]], middles, [2 * places[-1] - middles[-1]]])
    return np.exp(edges) if x.is_log else edges


def _numbers(values: Sequence[float | None]) -> Floats:
    return np.array([math.nan if value is None else value for value in values], dtype=float)


# ---------------------------------------------------------------- signs


def _beyond(series: Series, y: Axis) -> Iterator[PlotMark]:
    """An arrow for each point that its maker did not clip."""
    if series.shape in ("line", "points"):
        for x, value in zip(series.xs, series.ys, strict=True):
            if value is not None and math.isfinite(value) and not y.low <= value <= y.high:
                yield PlotMark(x, value, "", color=series.color, text=significant(value / y.scale))


def _at_edge(mark: PlotMark, y: Axis) -> PlotMark:
    if mark.y > y.high:
        return replace(mark, y=y.high, symbol="up")
    return replace(mark, y=y.low, symbol="down") if mark.y < y.low else mark


def _draw_marks(ax: Axes, marks: Sequence[PlotMark], look: Look) -> None:
    for symbol, sign in _SIGNS.items():
        for color in {mark.color for mark in marks if mark.symbol == symbol}:
            some = [mark for mark in marks if (mark.symbol, mark.color) == (symbol, color)]
            how = {"color": look.colors[color], "linestyle": "", "zorder": 5, "clip_on": False, **sign}
            ax.plot([mark.x for mark in some], [mark.y for mark in some], **how)


# ---------------------------------------------------------------- words


def _write_words(ax: Axes, picture: Plot, marks: Sequence[PlotMark], look: Look) -> None:
    """Words where they cover nothing, those that matter most first."""
    free = _free_places(ax, picture, marks)
    for level in picture.levels:
        _write_level(free, level, look)
    for mark in [each for each in marks if each.text][:_MOST_WORDS]:
        free.write_near(mark.text, (mark.x, mark.y), look, _FAR)
    for span in picture.spans:
        if not span.across:
            _write_span(free, span, look)
    _write_names(free, picture.series, look)


def _free_places(ax: Axes, picture: Plot, marks: Sequence[PlotMark]) -> Free:
    free = Free(ax)
    for series in picture.series:
        if series.shape in ("line", "points"):
            radii = [_radius(series, place) for place in range(len(series.xs))]
            free.take_dots(series.xs, _numbers(series.ys), radii)
        if series.shape != "points":
            xs, ys = (series.xs, _numbers(series.ys)) if series.shape == "line" else _outline(series, picture.x)
            for run in _runs(xs, ys):
                free.take_line(free.points(*run))
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    for level in picture.levels:
        free.take_line(free.points([left, right], [level.y] * 2))
    for edge in picture.edges:
        free.take_line(free.points([edge.x] * 2, [low, high]))
    free.take_dots([mark.x for mark in marks], [mark.y for mark in marks], [4.0] * len(marks))
    return free


def _runs(xs: Sequence[float] | Floats, ys: Floats) -> Iterator[tuple[Floats, Floats]]:
    """The parts of a line between its gaps."""
    places = np.asarray(xs, dtype=float)
    known = np.isfinite(ys)
    for part in np.split(np.arange(len(ys)), np.nonzero(~known)[0]):
        some = part[known[part]]
        if len(some) > 1:
            yield places[some], ys[some]


def _write_level(free: Free, level: Level, look: Look) -> None:
    """At the right end of its line, above or below it; further left where something is in the way."""
    found = free.points([free.ax.get_xlim()[1]], [level.y])
    if not level.label or not len(found):
        return
    (label,) = fitting_names([level.label], inches_of(free.ax)[0], SMALL)
    width, height = 72 * width_of(label, SMALL), 72 * height_of(1, SMALL)
    end, middle = float(found[0][0]) - 1, float(found[0][1])
    for right in np.arange(end, width, -6.0):
        for bottom in (middle + 1.5, middle - 1.5 - height):
            box = Box(float(right) - width, bottom, float(right), bottom + height)
            if free.is_free(box):
                _put(free, label, box, look)
                return
    free.write_near(label, (free.ax.get_xlim()[1], level.y), look, _FAR)


def _write_span(free: Free, span: PlotSpan, look: Look) -> None:
    """At the top of a stretch, if it is wide enough; in its middle, unless something is there."""
    left, right = free.ax.get_xlim()
    ends = free.points([max(span.low, left), min(span.high, right)], [free.ax.get_ylim()[1]] * 2)
    width, height = 72 * width_of(span.label, SMALL), 72 * height_of(1, SMALL)
    if not span.label or len(ends) < 2 or ends[1][0] - ends[0][0] < width + 4:
        return
    first, last, top = float(ends[0][0]) + 2, float(ends[1][0]) - 2 - width, float(free.shape[0])
    for down in np.arange(1.0, top / 3, 3.0):
        for left in ((first + last) / 2, first, last):
            box = Box(left, top - down - height, left + width, top - down)
            if free.is_free(box):
                _put(free, span.label, box, look)
                return


def _put(free: Free, words: str, box: Box, look: Look) -> None:
    place = ((box.left + box.right) / 2, (box.bottom + box.top) / 2)
    write(free.ax, words, (0, 0), place, xycoords="axes fraction", ha="center", va="center", color=look.ink)
    free.take(box)


def _write_names(free: Free, several: Sequence[Series], look: Look) -> None:
    """Names next to points, those of large points first."""
    named = [
        (_radius(series, place), name, (series.xs[place], value))
        for series in several
        for place, (name, value) in enumerate(zip(series.labels, series.ys, strict=False))
        if name and value is not None and sound(value)
    ]
    named = sorted(named, key=lambda each: -each[0])[:_MOST_WORDS]
    names = fitting_names([name for _, name, _ in named], _LABEL, SMALL) if named else []
    for name, (radius, _, place) in zip(names, named, strict=True):
        free.write_near(name, place, look, _NEAR, radius)


# ---------------------------------------------------------------- the legend


def _handles(ax: Axes, picture: Plot, marks: Sequence[PlotMark], look: Look) -> Handles:
    """Series, shades and signs, each once; a single series needs no legend."""
    signs = zip(picture.series, _signs(ax, picture), strict=True)
    found = {each.name: _series_sign(each, look, sign) for each, sign in signs if each.name}
    for span in picture.spans:
        if span.name:
            color = mixed(look.colors[span.color], look.back, _SHADE)
            found.setdefault(span.name, Patch(color=color, label=span.name, linewidth=0))
    for symbol, meaning in _MEANINGS.items():
        colors = {mark.color for mark in marks if mark.symbol == symbol}
        if colors:
            color = look.colors[colors.pop()] if len(colors) == 1 else look.dim
            how = _SIGNS[symbol] | _CENTERED.get(symbol, {})
            found.setdefault(meaning, Line2D([], [], color=color, linestyle="", label=meaning, **how))
    return list(found.values()) if len(found) > 1 else []


def _series_sign(series: Series, look: Look, sign: dict[str, Any]) -> Line2D | Patch:
    color = look.colors[series.color]
    if series.shape == "area":
        return Patch(facecolor=mixed(color, look.back, _AREA), edgecolor=color, linewidth=1, label=series.name)
    line: Any = "" if series.shape == "points" else _DASHES[series.dash]
    has_sign = series.shape == "points" or (series.shape == "line" and "marker" not in sign)
    sign = _sign_of(series, look) if has_sign else {}
    return Line2D([], [], color=color, linestyle=line, linewidth=1.3, label=series.name, **sign)
