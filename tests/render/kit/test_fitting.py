"""Tables that fit into a narrow terminal."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from onnxperf.render.kit.column import Column
from onnxperf.render.kit.console import PageConsole, print_page
from onnxperf.render.kit.table import Table


def cells(line: str) -> list[str]:
    return re.split(r"  +", line.strip())


def lines_of(table: Table[Any], width: int) -> list[str]:
    text = io.StringIO()
    print_page([table], PageConsole(file=text, width=width, color_system=None))
    return [line.rstrip() for line in text.getvalue().splitlines()]


def column(heading: str, width: int = 0, **more: Any) -> Column[dict[str, str]]:
    return Column(heading, heading, lambda row: row[heading], width=width, **more)


def test_columns_go_by_the_width_of_the_console_then_by_room_and_then_texts_are_cut() -> None:
    columns = [column("name", room=6), column("kept"), column("second", 15), column("first", 30)]
    table = Table(columns, [{"name": "a very long name", "kept": "1", "second": "2", "first": "3"}])
    assert cells(lines_of(table, 80)[0]) == ["name", "kept", "second", "first"]
    assert cells(lines_of(table, 29)[0]) == ["name", "kept", "second"]
    assert lines_of(table, 13)[2] == "a v…ame  1"
    assert cells(lines_of(table, 10)[0]) == ["name", "kept"]


def test_among_columns_that_lack_room_those_of_the_widest_screens_go_first() -> None:
    columns = [column("name"), column("second", 1), column("first", 2)]
    table = Table(columns, [{"name": "n" * 10, "second": "s" * 10, "first": "f" * 10}])
    assert cells(lines_of(table, 34)[0]) == ["name", "second", "first"]
    assert cells(lines_of(table, 33)[0]) == ["name", "second"]
    assert cells(lines_of(table, 12)[0]) == ["name"]


def test_a_table_with_breaks_continues_below_with_its_first_columns() -> None:
    columns = [column("batch"), *(column(name, breaks=True) for name in ("one", "two", "three"))]
    table = Table(columns, [{"batch": "8", "one": "1" * 8, "two": "2" * 8, "three": "3" * 8}])
    assert [cells(line) for line in lines_of(table, 26) if "batch" in line] == [
        ["batch", "one", "two"],
        ["batch", "three"],
    ]


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize("name", ["n" * 200, "名" * 100, "a name of several words " * 9])
def test_a_long_name_takes_no_more_than_the_console_has(name: str, width: int) -> None:
    for folds in (False, True):
        columns = [column("name", room=12, folds=folds), column("time")]
        lines = lines_of(Table(columns, [{"name": name, "time": "8.43 µs"}]), width)
        assert all(len(line) <= width for line in lines)
        assert any("8.43 µs" in line for line in lines)
