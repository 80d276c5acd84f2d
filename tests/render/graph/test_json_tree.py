"""JSON as a tree on a page."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from onnxperf.render.graph.json_tree import json_tree


class Page(HTMLParser):
    """The texts and the foldable parts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.opened: list[bool] = []
        self.tags: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember it."""
        self.tags.append(tag)
        if tag == "details":
            self.opened.append("open" in dict(attrs))

    def handle_data(self, data: str) -> None:
        """Remember it."""
        self.texts.append(data)


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"version": 1, "shape": [1, 2]}, '{"version": 1, "shape": [1, 2]}'),
        ("text", '"text"'),
        ([], "[]"),
        (None, "null"),
    ],
)
def test_what_is_short_is_one_line(document: object, text: str) -> None:
    page = Page(json_tree(json.dumps(document)))
    assert "".join(page.texts) == text
    assert not page.opened


def test_what_is_deep_is_folded() -> None:
    nodes = [{"label": f"node {i}", "inputs": [f"input {j} of a long list" for j in range(9)]} for i in range(3)]
    page = Page(json_tree(json.dumps({"graph": {"nodes": nodes}})))
    assert page.opened == [True, True, *[False] * 7]
    assert ": [3 items]" in page.texts
    assert ": label node 2" in page.texts


def test_long_lists_of_numbers_are_one_text_with_an_end() -> None:
    page = Page(json_tree(json.dumps({"values": list(range(100_000)), "name": "W"})))
    assert page.tags.count("details") == 2
    assert any(text.startswith("[0, 1, 2") for text in page.texts)
    assert "… 99,000 more" in page.texts


def test_names_and_values_are_only_texts() -> None:
    evil = "</div><script>alert(1)</script>\x1b"
    page = Page(json_tree(json.dumps({evil: [evil * 9, {evil: evil * 9}]})))
    assert set(page.tags) == {"div", "details", "summary", "strong"}
