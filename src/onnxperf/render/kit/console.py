"""Pages on a terminal of any width and character set."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Any, Literal

from rich.box import Box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text
from rich.theme import Theme

from onnxperf.options.spelling import as_keywords
from onnxperf.render.kit.column import Column
from onnxperf.render.kit.page import (
    GAP,
    Answer,
    Flow,
    Foot,
    Heading,
    Line,
    Note,
    Page,
    Part,
    Spell,
    Verbatim,
    Warn,
    on_screen,
)
from onnxperf.render.kit.table import Grid, Table, grid_of
from onnxperf.wording.code import code_pieces, without_marks
from onnxperf.wording.names import cut, encodable, flowed, name_of, shortened_apart, text_width, visible

_LINE_UNDER_HEAD = "    \n    \n {0}{0} \n    \n    \n    \n    \n    \n"
_BOX, _ASCII_BOX = Box(_LINE_UNDER_HEAD.format("─")), Box(_LINE_UNDER_HEAD.format("-"), ascii=True)
_GAP = 2
_SMALLEST = 4
_REPR_WIDTH = 100
_COLORS = {"red": "color(160)", "green": "color(28)", "yellow": "color(130)", "cyan": "color(31)"}
"""Readable on dark and on light terminals; one that has fewer colors shows the nearest."""
_BOLD = {f"bold {name}": f"bold {color}" for name, color in _COLORS.items()}
_THEME = Theme({**_COLORS, **_BOLD, "heading": _BOLD["bold cyan"]})
_CODE = "not dim bold"
_WITHIN = re.compile(
    r"(?<=\d) (?=(?:%|[nµum]?s|[kMGT]?B|min)(?!\w))|(?<=%) (?=CI)|(?<=CI) (?=\d|within)|(?<=CI within) |(?<=^\S) ",
    re.MULTILINE,
)
"""Spaces at which no line is broken."""
_JOIN = "\ue000"
_TAGS: dict[type, str] = {Answer: "bold", Note: "dim", Warn: "yellow"}


class PageConsole(Console):
    """A terminal, a file or a pipe; one whose reader has gone away is an error like any other."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(theme=_THEME, highlight=False, **settings)

    def on_broken_pipe(self) -> None:
        """Rich would exit here, before requested files are written."""
        raise BrokenPipeError


def print_page(page: Page, console: Console, spell: Spell = str) -> None:
    """Draw every part below the one before it."""
    for part, drawing in _drawings(page, console, spell):
        console.print(drawing, soft_wrap=isinstance(part, Verbatim))


def page_group(page: Page, console: Console) -> Group:
    """The page as one drawing for this console, for a screen that is drawn again and again."""
    return Group(*(drawing for _, drawing in _drawings(page, console, str)))


def _drawings(page: Page, console: Console, spell: Spell) -> Iterator[tuple[Part, RenderableType]]:
    """Every part, with single gaps between them."""
    is_below, gap = False, False
    for part in on_screen(page):
        for drawing in _drawn_part(part, console, spell):
            if not isinstance(part, Verbatim) and isinstance(drawing, Text) and not drawing.plain:
                gap = is_below
                continue
            if gap:
                yield GAP, Text()
            is_below, gap = True, False
            yield part, drawing


def _drawn_part(part: Part, console: Console, spell: Spell) -> Iterator[RenderableType]:
    match part:
        case Heading():
            yield _heading(part, console)
        case Flow():
            if part.parts:
                yield _broken(_sentence(_flowed(map(spell, part.parts), console)), console)
        case Line() if part.width <= console.width:
            text = _sentence(visible(spell(part.text), console.encoding), part.style)
            text = _broken(text, console, part.indent)
            yield Padding(text, (0, 0, 0, part.indent), expand=False) if part.indent else text
        case Answer() | Note() | Warn():
            yield _broken(_sentence(visible(spell(part.shown), console.encoding), _TAGS[type(part)]), console)
        case Foot() if any(part.parts):
            yield _broken(_sentence(_flowed(map(spell, part.parts), console), "dim"), console)
        case Verbatim():
            yield from _verbatim(part, console, spell)
        case Table():
            yield from _titled(grid_of(part, console.width), console, spell)


def _titled(grid: Grid, console: Console, spell: Spell) -> Iterator[RenderableType]:
    shown = grid.mapped(lambda text: visible(without_marks(spell(text)), console.encoding))
    if not shown.lines:
        return
    yield Text()
    if shown.title:
        yield Text(shown.title, style="bold")
    yield drawn(shown, console.width, console.encoding)


def page_text(page: Page) -> str:
    """The page as a wide terminal without colors shows it, with options as Python takes them."""
    text = io.StringIO()
    # In a notebook rich would show the table itself, beside the HTML.
    console = PageConsole(file=text, width=_REPR_WIDTH, color_system=None, force_terminal=False, force_jupyter=False)
    print_page(page, console, as_keywords)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _heading(part: Heading, console: Console) -> Text:
    shown = name_of(part.name, console.encoding)
    text = Text(_flowed([shown, *part.facts], console))
    text.stylize("heading", 0, len(shown))
    text.overflow = "fold"
    return text


def _sentence(text: str, style: str = "") -> Text:
    """Code in it is bold in place of its marks."""
    result = Text(style=style)
    for place, piece in enumerate(code_pieces(text)):
        result.append(piece, _CODE if place % 2 else None)
    return result


def _broken(text: Text, console: Console, indent: int = 0) -> Text:
    """The text on as many lines as it needs; a number stays on the line of its unit."""
    joined = text.copy()
    joined.plain = _WITHIN.sub(_JOIN, text.plain)
    lines = joined.wrap(console, max(console.width - indent, 1))
    for line in lines:
        line.plain = line.plain.replace(_JOIN, " ").rstrip()
    return Text("\n").join(lines)


