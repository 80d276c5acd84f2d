"""An einsum plan on a page: the final race, and the times of graphs behind letter orders; a rewritten model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from onnxperf.records.einsum import EinsumPlan, OrderTime, Rewrite, RewrittenSite
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.race.rewrite import nodes_text
from onnxperf.render.web.bars import BarSeries, bars_data
from onnxperf.render.web.forest import (
    BLUE,
    GREEN,
    GREY,
    YELLOW,
    Forest,
    ForestMark,
    estimates_table,
    forest_chart,
    has_marks,
)
from onnxperf.render.web.old_base import Chart, Part, Section
from onnxperf.render.web.plots import ChartAxis
from onnxperf.render.web.sections.race import race_sections
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import count, duration, duration_unit

MOST_GRAPHS = 40
"""Graphs that the chart shows, the fastest ones; the table has every order."""
_FASTEST, _AS_WRITTEN, _CHOSEN = "fastest in the search", "as written", "chosen"
_COLOURS = {_CHOSEN: GREEN, _AS_WRITTEN: YELLOW, "": BLUE}


class _Graph(NamedTuple):
    """A graph, and the letter orders that lead to it."""

    name: str
    time_ns: float
    orders: Sequence[str]


def einsum_sections(plan: EinsumPlan) -> list[Section]:
    """The race that decided, then the search before it."""
    race = race_sections(plan.race, "Final race") if plan.race is not None else []
    orders = _orders(plan)
    return [*race[:1], *([Section("Letter orders", orders)] if orders else []), *race[1:]]


def _orders(plan: EinsumPlan) -> list[Part]:
    """A bar per graph, the fastest on top."""
    graphs = _graphs(plan)
    if not graphs:
        return []
    named = [graph for graph in graphs[MOST_GRAPHS:] if _role(plan, graph)]
    shown = [*graphs[: MOST_GRAPHS - len(named)], *named]
    scale, unit = duration_unit(shown[0].time_ns)
    words = [_words(plan, graph, graphs[0]) for graph in shown]
    colours = [_COLOURS[_role(plan, graph)] for graph in shown]
    series = BarSeries("time of a call", [graph.time_ns / scale for graph in shown], words, colours=colours)
    axis = ChartAxis(f"time of a call in the search ({unit})", from_zero=True)
    timed = sum(len(graph.orders) for graph in graphs)
    rest = len(graphs) - len(shown)
    summary = (
        f"{count(timed, 'letter order')} of {count(len(plan.orders), 'order')} led to {count(len(graphs), 'graph')}, "
        "which were timed once in the search; the final race, on fresh rounds, may prefer another one. "
        "Green is what was chosen, yellow what the equation as written leads to."
    )
    summary += f" {count(rest, 'slow graph')} are only in the table." if rest else ""
    data = bars_data([visible(graph.name) for graph in shown], [series], axis)
    height = 90 + 26 * len(shown)
    return [Chart("bars", "Time per graph of the search", summary, data, _order_table(plan.orders), height)]


def _graphs(plan: EinsumPlan) -> list[_Graph]:
    """Every graph that was timed with its orders, the fastest first; the chosen one need not come from an order."""
    found: dict[str, _Graph] = {}
    for each in plan.orders:
        if each.time_ns is not None and 0 < each.time_ns < math.inf:
            known = found.get(each.graph, _Graph(each.graph, each.time_ns, ()))
            found[each.graph] = known._replace(orders=[*known.orders, each.order])
    if plan.graph_ns is not None and math.isfinite(plan.graph_ns):
        found.setdefault(plan.graph, _Graph(plan.graph, plan.graph_ns, ()))
    return sorted(found.values(), key=lambda graph: graph.time_ns)


def _role(plan: EinsumPlan, graph: _Graph) -> str:
    """What sets a graph apart; empty for most."""
    if graph.name == plan.graph:
        return _CHOSEN
    return _AS_WRITTEN if plan.orders and plan.orders[0].order in graph.orders else ""


def _words(plan: EinsumPlan, graph: _Graph, fastest: _Graph) -> str:
    orders = f"from {count(len(graph.orders), 'letter order')}" if graph.orders else ""
    texts = [duration(graph.time_ns), orders, _FASTEST if graph is fastest else "", _role(plan, graph)]
    return " · ".join(filter(None, texts))


def _order_table(orders: Sequence[OrderTime]) -> Table:
    columns = [Column("order", left=True), Column("equation", left=True), Column("time"), Column("graph", left=True)]
    rows = [Row([name_of(each.order), name_of(each.equation), duration(each.time_ns), each.graph]) for each in orders]
    return Table(columns, rows)


# ---------------------------------------------------------------- a rewritten model


def rewrite_sections(rewrite: Rewrite) -> list[Section]:
    """What each group of nodes gained in the whole model, and the race of the whole models."""
    race = race_sections(rewrite.race, "Whole model") if rewrite.race is not None else []
    estimates = [_site(site) for site in rewrite.sites if site.speedup is not None]
    forest = Forest(estimates)
    if not has_marks(forest):
        return race
    summary = (
        f"Speedups of the whole model with {count(len(estimates), 'group')} of equal Einsum nodes replaced, one at a "
        "time; right of 1 is faster than with the Einsum."
    )
    axis = "speedup of the whole model"
    table = estimates_table(estimates, "nodes")
    return [Section("Replaced nodes", [forest_chart("Gain by node", summary, axis, [forest], table)]), *race]


def _site(site: RewrittenSite) -> ForestMark:
    colour = GREEN if site.outcome == "rewritten" else GREY
    more = "\n".join(filter(None, [visible(site.graph), visible(site.reason)]))
    return ForestMark(
        nodes_text(site),
        site.speedup,
        site.speedup_low,
        site.speedup_high,
        colour,
        site.outcome,
        f"{site.equation}\n{more}",
    )
