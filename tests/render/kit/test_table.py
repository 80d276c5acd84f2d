"""The one table: columns of values, and the rows below them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from onnxperf.render.kit.column import FLAG, INTERVAL, NS, RATIO, SHARE, TEXT, WHOLE, Column, for_files, for_screens
from onnxperf.render.kit.frames import frame_of
from onnxperf.render.kit.table import Footer, Table, grid_of, plain_table


class Row(NamedTuple):
    """Something with a time."""

    name: str
    ns: float | None = None
    ends: tuple[float, float] | None = None
    calls: int | None = 3


COLUMNS: list[Column[Row]] = [
    Column("name", "name", lambda row: row.name),
    Column("time_ns", "time", lambda row: row.ns, NS, style=lambda row: "green" if row.ns else "red"),
    Column("speedup", "95 % CI", lambda row: row.ends, INTERVAL, 80),
    for_files("calls", lambda row: row.calls, WHOLE),
    for_screens("first letter", lambda row: row.name[:1]),
]
ROWS = [Row("run", 8_430.0, (1.1, 1.2)), Row("bind", None, None, None)]


def shown(table: Table[Any], width: int = 1000) -> list[list[str]]:
    grid = grid_of(table, width)
    return [[column.heading for column in grid.columns], *([cell.text for cell in line.cells] for line in grid.lines)]


def test_a_screen_shows_formatted_values_and_a_dash_for_a_number_that_is_not_known() -> None:
    assert shown(Table(COLUMNS, ROWS)) == [
        ["name", "time", "95 % CI", "first letter"],
        ["run", "8.43 µs", "1.10–1.20", "r"],
        ["bind", "–", "–", "b"],
    ]


def test_a_column_is_shown_from_its_width_on() -> None:
    assert shown(Table(COLUMNS, ROWS), 79)[0] == ["name", "time", "first letter"]
    assert "95 % CI" in shown(Table(COLUMNS, ROWS), 80)[0]


def test_files_have_the_values_with_a_column_for_each_end_of_an_interval() -> None:
    frame = frame_of(Table(COLUMNS, ROWS))
    assert list(frame.columns) == ["name", "time_ns", "speedup_low", "speedup_high", "calls"]
    assert frame.iloc[0].tolist() == ["run", 8_430.0, 1.1, 1.2, 3]
    assert frame.iloc[1].isna().tolist() == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("form", "values", "dtype"),
    [
        (NS, [1.0, None], "float64"),
        (NS, [1, 2], "float64"),
        (WHOLE, [1, None], "Int64"),
        (FLAG, [True, False], "bool"),
        (FLAG, [True, None], "boolean"),
        (TEXT, ["a", None], "object"),
        (RATIO, [], "float64"),
    ],
)
def test_the_type_of_a_column_hangs_on_its_format(form: Any, values: list[Any], dtype: str) -> None:
    column: Column[Any] = Column("x", "x", lambda row: row, form)
    assert str(frame_of(Table([column], values))["x"].dtype) == dtype


def test_columns_that_are_empty_in_every_row_are_left_out_on_screens_and_stay_in_files() -> None:
    table = Table(COLUMNS, [Row("run", None, None)])
    assert shown(table)[0] == ["name", "first letter"]
    assert "time_ns" in frame_of(table).columns


def test_styles_belong_to_cells_and_to_rows() -> None:
    grid = grid_of(Table(COLUMNS, ROWS, style=lambda row: "" if row.ns else "dim"))
    assert [line.style for line in grid.lines] == ["", "dim"]
    assert [line.cells[1].style for line in grid.lines] == ["green", "red"]


def test_footers_stand_below_with_values_in_the_format_of_their_columns_or_words() -> None:
    share: Column[Row] = Column("share", "share", lambda _: 0.5, SHARE)
    footers = [Footer({"": "2 others", "share": 0.1}, "dim", in_files=False), Footer({"name": "total", "share": 1.0})]
    table = Table([COLUMNS[0], share], ROWS, footers=footers)
    assert shown(table)[-2:] == [["2 others", "10.0 %"], ["total", "100 %"]]
    assert frame_of(table, with_footers=True).iloc[-1].tolist() == ["total", 1.0]
    assert len(frame_of(table, with_footers=True)) == 3
    assert len(frame_of(table)) == 2


def test_a_table_without_rows_has_no_footers() -> None:
    table = Table(COLUMNS, [], footers=[Footer({"": "total"})])
    assert shown(table) == [[]]
    assert frame_of(table, with_footers=True).empty


def test_a_column_can_read_a_part_of_the_rows_of_another_table() -> None:
    inner = COLUMNS[1].of(lambda pair: pair[1])
    cell = inner.cell((1, ROWS[0]))
    assert (cell.text, cell.style) == ("8.43 µs", "green")


def test_a_plain_table_is_words_that_start_at_the_left() -> None:
    table = plain_table(["what", "text"], [["CPU", "EPYC"]])
    assert all(column.left and column.room for column in table.columns)
    assert shown(table) == [["what", "text"], ["CPU", "EPYC"]]
