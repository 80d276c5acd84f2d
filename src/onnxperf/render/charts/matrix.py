"""A matrix: a cell for each pair of a row and a column, colored by what it says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec import Struct

from onnxperf.render.charts.base import GREY, Picture

_ROW, _AROUND, _LEGEND = 30, 66, 24
"""Heights in pixels: of a row, of both sides, of a line of a legend."""
_LEAST = 44


class MatrixCell(Struct, frozen=True):
    """One cell."""

    row: int
    column: int
    text: str
    """Written in it, as far as it has room."""
    words: str
    """What a tooltip says."""
    color: int = GREY
    strength: float = 0.0
    """Part of the full color, from 0 to 1."""
    bold: bool = False
    failed: bool = False
    """Whether there is a word in place of a value."""
    small: str = ""
    """The interval, below the text if there is room."""
    right: bool = False
    below: bool = False
    """Whether the winner changes towards the next cell."""
    key: str = ""


class MatrixLegend(Struct, frozen=True):
    """What a color means."""

    words: str
    color: int = GREY
    strength: float = 0.9
    failed: bool = False


class Matrix(Picture, frozen=True):
    """What a painter of matrices draws."""

    kind: ClassVar[str] = "matrix"
    row_name: str
    column_name: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[MatrixCell]
    legend: Sequence[MatrixLegend] = ()

    @property
    def height(self) -> int:
        """Rows, and a line for what colors mean; a browser adds others if it needs them."""
        return _AROUND + (_LEGEND if self.legend else 0) + max(_ROW * len(self.rows), _LEAST)
