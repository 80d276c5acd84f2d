"""Tables that fit into a narrow terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from onnxperf.render.kit.old_console import drawn
from onnxperf.render.kit.old_table import Column, Row, Stacking, Table


def cells(line: str) -> list[str]:
    return re.split(r"  +", line.strip())


def lines_of(table: Table, width: int) -> list[str]:
    text = io.StringIO()
    Console(file=text, width=width, color_system=None).print(drawn(table, width))
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_columns_go_by_rank_and_then_texts_are_cut() -> None:
    columns = (Column("name", left=True, room=6), Column("kept"), Column("second", rank=1), Column("first", rank=2))
    table = Table(columns, [Row(("a very long name", "1", "2", "3"))])
    assert cells(lines_of(table, 80)[0]) == ["name", "kept", "second", "first"]
    assert cells(lines_of(table, 20)[0]) == ["name", "kept", "second"]
    assert lines_of(table, 13)[2] == "a v…ame     1"
    assert cells(lines_of(table, 10)[0]) == ["name", "kept"]


@pytest.mark.parametrize("width", range(10, 24))
def test_a_heading_that_is_longer_than_its_names_is_not_broken(width: int) -> None:
    columns = [Column("name", left=True), Column("time"), Column("status")]
    rows = [Row(["add", "1 ms", "ok"]), Row(["mul", "2 ms", "ok"])]
    stackings = [Stacking(((0,), (1,), (2,)), room=20), Stacking(((0, 2), (1,)), room=20)]
    lines = lines_of(Table(columns, rows, stackings=stackings), width)
    assert lines[0].startswith("name")
