"""What was compared, and how far it differs."""

from __future__ import annotations

from msgspec import Struct

from onnxperf.records.base import Document, Status
from onnxperf.records.numbers import Count
from onnxperf.records.options import OptLevel


class Difference(Struct, frozen=True, kw_only=True):
    """How one output of two subjects compares; the second one is what the first is compared with."""

    name: str
    """Name of the output."""
    equal: bool
    """Type and shape are the same, floats (and integers of at most 16 bits, where the absolute tolerance is 1 or more)
    are within the tolerances, and all other elements exactly the same."""
    elements: Count = 0
    """Elements that were compared."""
    differing: Count = 0
    """Elements outside the tolerances."""
    differs_by: float | None = None
    """Largest absolute difference of these elements; null where it is not a finite number."""
    differs_at: str = ""
    """Where that is, as Python writes the place: [3, 1]; else the first element that differs."""
    max_absolute: float | None = None
    """Largest absolute difference of finite numbers."""
    max_relative: float | None = None
    """Largest difference of finite numbers, relative to the second one's."""
    max_ulp: float | None = None
    """Largest distance in representable numbers of the type, of elements of one sign that are farther from zero than
    the absolute tolerance; null where there are none."""
    nans: tuple[Count, Count] = (0, 0)
    """NaNs in the first and in the second."""
    infinities: tuple[Count, Count] = (0, 0)
    """Infinities in the first and in the second."""
    reason: str = ""
    """What differs besides numbers: shapes, types, lengths, keys."""


class NodeDifference(Struct, frozen=True, kw_only=True):
    """The first node, in the order of the graph, whose output differs."""

    index: Count
    """Place in the graph, from 0."""
    name: str
    """Its name; may be empty."""
    operator: str
    """Its type, with its domain if that is not ONNX's own."""
    inputs: tuple[str, ...]
    """Names of its inputs, which are still equal."""
    difference: Difference
    """Of its first output that differs."""


class Check(Document, frozen=True, kw_only=True):
    """What `onnxperf check` found."""

    model: str
    """Label of the model; of two, both labels joined by a comma."""
    first: str
    """What was checked."""
    second: str
    """What it was compared with."""
    rtol: float
    """Relative tolerance."""
    atol: float
    """Absolute tolerance."""
    outputs: tuple[Difference, ...]
    """One per output."""
    node: NodeDifference | None = None
    """The first node that differs, where nodes were compared and one does."""
    walked: bool = False
    """Every tensor that both sides have was compared, node by node."""
    level: OptLevel | None = None
    """First optimisation level of onnxruntime at which the outputs differ; only looked for where no node does."""
    undecided: str = ""
    """Why outputs say nothing about both sides: one of them draws random numbers, or is not deterministic."""
    notes: tuple[str, ...] = ()
    """What a reader must know."""

    @property
    def equal(self) -> bool:
        """All outputs agree, and say something about both sides."""
        return not self.undecided and all(output.equal for output in self.outputs)

    @property
    def status(self) -> Status:
        """Failed where a side is not deterministic; whether outputs differ is in `equal`."""
        return "failed" if self.undecided else "ok"
