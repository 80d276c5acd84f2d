"""A matrix as matplotlib draws it: colored cells with what they say, as far as they have room."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Patch, Rectangle

from onnxperf.render.charts.matrix import Matrix, MatrixCell, MatrixLegend
from onnxperf.render.paint.shared import (
    Handles,
    Look,
    Room,
    Size,
    bare,
    inches_of,
    ink_on,
    look_of,
    mixed,
    name_columns,
    name_rows,
    nothing,
    row_height,
    write,
    x_title,
)
from onnxperf.render.paint.words import FONT, SMALL, height_of, limited, width_of

_CELL = (0.95, 0.36)
"""Width and height of a cell in inches, if there is room for so many."""
_LEAST = 0.3
"""Width of a matrix's cells in inches, as long as words have room in them."""
_HATCH = "////"
_CHANGE = 2.2
"""Width in points of a line where the winner changes."""


def size(picture: Matrix, room: Room) -> Size:
    """Cells as wide as their words, on a page of which several may stand side by side."""
    words = [line for cell in picture.cells for line in (cell.text, cell.small)]
    widest = max((width_of(line, SMALL, bold=True) for line in words), default=0.0) + 0.14
    two = any(cell.small for cell in picture.cells)
    height = row_height(len(picture.rows), _CELL[1] if two else 0.25, picture.rows, room)
    return Size(max(height, 0.5), max(len(picture.columns), 1) * min(max(widest, _LEAST, 0.5), _CELL[0]))


def paint(ax: Axes, picture: Matrix, room: Room) -> Handles:
    """A cell for each pair; returns what the colors mean."""
    if not picture.rows or not picture.columns:
        return nothing(ax)
    look = look_of(ax)
    bare(ax, look)
    ax.spines[:].set_visible(False)
    ax.set_xlim(-0.5, len(picture.columns) - 0.5)
    name_rows(ax, picture.rows, room, look)
    name_columns(ax, picture.columns, room)
    ax.tick_params(length=0, pad=4)
    x_title(ax, picture.column_name, look)
    _, height = inches_of(ax)
    ax.set_ylabel(limited(picture.row_name, max(height, 0.8)), fontsize=FONT, color=look.ink, labelpad=3)
    for cell in picture.cells:
        _fill(ax, cell, look)
    _write_cells(ax, picture, look)
    _draw_changes(ax, picture, look)
    return [_sign(each, look) for each in picture.legend]


def _fill(ax: Axes, cell: MatrixCell, look: Look) -> None:
    corner = (cell.column - 0.5, cell.row - 0.5)
    ax.add_patch(Rectangle(corner, 1, 1, **_face(cell, look), linewidth=0.8, zorder=1))


def _face(cell: MatrixCell | MatrixLegend, look: Look) -> dict[str, Any]:
    """How a cell is filled; a hatch has the color of the edge."""
    if cell.failed:
        return {"facecolor": look.back, "edgecolor": look.grid, "hatch": _HATCH}
    return {"facecolor": _color(cell, look), "edgecolor": look.back}


def _color(cell: MatrixCell | MatrixLegend, look: Look) -> str:
    return look.back if cell.failed else mixed(look.colors[cell.color], look.back, min(max(cell.strength, 0.0), 1.0))


def _write_cells(ax: Axes, picture: Matrix, look: Look) -> None:
    """The words of each cell, and the small ones below them, where these have room in all cells that have any."""
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
    """The text; of one that is too long its beginning, but half a number would mislead."""
    if width_of(text, SMALL, bold) <= room:
        return text
    short = "" if text[:1].isdigit() else limited(text, room, SMALL, bold=bold)
    return short if len(short) > 3 and "\n" not in short else ""


def _draw_changes(ax: Axes, picture: Matrix, look: Look) -> None:
    """Lines between cells of which another one wins."""
    right = [((c.column + 0.5, c.row - 0.5), (c.column + 0.5, c.row + 0.5)) for c in picture.cells if c.right]
    below = [((c.column - 0.5, c.row + 0.5), (c.column + 0.5, c.row + 0.5)) for c in picture.cells if c.below]
    if right or below:
        drawn = LineCollection(
            [*right, *below], colors=look.ink, linewidths=_CHANGE, capstyle="projecting", zorder=3
        )
        ax.add_collection(drawn, autolim=False)


def _sign(each: MatrixLegend, look: Look) -> Patch:
    return Patch(label=each.words, linewidth=0, **_face(each, look))