def _flowed(parts: Iterable[str], console: Console) -> str:
    texts = [visible(part, console.encoding) for part in parts if part]
    return flowed(texts, console.width, f" {visible('·', console.encoding)} ")


def _verbatim(part: Verbatim, console: Console, spell: Spell) -> Iterator[Text]:
    coloured = part.ansi if console.is_terminal else ""
    hangs = part.hangs if console.is_terminal else ()  # what reads a pipe gets whole lines
    for line, hang in zip_longest(without_marks(spell(coloured or part.text)).split("\n"), hangs):
        text = Text.from_ansi(encodable(line, console.encoding)) if coloured else Text(visible(line, console.encoding))
        yield from (text,) if hang is None else _hanging(text, console.width, hang)


def _hanging(text: Text, width: int, hang: int) -> Iterator[Text]:
    """A line broken between its words, its rest under its beginning."""
    hang = min(hang, width // 2)
    while len(text) > width:
        end = text.plain.rfind(" ", hang + 1, width + 1)
        end = width if end < 0 else len(text.plain[:end].removesuffix("#").rstrip())  # a comment stays behind its sign
        first, rest = text.divide([end])
        yield first
        text = Text(" " * hang) + rest[len(rest) - len(rest.plain.lstrip()) :]
    yield text


# ---------------------------------------------------------------- tables


def drawn(grid: Grid, width: int, encoding: str = "utf-8") -> RenderableType:
    """A table that is not wider than this; several below each other, where its columns may be broken up."""
    first, *others = (_fitted(piece, width, encoding) for piece in _pieces(grid, width))
    return Group(first, *(each for other in others for each in (Text(), other))) if others else first


def _pieces(grid: Grid, width: int) -> list[Grid]:
    """The table, or as many as it takes to give every column room that must not be left out."""
    breaks = [place for place, column in enumerate(grid.columns) if column.breaks]
    if not breaks:
        return [grid]
    natural, repeated = _natural(grid), list(range(breaks[0]))
    pieces: list[list[int]] = [repeated]
    for start, end in pairwise([*breaks, len(grid.columns)]):
        places = [*pieces[-1], *range(start, end)]
        needed = _taken(natural, [i for i in places if grid.columns[i].width == 0])
        if needed > width and len(pieces[-1]) > len(repeated):
            places = [*repeated, *range(start, end)]
            pieces.append([])
        pieces[-1] = places
    return [grid.chosen(places) for places in pieces]


def _fitted(grid: Grid, width: int, encoding: str) -> RichTable:
    """One line per row: the columns of the widest screens go first, then long texts lose their middle."""
    kept, widths = _fit(grid, width)
    narrow = grid.chosen(kept)
    mark = visible("…", encoding)
    # Rich draws its own box, with bars, where an encoding is not one of Unicode's and the box is.
    box = _BOX if encoding.lower().startswith("utf") else _ASCII_BOX
    headings = ["" if column.untitled else column.heading for column in narrow.columns]
    layout: dict[str, Any] = {"show_edge": False, "pad_edge": False, "padding": (0, 1, 0, 0)}
    result = RichTable(box=box, show_header=any(headings), header_style="bold", **layout)
    for column, heading, room in zip(narrow.columns, headings, widths, strict=True):
        overflow: Literal["fold", "crop"] = "fold" if column.folds else "crop"
        side: Literal["left", "right"] = "left" if column.left else "right"
        result.add_column(Text(heading), justify=side, no_wrap=not column.folds, max_width=room, overflow=overflow)
    texts = [[line.cells[place].text for line in narrow.lines] for place in range(len(narrow.columns))]
    parts = zip(texts, narrow.columns, widths, strict=True)
    columns = [_in_room(cells, column, room, mark) for cells, column, room in parts]
    for number, line in enumerate(narrow.lines):
        cells = (Text(column[number], style=line.cells[i].style) for i, column in enumerate(columns))
        result.add_row(*cells, style=line.style)
    return result


def _in_room(cells: Sequence[str], column: Column[Any], room: int, mark: str) -> Sequence[str]:
    """Cells that are not wider than that, or that will be folded."""
    if column.folds:
        return cells
    return [cut(cell, room, mark) for cell in cells] if column.cut else shortened_apart(cells, room, mark)


def _fit(grid: Grid, width: int) -> tuple[list[int], list[int]]:
    """Which columns have room, and how wide each may be."""
    natural = _natural(grid)
    least = [min(n, c.room) if c.room else n for n, c in zip(natural, grid.columns, strict=True)]
    kept = list(range(len(grid.columns)))
    for widest in sorted({column.width for column in grid.columns} - {0}, reverse=True):
        if _taken(least, kept) <= width:
            break
        kept = [i for i in kept if grid.columns[i].width != widest]
    wanted = {i: natural[i] for i in kept if grid.columns[i].room}
    while _taken(least, kept) > width and any(least[i] > _SMALLEST for i in wanted):
        least[max(wanted, key=least.__getitem__)] -= 1
    _share_out(least, wanted, width - _taken(least, kept))
    return kept, [least[i] for i in kept]


def _natural(grid: Grid) -> list[int]:
    """The width of each column in which nothing is shortened."""
    headings = ["" if column.untitled else column.heading for column in grid.columns]
    cells = [[line.cells[place].text for line in grid.lines] for place in range(len(grid.columns))]
    return [max(map(text_width, [heading, *several])) for heading, several in zip(headings, cells, strict=True)]


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
