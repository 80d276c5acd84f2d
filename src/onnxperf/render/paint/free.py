"""Free places for words on an axes: a raster of what is drawn, in points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from onnxperf.render.paint.shared import Look, dots, inches_of, write
from onnxperf.render.paint.words import SMALL, height_of, width_of

_GAP = 1.5
"""Points around words that stay free."""
_NEAR = 9.0
"""Points from a place to its words from which on a line leads there."""

_OWN = 10.0
"""Points around a place that its own sign and those that it touches may take."""
_TRIED = 400
"""Places that are tried, the best first."""

Floats = np.ndarray[Any, np.dtype[np.float64]]


class Box(NamedTuple):
    """Corners in points from the lower left of an axes."""

    left: float
    bottom: float
    right: float
    top: float


class Free:
    """Which places of an axes are free; its size and limits must not change any more."""

    def __init__(self, ax: Axes) -> None:
        width, height = inches_of(ax)
        self.ax = ax
        self.shape = (max(int(72 * height), 1), max(int(72 * width), 1))
        self.taken = np.zeros(self.shape, dtype=bool)
        self.words = np.zeros(self.shape, dtype=bool)
        """Words and signs, through which no line leads to others."""

    def points(self, xs: Sequence[float] | Floats, ys: Sequence[float] | Floats) -> Floats:
        """Places of the data in points; those without a number are left out."""
        places = self._points(xs, ys)
        known: Floats = places[np.isfinite(places).all(axis=1)]
        return known

    def _points(self, xs: Sequence[float] | Floats, ys: Sequence[float] | Floats) -> Floats:
        data = np.column_stack([np.asarray(xs, dtype=float), np.asarray(ys, dtype=float)])
        corner = np.array(self.ax.get_window_extent().min)
        return np.asarray((self.ax.transData.transform(data) - corner) * 72 / dots(self.ax), dtype=float)

    def take_dots(self, xs: Sequence[float] | Floats, ys: Sequence[float] | Floats, radii: Sequence[float]) -> None:
        """Signs of the data, with their radii in points."""
        for (x, y), radius in zip(self._points(xs, ys), radii, strict=True):
            if math.isfinite(x) and math.isfinite(y):
                box = Box(x - radius, y - radius, x + radius, y + radius)
                self.take(box)
                self._cells(self.words, box)[...] = True

    def take_line(self, places: Floats) -> None:
        """A line from place to place."""
        for (x, y), (to_x, to_y) in pairwise(places):
            steps = min(int(max(abs(to_x - x), abs(to_y - y))) + 2, 4000)
            self.taken[self._inside(np.linspace(x, to_x, steps), np.linspace(y, to_y, steps))] = True

    def take(self, box: Box) -> None:
        """All of a box."""
        self._cells(self.taken, box)[...] = True

    def is_free(self, box: Box) -> bool:
        """Whether all of a box is inside and free."""
        height, width = self.shape
        inside = box.left >= 0 and box.bottom >= 0 and box.right <= width and box.top <= height
        return inside and not self._cells(self.taken, box).any()

    def nearest(self, at: tuple[float, float], width: float, height: float, reach: float) -> Box | None:
        """The free box of this size nearest to a place, and rather above and right of it."""
        rows, columns = math.ceil(height + 2 * _GAP), math.ceil(width + 2 * _GAP)
        if rows > self.shape[0] or columns > self.shape[1]:
            return None
        sums = np.zeros((self.shape[0] + 1, self.shape[1] + 1), dtype=np.int32)
        np.cumsum(np.cumsum(self.taken, axis=0, dtype=np.int32), axis=1, out=sums[1:, 1:])
        used = sums[rows:, columns:] - sums[:-rows, columns:] - sums[rows:, :-columns] + sums[:-rows, :-columns]
        bottoms, lefts = np.nonzero(used == 0)
        if not len(lefts):
            return None
        away_x = np.maximum(np.maximum(lefts - at[0], at[0] - lefts - columns), 0)
        away_y = np.maximum(np.maximum(bottoms - at[1], at[1] - bottoms - rows), 0)
        cost = np.hypot(away_x, away_y)
        skew = np.hypot(lefts + columns / 2 - at[0], bottoms + rows / 2 - at[1])
        price = cost + 0.05 * skew + 0.5 * (bottoms + rows / 2 < at[1])
        best = np.argpartition(price, min(_TRIED, len(price)) - 1)[:_TRIED]
        for place in best[np.argsort(price[best], kind="stable")]:
            if cost[place] > reach:
                continue
            left, bottom = float(lefts[place]) + _GAP, float(bottoms[place]) + _GAP
            box = Box(left, bottom, left + width, bottom + height)
            if not self._crosses_words(at, box):
                return box
        return None

    def write_near(self, words: str, place: tuple[float, float], look: Look, reach: float, radius: float = 0.0) -> bool:
        """Words near a data point, with a line if they are further away; False if there is no room."""
        found = self.points([place[0]], [place[1]])
        if not len(found) or not words:
            return False
        at = (float(found[0][0]), float(found[0][1]))
        width, height = 72 * width_of(words, SMALL), 72 * height_of(words.count("\n") + 1, SMALL)
        box = self.nearest(at, width, height, reach + radius)
        if box is None:
            return False
        self._write(words, at, box, look, radius)
        return True

    def _write(self, words: str, at: tuple[float, float], box: Box, look: Look, radius: float) -> None:
        end = _end_at(at, box)
        if math.hypot(end[0] - at[0], end[1] - at[1]) > _NEAR + radius:
            self._lead(at, end, look, radius)
        place = ((box.left + box.right) / 2, (box.bottom + box.top) / 2)
        write(self.ax, words, (0, 0), place, xycoords="axes fraction", ha="center", va="center", color=look.ink)
        self.take(box)
        self._cells(self.words, box)[...] = True

    def _lead(self, at: tuple[float, float], end: tuple[float, float], look: Look, radius: float) -> None:
        line = {"arrowstyle": "-", "color": look.dim, "linewidth": 0.5, "shrinkA": 0, "shrinkB": max(radius, 3)}
        frame: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        corner = self.ax.get_window_extent().min
        scale = dots(self.ax) / 72
        start = self.ax.transAxes.inverted().transform((corner[0] + at[0] * scale, corner[1] + at[1] * scale))
        away = (end[0] - at[0], end[1] - at[1])
        self.ax.annotate("", tuple(start), away, zorder=5, arrowprops=line, annotation_clip=False, **frame)
        self.take_line(np.array([at, end]))

    def _crosses_words(self, at: tuple[float, float], box: Box) -> bool:
        """Whether the line from a place to its words would go through others."""
        end = _end_at(at, box)
        far = math.hypot(end[0] - at[0], end[1] - at[1])
        parts = np.linspace(min(_OWN / far, 1.0) if far else 1.0, 1.0, int(far) + 2)
        xs, ys = (np.asarray(here + parts * (there - here)) for here, there in zip(at, end, strict=True))
        return bool(self.words[self._inside(xs, ys)].any())

    def _inside(self, xs: Floats, ys: Floats) -> tuple[Any, Any]:
        """Rows and columns of places that are on the raster."""
        rows, columns = np.floor(ys).astype(int), np.floor(xs).astype(int)
        kept = (rows >= 0) & (rows < self.shape[0]) & (columns >= 0) & (columns < self.shape[1])
        return rows[kept], columns[kept]

    def _cells(self, raster: Any, box: Box) -> Any:
        rows = slice(max(math.floor(box.bottom), 0), max(math.ceil(box.top), 0))
        return raster[rows, max(math.floor(box.left), 0) : max(math.ceil(box.right), 0)]


def _end_at(at: tuple[float, float], box: Box) -> tuple[float, float]:
    """Where a line from a point touches a box."""
    return min(max(at[0], box.left), box.right), min(max(at[1], box.bottom), box.top)
