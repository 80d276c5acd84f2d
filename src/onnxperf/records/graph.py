"""A graph reduced to what comparing graphs needs: names, operators, and which tensor comes from where."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

Path = tuple[str, ...]
"""Names of the nodes in whose bodies a node is, the outermost first."""
Place = tuple[Path, str]
"""A node by its path and its own name."""


class GraphNode(Struct, frozen=True, kw_only=True):
    """A node of a model."""

    name: str
    """Its name; may be empty, and need not be unique."""
    op_type: str
    domain: str = ""
    """Domain of the operator; empty for ONNX's own."""
    inputs: tuple[str, ...] = ()
    """Tensor names; an empty one is an input left out."""
    outputs: tuple[str, ...] = ()
    attributes: str = ""
    """Digest of the attributes: equal nodes have equal ones; subgraphs are left out."""
    activation: str = ""
    """Operator that the kernel applies to its result, if it fused one (onnxruntime's attribute `activation`)."""
    subgraphs: tuple[tuple[str, Graph], ...] = ()
    """Bodies by the name of their attribute."""


class Graph(Struct, frozen=True, kw_only=True):
    """A graph, or the body of a node."""

    inputs: tuple[str, ...] = ()
    """What is fed, initialisers that may be overridden included."""
    outputs: tuple[str, ...] = ()
    constants: frozenset[str] = frozenset()
    """Initialisers that cannot be overridden."""
    nodes: tuple[GraphNode, ...] = ()
    """In the order of the file."""

    def nodes_by_place(self, path: Path = ()) -> Iterator[tuple[Place, GraphNode]]:
        """Every node, those of bodies included."""
        for node in self.nodes:
            yield (path, node.name), node
            for _, body in node.subgraphs:
                yield from body.nodes_by_place((*path, node.name))
