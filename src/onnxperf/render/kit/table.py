"""Tables that fit their console: the least important columns go first, then long texts lose their middle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from rich.box import Box
from rich.cells import cell_len, get_character_cell_size
from rich.table import Table
from rich.text import Text

from onnxperf.wording.names import visible
from onnxperf.wording.numbers import ASCII, UNICODE, marks_for

_LINE_UNDER_HEAD = "    \n    \n {0}{0} \n    \n    \n    \n    \n    \n"
BOXES = {UNICODE: Box(_LINE_UNDER_HEAD.format("─")), ASCII: Box(_LINE_UNDER_HEAD.format("-"), ascii=True)}
_GAP = 2
_SMALLEST = 4


class Column(NamedTuple):
    """A heading, and how the column behaves when the console is narrow."""

    heading: str
    left: bool = False
    """Words start at the left, numbers end at the right."""
    rank: int = 0
    """Columns of the highest rank are left out first; those of rank 0 never."""
    room: int = 0
    """Cells at least as wide as this may lose their middle; 0: they never do."""


class Row(NamedTuple):
    """The cells of one line, and how it stands out; the style of single cells by their place."""

    cells: Sequence[str]
    style: str = ""
    styles: Mapping[int, str] = MappingProxyType({})


class Sheet(NamedTuple):
    """A table before it is known how much room there is."""

    columns: Sequence[Column]
    rows: Sequence[Row]


def without_empty(sheet: Sheet) -> Sheet:
    """The sheet without the columns that have nothing to tell in any row."""
    kept = [i for i in range(len(sheet.columns)) if any(row.cells[i] for row in sheet.rows)]
    return Sheet([sheet.columns[i] for i in kept], [_chosen(row, kept) for row in sheet.rows])


def fitted(sheet: Sheet, width: int, encoding: str = "utf-8") -> Table:
    """The sheet as a table that is not wider than this."""
    shown = Sheet(sheet.columns, [row._replace(cells=[visible(c, encoding) for c in row.cells]) for row in sheet.rows])
    kept, widths = _fit(shown, width)
    mark = marks_for(encoding).to
    # Rich draws its own box, with bars, where an encoding is not one of Unicode's and the box is.
    box = BOXES[UNICODE if encoding.lower().startswith("utf") else ASCII]
    table = Table(box=box, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for i, room in zip(kept, widths, strict=True):
        column = shown.columns[i]
        justify: Literal["left", "right"] = "left" if column.left else "right"
        table.add_column(column.heading, justify=justify, no_wrap=True, max_width=room, overflow="crop")
    for row in (_chosen(row, kept) for row in shown.rows):
        cells = [shortened(cell, room, mark) for cell, room in zip(row.cells, widths, strict=True)]
        table.add_row(*(Text(cell, style=row.styles.get(i, "")) for i, cell in enumerate(cells)), style=row.style)
    return table


def shortened(text: str, width: int, mark: str = "…") -> str:
    """The text with a mark in place of its middle where it is too wide: the ends of a name tell the most."""
    if len(text) * 2 <= width or cell_len(text) <= width:
        return text
    room = max(width - len(mark), 0)
    tail = _start(reversed(text), room // 2)[::-1]
    return _start(text, room - cell_len(tail)) + mark[:width] + tail


def flowed(parts: Iterable[str], width: int, separator: str) -> str:
    """Parts side by side, on as many lines as they need, none of them torn apart unless it alone is too long."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}{separator}{part}" if lines else part
        if lines and cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return "\n".join(lines)


def _chosen(row: Row, kept: Sequence[int]) -> Row:
    styles = {place: row.styles[i] for place, i in enumerate(kept) if i in row.styles}
    return Row([row.cells[i] for i in kept], row.style, styles)


def _fit(sheet: Sheet, width: int) -> tuple[list[int], list[int]]:
    """Which columns have room, and how wide each may be."""
    natural = [
        max(cell_len(column.heading), max((cell_len(row.cells[i]) for row in sheet.rows), default=0))
        for i, column in enumerate(sheet.columns)
    ]
    least = [min(n, c.room) if c.room else n for n, c in zip(natural, sheet.columns, strict=True)]
    kept = list(range(len(sheet.columns)))
    for rank in sorted({column.rank for column in sheet.columns} - {0}, reverse=True):
        if _taken(least, kept) <= width:
            break
        kept = [i for i in kept if sheet.columns[i].rank != rank]
    wanted = {i: natural[i] for i in kept if sheet.columns[i].room}
    missing = _taken(least, kept) - width
    if missing > 0 and wanted:
        for i in wanted:
            least[i] = max(least[i] - -(-missing // len(wanted)), _SMALLEST)
    _share_out(least, wanted, width - _taken(least, kept))
    return kept, [least[i] for i in kept]


def _taken(widths: Sequence[int], kept: Sequence[int]) -> int:
    return sum(widths[i] + _GAP for i in kept) - _GAP


def _share_out(widths: list[int], wanted: dict[int, int], spare: int) -> None:
    """Give spare room to the columns that want it, in equal parts, until they have enough."""
    hungry = [i for i in wanted if widths[i] < wanted[i]]
    while spare > 0 and hungry:
        portion = max(spare // len(hungry), 1)
        for i in hungry:
            given = min(portion, wanted[i] - widths[i], spare)
            widths[i] += given
            spare -= given
        hungry = [i for i in hungry if widths[i] < wanted[i]]


def _start(characters: Iterable[str], width: int) -> str:
    kept = []
    for character in characters:
        width -= get_character_cell_size(character)
        if width < 0:
            break
        kept.append(character)
    return "".join(kept)
