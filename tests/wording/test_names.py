"""Words of others made safe to show."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from onnxperf.wording.names import (
    csv_cell,
    dims_text,
    first_of,
    flowed,
    name_of,
    one_line,
    shortened,
    shortened_apart,
    sizes_text,
    storable,
    visible,
    visible_lines,
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


def test_line_breaks_are_all_that_stays_of_what_controls() -> None:
    assert visible_lines("a\r\n\x1b[2J\n") == "a\\r\n\\x1b[2J\n"


SPACES = ["", " ", "  ", "\t", "\r", "\n", "\xa0", "\u2003", "\u3000", "\u200b", "\ufeff", "\u200e \t"]


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠", "﹢", "﹣", "﹦", "﹫"])  # noqa: RUF001
@pytest.mark.parametrize("space", SPACES)
def test_what_a_spreadsheet_may_take_for_a_formula_is_quoted(space: str, sign: str) -> None:
    text = f"{space}{sign}1+1"
    assert csv_cell(text) == f"'{visible(text)}"


@pytest.mark.parametrize("value", ["", " ", "a=1", "'=1", " a", "1-2", "(=1)", -1, 1.5, None, True])
def test_other_cells_stay_as_they_are(value: object) -> None:
    assert csv_cell(value) == value


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


@pytest.mark.parametrize(
    ("texts", "width", "shown"),
    [
        (["short", "names"], 10, ["short", "names"]),
        (["a" * 30, "b" * 30], 9, ["aaaa…aaaa", "bbbb…bbbb"]),
        (
            ["/encoder/layer.0/attention/query/MatMul", "/encoder/layer.1/attention/query/MatMul"],
            18,
            ["/enc…0/atte…MatMul", "/enc…1/atte…MatMul"],
        ),
        (
            ["/encoder/layer.1/output/MatMul", "/encoder/layer.10/output/MatMul"],
            16,
            ["/enc…1/out…atMul", "/enc…10/ou…atMul"],
        ),
        (["same long name twice"] * 2, 10, ["same …wice"] * 2),
        (["abcdefgh" * 4, "abcdefgh" * 5], 12, ["abc…", "abc…abcdefgh"]),
        (["x" * 20 + "1", "x" * 20 + "2"], 3, ["x…1", "x…2"]),
    ],
)
def test_different_names_stay_different_when_they_are_shortened(texts: list[str], width: int, shown: list[str]) -> None:
    assert shortened_apart(texts, width) == shown


@given(st.lists(st.integers(0, 99), min_size=2, max_size=20, unique=True), st.integers(16, 80))
def test_names_that_differ_in_one_number_are_told_apart(numbers: list[int], width: int) -> None:
    texts = [f"/model/encoder/block.{number}/attention/self/query/MatMul" for number in numbers]
    shown = shortened_apart(texts, width)
    assert len(set(shown)) == len(texts)
    assert max(map(cell_len, shown)) <= width


@given(st.lists(ANY_TEXT.map(visible), max_size=8), st.integers(1, 40))
def test_names_that_are_shortened_together_are_never_too_wide(texts: list[str], width: int) -> None:
    assert all(cell_len(short) <= width for short in shortened_apart(texts, width))
