"""The history of a model as a page: its series on one axis, change points and groups; and the list of models."""

from __future__ import annotations

from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from starlette.responses import Response

from onnxperf.records.history import History
from onnxperf.render.kit.table import Grid, Table, grid_of
from onnxperf.render.race.history import changes_table, groups_table, points_table, series_table
from onnxperf.serve import queries
from onnxperf.serve.series_chart import tracks_of
from onnxperf.serve.templates import address, page_answer
from onnxperf.store.histories import SeriesSearch
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import count, grouped

_MOST_ROWS = 60
"""Rows of a table on the page; files have all."""
_WIDTH = 120
"""Width of a console that has the columns of the page."""
_RUN_COLUMNS = ("run", "to run")
_LEFT_OUT = "from run"
"""It is next to the run of the change in the chart."""

model_history = APIRouter(include_in_schema=False)


class LinkedTable(NamedTuple):
    """A table whose runs are links."""

    title: str
    grid: Grid
    links: frozenset[int]
    """Places of columns with ids of runs."""
    rest: int
    """Number of rows that are left out."""
    folded: bool = False


@model_history.get("/history")
def history_page(
    request: Request,
    chosen: queries.ChosenFilters,
    model: queries.ModelName = "",
    group_by: queries.GroupBy = "",
    top: queries.Newest = queries.NEWEST,
) -> Response:
    """The history of a model, or the list of models that have one."""
    store = queries.store_of(request)
    if not model:
        models = queries.models(store)
        return page_answer("models.html", title="History", path="/history", models=models, ways=queries.GROUPS)
    filters = chosen._asdict()
    newest = {} if top == queries.NEWEST else {"top": str(top)}
    wanted = SeriesSearch(newest=top or None, **filters)
    record: History = queries.history_of(store, model, wanted, group_by).record
    ways = [(f"by {way or 'run'}", way) for way in ("", *queries.GROUPS)]
    return page_answer(
        "history.html",
        title=f"history {name_of(model)}",
        path="/history",
        record=record,
        facts=_facts(record, top),
        drawing=tracks_of(record),
        tables=_tables(record),
        choices=queries.choices(store),
        filters=filters,
        chosen={"model": model, "group_by": group_by, **newest},
        ways=[(words, address("/history", model=model, group_by=way, **filters, **newest), way) for words, way in ways],
        other=_other(model, group_by, filters, top),
        badge=f"/badge/{model}.svg",
    )


def _facts(record: History, top: int) -> list[str]:
    runs = len({point.run for each in record.series for point in each.points})
    newest = [f"at most the newest {grouped(top)} runs of each series"] if top else []
    return [count(runs, "run"), count(len(record.series), "series", "series"), *newest]


def _other(model: str, group_by: str, filters: dict[str, str], top: int) -> tuple[str, str]:
    """The page with all runs, or with the newest."""
    if top:
        return "all runs", address("/history", model=model, group_by=group_by, **filters) + "&top=0"
    return f"newest {queries.NEWEST}", address("/history", model=model, group_by=group_by, **filters)


def _tables(record: History) -> list[LinkedTable]:
    named: list[tuple[str, Table[Any], bool]] = [("All series", series_table(record), False)]
    if record.by != "machine":
        named.insert(0, ("Change points", changes_table(record), False))
    if record.by:
        named.append((f"By {record.by}", groups_table(record), False))
    named.append(("Runs", points_table(record)._replace(rows=points_table(record).rows[::-1]), True))
    return [_linked(title, table, folded) for title, table, folded in named if table.rows]


def _linked(title: str, table: Table[Any], folded: bool) -> LinkedTable:
    columns = [each for each in table.columns if each.heading != _LEFT_OUT]
    grid = grid_of(table._replace(columns=columns, rows=table.rows[:_MOST_ROWS]), _WIDTH).mapped(visible)
    links = frozenset(place for place, column in enumerate(grid.columns) if column.heading in _RUN_COLUMNS)
    return LinkedTable(title, grid, links, max(0, len(table.rows) - _MOST_ROWS), folded)
