"""Pages as Markdown, read back by a parser of it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from onnxperf.render.kit.markdown import page_markdown
from onnxperf.render.kit.page import Flow, Heading, Line, Part, Verbatim
from onnxperf.wording.names import name_of, visible
from tests.render.kit import toys
from tests.render.kit.toys import Elements

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def read(*parts: Part) -> Elements:
    return Elements(PARSER.render(page_markdown(parts)))


def words(text: str) -> str:
    """Text as Markdown keeps it: spaces at the ends do not count."""
    return " ".join(text.split())


def said(page: Elements, tag: str) -> list[str]:
    return [words(text) for where, text in page.texts if where == tag]


@given(toys.HOSTILE)
def test_a_hostile_name_is_text_wherever_it_stands(name: str) -> None:
    shown = words(visible(name))
    if shown:
        assert said(read(Line(name)), "p") == [shown]
        assert "".join(said(read(Line(name, indent=2)), "li")) == shown
        assert said(read(Flow([name, "fact"])), "p") == [words(f"{visible(name)} · fact")]
        assert shown in said(read(toys.table(name)), "td")
    assert "".join(said(read(Heading(name)), "strong")) == words(name_of(visible(name).strip()))


@given(toys.HOSTILE)
def test_a_verbatim_block_ends_where_it_should(name: str) -> None:
    page = read(Verbatim(f"{name}\nend"), Line("after"))
    code = "".join(text for where, text in page.texts if where == "code")
    assert code == "\n".join(visible(line) for line in f"{name}\nend".split("\n")) + "\n"
    assert said(page, "p") == ["after"]


@pytest.mark.parametrize(("ticks", "fence"), [("", "```"), ("```", "````"), ("`````", "``````"), ("``", "```")])
def test_a_fence_is_longer_than_any_in_the_text(ticks: str, fence: str) -> None:
    assert page_markdown([Verbatim(f"a {ticks} b")]).splitlines()[0] == fence


@pytest.mark.parametrize("link", ["https://example.org/x", "www.example.org", "me@example.org", "@someone", "#12"])
def test_github_finds_no_links_in_names(link: str) -> None:
    written = page_markdown([Line(link)])
    assert not re.search(r"://|www\.|@|(?<!\\)#(?=\d)(?!\d+;)", re.sub(r"&#\d+;", "", written))
    assert said(Elements(PARSER.render(written)), "p") == [link]


def test_numbers_in_cells_are_left_alone() -> None:
    assert "| -12.0 | 8.43 µs |" in page_markdown([toys.table("-12.0")])


def test_a_table_has_its_title_headings_and_sides() -> None:
    lines = page_markdown([toys.table("a")]).splitlines()
    assert lines == [
        "Times:",
        "",
        "| name | mean | p99 | calls |",
        "| --- | ---: | ---: | ---: |",
        "| a | 8.43 µs | 10.2 µs | 12,345 |",
    ]


def test_an_indented_cell_stays_so_and_an_indented_line_is_an_item() -> None:
    text = page_markdown([toys.table("  copy"), Line("below", indent=2)])
    assert "| &emsp;copy |" in text
    assert text.endswith("\n- below\n")


@pytest.mark.parametrize("part", [toys.table(), Line(""), Flow([])], ids=lambda part: type(part).__name__)
def test_what_is_empty_leaves_no_trace(part: Line | Flow) -> None:
    assert page_markdown([Line("a"), part, Line("b")]) == "a\n\nb\n"
