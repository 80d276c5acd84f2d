"""Pages as HTML fragments for notebooks: no script, no network, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from onnxperf.render.kit.page import Flow, Heading, Line, Page, Part, Verbatim
from onnxperf.render.kit.table import Row, Table
from onnxperf.wording.names import name_of, visible

_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = "padding:.3em .8em;border:0;white-space:nowrap;background:transparent;color:inherit"
# Colours of middle lightness hold on white and on black; signs and words say the same as the colours.
_STYLES = {
    "dim": "opacity:.7",
    "bold": "font-weight:600",
    "red": "color:#e0532f",
    "green": "color:#1a9e6b",
    "yellow": "color:#c98a00",
}


def page_html(page: Page) -> str:
    """A whole fragment, which scrolls sideways where a notebook is narrow."""
    return f'<div style="overflow-x:auto;color:inherit">{"".join(map(_part, page))}</div>'


def _part(part: Part) -> str:
    match part:
        case Heading():
            return _paragraph(" · ".join([name_of(part.name), *filter(None, part.facts)]), "bold")
        case Flow():
            return _paragraph(" · ".join(filter(None, part.parts)))
        case Line():
            return _paragraph(part.text, part.style, f";margin-left:{part.indent}ch" if part.indent else "")
        case Verbatim():
            lines = "\n".join(map(visible, part.text.split("\n")))
            return f"<pre>{escape(lines)}</pre>"
        case Table():
            return _table(part.flat())


def _table(table: Table) -> str:
    """A table under its title; nothing where it has no rows."""
    if not table.rows:
        return ""
    sides = ["left" if column.left else "right" for column in table.columns]
    head = _row(_cell("th", column.heading, side) for column, side in zip(table.columns, sides, strict=True))
    body = "".join(
        _row(
            _cell("td", cell, side, _look(row, place) + (";white-space:pre" if cell.startswith(" ") else ""))
            for place, (cell, side) in enumerate(zip(row.cells, sides, strict=True))
        )
        for row in table.rows
    )
    style = "border-collapse:collapse;font-variant-numeric:tabular-nums"
    return f'{_paragraph(table.title, "bold")}<table style="{style}"><thead>{head}</thead><tbody>{body}</tbody></table>'


def _look(row: Row, place: int) -> str:
    return _css(f"{row.style} {row.styles.get(place, '')}")


def _css(style: str) -> str:
    return "".join(f";{_STYLES[word]}" for word in style.split() if word in _STYLES)


def _row(cells: Iterable[str]) -> str:
    return f'<tr style="border-bottom:{_LINE};background:transparent">{"".join(cells)}</tr>'


def _cell(tag: str, text: str, side: str, more: str = "") -> str:
    return f'<{tag} style="{_CELL};text-align:{side}{more}">{escape(visible(text))}</{tag}>'


def _paragraph(text: str, style: str = "", more: str = "") -> str:
    return f'<p style="margin:.5em 0{_css(style)}{more}">{escape(visible(text))}</p>' if text else ""
