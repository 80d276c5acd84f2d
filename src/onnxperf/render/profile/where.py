"""Where the time goes on a page: one bar of operators, and below it linked panes of tables and the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onnxperf.records.profile import Profile, operator_link, sum_of
from onnxperf.render.charts.base import GREY
from onnxperf.render.graph.section import NO_GRAPH, DrawnGraph, graph_part
from onnxperf.render.kit.column import FILES_ONLY, SHARE, Column, for_screens
from onnxperf.render.kit.figure import share_figure
from onnxperf.render.kit.page import Drawing, Line, Panes, Share, Shares, Tabs
from onnxperf.render.kit.table import EVERYTHING, Table
from onnxperf.render.profile.charts import KIND_COLORS, operator_colors
from onnxperf.render.profile.columns import Timed, limit_columns
from onnxperf.render.profile.groups import timeless_lines
from onnxperf.render.profile.headroom import MOST_ROWS
from onnxperf.render.profile.tables import all_sources_table, costly_nodes_table, modules_table, operators_table
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, microseconds

_LATER = ("executed",)
"""Columns of narrow consoles that are long, and among them on a page."""


def where_parts(profile: Profile, graph: Callable[[], DrawnGraph | None] | None) -> list[Any]:
    """The bar, tables next to the graph, and what cost nothing."""
    if not profile.nodes:
        return []
    tables, drawn = Tabs(_tables(profile)), _graph(graph)
    lines = timeless_lines(source.group for source in profile.sources)
    panes: list[Any] = [Panes([tables, drawn])] if isinstance(drawn, Drawing) else [tables, drawn]
    return [operator_shares(profile), *panes, *(Line(line, "dim") for line in lines)]


def operator_shares(profile: Profile) -> Shares:
    """Each operator with a color of its own, and all others as one gray part."""
    whole, colors = profile.usual_nodes_us, operator_colors(profile)
    rest = [each for each in profile.operators if each.op_name not in colors]
    times = {each.op_name: each.usual_us for each in profile.operators}
    parts = [(name_of(name), times[name], color, operator_link(name)) for name, color in colors.items()]
    if len(rest) == 1:
        parts.append((name_of(rest[0].op_name), rest[0].usual_us, GREY, operator_link(rest[0].op_name)))
    elif rest:
        parts.append((count(len(rest), "other operator"), sum_of(rest), GREY, ""))
    shares = [
        Share(name, microseconds(us), us / whole if whole else 1 / len(parts), color, key)
        for name, us, color, key in parts
    ]
    return Shares("Time by operator", shares)


# ---------------------------------------------------------------- tables


def _tables(profile: Profile) -> list[Table[Any]]:
    """By operator, node, module and original node, each with the same columns."""
    operators, kinds = operator_colors(profile), KIND_COLORS
    groups = profile.link_groups
    tables: dict[str, tuple[Table[Any], Callable[[Timed[Any]], int]]] = {
        "Operators": (operators_table(profile), lambda row: operators.get(row.timed.op_name, GREY)),
        "Nodes": (costly_nodes_table(profile, MOST_ROWS, ""), lambda row: operators.get(row.timed.op_name, GREY)),
        "Modules": (modules_table(profile, top=MOST_ROWS), lambda _: GREY),
        "Original nodes": (all_sources_table(profile, MOST_ROWS), lambda row: kinds[row.timed.group.kind]),
    }
    return [
        _on_page(title, table, color, groups if title in ("Nodes", "Original nodes") else {})
        for title, (table, color) in tables.items()
        if table.rows
    ]


def _on_page(
    title: str, table: Table[Any], color: Callable[[Timed[Any]], int], groups: Mapping[str, Sequence[str]]
) -> Table[Any]:
    """Name, time, share, bar and what could be won; all else is a click away."""
    plain = [each for each in table.columns if each.figure is None and each.width < FILES_ONLY]
    first = [each for each in plain if each.width == 0 and each.key not in _LATER]
    limits = limit_columns(table.rows)
    won = [each for each in limits if each.key == "could_win_us"]
    rest = [each for each in [*plain, *limits] if each not in first and each not in won]
    columns = [*first, _bars(table, color), *won, *(each._replace(width=EVERYTHING) for each in rest)]
    return table._replace(title=title, columns=columns, groups=lambda row: groups.get(row.key, ()))


def _bars(table: Table[Any], color: Callable[[Timed[Any]], int]) -> Column[Timed[Any]]:
    """The time as a bar in the color that its operator has everywhere, next to the longest one."""
    shown = next(each for each in table.columns if each.key in ("share", "total_share"))
    longest = max((shown.value(row) or 0.0 for row in table.rows), default=0.0) or 1.0
    return for_screens(
        "",
        shown.value,
        SHARE,
        width=EVERYTHING,
        style=lambda row: f"c{color(row)}",
        figure=lambda row: share_figure(0.0, (shown.value(row) or 0.0) / longest),
    )


# ---------------------------------------------------------------- the graph


def _graph(graph: Callable[[], DrawnGraph | None] | None) -> Any:
    found = graph() if graph is not None else None
    return NO_GRAPH if found is None else graph_part(found)
