"""A graph on a page: a drawing that can be moved and searched, and its nodes as a table that is linked with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from onnxperf.records.profile import link
from onnxperf.records.view import GraphView, NodeMetric, ViewGraph, ViewNode
from onnxperf.render.charts.base import BLUE
from onnxperf.render.graph.shared import operator_text, type_text, without_nodes
from onnxperf.render.kit.column import NAME, NUMBER, SHARE, TEXT, Column, Format, for_screens
from onnxperf.render.kit.figure import Figure, share_figure
from onnxperf.render.kit.page import Drawing, Line, Panes, Section
from onnxperf.render.kit.table import EVERYTHING, Table
from onnxperf.wording.names import capital, name_of, visible
from onnxperf.wording.numbers import count, grouped, magnitude, microseconds, size

MOST_BOXES = 3_000
"""Nodes up to which a graph is drawn."""
_LARGEST = 4_000_000
"""Characters of a drawing: a page stays below 8 MB."""
_MOST_ROWS = 3_000
_MOST_LETTERS = 200
"""Of the attributes of a node."""
Keys = Mapping[str, tuple[str, ...]]
"""By the key of a node in its view what its box stands for on the page, then what it belongs to."""


class DrawnGraph(NamedTuple):
    """A model that is drawn on a page."""

    view: GraphView
    """With metrics, it is colored by them."""
    keys: Keys
    folded: Set[str] = frozenset()
    """Keys of nodes that are computed once, when the model is loaded: they are not drawn."""


NO_GRAPH = Line("The graph is drawn if the model was profiled just now; onnxperf view draws it at any time.", "dim")
_COLORS = "a stronger color is a larger share, gray was not measured."
_HOW = (
    "Click a node to find its row; click into the drawing, then the wheel enlarges. Keys: + and -, arrows, 0 for the "
    "whole."
)


def graph_part(graph: DrawnGraph) -> Drawing | Line:
    """The drawing, colored if the view has metrics; a sentence if it would be too large."""
    view, nodes = graph.view, graph.view.totals.nodes
    if nodes > MOST_BOXES:
        return _left_out(f"it has {count(nodes, 'node')}, and a page shows up to {grouped(MOST_BOXES)}")
    from onnxperf.render.graph.svg import graph_svg  # layouts are made only where a graph is drawn

    svg = graph_svg(without_nodes(view, graph.folded), view.metrics, interactive=False, keys=graph.keys)
    if len(svg) > _LARGEST:
        return _left_out("its drawing would be larger than the rest of the page")
    hidden = f", {count(len(graph.folded), 'folded constant')} not drawn" if graph.folded else ""
    colored = f" {capital(visible(view.metrics.title))}; {_COLORS}" if view.metrics is not None else ""
    return Drawing("Graph", f"The graph of {name_of(view.model)}: {count(nodes, 'node')}{hidden}.{colored} {_HOW}", svg)


def _left_out(why: str) -> Line:
    return Line(f"The graph is not drawn here: {why}. onnxperf view lists it.", "dim")


def view_sections(view: GraphView, folded: Set[str] = frozenset()) -> list[Section]:
    """A page of a model alone: its nodes next to its drawing, and what must be known of their costs."""
    placed = list(_placed(view))
    keys = {each.node.key: (link(each.path, each.node.label),) for each in placed}
    drawing, nodes = graph_part(DrawnGraph(view, keys, folded)), _nodes_table(placed, keys)
    notes = [*view.notes, *(view.metrics.notes if view.metrics is not None else ())]
    parts = [Panes([nodes, drawing])] if isinstance(drawing, Drawing) else [nodes, drawing]
    return [Section("Graph", [*parts, *(Line(visible(note), "dim") for note in notes)], on="page")]


# ---------------------------------------------------------------- nodes


class _Placed(NamedTuple):
    """A node with the nodes whose bodies it is in, its graph, and what it costs."""

    path: tuple[str, ...]
    node: ViewNode
    graph: ViewGraph
    cost: NodeMetric | None


def _placed(view: GraphView) -> Iterator[_Placed]:
    costs = view.metrics.nodes if view.metrics is not None else {}
    yield from _inside(view.graph, (), costs)
    for function in view.functions:
        yield from _inside(function.graph, (f"function {function.name}",), costs)


def _inside(graph: ViewGraph, path: tuple[str, ...], costs: Mapping[str, NodeMetric]) -> Iterator[_Placed]:
    for node in graph.nodes:
        yield _Placed(path, node, graph, costs.get(node.key))
        for body in node.subgraphs.values():
            yield from _inside(body, (*path, node.label), costs)


def _nodes_table(placed: list[_Placed], keys: Keys) -> Table[_Placed]:
    """A row per node, the most costly first if that is known."""
    kept = sorted(placed, key=lambda row: -(row.cost.value if row.cost is not None else 0.0))[:_MOST_ROWS]
    behind = EVERYTHING if any(row.cost is not None for row in kept) else 0
    columns: list[Column[_Placed]] = [
        Column("node", "node", lambda row: " > ".join((*row.path, row.node.label)), NAME),
        Column("op_type", "operator", lambda row: operator_text(row.node.domain, row.node.op_type)),
        Column("cost", "cost", lambda row: None if row.cost is None else row.cost.value, NUMBER, text=_cost),
        Column("share", "share", _share, SHARE),
        for_screens("", _share, SHARE, width=EVERYTHING, style=f"c{BLUE}", figure=_bar(kept)),
        Column("outputs", "outputs", _outputs, TEXT, behind),
        Column("macs", "multiply-adds", lambda row: row.node.macs, Format(magnitude), behind),
        Column("attributes", "attributes", _attributes, TEXT, EVERYTHING),
    ]
    more = f", {grouped(_MOST_ROWS)} of {grouped(len(placed))}" if len(kept) < len(placed) else ""
    return Table(columns, kept, f"Nodes{more}", link=lambda row: keys[row.node.key][0])


_WRITE: Mapping[str, Callable[[Any], str]] = {"us": microseconds, "bytes": size}


def _share(row: _Placed) -> float | None:
    return None if row.cost is None else row.cost.share


def _bar(rows: list[_Placed]) -> Callable[[_Placed], Figure]:
    """The cost next to the largest one."""
    largest = max((_share(row) or 0.0 for row in rows), default=0.0) or 1.0
    return lambda row: share_figure(0.0, (_share(row) or 0.0) / largest)


def _cost(row: _Placed) -> str:
    return "" if row.cost is None else _WRITE[row.cost.unit](row.cost.value)


def _outputs(row: _Placed) -> str:
    values = [row.graph.types.get(name) for name in row.node.outputs]
    return ", ".join(type_text(value) for value in values if value is not None)


def _attributes(row: _Placed) -> str:
    given = [f"{name} {text}" for name, text in row.node.attributes if name not in row.node.defaults]
    return ", ".join(given)[:_MOST_LETTERS]
