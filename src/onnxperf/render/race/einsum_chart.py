"""Charts of an einsum plan: the times of every letter order and of the chosen graph, and the final race."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from onnxperf.errors import BadOption
from onnxperf.records.einsum import EinsumPlan, OrderTime
from onnxperf.render.kit import old_chart as fg
from onnxperf.render.race.bench_chart import bench_plot
from onnxperf.wording.names import name_of, shortened, visible
from onnxperf.wording.numbers import count, duration, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ORDERS = 150
"""Beyond so many orders, those that lead to the same graph share a bar; there are no more bars than this either."""
_ROW = 0.17
_EQUATION_LENGTH = 28
_GRAPH_LENGTH = 100
_GRAPH_FONT = 7.0
_IN_TURN = (fg.BLUE, fg.SKY)
"""Neighbouring graphs differ; there are more graphs than distinct colours."""


class _Row(NamedTuple):
    label: str
    graph: str
    time_ns: float
    as_written: bool


def orders_plot(plan: EinsumPlan, ax: Axes | None = None) -> Axes:
    """A bar per letter order and one of the chosen graph, the fastest on top, coloured by the graph behind it."""
    rows, notes = _rows(plan)
    what = f"{_shown(plan.equation)}, fastest in the search: {rows[0].label}" if rows else _shown(plan.equation)
    labels = [row.label for row in rows]
    is_ours = ax is None
    if ax is None:
        # Names stand on both sides: those of the orders on the left, those of the graphs on the right.
        graph_room = round(max((len(_graph_name(row)) for row in rows), default=0) * _GRAPH_FONT / fg.FONT)
        room = [label + "-" * (graph_room + 2) for label in labels]
        ax = fg.bar_figure(room, 1, "Time per letter order", what, _ROW).subplots()
    fastest = rows[0].time_ns if rows else 0.0
    values = [row.time_ns / 1e3 for row in rows]
    bars = fg.Bars(values, _colours(rows, fastest), [_words(row, plan, fastest) for row in rows])
    fg.draw_bars(ax, labels, [bars])
    for tick in ax.get_yticklabels():
        tick.set_fontfamily("monospace")
    if is_ours:
        # A figure of the user has no room at the right.
        _name_graphs(ax, rows)
    fg.time_axis(ax.xaxis, "per call, lower is better")
    _note(ax, notes if rows else ["nothing was timed"], keep=bool(rows))
    colours = {"fastest": fg.GREEN, "as written": fg.ORANGE, "others, a shade per graph": fg.BLUE}
    lines = fg.legend(ax, fg.patches(colours)) if rows else 0
    if not is_ours:
        fg.name_given(ax, what, lines)
    return ax


def race_plot(plan: EinsumPlan, ax: Axes | None = None) -> Axes:
    """The final race as bars."""
    if plan.race is None:
        raise BadOption("nothing was raced for this equation: only a search races")
    return bench_plot(plan.race, ax)


# ---------------------------------------------------------------- rows


def _rows(plan: EinsumPlan) -> tuple[list[_Row], list[str]]:
    """What has a bar, the fastest first, and a note for each kind of order that has none."""
    timed = [order for order in plan.orders if order.time_ns is not None and 0 < order.time_ns < math.inf]
    timed.sort(key=_graph_of)
    written = plan.orders[0].order if plan.orders else ""
    untimed = len(plan.orders) - len(timed)
    notes = (
        [f"{grouped(untimed)} of {count(len(plan.orders), 'order')} were not timed and are left out"] if untimed else []
    )
    if len(timed) <= MAX_ORDERS:
        return _with_chosen([_row([order], written) for order in timed], plan), notes
    rows = _with_chosen([_row(list(members), written) for _, members in groupby(timed, _graph_of)], plan)
    notes.append(f"{count(len(timed), 'order')}: those that lead to the same graph share a bar")
    if len(rows) > MAX_ORDERS:
        notes.append(f"the {grouped(len(rows) - MAX_ORDERS)} slowest graphs are left out")
        last = next((row for row in rows[MAX_ORDERS:] if row.graph == plan.graph), rows[MAX_ORDERS - 1])
        rows = [*rows[: MAX_ORDERS - 1], last]
    return rows, notes


def _with_chosen(rows: list[_Row], plan: EinsumPlan) -> list[_Row]:
    """The rows and that of the chosen graph, which no letter order may lead to, by their times."""
    if plan.graph_ns is None or any(row.graph == plan.graph for row in rows):
        return rows
    return sorted([*rows, _Row(_shown(plan.graph), plan.graph, plan.graph_ns, False)], key=lambda row: row.time_ns)


def _graph_of(order: OrderTime) -> tuple[float, str]:
    return order.time_ns or 0.0, order.graph


def _row(orders: Sequence[OrderTime], written: str) -> _Row:
    first = orders[0]
    more = f" and {len(orders) - 1} more" if len(orders) > 1 else ""
    label = _shown(first.equation) + more
    return _Row(label, first.graph, first.time_ns or 0.0, any(order.order == written for order in orders))


# ---------------------------------------------------------------- words and colours


def _shown(equation: str) -> str:
    return shortened(name_of(equation), _EQUATION_LENGTH)


def _words(row: _Row, plan: EinsumPlan, fastest: float) -> str:
    said = {
        "fastest": row.time_ns == fastest,
        "as written": row.as_written,
        # The search times all graphs once; the final race, on fresh rounds, may prefer another one.
        "won the final race" if plan.winner else "chosen": row.graph == plan.graph,
    }
    return " · ".join([duration(row.time_ns), *(words for words, holds in said.items() if holds)])


def _colours(rows: Sequence[_Row], fastest: float) -> list[str]:
    colours = []
    for number, (_, members) in enumerate(groupby(rows, lambda row: (row.time_ns, row.graph))):
        for row in members:
            own = fg.ORANGE if row.as_written else _IN_TURN[number % len(_IN_TURN)]
            colours.append(fg.GREEN if row.time_ns == fastest else own)
    return colours


def _graph_name(row: _Row) -> str:
    return shortened(visible(row.graph), _GRAPH_LENGTH)


def _name_graphs(ax: Axes, rows: Sequence[_Row]) -> None:
    """Write the name of each graph at the right, beside the first of its orders."""
    places = {}
    start = 0
    for (_, graph), members in groupby(rows, lambda row: (row.time_ns, row.graph)):
        places[start] = _graph_name(_Row("", graph, 0.0, False))
        start += len(list(members))
    right = ax.secondary_yaxis("right")
    right.set_yticks(list(places), list(places.values()), fontsize=_GRAPH_FONT, color=fg.INK)
    right.tick_params(axis="y", length=0)
    right.spines["right"].set_visible(False)
    fg.as_written(*right.get_yticklabels())


def _note(ax: Axes, notes: Sequence[str], keep: bool) -> None:
    lines = [ax.get_xlabel(), *notes] if keep else notes
    fg.as_written(ax.set_xlabel("\n".join(lines), fontsize=fg.FONT))
    if not keep:
        ax.set_xticks([])
