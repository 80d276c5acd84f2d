"""What nodes cost, as the attachment that Netron shows in its sidebar beside a model (netron:attachment)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from onnxperf.records.view import GraphView, Metrics, NodeMetric, ViewGraph, ViewNode

_NAMES = {"us": "time_us", "bytes": "memory_bytes"}


def graph_netron(view: GraphView, metrics: Metrics) -> str:
    """A JSON file to drop onto the open model; Netron finds nodes by name, so those without one are not in it."""
    rows = [row for node in _nodes(view.graph) if node.key in metrics.nodes for row in _rows(node, metrics)]
    document = {"signature": "netron:attachment", "metadata": [], "metrics": rows}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def nameless(view: GraphView, metrics: Metrics) -> int:
    """How many nodes with a cost Netron cannot find."""
    return sum(node.key in metrics.nodes and not _target(node) for node in _nodes(view.graph))


def _rows(node: ViewNode, metrics: Metrics) -> Iterator[dict[str, object]]:
    target, metric = _target(node), metrics.nodes[node.key]
    if target:
        yield _row(target, _NAMES[metric.unit], metric.value)
        yield _row(target, "share_percent", round(100 * metric.share, 2))
        yield from _shared(target, metric)


def _shared(target: str, metric: NodeMetric) -> Iterator[dict[str, object]]:
    if metric.lines:
        yield _row(target, "details", "; ".join(metric.lines))


def _row(target: str, name: str, value: object) -> dict[str, object]:
    return {"kind": "node", "target": target, "name": name, "value": value}


def _target(node: ViewNode) -> str:
    return node.name.split("\n")[0]  # Netron compares only the first line


def _nodes(graph: ViewGraph) -> Iterator[ViewNode]:
    for node in graph.nodes:
        yield node
        for body in node.subgraphs.values():
            yield from _nodes(body)
