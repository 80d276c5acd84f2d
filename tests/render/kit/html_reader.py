"""Reads an HTML fragment back: its tags, attributes and words."""

from __future__ import annotations

from html.parser import HTMLParser

ALLOWED = {"div", "table", "thead", "tbody", "tr", "th", "td", "p"}


class HtmlReader(HTMLParser):
    """What a fragment consists of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember a tag and its attributes."""
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        """Remember a text."""
        self.words.append(data)
