"""Texts that would break out of where they are drawn, a page with all kinds of parts, and a reader of HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from hypothesis import strategies as st

from onnxperf.render.kit.column import NS, WHOLE, Column
from onnxperf.render.kit.page import Flow, Heading, Line, Part, Verbatim
from onnxperf.render.kit.table import Table
from tests.render import examples

HOSTILE = st.one_of(
    st.sampled_from(
        (
            *examples.NASTY_NAMES,
            "- item",
            "---",
            "1. one",
            "+ plus",
            "    code",
            "# head",
            "> quote",
            "```fence",
            "~~~",
            "***",
            "&lt;",
            "https://example.org",
            "www.example.org",
            "<a href=x>",
            "![x](y)",
            "`time=5`",
            "\u00a0",
            "a\\|b",
            "|",
        )
    ),
    st.text(max_size=40),
)
"""Names as models and users may have them."""


def page(name: str) -> list[Part]:
    """Every kind of part, all with this name in it."""
    return [
        Heading(name, [name]),
        Flow([name, "a fact"]),
        Line(name, "bold"),
        Line(name, indent=2),
        Verbatim(name),
        table(name),
    ]


def table(*names: str) -> Table[Any]:
    """A row per name with some numbers, of which the last column is the least important."""
    columns: list[Column[tuple[int, str]]] = [
        Column("name", "name", lambda row: row[1], room=12),
        Column("mean_ns", "mean", lambda _: 8_430.0, NS, style="green"),
        Column("p99_ns", "p99", lambda _: 10_200.0, NS, 60),
        Column("calls", "calls", lambda row: 12_345 + row[0], WHOLE, 80),
    ]
    return Table(columns, list(enumerate(names)), "Times", style=lambda _: "bold")


class Elements(HTMLParser):
    """The elements of a page, their attributes, and the text in each."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember it."""
        self.tags.append(tag)
        self._open.append(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        """Every element is closed in its turn."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Remember where a text stands."""
        if self._open:
            self.texts.append((self._open[-1], data))
