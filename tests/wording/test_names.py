"""Words of others made safe to show."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from onnxperf.wording.names import (
    dims_text,
    first_of,
    flowed,
    name_of,
    one_line,
    shortened,
    sizes_text,
    storable,
    visible,
    with_reasons,
)

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


@pytest.mark.parametrize(
    ("most", "text"), [(5, "a, b, c"), (3, "a, b, c"), (2, "a, b and 1 more"), (1, "a and 2 more"), (None, "a, b, c")]
)
def test_of_many_names_the_first_are_given(most: int | None, text: str) -> None:
    assert first_of(["a", "b", "c"], most) == text


def test_names_that_share_a_reason_stand_together() -> None:
    named = [("a", "too slow"), ("b", ""), ("", "lost"), ("c", "too slow")]
    assert with_reasons(named) == ["a, c: too slow", "(no name): lost"]


def test_half_a_surrogate_pair_is_stored_as_an_escape() -> None:
    assert storable("a\udcffé") == "a\\udcffé"


@pytest.mark.parametrize(
    ("text", "width", "short"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abc…fg"),
        ("abcdefg", 1, "…"),
        ("abcdefg", 0, ""),
        ("日本語日本語", 7, "日本…語"),
        ("", 5, ""),
    ],
)
def test_a_long_text_loses_its_middle(text: str, width: int, short: str) -> None:
    assert shortened(text, width) == short


@given(st.text(), st.integers(0, 30))
def test_a_shortened_text_is_never_too_wide(text: str, width: int) -> None:
    assert cell_len(shortened(text, width)) <= width


@given(st.lists(st.text("abc", min_size=1, max_size=12)), st.integers(12, 40))
def test_flowing_parts_are_whole_and_in_order(parts: list[str], width: int) -> None:
    lines = flowed(parts, width, " | ").splitlines()
    assert " | ".join(lines) == " | ".join(parts)
    assert all(len(line) <= width for line in lines)
