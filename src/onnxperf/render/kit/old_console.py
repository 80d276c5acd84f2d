"""Tables of texts as the console drew them, until all features have moved to columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Literal

from rich.box import Box
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from onnxperf.render.kit.old_table import Column, Row, Stacking, Table, chosen, mapped
from onnxperf.wording.names import cut, shortened_apart, text_width, visible

_LINE_UNDER_HEAD = "    \n    \n {0}{0} \n    \n    \n    \n    \n    \n"
_BOX, _ASCII_BOX = Box(_LINE_UNDER_HEAD.format("─")), Box(_LINE_UNDER_HEAD.format("-"), ascii=True)
_GAP = 2
_SMALLEST = 4
_SMALLEST_NAME = 8
Spell = Callable[[str], str]


def titled_old(part: Table, console: Console, spell: Spell, first: bool) -> Iterator[RenderableType]:
    """A table under its title."""
    if part.optional and _whole_width(mapped(part, _showing(console.encoding))) > console.width:
        return
    if not first:
        yield Text()
    if part.title:
        yield Text(visible(spell(part.title), console.encoding), style="bold")
    yield drawn(mapped(part, spell), console.width, console.encoding)


def drawn(table: Table, width: int, encoding: str = "utf-8") -> RenderableType:
    """A table that is not wider than this; several below each other, where its columns may be broken up."""
    shown = mapped(table, _showing(encoding))
    if not table.stackings:
        first, *others = (_fitted(piece, width, encoding) for piece in _pieces(shown, width))
        return Group(first, *(each for other in others for each in (Text(), other))) if others else first
    for stacking in table.stackings:
        room = width - _width_beside_first(shown, stacking)
        longest = max(map(text_width, [_first_heading(shown, stacking), *(row.cells[0] for row in shown.rows)]))
        if room >= min(longest, stacking.room):
            break
    return _stacked(shown, stacking, max(room, _SMALLEST_NAME), encoding)


def _showing(encoding: str) -> Spell:
    """Makes a text one that the terminal can show."""
    return lambda text: visible(text, encoding)


def _pieces(table: Table, width: int) -> list[Table]:
    """The table, or as many as it takes to give every column room that must not be left out."""
    if not table.breaks:
        return [table]
    natural, repeated = _natural(table), list(range(table.breaks[0]))
    pieces: list[list[int]] = [repeated]
    for start, end in pairwise([*table.breaks, len(table.columns)]):
        places = [*pieces[-1], *range(start, end)]
        if _taken(natural, [i for i in places if table.columns[i].rank == 0]) > width and len(pieces[-1]) > len(
            repeated
        ):
            places = [*repeated, *range(start, end)]
            pieces.append([])
        pieces[-1] = places
    return [chosen(table, places) for places in pieces]


def _new(encoding: str, leading: int = 0) -> RichTable:
    # Rich draws its own box, with bars, where an encoding is not one of Unicode's and the box is.
    box = _BOX if encoding.lower().startswith("utf") else _ASCII_BOX
    return RichTable(
        box=box, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", leading=leading
    )


def _side(column: Column) -> Literal["left", "right"]:
    return "left" if column.left else "right"


def _fitted(table: Table, width: int, encoding: str) -> RichTable:
    """One line per row: the least important columns go first, then long texts lose their middle."""
    kept, widths = _fit(table, width)
    narrow = chosen(table, kept)
    mark = visible("…", encoding)
    result = _new(encoding)
    for column, room in zip(narrow.columns, widths, strict=True):
        folds = column.folds
        overflow: Literal["fold", "crop"] = "fold" if folds else "crop"
        result.add_column(
            Text(column.heading), justify=_side(column), no_wrap=not folds, max_width=room, overflow=overflow
        )
    texts = [[row.cells[i] for row in narrow.rows] for i in range(len(narrow.columns))]
    parts = zip(texts, narrow.columns, widths, strict=True)
    columns = [_in_room(cells, column, room, mark) for cells, column, room in parts]
    for number, row in enumerate(narrow.rows):
        cells = (Text(column[number], style=row.styles.get(i, "")) for i, column in enumerate(columns))
        result.add_row(*cells, style=row.style)
    return result


def _in_room(cells: Sequence[str], column: Column, room: int, mark: str) -> Sequence[str]:
    """Cells that are not wider than that, or that will be folded."""
    if column.folds:
        return cells
    return [cut(cell, room, mark) for cell in cells] if column.cut else shortened_apart(cells, room, mark)


def _fit(table: Table, width: int) -> tuple[list[int], list[int]]:
    """Which columns have room, and how wide each may be."""
    natural = _natural(table)
    least = [min(n, c.room) if c.room else n for n, c in zip(natural, table.columns, strict=True)]
    kept = list(range(len(table.columns)))
    for rank in sorted({column.rank for column in table.columns} - {0}, reverse=True):
        if _taken(least, kept) <= width:
            break
        kept = [i for i in kept if table.columns[i].rank != rank]
    wanted = {i: natural[i] for i in kept if table.columns[i].room}
    missing = _taken(least, kept) - width
    if missing > 0 and wanted:
        for i in wanted:
            least[i] = max(least[i] - -(-missing // len(wanted)), _SMALLEST)
    _share_out(least, wanted, width - _taken(least, kept))
    return kept, [least[i] for i in kept]


def _natural(table: Table) -> list[int]:
    """The width of each column in which nothing is shortened."""
    return [
        max(text_width(column.heading), max((text_width(row.cells[i]) for row in table.rows), default=0))
        for i, column in enumerate(table.columns)
    ]


def _whole_width(table: Table) -> int:
    return _taken(_natural(table), range(len(table.columns)))


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


# ---------------------------------------------------------------- stacked tables


def _stacked(table: Table, stacking: Stacking, name_width: int, encoding: str) -> RichTable:
    """Several lines per row, each heading at the height of its values."""
    lines = max(map(len, stacking.columns))
    result = _new(encoding, leading=1 if lines > 1 else 0)
    for places in stacking.columns:
        first = table.columns[places[0]]
        heading = Text("\n".join(_headings(table, places, lines)))
        result.add_column(heading, justify=_side(first), no_wrap=places[0] != 0, overflow="fold")
    for row in table.rows:
        result.add_row(*(_cell(row, places, name_width) for places in stacking.columns))
    return result


def _headings(table: Table, places: Sequence[int], lines: int) -> list[str]:
    if lines == 1:
        return [table.columns[places[0]].heading]
    names = [table.columns[place].short or table.columns[place].heading for place in places]
    return names + [""] * (lines - len(names))


def _first_heading(table: Table, stacking: Stacking) -> str:
    return _headings(table, stacking.columns[0], max(map(len, stacking.columns)))[0]


def _cell(row: Row, places: Sequence[int], name_width: int) -> Text:
    texts = [_folded(row.cells[place], name_width) if place == 0 else row.cells[place] for place in places]
    styled = (Text(text, style=row.styles.get(place, row.style)) for place, text in zip(places, texts, strict=True))
    return Text("\n").join(styled)


def _folded(name: str, width: int) -> str:
    longest_word = max(map(len, name.split()), default=0)
    return textwrap.fill(name, max(width, 1), break_on_hyphens=longest_word > width)


def _width_beside_first(table: Table, stacking: Stacking) -> int:
    lines = max(map(len, stacking.columns))
    widths = [
        max(
            text_width(text)
            for text in (
                *_headings(table, places, lines),
                *(row.cells[place] for row in table.rows for place in places),
            )
        )
        for places in stacking.columns[1:]
    ]
    return sum(widths) + _GAP * len(widths)
