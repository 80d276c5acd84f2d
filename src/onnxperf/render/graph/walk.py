"""Ways through the graphs of a view that listings and drawings share."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.records.view import ViewGraph, ViewNode


def all_inputs(node: ViewNode) -> Iterator[str]:
    """What a node takes, and what its bodies take from around it."""
    yield from node.inputs
    for body in node.subgraphs.values():
        yield from _free_names(body)


def _free_names(graph: ViewGraph) -> Iterator[str]:
    own = {value.name for value in graph.inputs} | {tensor.name for tensor in graph.initializers}
    own.update(name for node in graph.nodes for name in node.outputs)
    for node in graph.nodes:
        yield from (name for name in all_inputs(node) if name not in own)
    yield from (value.name for value in graph.outputs if value.name not in own)
