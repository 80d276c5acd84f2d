"""Requests to a reader: a worker that opens models, so that no important process has to."""

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
    """A model file."""

    name: bytes
    """Path in bytes; file names are not always valid text."""
    what: str
    """Description used in messages."""
    memory_bytes: int
    """Memory limit for reading it."""

    @property
    def path(self) -> Path:
        """Path of the file."""
        return Path(os.fsdecode(self.name))


class Opened(Reply, frozen=True):
    """Facts about a model that are needed before it runs."""

    inputs: tuple[Signature, ...]
    overridable: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    files: tuple[bytes, ...]
    """Files of its external data."""
    size_bytes: int
    table_sizes: dict[str, int]


class Open(Request[Opened], frozen=True):
    """Read and validate a model."""

    answered_by = "onnxperf.measure.worker.reading:open_file"
    place: ModelPlace
    alone: bool
    """Whether external data are not allowed."""


class Viewed(Reply, frozen=True):
    """A model to show, without its label and fingerprint."""

    view: GraphView


class View(Request[Viewed], frozen=True):
    """Read everything needed to list or draw a model."""

    answered_by = "onnxperf.measure.worker.reading:view"
    place: ModelPlace
    values: bool
    shapes: dict[str, Dims] | None
    """Shapes of its inputs, if different from the declared ones."""


class OperatorCount(Struct, frozen=True):
    """Number of nodes of an operator, including bodies and functions."""

    domain: str
    op_type: str
    nodes: int


class Outlined(Reply, frozen=True):
    """The graph of a model."""

    graph: Graph
    operators: tuple[OperatorCount, ...]
    """Operators in order of first occurrence."""
    modules: dict[str, str]
    """Modules of the source framework by node name."""
    functions: int
    """Number of local functions."""
    written: bool
    """Whether nodes needed names and a copy with names was written."""


class Outline(Request[Outlined], frozen=True):
    """Read the nodes of a model and their connections."""

    answered_by = "onnxperf.measure.worker.reading:outline"
    place: ModelPlace
    named: bool
    """Give every node a unique name."""
    copy_path: str = ""
    """Output path of a copy with these names, if nodes need them."""


class Weighed(Reply, frozen=True):
    """Work of the nodes of a model by name; unnamed nodes have the names of the outline."""

    work: dict[str, float]


class Weigh(Request[Weighed], frozen=True):
    """Estimate the work of each node."""

    answered_by = "onnxperf.measure.worker.reading:weigh"
    place: ModelPlace
    shapes: Shapes


class Sized(Reply, frozen=True):
    """Sizes in bytes of the tensors of a model."""

    tensors: dict[str, int]
    """Sizes of the tensors with inferable shapes, by name."""
    weights_bytes: int


class SizeUp(Request[Sized], frozen=True):
    """Infer the sizes of tensors."""

    answered_by = "onnxperf.measure.worker.reading:size_up"
    place: ModelPlace
    shapes: Shapes


class FoundRandom(Reply, frozen=True):
    """Operators that draw random numbers that affect the outputs of a model."""

    operators: tuple[str, ...]


class FindRandom(Request[FoundRandom], frozen=True):
    """Find random operators without running the model."""

    answered_by = "onnxperf.measure.worker.reading:find_random"
    place: ModelPlace


class Applied(Reply, frozen=True):
    """Answer of one of our functions about a model, in its own encoding."""

    answer: bytes


class Apply(Request[Applied], frozen=True):
    """Apply one of our functions to a model, for packages that this one does not import."""

    answered_by = "onnxperf.measure.worker.reading:apply"
    place: ModelPlace
    function: str
    """`module:function`, which takes the graph and a question."""
    question: bytes


class Translated(Reply, frozen=True):
    """Python source run by the numpy runtime."""

    source: str


class Translate(Request[Translated], frozen=True):
    """Compile a model with the numpy runtime."""

    answered_by = "onnxperf.measure.worker.reading:translate"
    place: ModelPlace
