"""What was compared, and how far it differs."""

from __future__ import annotations

from msgspec import Struct

from onnxperf.records.base import Document


class Difference(Struct, frozen=True, kw_only=True):
    """How one output of two subjects compares; the second one is what the first is compared with."""

    name: str
    """Name of the output."""
    equal: bool
    """Every element is within the tolerances."""
    elements: int = 0
    """Elements that were compared."""
    differing: int = 0
    """Elements outside the tolerances."""
    max_absolute: float | None = None
    """Largest absolute difference of finite numbers."""
    max_relative: float | None = None
    """Largest difference of finite numbers, relative to the second one's."""
    max_ulp: float | None = None
    """Largest distance in representable numbers of the type."""
    nans: tuple[int, int] = (0, 0)
    """NaNs in the first and in the second."""
    infinities: tuple[int, int] = (0, 0)
    """Infinities in the first and in the second."""
    reason: str = ""
    """What differs besides numbers: shapes, types, lengths, keys."""


class NodeDifference(Struct, frozen=True, kw_only=True):
    """The first node, in the order of the graph, whose output differs."""

    index: int
    """Place in the graph, from 0."""
    name: str
    """Its name; may be empty."""
    operator: str
    """Its type, with its domain if that is not ONNX's own."""
    inputs: tuple[str, ...]
    """Names of its inputs, which are still equal."""
    difference: Difference
    """Of its first output that differs."""
    saved: str | None = None
    """File with its inputs and outputs, if they were saved."""


class Check(Document, frozen=True, kw_only=True):
    """What `onnxperf check` found."""

    model: str
    """Label of the model."""
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
    """Where the difference begins, if that was requested."""
    notes: tuple[str, ...] = ()
    """What a reader must know."""

    @property
    def equal(self) -> bool:
        """All outputs agree."""
        return all(output.equal for output in self.outputs)
