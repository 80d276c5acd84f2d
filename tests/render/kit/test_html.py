"""Pages in notebooks."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from onnxperf.render.kit.html import page_html
from onnxperf.render.kit.page import Flow, Heading, Line
from onnxperf.wording.code import without_marks
from onnxperf.wording.names import name_of, visible
from tests.render.kit import toys
from tests.render.kit.toys import Elements

TAGS = {"div", "p", "code", "pre", "table", "thead", "tbody", "tr", "th", "td"}


@given(toys.HOSTILE)
def test_a_hostile_name_is_text_and_nothing_else(name: str) -> None:
    assume(without_marks(name) == name)  # a name in backquotes looks like code
    page = Elements(page_html(toys.page(name)))
    assert set(page.tags) <= TAGS
    assert page.attributes == {"style"}
    texts = [text for where, text in page.texts if where != "pre"]
    if name:
        assert texts.count(visible(name)) == 3  # two lines and a cell
        assert f"{name_of(name)} · {visible(name)}" in texts
        assert [text.split("\n") for where, text in page.texts if where == "pre"] == [
            [visible(line) for line in name.split("\n")]
        ]


def test_numbers_end_at_the_right_and_words_start_at_the_left() -> None:
    html = page_html([toys.table("a")])
    assert html.count("text-align:left") == 2
    assert html.count("text-align:right") == 6


def test_styles_become_colors_that_hold_on_light_and_dark_pages() -> None:
    html = page_html([toys.table("a"), Line("note", "dim"), Line("what", "unknown")])
    assert "font-weight:600" in html
    assert "color:#13865c" in html
    assert "opacity:.7" in html
    assert "unknown" not in html


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("style", ["red", "green", "yellow", "cyan"])
def test_colored_words_can_be_read_on_white_and_on_black(style: str) -> None:
    color = page_html([Line("word", style)]).partition("color:#")[2][:6]
    shade = luminance(f"#{color}")
    assert 1.05 / (shade + 0.05) >= 4.5
    assert (shade + 0.05) / 0.05 >= 4.5


EMPTY = {"table": toys.table(), "line": Line(""), "flow": Flow([]), "flow of nothing": Flow(["", ""])}


@pytest.mark.parametrize("part", EMPTY.values(), ids=EMPTY)
def test_what_is_empty_leaves_no_trace(part: Line | Flow) -> None:
    assert Elements(page_html([part])).tags == ["div"]


def test_an_indented_cell_and_an_indented_line_stay_so() -> None:
    html = page_html([toys.table("  copy"), Line("below", indent=4), Heading("m", ["", "fact"])])
    assert "white-space:pre" in html
    assert "margin-left:4ch" in html
    assert ">m · fact<" in html
