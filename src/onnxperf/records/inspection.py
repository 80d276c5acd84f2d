"""What the file of a model says about itself, as far as advice needs it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.graph import Graph


class TensorFact(Struct, frozen=True):
    """What is known of a tensor before anything runs."""

    dtype: str
    """Element type in numpy's words; `unknown` where it cannot be inferred."""
    dims: tuple[int | str | None, ...] | None
    """A size, a symbolic name or null for each axis; null altogether where even the rank is unknown."""


class NodeFact(Struct, frozen=True):
    """A node, and something in its attributes."""

    name: str
    """Its name, as the profile calls it."""
    detail: str
    """Equation of an Einsum, permutation of a Transpose (`0,2,1`), type that a Cast makes."""


class Stored(Struct, frozen=True):
    """An initialiser, and something about it."""

    name: str
    """Its name."""
    elements: int
    """How many elements it has."""
    nbytes: int
    """Bytes that it takes in the file."""
    denormals: int = 0
    """How many of its elements are denormal numbers."""


class Pattern(Struct, frozen=True, kw_only=True):
    """Nodes that together are one operation, which onnxruntime has as one kernel."""

    kind: Literal["gelu", "layernorm", "attention", "qdq"]
    """Which operation."""
    core: str
    """The node that is executed by itself where the operation was not fused: an Erf, a Softmax, a Conv…"""
    nodes: tuple[str, ...]
    """All of its nodes."""
    extra: tuple[str, ...] = ()
    """Nodes in it that do not belong to it, such as a Cast."""
    spelling: tuple[str, ...] = ()
    """Nodes of it that are spelled in another way than onnxruntime recognises."""
    shared: tuple[str, ...] = ()
    """Nodes inside whose results something else uses, too."""


class Inspection(Struct, frozen=True, kw_only=True):
    """What was found in a model's file by the process that reads models."""

    graph: Graph
    """Its graph: names, operators, and which tensor comes from where; every node has the name of the profile."""
    opset: int
    """Version of ONNX's own operators that it imports."""
    newest_opset: int = 0
    """The newest version that the installed onnxruntime is known to have; 0 where that was not looked at."""
    tensors: dict[str, TensorFact] = {}
    """Types and shapes of the tensors of the main graph, as far as they can be inferred."""
    scalars: dict[str, float] = {}
    """Values of the constants of the main graph that have one element, by name."""
    symbols: tuple[str, ...] = ()
    """Symbolic dimensions of its inputs, each once."""
    denormals: tuple[Stored, ...] = ()
    """Stored tensors that hold denormal numbers, those with the most of them first."""
    unused: tuple[Stored, ...] = ()
    """Initialisers that nothing uses, the largest first."""
    overridable: tuple[str, ...] = ()
    """Initialisers that are inputs, too, so that onnxruntime must not take them for constants."""
    einsums: tuple[NodeFact, ...] = ()
    """Einsum nodes, with their equations."""
    transposes: tuple[NodeFact, ...] = ()
    """Transpose nodes, with their permutations."""
    casts: tuple[NodeFact, ...] = ()
    """Cast nodes, with the types that they make."""
    idle_casts: tuple[str, ...] = ()
    """Casts that have no effect: to the type that is there, or back to the type before an exact Cast."""
    patterns: tuple[Pattern, ...] = ()
    """Operations that are spelled out in the main graph."""
    constant_nodes: tuple[str, ...] = ()
    """Nodes of the main graph that depend on initialisers only, overridable ones included; Constant nodes left out."""
    float64_nodes: tuple[str, ...] = ()
    """Nodes of the main graph that compute with float64."""
    float64_bytes: int = 0
    """Bytes of the stored tensors that are float64."""
