"""Ways through the graphs of a view and words about them that listings and drawings share."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.records.view import Dims, GraphView, ViewGraph, ViewNode, ViewValue
from onnxperf.wording.names import visible


def all_graphs(view: GraphView) -> Iterator[ViewGraph]:
    """The graph, those of its functions, and all bodies inside them."""
    for graph in (view.graph, *(function.graph for function in view.functions)):
        yield from graph.with_bodies()


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


def operator_text(domain: str, op_type: str) -> str:
    """An operator or a function, with its domain where that is not ONNX's own."""
    return visible(f"{domain}::{op_type}" if domain else op_type)


def type_text(value: ViewValue) -> str:
    """Type and shape of a value as `float32[batch, 3]`."""
    return f"{visible(value.type)}{shape_text(value.shape)}"


def shape_text(shape: Dims | None) -> str:
    """A shape as `[batch, ?, 3]`; nothing if not even the rank is known."""
    return "" if shape is None else f"[{', '.join('?' if each is None else visible(str(each)) for each in shape)}]"
