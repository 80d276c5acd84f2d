"""Texts and tables that fit into a narrow terminal."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from onnxperf.render.kit.console import drawn
from onnxperf.render.kit.table import Column, Row, Table
from onnxperf.wording.names import flowed, shortened


def cells(line: str) -> list[str]:
    return re.split(r"  +", line.strip())


def lines_of(table: Table, width: int) -> list[str]:
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(drawn(table, width))
    return [line.rstrip() for line in text.getvalue().splitlines()]


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


def test_columns_go_by_rank_and_then_texts_are_cut() -> None:
    columns = (Column("name", left=True, room=6), Column("kept"), Column("second", rank=1), Column("first", rank=2))
    table = Table(columns, [Row(("a very long name", "1", "2", "3"))])
    assert cells(lines_of(table, 80)[0]) == ["name", "kept", "second", "first"]
    assert cells(lines_of(table, 20)[0]) == ["name", "kept", "second"]
    assert lines_of(table, 13)[2] == "a v…ame     1"
    assert cells(lines_of(table, 10)[0]) == ["name", "kept"]
