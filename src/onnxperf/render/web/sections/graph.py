"""A graph on a page: a drawing that can be moved and searched, and its nodes as a table that is linked with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from onnxperf.records.profile import link
from onnxperf.records.view import GraphView, ViewGraph, ViewNode
from onnxperf.render.graph.shared import operator_text, type_text
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import Line
from onnxperf.render.web.old_base import Drawing, LinkedTable, Part, Section
from onnxperf.wording.names import capital, name_of, visible
from onnxperf.wording.numbers import count, decimal_size, grouped, magnitude, microseconds, percent

MOST_BOXES = 3_000
"""Nodes up to which a graph is drawn."""
_LARGEST = 4_000_000
"""Characters of a drawing: a page stays below 8 MB."""
_MOST_ROWS = 3_000
Keys = Mapping[str, tuple[str, ...]]
"""By the key of a node in its view what its box stands for on the page, then what it belongs to."""


class DrawnGraph(NamedTuple):
    """A model that is drawn on a page."""

    view: GraphView
    """With metrics, it is coloured by them."""
    keys: Keys


NO_GRAPH = Section(
    "Graph",
    [Line("The graph is drawn where the model was profiled just now; onnxperf view draws it at any time.", "dim")],
)


def graph_section(graph: DrawnGraph) -> Section:
    """The drawing, coloured where the view has metrics; a sentence where it would be too large."""
    return Section("Graph", [_drawn(graph.view, graph.keys)])


def view_sections(view: GraphView) -> list[Section]:
    """A page of a model alone: its drawing, and a table of its nodes."""
    placed = list(_placed(view))
    keys = {node.key: (link(path, node.label),) for path, node, _ in placed}
    return [graph_section(DrawnGraph(view, keys)), Section("Nodes", [_nodes(view, keys)])]


def _drawn(view: GraphView, keys: Keys) -> Part:
    nodes = view.totals.nodes
    if nodes > MOST_BOXES:
        return _left_out(f"it has {count(nodes, 'node')}, and a page shows up to {grouped(MOST_BOXES)}")
    from onnxperf.render.graph.svg import graph_svg  # layouts are made only where a graph is drawn

    svg = graph_svg(view, view.metrics, interactive=False, keys=keys)
    if len(svg) > _LARGEST:
        return _left_out("its drawing would be larger than the rest of the page")
    coloured = f" {capital(visible(view.metrics.title))}." if view.metrics is not None else ""
    summary = f"The graph of {name_of(view.model)}: {count(nodes, 'node')}.{coloured} {_HOW}"
    return Drawing("Graph", summary, svg)


_HOW = (
    "Click a node to find its row; click into the drawing, then the wheel enlarges. Keys: + and -, arrows, 0 for the "
    "whole."
)


def _left_out(why: str) -> Line:
    return Line(f"The graph is not drawn here: {why}. onnxperf view lists it.", "dim")


# ---------------------------------------------------------------- nodes


def _placed(view: GraphView) -> Iterator[tuple[tuple[str, ...], ViewNode, ViewGraph]]:
    """Every node with the nodes whose bodies it is in, and its graph."""
    yield from _inside(view.graph, ())
    for function in view.functions:
        yield from _inside(function.graph, (f"function {function.name}",))


def _inside(graph: ViewGraph, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ViewNode, ViewGraph]]:
    for node in graph.nodes:
        yield path, node, graph
        for body in node.subgraphs.values():
            yield from _inside(body, (*path, node.label))


def _nodes(view: GraphView, keys: Keys) -> LinkedTable:
    """A row per node, the most costly first where that is known."""
    placed = list(_placed(view))
    metrics = view.metrics
    if metrics is not None:
        known = metrics.nodes
        placed.sort(key=lambda each: -known[each[1].key].value if each[1].key in known else 0.0)
    columns = [
        *(Column("node", left=True), Column("operator", left=True), Column("share"), Column("cost")),
        *(Column("outputs", left=True), Column("multiply-adds"), Column("attributes", left=True)),
    ]
    kept = placed[:_MOST_ROWS]
    rows = [Row(_cells(view, path, node, graph)) for path, node, graph in kept]
    more = f", {grouped(_MOST_ROWS)} of {grouped(len(placed))}" if len(kept) < len(placed) else ""
    table = without_empty(Table(columns, rows, f"Nodes{more}"))
    return LinkedTable(table, [keys[node.key][0] for _, node, _ in kept])


def _cells(view: GraphView, path: tuple[str, ...], node: ViewNode, graph: ViewGraph) -> list[str]:
    cost = view.metrics.nodes.get(node.key) if view.metrics is not None else None
    values = [graph.types.get(name) for name in node.outputs]
    given = [f"{name} {text}" for name, text in node.attributes if name not in node.defaults]
    write = {"us": microseconds, "bytes": decimal_size}
    return [
        name_of(" > ".join((*path, node.label))),
        operator_text(node.domain, node.op_type),
        percent(cost.share) if cost is not None else "",
        write[cost.unit](cost.value) if cost is not None else "",
        ", ".join(type_text(value) for value in values if value is not None),
        magnitude(node.macs) if node.macs is not None else "",
        ", ".join(given)[:200],
    ]
