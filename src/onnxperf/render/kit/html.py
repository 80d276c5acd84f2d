"""Pages as HTML fragments for notebooks: no script, no network, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from onnxperf.options.spelling import as_keywords
from onnxperf.render.kit.page import Answer, Flow, Foot, Heading, Line, Note, Page, Part, Verbatim, Warn, on_screen
from onnxperf.render.kit.table import Grid, Table, grid_of
from onnxperf.wording.code import code_pieces, without_marks
from onnxperf.wording.names import name_of, visible

_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = "padding:.3em .8em;border:0;white-space:nowrap;background:transparent;color:inherit"
_SIGNS = ";font-family:monospace;white-space:pre"
"""Of graphics made of characters, which must stand below each other."""
_BRIEF = 6
"""Columns of a table: the cell of a notebook shows them without scrolling."""
# Colors of 4.5 times the contrast on white and on black; signs and words say the same as the colors.
_STYLES = {
    "dim": "opacity:.7",
    "bold": "font-weight:600",
    "red": "color:#d34317",
    "green": "color:#13865c",
    "yellow": "color:#9b6d00",
    "cyan": "color:#097fa6",
}
_TAGS: dict[type, str] = {Answer: "bold", Note: "dim", Warn: "yellow"}


def page_html(page: Page) -> str:
    """A whole fragment, which scrolls sideways where a notebook is narrow."""
    return f'<div style="overflow-x:auto;color:inherit">{"".join(map(_part, on_screen(page)))}</div>'


def _part(part: Part) -> str:
    match part:
        case Heading():
            return _paragraph(" · ".join([name_of(part.name), *filter(None, part.facts)]), "bold")
        case Flow() | Foot():
            return _paragraph(" · ".join(filter(None, part.parts)), "dim" if isinstance(part, Foot) else "")
        case Line() if not part.width:
            return _paragraph(part.text, part.style, f";margin-left:{part.indent}ch" if part.indent else "")
        case Verbatim():
            lines = "\n".join(map(visible, part.text.split("\n")))
            return f"<pre>{escape(lines)}</pre>"
        case Answer() | Note() | Warn():
            return _paragraph(part.shown, _TAGS[type(part)])
        case Table():
            grid = grid_of(part).mapped(lambda text: without_marks(as_keywords(text)))
            return _grid(grid.chosen(grid.brief(_BRIEF)))
    return ""


def _grid(grid: Grid) -> str:
    """A table under its title; nothing without rows."""
    if not grid.lines:
        return ""
    sides = ["left" if column.left else "right" for column in grid.columns]
    headings = zip(grid.columns, sides, strict=True)
    head = _row(_cell("th", column.heading, side) for column, side in headings)
    body = "".join(
        _row(
            _cell("td", cell.text, side, _css(f"{line.style} {cell.style}") + (_SIGNS if cell.figure.marks else ""))
            for cell, side in zip(line.cells, sides, strict=True)
        )
        for line in grid.lines
    )
    style = "border-collapse:collapse;font-variant-numeric:tabular-nums"
    return f'{_paragraph(grid.title, "bold")}<table style="{style}"><thead>{head}</thead><tbody>{body}</tbody></table>'


def _css(style: str) -> str:
    return "".join(f";{_STYLES[word]}" for word in style.split() if word in _STYLES)


def _row(cells: Iterable[str]) -> str:
    return f'<tr style="border-bottom:{_LINE};background:transparent">{"".join(cells)}</tr>'


def _cell(tag: str, text: str, side: str, look: str = "") -> str:
    """A cell; one that is indented stays so."""
    more = look + (";white-space:pre" if text.startswith(" ") else "")
    return f'<{tag} style="{_CELL};text-align:{side}{more}">{escape(visible(text))}</{tag}>'


def _paragraph(text: str, style: str = "", more: str = "") -> str:
    return f'<p style="margin:.5em 0{_css(style)}{more}">{sentence_html(as_keywords(text))}</p>' if text else ""


def sentence_html(text: str) -> str:
    """A text whose code looks like code."""
    pieces = [escape(piece) for piece in code_pieces(visible(text))]
    return "".join(f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces))
