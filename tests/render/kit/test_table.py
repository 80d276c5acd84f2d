"""The one table model."""

from __future__ import annotations

from onnxperf.render.kit.old_table import Column, Row, Table, chosen, plain_table, without_empty
from tests.render.kit import toys


def test_chosen_columns_keep_their_cells_and_styles() -> None:
    table = chosen(toys.table("a"), [2, 1])
    assert [column.heading for column in table.columns] == ["p99", "mean"]
    assert table.rows == [Row(["10.2 µs", "8.43 µs"], "bold", {1: "green"})]
    assert table.title == "Times"


def test_columns_that_are_empty_in_every_row_are_left_out() -> None:
    table = Table([Column("a"), Column("b"), Column("c")], [Row(["1", "", ""]), Row(["", "", "2"])])
    assert [column.heading for column in without_empty(table).columns] == ["a", "c"]


def test_a_flat_table_has_the_columns_of_its_first_stacking_and_no_others() -> None:
    table = toys.stacked("a")
    narrow = table._replace(stackings=[table.stackings[0]._replace(columns=((0,), (3,)))])
    assert [column.heading for column in narrow.flat().columns] == ["name", "calls"]
    assert narrow.flat().stackings == ()


def test_a_plain_table_is_words_that_start_at_the_left() -> None:
    table = plain_table(["what", "text"], [["CPU", "EPYC"]])
    assert all(column.left and column.room for column in table.columns)
    assert table.rows == [Row(["CPU", "EPYC"])]
