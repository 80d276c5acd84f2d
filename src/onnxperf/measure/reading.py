"""What a reader is asked for: a worker that opens models, so that no process that matters has to."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from onnxperf.measure.messages import Reply, Request
from onnxperf.records.graph import Graph
from onnxperf.records.options import Signature
from onnxperf.records.view import Dims, GraphView

Shapes = dict[str, tuple[int, ...]]


class ModelPlace(Struct, frozen=True, kw_only=True):
    """A file with a model in it."""

    name: bytes
    """Its path; names of files need not be text."""
    what: str
    """What messages call it."""
    memory_bytes: int
    """What reading it may take."""

    @property
    def path(self) -> Path:
        """Where it is."""
        return Path(os.fsdecode(self.name))


class Opened(Reply, frozen=True):
    """What is needed of a model before it runs."""

    inputs: tuple[Signature, ...]
    overridable: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    files: tuple[bytes, ...]
    """Those of its external data."""
    size_bytes: int
    table_sizes: dict[str, int]


class Open(Request[Opened], frozen=True):
    """Read a model, and refuse one that is damaged."""

    answered_by = "onnxperf.measure.worker.reading:open_file"
    place: ModelPlace
    alone: bool
    """It cannot have external data."""


class Viewed(Reply, frozen=True):
    """A model to be shown, still without its label and fingerprint."""

    view: GraphView


class View(Request[Viewed], frozen=True):
    """Read all that a listing or a drawing shows."""

    answered_by = "onnxperf.measure.worker.reading:view"
    place: ModelPlace
    values: bool
    shapes: dict[str, Dims] | None
    """Those of its inputs, where they are not as declared."""


class OperatorCount(Struct, frozen=True):
    """How often a model has an operator, bodies and functions included."""

    domain: str
    op_type: str
    nodes: int


class Outlined(Reply, frozen=True):
    """The graph of a model."""

    graph: Graph
    operators: tuple[OperatorCount, ...]
    """The first ones first."""
    modules: dict[str, str]
    """Modules of the source framework, by the names of nodes."""
    functions: int
    """How many local functions it has."""
    written: bool
    """Whether nodes needed names, and a copy in which they have them was written."""


class Outline(Request[Outlined], frozen=True):
    """Read which nodes a model has, and what connects them."""

    answered_by = "onnxperf.measure.worker.reading:outline"
    place: ModelPlace
    named: bool
    """Give every node a name of its own."""
    copy_path: str = ""
    """Where a copy goes in which nodes have these names, if they need them."""


class Weighed(Reply, frozen=True):
    """The work of the nodes of a model, by their names; those without a name have the one of the outline."""

    work: dict[str, float]


class Weigh(Request[Weighed], frozen=True):
    """Estimate the work of each node."""

    answered_by = "onnxperf.measure.worker.reading:weigh"
    place: ModelPlace
    shapes: Shapes


class Sized(Reply, frozen=True):
    """Bytes of the tensors of a model."""

    tensors: dict[str, int]
    """Those whose shapes can be inferred, by name."""
    weights_bytes: int


class SizeUp(Request[Sized], frozen=True):
    """Infer how large tensors are."""

    answered_by = "onnxperf.measure.worker.reading:size_up"
    place: ModelPlace
    shapes: Shapes


class FoundRandom(Reply, frozen=True):
    """Operators that draw random numbers for the outputs of a model."""

    operators: tuple[str, ...]


class FindRandom(Request[FoundRandom], frozen=True):
    """Find them without running the model."""

    answered_by = "onnxperf.measure.worker.reading:find_random"
    place: ModelPlace


class Applied(Reply, frozen=True):
    """What a function of ours found in a model, in its own words."""

    answer: bytes


class Apply(Request[Applied], frozen=True):
    """Have a function of ours look at a model; for rooms that this one does not enter."""

    answered_by = "onnxperf.measure.worker.reading:apply"
    place: ModelPlace
    function: str
    """`module:function`, of the graph and a question."""
    question: bytes


class Translated(Reply, frozen=True):
    """What the numpy runtime runs."""

    source: str


class Translate(Request[Translated], frozen=True):
    """Compile a model with the numpy runtime."""

    answered_by = "onnxperf.measure.worker.reading:translate"
    place: ModelPlace
