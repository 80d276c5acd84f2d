"""What can be seen of a drawn figure: its words and where they are, lines, and what is behind words."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from onnxperf.render.charts.base import Width
from onnxperf.render.paint.figure import figure_of
from tests.render.paint import gallery

TOUCH = 0.8
"""Points that boxes may share: a font's box is higher than its letters."""


@cache
def drawn(name: str, width: Width) -> Figure:
    """A chart of the gallery, for tests that only look."""
    return rendered(figure_of(gallery.CHARTS[name](), gallery.ANSWER, gallery.TOPIC, width))


def rendered(figure: Figure) -> Figure:
    """The figure after all its texts have found their places."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # signs that no font has
        figure.draw_without_rendering()
    return figure


def words_of(figure: Figure) -> list[Text]:
    """All that is written."""
    legends = [text for legend in figure.legends for text in legend.get_texts()]
    inside = [text for ax in figure.axes for text in words_on(ax)]
    found = [*figure.texts, *legends, *inside]  # the title is one of its texts
    return [text for text in found if text.get_visible() and text.get_text()]


def words_on(ax: Axes) -> Iterator[Text]:
    """All that is written on and around an axes."""
    yield from ax.texts
    yield from (ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label)  # type: ignore[attr-defined]
    yield from ax.get_xticklabels()
    yield from ax.get_yticklabels()
    legend = ax.get_legend()
    yield from legend.get_texts() if legend is not None else ()


def box_of(text: Text) -> Bbox:
    """The box of the words alone, without a line that leads from them."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return Text.get_window_extent(text)


def is_askew(text: Text) -> bool:
    """Whether its box says little about where its letters are."""
    return text.get_rotation() not in (0.0, 90.0)


def meeting(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of words that cover each other."""
    inner = [(text.get_text(), box_of(text).padded(-_dots(figure))) for text in words_of(figure) if not is_askew(text)]
    return [(a, b) for at, (a, one) in enumerate(inner) for b, two in inner[at + 1 :] if one.overlaps(two)]


def outside(figure: Figure) -> list[str]:
    """Words that the edge of the figure cuts."""
    whole = figure.bbox.padded(_dots(figure))
    boxes = ((text.get_text(), box_of(text)) for text in words_of(figure))
    return [words for words, box in boxes if not (whole.contains(*box.min) and whole.contains(*box.max))]


def _dots(figure: Figure) -> float:
    return TOUCH * figure.dpi / 72


def covered(ax: Axes) -> list[tuple[str, str]]:
    """Words inside an axes, and the lines and signs that they stand on."""
    boxes = [(text.get_text(), box_of(text).padded(-ax.figure.dpi / 72)) for text in ax.texts if text.get_text()]
    found = []
    for line in ax.lines:
        if line.get_transform() == ax.transData:
            has_line = line.get_linestyle() not in ("None", "")
            parts = [part for part in _parts(line, ax) if has_line or len(part) == 1]
            found += [(words, str(line)) for words, box in boxes if any(_is_on(box, part) for part in parts)]
    return found


def _parts(line: Line2D, ax: Axes) -> Iterator[Path]:
    """Each point of a line by itself, and the lines between neighbors that are there."""
    points: Any = np.column_stack([line.get_xdata(), line.get_ydata()]).astype(float)
    known = np.isfinite(points).all(axis=1)
    places = np.full(points.shape, np.nan)
    places[known] = ax.transData.transform(points[known]) if known.any() else 0.0
    yield from (Path([place]) for place in places[known])
    yield from (Path([a, b]) for a, b in pairwise(places) if np.isfinite([a, b]).all())


def _is_on(box: Bbox, part: Path) -> bool:
    places: Any = part.vertices
    return box.contains(*places[0]) if len(part) == 1 else part.intersects_bbox(box, filled=False)


def behind(ax: Axes, text: Text) -> Any:
    """The color behind the middle of words: of the topmost cell, bar or span, or of the axes."""
    box = box_of(text)
    middle = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
    patch = text.get_bbox_patch()
    if patch is not None:
        return patch.get_facecolor()
    faces = [(0.0, ax.get_facecolor())]
    faces += [
        (each.get_zorder(), each.get_facecolor())
        for each in ax.patches
        if isinstance(each, Rectangle) and each.get_window_extent().contains(*middle)
    ]
    for collection in ax.collections:
        if isinstance(collection, PolyCollection):
            faces += [(collection.get_zorder(), color) for color in _faces(collection, middle)]
    opaque = [(order, color) for order, color in faces if to_rgba(color)[3] > 0.9]
    return max(opaque, key=lambda each: each[0])[1]


def _faces(collection: PolyCollection, place: tuple[float, float]) -> Iterator[Any]:
    colors = collection.get_facecolor()
    transform = collection.get_transform()
    for number, path in enumerate(collection.get_paths()):
        if len(path) and Path(transform.transform(path.vertices)).contains_point(place):
            yield colors[number % len(colors)]
