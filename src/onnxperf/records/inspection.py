"""Facts about a model file that advice needs."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.graph import Graph


class TensorFact(Struct, frozen=True):
    """Static facts about a tensor."""

    dtype: str
    """Element type by its numpy name; `unknown` if it cannot be inferred."""
    dims: tuple[int | str | None, ...] | None
    """A size, a symbolic name or null for each axis; null if even the rank is unknown."""


class NodeFact(Struct, frozen=True):
    """A node and a detail of its attributes."""

    name: str
    """Name of the node in a profile."""
    detail: str
    """Equation of an Einsum, permutation of a Transpose (`0,2,1`), or target type of a Cast."""


class Stored(Struct, frozen=True):
    """An initializer and its size."""

    name: str
    """Name of the initializer."""
    elements: int
    """Number of elements."""
    nbytes: int
    """Size in the file, in bytes."""
    denormals: int = 0
    """Number of elements that are denormal numbers."""


class Pattern(Struct, frozen=True, kw_only=True):
    """Nodes that form one operation, for which onnxruntime has one kernel."""

    kind: Literal["gelu", "layernorm", "attention", "qdq"]
    """The operation."""
    core: str
    """Node that runs separately if the operation is not fused: an Erf, a Softmax, a Conv…"""
    nodes: tuple[str, ...]
    """All nodes of the operation."""
    extra: tuple[str, ...] = ()
    """Nodes inside it that do not belong to it, such as a Cast."""
    spelling: tuple[str, ...] = ()
    """Nodes written in a form that onnxruntime does not recognize."""
    shared: tuple[str, ...] = ()
    """Inner nodes whose results are also used elsewhere."""


class Inspection(Struct, frozen=True, kw_only=True):
    """Findings of the process that reads models about a model file."""

    graph: Graph
    """Graph of the model: names, operators and tensor connections; nodes are named as in a profile."""
    opset: int
    """ONNX opset version of the model."""
    newest_opset: int = 0
    """Newest opset known to be supported by the installed onnxruntime; 0 if not checked."""
    tensors: dict[str, TensorFact] = {}
    """Types and shapes of the tensors of the main graph, as far as inferred."""
    scalars: dict[str, float] = {}
    """Values of the main graph's one-element constants, by name."""
    symbols: tuple[str, ...] = ()
    """Distinct symbolic dimensions of the inputs."""
    denormals: tuple[Stored, ...] = ()
    """Stored tensors with denormal numbers, those with the most first."""
    unused: tuple[Stored, ...] = ()
    """Unused initializers, largest first."""
    overridable: tuple[str, ...] = ()
    """Initializers that are also inputs, so that onnxruntime cannot treat them as constants."""
    einsums: tuple[NodeFact, ...] = ()
    """Einsum nodes, with their equations."""
    transposes: tuple[NodeFact, ...] = ()
    """Transpose nodes, with their permutations."""
    casts: tuple[NodeFact, ...] = ()
    """Cast nodes, with their target types."""
    idle_casts: tuple[str, ...] = ()
    """Casts without effect: to the same type, or back to the type before an exact Cast."""
    patterns: tuple[Pattern, ...] = ()
    """Operations that consist of several nodes in the main graph."""
    constant_nodes: tuple[str, ...] = ()
    """Nodes of the main graph that depend only on initializers, including overridable ones; without Constant nodes."""
    float64_nodes: tuple[str, ...] = ()
    """Nodes of the main graph that compute with float64."""
    float64_bytes: int = 0
    """Total size of the stored float64 tensors, in bytes."""
