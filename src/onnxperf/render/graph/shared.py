"""Ways through the graphs of a view and words about them that listings and drawings share."""

from __future__ import annotations

from collections.abc import Iterator, Set

from msgspec.structs import replace

from onnxperf.records.view import Dims, GraphView, ViewGraph, ViewNode, ViewTensor, ViewValue
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


def without_nodes(view: GraphView, hidden: Set[str]) -> GraphView:
    """The view without some nodes, whose results are shown as stored tensors; what a graph returns is kept."""
    return replace(view, graph=_without(view.graph, hidden)) if hidden else view


def _without(graph: ViewGraph, hidden: Set[str]) -> ViewGraph:
    returned = {value.name for value in graph.outputs}
    gone = [node for node in graph.nodes if node.key in hidden and not returned & set(node.outputs)]
    names = {node.key for node in gone}
    kept = [node for node in graph.nodes if node.key not in names]
    stored = [_stored(name, graph.types.get(name)) for node in gone for name in node.outputs if name]
    bodies = [{name: _without(body, hidden) for name, body in node.subgraphs.items()} for node in kept]
    return replace(
        graph,
        nodes=tuple(replace(node, subgraphs=own) for node, own in zip(kept, bodies, strict=True)),
        initializers=(*graph.initializers, *stored),
    )


def _stored(name: str, value: ViewValue | None) -> ViewTensor:
    """A result that is computed once; of unknown sizes only its name is shown."""
    shape = None if value is None else value.shape
    sizes = tuple(each for each in shape or () if isinstance(each, int))
    if value is None or shape is None or len(sizes) < len(shape):
        return ViewTensor(name=name, dtype="", shape=(), size_bytes=0, preview="folded")
    return ViewTensor(name=name, dtype=value.type, shape=sizes, size_bytes=0)


def operator_text(domain: str, op_type: str) -> str:
    """An operator or a function, with its domain where that is not ONNX's own."""
    return visible(f"{domain}::{op_type}" if domain else op_type)


def type_text(value: ViewValue) -> str:
    """Type and shape of a value as `float32[batch, 3]`."""
    return f"{visible(value.type)}{shape_text(value.shape)}"


def shape_text(shape: Dims | None) -> str:
    """A shape as `[batch, ?, 3]`; nothing if not even the rank is known."""
    return "" if shape is None else f"[{', '.join('?' if each is None else visible(str(each)) for each in shape)}]"
