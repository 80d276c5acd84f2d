"""Graphs reduced to what comparing them needs: names, operators, and tensor connections."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

Path = tuple[str, ...]
"""Names of the nodes whose bodies contain a node, outermost first."""
Place = tuple[Path, str]
"""A node identified by its path and name."""


class GraphNode(Struct, frozen=True, kw_only=True):
    """A node of a model."""

    name: str
    """Node name; may be empty or not unique."""
    op_type: str
    domain: str = ""
    """Domain of the operator; empty for ONNX's own."""
    inputs: tuple[str, ...] = ()
    """Tensor names; an empty name is an omitted input."""
    outputs: tuple[str, ...] = ()
    attributes: str = ""
    """Hash of the attributes without subgraphs; identical nodes have identical hashes."""
    activation: str = ""
    """Fused operator that the kernel applies to its result, if any (onnxruntime's attribute `activation`)."""
    subgraphs: tuple[tuple[str, Graph], ...] = ()
    """Bodies by attribute name."""


class Graph(Struct, frozen=True, kw_only=True):
    """A graph or the body of a node."""

    inputs: tuple[str, ...] = ()
    """Graph inputs, including initializers that may be overridden."""
    outputs: tuple[str, ...] = ()
    constants: frozenset[str] = frozenset()
    """Initializers that cannot be overridden."""
    nodes: tuple[GraphNode, ...] = ()
    """Nodes in file order."""

    def nodes_by_place(self, path: Path = ()) -> Iterator[tuple[Place, GraphNode]]:
        """All nodes, including those of bodies."""
        for node in self.nodes:
            yield (path, node.name), node
            for _, body in node.subgraphs:
                yield from body.nodes_by_place((*path, node.name))
