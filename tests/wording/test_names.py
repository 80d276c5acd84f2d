"""Words of others made safe to show."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.wording.names import dims_text, name_of, one_line, sizes_text, visible

ANY_TEXT = st.text(st.characters())  # surrogates too: file names may hold them


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain name", "plain name"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\u202eexe", "\\u202eexe"),
        ("\udcff", "\\udcff"),
        ("日本", "日本"),
    ],
)
def test_hidden_characters_become_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANY_TEXT, st.sampled_from(["utf-8", "ascii", "latin-1", "cp1252"]))
def test_visible_text_is_one_line_and_can_always_be_written(text: str, encoding: str) -> None:
    shown = visible(text, encoding)
    assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in shown)
    shown.encode(encoding)


def test_an_empty_name_says_so() -> None:
    assert name_of("") == "(no name)"


def test_an_error_of_several_lines_becomes_one() -> None:
    assert one_line(ValueError("shapes differ:\n  a:  2\n  b: 3")) == "shapes differ: a: 2 b: 3"


def test_dimensions_read_as_assignments() -> None:
    assert dims_text({"batch": 8, "seq": 128}) == "batch=8, seq=128"
    assert sizes_text({"batch": (1, 8), "seq": (128,)}) == "batch=1,8, seq=128"
