"""A graph to be shown: everything that a listing or a drawing of it needs, and what may be written on its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Document
from onnxperf.records.numbers import Amount, Signed

Dims = tuple[int | str | None, ...]
Element = bool | int | float | str
Measure = Literal["time", "memory", "headroom"]


class ViewValue(Struct, frozen=True, kw_only=True):
    """A tensor that is fed, computed or returned."""

    name: str
    """Its name; an unused output may have none."""
    type: str = "unknown"
    """Element type such as float32; of anything but a tensor the whole type, such as sequence(map(int64, float32))."""
    shape: Dims | None = None
    """Sizes, names of symbolic sizes, null for an unknown size; null as a whole if not even the rank is known."""


class ViewTensor(Struct, frozen=True, kw_only=True):
    """A tensor that is stored in the model."""

    name: str
    """Its name."""
    dtype: str
    """Element type such as float32."""
    shape: tuple[int, ...]
    """Its sizes; () for a single number."""
    size_bytes: int
    """Bytes of its numbers as they are stored; of a string tensor, of its texts."""
    preview: str = ""
    """Values of a small tensor as text, `damaged` if they cannot be read; empty if it is large or in another file."""
    values: tuple[Element, ...] | None = None
    """All values in C order, if requested: numbers, booleans, texts; what JSON has no number for (nan, inf) is text."""
    external: bool = False
    """Its numbers are in another file."""
    sparse: bool = False
    """Only the values that are not zero are stored; `values` then holds those."""


class ViewNode(Struct, frozen=True, kw_only=True):
    """A node of a graph."""

    index: int
    """Its place in its graph, from 0."""
    key: str
    """What no other node of the model has: its place, after those of the nodes around it (`7/then_branch/0`); in a
    local function after its number (`f0/3`)."""
    label: str
    """What a profile calls it: its name, or its operator and place where it has none; a repeated one is numbered."""
    name: str = ""
    """Its name as in the file; may be empty, and need not be unique."""
    op_type: str
    """Operator type."""
    domain: str = ""
    """Domain of the operator; empty for ONNX's own."""
    inputs: tuple[str, ...] = ()
    """Names of tensors; an empty one is an input left out."""
    outputs: tuple[str, ...] = ()
    """Names of tensors; an empty one is an unused output."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Names and values as text; long lists and tensors are summarised, subgraphs left out."""
    defaults: tuple[str, ...] = ()
    """Names of those attributes whose value is the operator's default: a listing leaves them out."""
    subgraphs: dict[str, ViewGraph] = {}
    """Bodies by the name of their attribute."""
    function: str = ""
    """Key of the local function that it calls, if it calls one (`f0`)."""
    depth: int = 0
    """Nodes on the longest way to it from where its graph begins."""
    macs: int | None = None
    """Multiply-adds, for operators that consist of them, where shapes are known."""
    doc: str = ""
    """Its documentation in the model."""


class ViewGraph(Struct, frozen=True, kw_only=True):
    """A graph, the body of a node or of a local function."""

    name: str = ""
    """Its name."""
    inputs: tuple[ViewValue, ...] = ()
    """What is fed; an initialiser that is listed here too may be overridden."""
    outputs: tuple[ViewValue, ...] = ()
    """What is returned."""
    initializers: tuple[ViewTensor, ...] = ()
    """Tensors stored in it."""
    nodes: tuple[ViewNode, ...] = ()
    """In the order of the file."""
    types: dict[str, ViewValue] = {}
    """Tensors that are fed or computed in this graph, by name, where shape inference finds their type."""

    def with_bodies(self) -> Iterator[ViewGraph]:
        """This graph, and all that are inside its nodes."""
        yield self
        for node in self.nodes:
            for body in node.subgraphs.values():
                yield from body.with_bodies()


class ViewFunction(Struct, frozen=True, kw_only=True):
    """A local function: an operator that the model brings along."""

    key: str
    """What no other function has: `f` and its number."""
    name: str
    """Operator type of the nodes that call it."""
    domain: str = ""
    """Their domain."""
    overload: str = ""
    """Which of several functions of this name, if there are several."""
    opsets: dict[str, int] = {}
    """Domains and versions of the operators inside; ONNX's own domain is ai.onnx."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Attributes that a caller may set, with their defaults as text (empty: there is none)."""
    graph: ViewGraph
    """What it computes; its values have no types of their own."""


class ViewTotals(Struct, frozen=True, kw_only=True):
    """Sums over a whole model."""

    nodes: int = 0
    """Nodes, those in bodies and local functions included (a function counts once, however often it is called)."""
    parameters: int = 0
    """Numbers in initialisers, those of bodies included."""
    weight_bytes: int = 0
    """Their bytes."""
    macs: int | None = None
    """Multiply-adds of one inference as far as they are known, each body once; null if no node is known to have any."""
    macs_unknown: int = 0
    """Nodes that multiply and add whose shapes are not known, or that Loop, Scan or SequenceMap repeat."""
    operators: dict[str, int] = {}
    """Nodes per operator type, the most frequent first; with the domain where it is not ONNX's own."""


class GraphView(Document, frozen=True, kw_only=True):
    """A model to be shown by `onnxperf view`."""

    model: str
    """Label of the model."""
    fingerprint: str = ""
    """Hash of the model's file and its external data."""
    producer: str = ""
    """The program that wrote it, with its version."""
    ir_version: int = 0
    """Version of ONNX's file format."""
    opsets: dict[str, int] = {}
    """Domains and versions of the operators; ONNX's own domain is ai.onnx."""
    metadata: dict[str, str] = {}
    """What the producer wrote into the model."""
    doc: str = ""
    """Its documentation in the model."""
    graph: ViewGraph
    """The graph itself."""
    functions: tuple[ViewFunction, ...] = ()
    """Operators that the model brings along."""
    totals: ViewTotals = ViewTotals()
    """Sums over all graphs."""
    free_dims: tuple[str, ...] = ()
    """Symbolic sizes of the inputs; the multiply-adds are counted as if each were 1."""
    metrics: Metrics | None = None
    """What its nodes cost, if that was requested."""
    notes: tuple[str, ...] = ()
    """What a reader must know."""


class NodeMetric(Struct, frozen=True, kw_only=True):
    """What one node costs."""

    key: str
    """Key of the node in the view."""
    share: Amount
    """Its part of the whole, from 0 to 1; of nodes that are executed as one, each has the share of all of them."""
    value: Signed
    """The cost itself."""
    unit: Literal["us", "bytes"]
    """Unit of that value."""
    lines: tuple[str, ...] = ()
    """What a tooltip says: time, memory, shapes, what it was fused with."""


class Metrics(Struct, frozen=True, kw_only=True):
    """What the nodes of a view cost: they are coloured and sized by it."""

    by: Measure
    """What is shown."""
    title: str
    """What a legend says: where it was measured, and what the whole is."""
    nodes: dict[str, NodeMetric] = {}
    """Costs by the key of the node; nodes that are not in it cost nothing, or it is not known."""
    notes: tuple[str, ...] = ()
    """What a reader must know."""
