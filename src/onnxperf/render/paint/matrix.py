"""A matrix as matplotlib draws it: colored cells with what they say, as far as they have room."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.patches import Patch

from onnxperf.render.charts.matrix import Matrix, MatrixCell, MatrixLegend
from onnxperf.render.paint.axes import name_columns, x_title, y_title
from onnxperf.render.paint.shared import (
    NOTHING,
    Handles,
    Look,
    Room,
    Size,
    bare,
    inches_of,
    ink_on,
    look_of,
    mixed,
    name_rows,
    nothing,
    row_height,
    write,
)
from onnxperf.render.paint.words import SMALL, height_of, limited, width_of

_HEIGHTS = (0.17, 0.24, 0.35)
"""Inches of a cell without words, with one line of them, and with two."""
_LEAST, _MOST = 0.5, 1.0
"""Inches of a cell from left to right."""
_BESIDE = 0.35
"""Inches for the name of the rows."""
_NAME = 1.0
"""Inches from top to bottom that there are at least for the name of the rows, if it is so long."""
_PAD = 0.12
"""Inches around the words in a cell."""
_HATCH = "////"
_CHANGE = 2.2
"""Width in points of a line where the winner changes."""


def size(picture: Matrix, room: Room) -> Size:
    """Cells as wide as their words, so that several matrices fit side by side; as high as their content."""
    if not picture.rows or not picture.columns:
        return Size(NOTHING)
    text, small = (max(map(_width_of, lines), default=0.0) for lines in zip(*map(_lines, picture.cells), strict=True))
    names = min(max(map(width_of, picture.rows)), room.left)
    cell = min(max(text, small, _LEAST), _MOST, (room.width - names - _BESIDE) / len(picture.columns))
    lines = (text <= cell) + (0 < small <= cell and text <= cell)
    height = row_height(len(picture.rows), _HEIGHTS[lines], picture.rows, room)
    return Size(max(height, min(width_of(picture.row_name), _NAME)), len(picture.columns) * cell)


def _lines(cell: MatrixCell) -> tuple[str, str]:
    return cell.text, cell.small


def _width_of(line: str) -> float:
    """Inches that a cell needs for it."""
    return width_of(line, SMALL, bold=True) + _PAD if line else 0.0


def paint(ax: Axes, picture: Matrix, room: Room) -> Handles:
    """A cell for each pair; returns what the colors mean."""
    if not picture.rows or not picture.columns:
        return nothing(ax)
    look = look_of(ax)
    bare(ax, look)
    ax.spines[:].set_visible(False)
    ax.set_xlim(-0.5, len(picture.columns) - 0.5)
    beside = height_of(1) + 0.1 if picture.row_name else 0.0
    name_rows(ax, picture.rows, room._replace(left=max(room.left - beside, 0.2)), look)
    name_columns(ax, picture.columns, room)
    ax.tick_params(length=0, pad=4)
    x_title(ax, picture.column_name, look)
    y_title(ax, picture.row_name, look)
    _fill(ax, picture, look)
    _write_cells(ax, picture, look)
    _draw_changes(ax, picture, look)
    return [_sign(each, look) for each in picture.legend]


def _fill(ax: Axes, picture: Matrix, look: Look) -> None:
    for failed in (False, True):
        some = [cell for cell in picture.cells if cell.failed is failed]
        faces = [_color(cell, look) for cell in some]
        edge = {**_face(some[0], look), "facecolor": faces} if some else {}
        ax.add_collection(PolyCollection([_corners(cell) for cell in some], linewidth=0.8, zorder=1, **edge))


def _corners(cell: MatrixCell) -> list[tuple[float, float]]:
    left, right, top, bottom = cell.column - 0.5, cell.column + 0.5, cell.row - 0.5, cell.row + 0.5
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def _face(cell: MatrixCell | MatrixLegend, look: Look) -> dict[str, Any]:
    """How a cell is filled; a hatch has the color of the edge."""
    if cell.failed:
        return {"facecolor": look.back, "edgecolor": mixed(look.dim, look.back, 0.5), "hatch": _HATCH}
    return {"facecolor": _color(cell, look), "edgecolor": look.back}


def _color(cell: MatrixCell | MatrixLegend, look: Look) -> str:
    return look.back if cell.failed else mixed(look.colors[cell.color], look.back, min(max(cell.strength, 0.0), 1.0))


def _write_cells(ax: Axes, picture: Matrix, look: Look) -> None:
    """The words of each cell, and small ones below them if they fit in all cells."""
    width, height = inches_of(ax)
    room = (width / len(picture.columns) - 0.06, height / len(picture.rows) - 0.02)
    if room[1] < height_of(1, SMALL):
        return
    below = [cell.small for cell in picture.cells if cell.small]
    two = room[1] >= height_of(2, SMALL) and max((width_of(each, SMALL) for each in below), default=0.0) <= room[0]
    for cell in picture.cells:
        _write_cell(ax, cell, room[0], cell.small if two else "", look)


def _write_cell(ax: Axes, cell: MatrixCell, room: float, small: str, look: Look) -> None:
    text = _fitting(cell.text, room, cell.bold)
    color = _color(cell, look)
    how: dict[str, Any] = {"ha": "center", "color": ink_on(color) if not cell.failed else look.ink}
    if cell.failed:
        how["bbox"] = {"boxstyle": "square,pad=0.1", "facecolor": look.back, "edgecolor": "none"}
    weight = "bold" if cell.bold else "normal"
    if text:
        write(ax, text, (cell.column, cell.row), (0, SMALL * 0.6 if small else 0), fontweight=weight, **how)
    if text and small:
        write(ax, small, (cell.column, cell.row), (0, -SMALL * 0.6), **how)


def _fitting(text: str, room: float, bold: bool) -> str:
    """The text, its first word, or the start of a word; never a part of a number, which would mislead."""
    whole = next((each for each in (text, text.partition(" ")[0]) if width_of(each, SMALL, bold) <= room), "")
    if whole or text.lstrip("+-~")[:1].isdigit():
        return whole
    short = limited(text, room, SMALL, bold=bold)
    return short if len(short) > 3 and "\n" not in short else ""


def _draw_changes(ax: Axes, picture: Matrix, look: Look) -> None:
    """Lines between cells with different winners."""
    right = [((c.column + 0.5, c.row - 0.5), (c.column + 0.5, c.row + 0.5)) for c in picture.cells if c.right]
    below = [((c.column - 0.5, c.row + 0.5), (c.column + 0.5, c.row + 0.5)) for c in picture.cells if c.below]
    if right or below:
        drawn = LineCollection([*right, *below], colors=look.ink, linewidths=_CHANGE, capstyle="projecting", zorder=3)
        ax.add_collection(drawn, autolim=False)


def _sign(each: MatrixLegend, look: Look) -> Patch:
    return Patch(label=each.words, linewidth=0, **_face(each, look))
