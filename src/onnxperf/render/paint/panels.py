"""Panels of our own figures: painted, measured, and arranged in rows and columns."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from onnxperf.render.charts.base import Chart, Layer, Picture
from onnxperf.render.paint.legend import alike, draw_legend, shared_legend
from onnxperf.render.paint.shared import NAME_SHARE, Handles, Look, Room, Size, inches_of, look_of
from onnxperf.render.paint.words import TITLE, limited

_EDGE = 0.06
"""Inches around all that is drawn."""
_BESIDE, _BELOW = 0.3, 0.07
"""Inches between panels, and from a panel to its caption."""
_SPARE = 0.03
"""Inches at the right for the last words below an axis, which may reach further once it has its size."""
_ROOM_BELOW = 1.1
"""Inches that names below an axes may take."""
_PAD = 6.0
"""Points below a title."""


class Painter(Protocol):
    """The module of a kind."""

    def size(self, picture: Any, room: Room) -> Size:
        """Inches that the axes of a picture needs."""

    def paint(self, ax: Axes, picture: Any, room: Room) -> Handles:
        """Draw a picture; returns what its legend explains."""


def painter_of(picture: Picture) -> Painter:
    """The module that draws pictures of this kind."""
    found: Any = importlib.import_module(f"onnxperf.render.paint.{picture.kind}")
    painter: Painter = found
    return painter


def title_of(chart: Chart, layer: Layer) -> str:
    """What stands above a panel."""
    return ": ".join(filter(None, [chart.title, layer.title]))


class Panel(NamedTuple):
    """A picture and its axes."""

    ax: Axes
    picture: Picture
    painter: Painter
    title: str


class Piece(NamedTuple):
    """Something as wide as a figure."""

    height: float
    """Inches."""
    gap: float
    """Inches to what comes below it."""
    put: Callable[[float], None]
    """Moves it to so many inches below the top."""


class Margins(NamedTuple):
    """Inches around an axes that its words take."""

    left: float
    right: float
    below: float
    above: float


# ---------------------------------------------------------------- pieces


def stack(figure: Figure, pieces: Sequence[Piece]) -> None:
    """Give a figure the height of all pieces, and set these below each other."""
    width = figure.get_size_inches()[0]
    figure.set_size_inches(width, sum(piece.height + piece.gap for piece in pieces) - pieces[-1].gap + 2 * _EDGE)
    top = _EDGE
    for piece in pieces:
        piece.put(top)
        top += piece.height + piece.gap


def text_piece(text: Text, gap: float) -> Piece:
    """Words that begin at the left, with a gap below them."""
    figure: Any = text.get_figure()
    height = text.get_window_extent().height / figure.dpi

    def put(top: float) -> None:
        width, whole = figure.get_size_inches()
        text.set(x=_EDGE / width, y=1 - top / whole, ha="left", va="top")

    return Piece(height, gap, put)


def panel_rows(figure: Figure, panels: Sequence[Panel], charts: Sequence[int]) -> dict[int, list[Piece]]:
    """The panels of each chart, in rows; axes of one kind begin at the same place."""
    width = float(figure.get_size_inches()[0]) - 2 * _EDGE
    first = [_measured(panel, width, Margins(0.5, 0.1, 0, 0)) for panel in panels]
    left = {panel.painter: 0.0 for panel in panels}
    for panel, margins in zip(panels, first, strict=True):
        left[panel.painter] = max(left[panel.painter], margins.left)
    rows = {}
    for chart in dict.fromkeys(charts):
        mine = [place for place, each in enumerate(charts) if each == chart]
        several = [panels[place] for place in mine]
        aligned = [
            first[place]._replace(left=left[panels[place].painter], right=first[place].right + _SPARE) for place in mine
        ]
        rows[chart] = _rows(figure, several, aligned, width)
    return rows


# ---------------------------------------------------------------- panels


def _measured(panel: Panel, width: float, margins: Margins) -> Margins:
    """Paint a panel without what stands above it, and measure the words around its axes."""
    _paint(panel, width, margins)
    return _margins(panel.ax)


def _paint(panel: Panel, width: float, margins: Margins) -> Handles:
    """Paint a panel at this width, replacing what was painted before."""
    room = _room(width)
    size = panel.painter.size(panel.picture, room)
    inner = max(width - margins.left - margins.right, 0.5)
    panel.ax.clear()
    _resize(panel.ax, min(inner, size.width or inner), size.height)
    return panel.painter.paint(panel.ax, panel.picture, room)


def _room(width: float) -> Room:
    return Room(NAME_SHARE * width, _ROOM_BELOW, 99.0, 0.0, width)


def _rows(figure: Figure, panels: Sequence[Panel], margins: Sequence[Margins], width: float) -> list[Piece]:
    """Several small panels stand side by side, all others below each other; a shared legend appears once."""
    columns = next((number for number in (3, 2) if _fit(panels, margins, width, number)), 1)
    cell = _cell(width, columns)
    settled = [_settled(panel, cell, each) for panel, each in zip(panels, margins, strict=True)]
    handles, margins = [handles for handles, _ in settled], [own for _, own in settled]
    is_shared = len(panels) > 1 and bool(handles[0]) and alike(handles)
    own = [[] for _ in panels] if is_shared else handles
    around = [_finish(*each, cell) for each in zip(panels, own, margins, strict=True)]
    groups = [slice(start, start + columns) for start in range(0, len(panels), columns)]
    rows = [_row(figure, panels[each], around[each], margins[each], cell) for each in groups]
    return [_legend_piece(figure, handles[0], width, look_of(panels[0].ax)), *rows] if is_shared else rows


def _settled(panel: Panel, width: float, margins: Margins) -> tuple[Handles, Margins]:
    """Paint a panel, and repaint it if names below it were rotated, which need more room on both sides."""
    handles = _paint(panel, width, margins)
    if not any(label.get_rotation() for label in panel.ax.get_xticklabels()):
        return handles, margins
    found = _margins(panel.ax)
    if found.left <= margins.left and found.right <= margins.right:
        return handles, margins
    wider = margins._replace(left=max(found.left, margins.left), right=max(found.right, margins.right))
    return _paint(panel, width, wider), wider


def _legend_piece(figure: Figure, handles: Handles, width: float, look: Look) -> Piece:
    drawn = shared_legend(figure, handles, width, look)

    def put(top: float) -> None:
        whole = figure.get_size_inches()
        drawn.set_bbox_to_anchor((_EDGE / whole[0], 1 - top / whole[1]), transform=figure.transFigure)

    return Piece(float(drawn.get_window_extent().height) / figure.dpi, _BELOW, put)


def _cell(width: float, columns: int) -> float:
    return (width - (columns - 1) * _BESIDE) / columns


def _fit(panels: Sequence[Panel], margins: Sequence[Margins], width: float, columns: int) -> bool:
    """Whether this many panels fit side by side, given the width that each needs."""
    cell = _cell(width, columns)
    room = _room(width)
    widths = [panel.painter.size(panel.picture, room).width for panel in panels]
    pairs = zip(widths, margins, strict=True)
    return len(panels) > 1 and all(
        own is not None and own + min(each.left, room.left) + each.right <= cell for own, each in pairs
    )


def _finish(panel: Panel, handles: Handles, margins: Margins, width: float) -> Margins:
    """Draw the legend and the title of a panel; returns what is around its axes then."""
    legend = draw_legend(panel.ax, handles, margins.left, width)
    if panel.title:
        inches, _ = inches_of(panel.ax)
        words = limited(panel.title, width, TITLE, most=2, bold=True)
        title = panel.ax.set_title(words, loc="left", pad=legend + _PAD, fontsize=TITLE, x=-margins.left / inches)
        title.set(color=look_of(panel.ax).ink, fontweight="bold")
    return _margins(panel.ax)


def _row(
    figure: Figure, panels: Sequence[Panel], around: Sequence[Margins], margins: Sequence[Margins], cell: float
) -> Piece:
    """Panels whose axes begin at the same height."""
    heights = [inches_of(panel.ax)[1] for panel in panels]
    above = max(each.above for each in around)
    below = max(height + each.below for height, each in zip(heights, around, strict=True))

    def put(top: float) -> None:
        width, whole = figure.get_size_inches()
        for column, (panel, height) in enumerate(zip(panels, heights, strict=True)):
            box = panel.ax.get_position()
            x = _EDGE + column * (cell + _BESIDE) + margins[column].left
            y = 1 - (top + above + height) / whole
            panel.ax.set_position((x / width, y, box.width, height / whole))

    return Piece(above + below, _BELOW, put)


def _resize(ax: Axes, width: float, height: float) -> None:
    figure = ax.figure
    whole = figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi
    ax.set_position((0.1, 0.1, width / whole[0], height / whole[1]))


def _margins(ax: Axes) -> Margins:
    inner, outer, dpi = ax.get_window_extent(), ax.get_tightbbox(), ax.figure.dpi
    if outer is None:
        return Margins(0.0, 0.0, 0.0, 0.0)
    parts = (inner.x0 - outer.x0, outer.x1 - inner.x1, inner.y0 - outer.y0, outer.y1 - inner.y1)
    return Margins(*(max(float(part) / dpi, 0.0) for part in parts))
