"""Code in sentences: a style on screens, a tag on pages, a span in Markdown; names from outside cannot misuse it."""

from __future__ import annotations

import pytest

from onnxperf.render.kit.console import page_text
from onnxperf.render.kit.html import page_html
from onnxperf.render.kit.markdown import page_markdown
from onnxperf.render.kit.page import Note
from onnxperf.wording.code import code_pieces, without_marks


@pytest.mark.parametrize(
    ("text", "pieces", "plain"),
    [
        ("increase `--time 45` now", ["increase ", "--time 45", " now"], "increase --time 45 now"),
        ("`a` and `b`", ["", "a", " and ", "b", ""], "a and b"),
        ("one ` alone", ["one ` alone"], "one ` alone"),
    ],
)
def test_code_stands_between_backquotes(text: str, pieces: list[str], plain: str) -> None:
    assert code_pieces(text) == pieces
    assert without_marks(text) == plain


def test_every_form_of_a_page_shows_code_in_its_own_way() -> None:
    page = [Note("run it with `time=45`")]
    assert page_text(page) == "run it with time=45"
    assert "run it with <code>time=45</code>" in page_html(page)
    assert page_markdown(page) == "run it with `time=45`\n"


def test_code_from_outside_is_escaped() -> None:
    page = [Note("named `<b>|`")]
    assert "<code>&lt;b&gt;|</code>" in page_html(page)
    assert page_markdown(page) == "named &lt;b&gt;\\|\n"
