"""The one table model: cells of text with the few hints that a terminal, a page or a file needs to draw them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple


class Column(NamedTuple):
    """A heading, and how the column behaves when the console is narrow."""

    heading: str
    left: bool = False
    """Words start at the left, numbers end at the right."""
    rank: int = 0
    """Columns of the highest rank are left out first; those of rank 0 never."""
    room: int = 0
    """Cells at least as wide as this may lose their middle; 0: they never do."""
    short: str = ""
    """Heading where columns are stacked."""
    cut: bool = False
    """Long cells lose their end instead of their middle: sentences; goes with `room`."""
    folds: bool = False
    """Long cells continue in the lines below instead of losing their middle; goes with `room`."""


class Row(NamedTuple):
    """The cells of one line, and how it stands out; the style of single cells by their place."""

    cells: Sequence[str]
    style: str = ""
    styles: Mapping[int, str] = MappingProxyType({})


class Stacking(NamedTuple):
    """Several lines per row for a narrow console: the columns of one inner tuple stand below each other."""

    columns: tuple[tuple[int, ...], ...]
    room: int
    """Width for the first column below which the next stacking is better."""


class Table(NamedTuple):
    """A table before it is known where it is drawn and how much room there is."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    stackings: Sequence[Stacking] = ()
    """From one line per row to many; columns that are not in the first one are only for those below."""
    breaks: Sequence[int] = ()
    """Columns from which on the rest may stand in a table below, which repeats the columns before the first of them."""
    optional: bool = False
    """Left out on a console that is too narrow for it."""

    def flat(self) -> Table:
        """The table with one line per row."""
        if not self.stackings:
            return self
        return chosen(self, [place for places in self.stackings[0].columns for place in places])


def chosen(table: Table, places: Sequence[int]) -> Table:
    """The table with these columns, one line per row."""
    rows = [
        Row(
            [row.cells[i] for i in places],
            row.style,
            {n: row.styles[i] for n, i in enumerate(places) if i in row.styles},
        )
        for row in table.rows
    ]
    return Table([table.columns[i] for i in places], rows, table.title)


def mapped(table: Table, change: Callable[[str], str]) -> Table:
    """The table with all of its texts changed."""
    columns = [column._replace(heading=change(column.heading), short=change(column.short)) for column in table.columns]
    rows = [row._replace(cells=[change(cell) for cell in row.cells]) for row in table.rows]
    return table._replace(columns=columns, rows=rows, title=change(table.title))


def without_empty(table: Table) -> Table:
    """The table without the columns that are empty in every row."""
    return chosen(table, [i for i in range(len(table.columns)) if any(row.cells[i] for row in table.rows)])


def plain_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of words without any hints."""
    return Table([Column(heading, left=True, room=16) for heading in headings], [Row(row) for row in rows])
