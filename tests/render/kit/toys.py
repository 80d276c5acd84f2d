"""Texts that would break out of where they are drawn, a page with all kinds of parts, and a reader of HTML."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import strategies as st

from onnxperf.render.kit.old_table import Column, Row, Stacking, Table
from onnxperf.render.kit.page import Flow, Heading, Line, Part, Verbatim
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


def table(*names: str) -> Table:
    """A row per name with some numbers, of which the last column is the least important."""
    columns = [Column("name", left=True, room=12), Column("mean"), Column("p99", rank=1), Column("calls", rank=2)]
    rows = [Row([name, "8.43 µs", "10.2 µs", f"{12_345 + i}"], "bold", {1: "green"}) for i, name in enumerate(names)]
    return Table(columns, rows, "Times")


def stacked(*names: str) -> Table:
    """A table of four columns, in one line per row, in two or in four."""
    plain = table(*names)
    columns = [column._replace(short=column.heading.upper()) for column in plain.columns]
    stackings = [
        Stacking(((0,), (1,), (2,), (3,)), 24),
        Stacking(((0,), (1, 2), (3,)), 16),
        Stacking(((0,), (1, 2, 3)), 8),
    ]
    return Table(columns, plain.rows, plain.title, stackings)


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
