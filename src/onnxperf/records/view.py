"""A graph to show: everything needed to list or draw it, and metrics for its nodes."""

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
    """An input, intermediate or output tensor."""

    name: str
    """Name; may be empty for an unused output."""
    type: str = "unknown"
    """Element type such as float32; for other values the full type, such as sequence(map(int64, float32))."""
    shape: Dims | None = None
    """Sizes, names of symbolic sizes, or null for unknown sizes; null if even the rank is unknown."""


class ViewTensor(Struct, frozen=True, kw_only=True):
    """A tensor stored in the model."""

    name: str
    """Name of the tensor."""
    dtype: str
    """Element type such as float32."""
    shape: tuple[int, ...]
    """Shape; empty for a scalar."""
    size_bytes: int
    """Stored size of its values in bytes."""
    preview: str = ""
    """Values of a small tensor as text, `damaged` if unreadable; empty if the tensor is large or in another file."""
    values: tuple[Element, ...] | None = None
    """All values in C order, if requested: numbers, booleans or texts; values without a JSON number (nan, inf) are
    text."""
    external: bool = False
    """Whether its values are in another file."""
    sparse: bool = False
    """Whether only nonzero values are stored; `values` then contains those."""


class ViewNode(Struct, frozen=True, kw_only=True):
    """A node of a graph."""

    index: int
    """Index in its graph, from 0."""
    key: str
    """Unique key in the model: its index, after those of the enclosing nodes (`7/then_branch/0`) or of its local
    function (`f0/3`)."""
    label: str
    """Name in a profile: its name, or operator and index if unnamed; duplicates are numbered."""
    name: str = ""
    """Name in the file; may be empty or not unique."""
    op_type: str
    """Operator type."""
    domain: str = ""
    """Domain of the operator; empty for ONNX's own."""
    inputs: tuple[str, ...] = ()
    """Tensor names; an empty name is an omitted input."""
    outputs: tuple[str, ...] = ()
    """Tensor names; an empty name is an unused output."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Names and values as text; long lists and tensors are summarized, subgraphs omitted."""
    defaults: tuple[str, ...] = ()
    """Names of the attributes with default values, which a listing omits."""
    subgraphs: dict[str, ViewGraph] = {}
    """Bodies by attribute name."""
    function: str = ""
    """Key of the local function that it calls, if any (`f0`)."""
    depth: int = 0
    """Number of nodes on the longest path to it from the graph's inputs."""
    macs: int | None = None
    """Number of multiply-adds, for operators that consist of them; null if unknown."""
    doc: str = ""
    """Documentation string of the node."""


class ViewGraph(Struct, frozen=True, kw_only=True):
    """A graph, or the body of a node or local function."""

    name: str = ""
    """Name of the graph."""
    inputs: tuple[ViewValue, ...] = ()
    """Inputs; an initializer that is also listed here may be overridden."""
    outputs: tuple[ViewValue, ...] = ()
    """Outputs."""
    initializers: tuple[ViewTensor, ...] = ()
    """Stored tensors of the graph."""
    nodes: tuple[ViewNode, ...] = ()
    """Nodes in file order."""
    types: dict[str, ViewValue] = {}
    """Inputs and computed tensors of this graph by name, if shape inference finds their type."""

    def with_bodies(self) -> Iterator[ViewGraph]:
        """This graph and all graphs inside its nodes."""
        yield self
        for node in self.nodes:
            for body in node.subgraphs.values():
                yield from body.with_bodies()


class ViewFunction(Struct, frozen=True, kw_only=True):
    """A local function: an operator defined in the model."""

    key: str
    """Unique key: `f` and its number."""
    name: str
    """Operator type of the nodes that call it."""
    domain: str = ""
    """Domain of that operator."""
    overload: str = ""
    """Overload, if several functions have this name."""
    opsets: dict[str, int] = {}
    """Domains and versions of the operators inside; ONNX's own domain is ai.onnx."""
    attributes: tuple[tuple[str, str], ...] = ()
    """Attributes that a caller may set, with their defaults as text (empty if none)."""
    graph: ViewGraph
    """Body of the function; its values have no types."""


class ViewTotals(Struct, frozen=True, kw_only=True):
    """Sums over a whole model."""

    nodes: int = 0
    """Number of nodes, including those in bodies and local functions (a function counts once)."""
    parameters: int = 0
    """Number of values in initializers, including those of bodies."""
    weight_bytes: int = 0
    """Total size of the initializers in bytes."""
    macs: int | None = None
    """Multiply-adds of one inference as far as known, each body counted once; null if no node is known to have any."""
    macs_unknown: int = 0
    """Number of multiply-add nodes with unknown shapes, or repeated by Loop, Scan or SequenceMap."""
    operators: dict[str, int] = {}
    """Number of nodes per operator type, most frequent first; with the domain if it is not ONNX's own."""


class GraphView(Document, frozen=True, kw_only=True):
    """Result of `onnxperf view`: a model to show."""

    model: str
    """Label of the model."""
    fingerprint: str = ""
    """Hash of the model file and its external data."""
    producer: str = ""
    """Program that wrote the model, with its version."""
    ir_version: int = 0
    """IR version: the version of ONNX's file format."""
    opsets: dict[str, int] = {}
    """Domains and versions of the operators; ONNX's own domain is ai.onnx."""
    metadata: dict[str, str] = {}
    """Metadata written by the producer."""
    doc: str = ""
    """Its documentation in the model."""
    graph: ViewGraph
    """The graph itself."""
    functions: tuple[ViewFunction, ...] = ()
    """Local functions of the model."""
    totals: ViewTotals = ViewTotals()
    """Sums over all graphs."""
    free_dims: tuple[str, ...] = ()
    """Symbolic sizes of the inputs; multiply-adds are counted as if each were 1."""
    metrics: Metrics | None = None
    """Costs of the nodes, if requested."""
    notes: tuple[str, ...] = ()
    """Notes on how to read the result."""


class NodeMetric(Struct, frozen=True, kw_only=True):
    """Cost of one node."""

    key: str
    """Key of the node in the view."""
    share: Amount
    """Share of the total, from 0 to 1; nodes executed as one each have the share of all of them."""
    value: Signed
    """Cost of the node."""
    unit: Literal["us", "bytes"]
    """Unit of that value."""
    lines: tuple[str, ...] = ()
    """Lines of the tooltip: time, memory, shapes, fused nodes."""


class Metrics(Struct, frozen=True, kw_only=True):
    """Costs of the nodes of a view, which determine their color and size."""

    by: Measure
    """Metric that is shown."""
    title: str
    """Text of the legend: where it was measured, and the total."""
    nodes: dict[str, NodeMetric] = {}
    """Costs by node key; missing nodes cost nothing, or their cost is unknown."""
    notes: tuple[str, ...] = ()
    """What a reader must know."""
