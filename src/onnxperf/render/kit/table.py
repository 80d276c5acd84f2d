"""The one table: rows of any kind and the columns that read them; every form of it is made from here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from onnxperf.render.kit.column import FILES_ONLY, TEXT, Cell, Column

R = TypeVar("R")

On = Literal["all", "screen", "page"]
"""Where a part is shown: everywhere, on screens (console, Markdown, notebook), or only on an HTML page."""
EVERYTHING = FILES_ONLY - 1
"""A width that leaves out no column of a screen; a page has columns of this width behind its button for all."""


class Footer(NamedTuple):
    """A row below the others, such as a total or the sum of omitted rows."""

    values: Mapping[str, object]
    """By the keys of columns; the empty key stands for the first column."""
    style: str = "bold"
    in_files: bool = True
    """Whether files have it, too; a row for what only a screen leaves out is none of theirs."""

    def value_of(self, column: Column[Any], is_first: bool) -> Any:
        """What stands in a column; an interval has no total."""
        if is_first and "" in self.values:
            return self.values[""]
        return self.values.get(column.key) if column.key and not column.format.parts else None


class Table(NamedTuple, Generic[R]):
    """Rows and what is shown of them; columns that are empty in every row are left out on screens."""

    columns: Sequence[Column[R]]
    rows: Sequence[R]
    title: str = ""
    style: Callable[[R], str] | None = None
    """Style of a whole row."""
    link: Callable[[R], str] | None = None
    """What a row stands for on a page: rows, marks and boxes with the same key are selected together."""
    footers: Sequence[Footer] = ()
    on: On = "all"
    groups: Callable[[R], Sequence[str]] | None = None
    """What a row belongs to, such as an operator: a page shows only the rows of a group that is selected."""


class Line(NamedTuple):
    """The cells of one row as screens show them."""

    cells: Sequence[Cell]
    style: str = ""
    link: str = ""
    groups: Sequence[str] = ()


class Grid(NamedTuple):
    """A table as screens show it: no column is empty."""

    columns: Sequence[Column[Any]]
    lines: Sequence[Line]
    title: str = ""

    def chosen(self, places: Sequence[int]) -> Grid:
        """Only these columns."""
        lines = [line._replace(cells=[line.cells[place] for place in places]) for line in self.lines]
        return self._replace(columns=[self.columns[place] for place in places], lines=lines)

    def brief(self, most: int, figures: bool = True) -> list[int]:
        """Places of the columns to show at once: those of the narrowest screens, graphics if there is room."""

        def rank(column: Column[Any]) -> int:
            if column.figure is not None:
                return -1 if figures else FILES_ONLY
            return -2 if column.breaks else column.width

        ranks = sorted((rank(column), place) for place, column in enumerate(self.columns))
        ranks = [each for each in ranks if each[0] != EVERYTHING]
        several = sum(column.breaks for column in self.columns)  # of equal importance
        return sorted(place for _, place in ranks[: max(most, several + most - 1 if several else 0)])

    def mapped(self, change: Callable[[str], str]) -> Grid:
        """With all texts changed."""
        lines = [
            line._replace(cells=[cell._replace(text=change(cell.text)) for cell in line.cells]) for line in self.lines
        ]
        columns = [column._replace(heading=change(column.heading)) for column in self.columns]
        return Grid(columns, lines, change(self.title))


def grid_of(table: Table[Any], width: int = EVERYTHING, figures: bool = True) -> Grid:
    """What a screen of this width shows of a table, with its graphics if the screen can show these."""
    columns = [column for column in table.columns if column.width <= width and (figures or column.figure is None)]
    lines = [
        Line(
            [column.cell(row) for column in columns],
            table.style(row) if table.style is not None else "",
            table.link(row) if table.link is not None else "",
            table.groups(row) if table.groups is not None else (),
        )
        for row in table.rows
    ]
    full = [place for place in range(len(columns)) if any(line.cells[place].text.strip("– ") for line in lines)]
    below = [
        Line([_footer_cell(footer, column, place == 0) for place, column in enumerate(columns)], footer.style)
        for footer in table.footers
    ]
    return Grid(columns, [*lines, *(below if lines else [])], table.title).chosen(full)


def _footer_cell(footer: Footer, column: Column[Any], is_first: bool) -> Cell:
    value = footer.value_of(column, is_first)
    if value is None:
        return Cell("")
    # Words such as "total" stand in columns of any format.
    return Cell(value if isinstance(value, str) else column.format.shown(value), value)


def plain_table(headings: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> Table[Sequence[str]]:
    """A table of words."""
    columns: list[Column[Sequence[str]]] = [
        Column(heading, heading, itemgetter(place), TEXT, room=16) for place, heading in enumerate(headings)
    ]
    return Table(columns, list(rows), title)
