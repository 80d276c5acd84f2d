"""Pages as a terminal and a notebook show them."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from typing import Any

from onnxperf.render.kit.console import PageConsole, print_page
from onnxperf.render.kit.html import page_html
from onnxperf.render.kit.page import Page

TAGS = {"br", "div", "span", "table", "thead", "tbody", "tr", "th", "td", "p", "pre"}
"""All that a page may consist of."""


def printed(page: Page, width: int = 120, encoding: str = "utf-8", colour: bool = False) -> str:
    """What a terminal of this width shows."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    system: Any = "standard" if colour else None
    console = PageConsole(file=stream, width=width, color_system=system, force_terminal=colour, legacy_windows=False)
    print_page(page, console)
    return raw.getvalue().decode(encoding)


def line_with(text: str, part: str) -> str:
    """The first line that has this part."""
    return next(line for line in text.splitlines() if part in line)


def cells(line: str) -> list[str]:
    """The cells of a line of a table."""
    return re.split(r"  +", line.strip())


class Markup(HTMLParser):
    """The tags, attributes and words of a page as HTML."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(page_html(page))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words.append(data)
