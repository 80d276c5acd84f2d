"""Pages as Markdown that GitHub shows as it is meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from onnxperf.render.kit.page import (
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
from onnxperf.wording.code import code_pieces
from onnxperf.wording.names import name_of, visible

_BRIEF = 5
"""Columns of a table that are not folded away."""
_BLOCK_START = re.compile(r"(?P<before>\d{0,9})(?P<mark>[-+](?=[\s-]|$)|(?<=\d)[.)](?=\s|$))")
"""What begins a list or draws a line."""
_CODE = re.compile(r"[\w.,:=/*×…+%-][\w .,:=/*×…+%-]*")
"""Code without signs that mean something in tables: names in texts come from outside."""
_LINKS = {"://": "&#58;//", "www.": "www&#46;"}
"""What GitHub makes links of."""
_ESCAPES = str.maketrans(
    {c: f"\\{c}" for c in "\\`*_[]|~$#"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "@": "&#64;"}
)


def page_markdown(page: Page, spell: Spell = str) -> str:
    """Every part as a paragraph, a table or a code block."""
    return "\n\n".join(text for part in on_screen(page) if (text := part_markdown(part, spell))) + "\n"


def part_markdown(part: Part, spell: Spell = str) -> str:
    """One part; nothing if it is empty."""

    def shown(text: str) -> str:
        return markdown_text(spell(text))

    match part:
        case Heading():
            return " · ".join(
                [
                    f"**{markdown_text(name_of(visible(part.name).strip()))}**",
                    *map(markdown_text, filter(None, part.facts)),
                ]
            )
        case Flow() | Foot():
            return _started(" · ".join(map(shown, filter(None, part.parts))))
        case Line() if part.width:
            return ""  # it explains columns that are folded away
        case Line():
            return f"- {_started(shown(part.text))}" if part.indent else _started(shown(part.text))
        case Verbatim():
            fence = max(["``", *re.findall(r"`{3,}", part.text)], key=len) + "`"
            return "\n".join([fence, *map(visible, part.text.split("\n")), fence])
        case Answer() | Note() | Warn():
            text = _started(shown(part.shown))
            return f"**{text}**" if isinstance(part, Answer) else text
        case Table():
            return "\n\n".join(_table(grid_of(part, figures=False).mapped(spell)))
    return ""


def table_markdown(table: Table[Any]) -> str:
    """All columns of a table, as a file has them."""
    return "\n".join(_grid(grid_of(table))) + "\n"


def _table(grid: Grid) -> Iterator[str]:
    """The most important columns, and all of them folded away."""
    if not grid.lines:
        return
    brief = grid.chosen(grid.brief(_BRIEF))
    yield "\n".join(_grid(brief))
    if len(brief.columns) < len(grid.columns):
        yield folded("All figures", ["\n".join(_grid(grid._replace(title="")))])


def folded(title: str, parts: Iterable[str]) -> str:
    """What GitHub shows after a click."""
    return "\n\n".join([f"<details><summary>{markdown_text(title)}</summary>", *parts, "</details>"])


def _grid(grid: Grid) -> Iterator[str]:
    if grid.title:
        yield f"{markdown_text(grid.title)}:\n"
    yield _row(markdown_text(column.heading) for column in grid.columns)
    yield _row("---" if column.left else "---:" for column in grid.columns)
    for line in grid.lines:
        texts = [cell.text for cell in line.cells]
        # Cells that are indented stay so.
        yield _row(("&emsp;" if text.startswith(" ") else "") + markdown_text(text.strip(" ")) for text in texts)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def markdown_text(text: str) -> str:
    """A text in which Markdown finds nothing to interpret but its code."""
    pieces = code_pieces(visible(text))
    return "".join(
        f"`{piece}`" if place % 2 and _CODE.fullmatch(piece) else _escaped(piece) for place, piece in enumerate(pieces)
    )


def _escaped(text: str) -> str:
    escaped = text.translate(_ESCAPES)
    for link, broken in _LINKS.items():
        escaped = escaped.replace(link, broken)
    return escaped


def _started(text: str) -> str:
    """A text that begins a line and nothing else."""
    text = text.lstrip()
    found = _BLOCK_START.match(text)
    return f"{found['before']}\\{text[found.end('before') :]}" if found else text
