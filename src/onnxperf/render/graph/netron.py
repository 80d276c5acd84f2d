"""What nodes cost, as the attachment that Netron shows in its sidebar next to a model (netron:attachment)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from onnxperf.records.view import GraphView, Measure, Metrics, ViewGraph, ViewNode
from onnxperf.render.graph.shared import all_graphs

_NAMES: dict[Measure, str] = {"time": "time_us", "memory": "memory_bytes", "headroom": "could_win_us"}


def graph_netron(view: GraphView, metrics: Metrics) -> str:
    """A JSON file to drop onto the open model, for nodes with a name of their own: Netron finds them by that."""
    rows = [row for node in _found(view, metrics) for row in _rows(_target(node), metrics, node.key)]
    document = {"signature": "netron:attachment", "metadata": [], "metrics": rows}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def nameless(view: GraphView, metrics: Metrics) -> int:
    """How many nodes with a cost Netron cannot find: they have no name, or share it with others."""
    return sum(node.key in metrics.nodes for node in _nodes(view.graph)) - len(_found(view, metrics))


def _found(view: GraphView, metrics: Metrics) -> list[ViewNode]:
    bearers = Counter(_target(node) for graph in all_graphs(view) for node in graph.nodes)
    return [
        node
        for node in _nodes(view.graph)
        if node.key in metrics.nodes and _target(node) and bearers[_target(node)] == 1
    ]


def _rows(target: str, metrics: Metrics, key: str) -> Iterator[dict[str, object]]:
    metric = metrics.nodes[key]
    yield _row(target, _NAMES[metrics.by], metric.value)
    yield _row(target, "share_percent", round(100 * metric.share, 2))
    if metric.lines:
        yield _row(target, "details", "; ".join(metric.lines))


def _row(target: str, name: str, value: object) -> dict[str, object]:
    return {"kind": "node", "target": target, "name": name, "value": value}


def _target(node: ViewNode) -> str:
    return node.name.split("\n")[0]  # Netron compares only the first line


def _nodes(graph: ViewGraph) -> list[ViewNode]:
    return [node for each in graph.with_bodies() for node in each.nodes]
