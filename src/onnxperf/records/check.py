"""Comparison of outputs, and how much they differ."""

from __future__ import annotations

from msgspec import Struct

from onnxperf.records.base import Document, Status
from onnxperf.records.numbers import Count
from onnxperf.records.options import OptLevel


class Difference(Struct, frozen=True, kw_only=True):
    """Comparison of one output of two subjects; the second subject is the reference."""

    name: str
    """Name of the output."""
    equal: bool
    """Whether type and shape match, floats (and integers of up to 16 bits, if the absolute tolerance is 1 or more) are
    within the tolerances, and all other elements are identical."""
    elements: Count = 0
    """Number of compared elements."""
    differing: Count = 0
    """Number of elements outside the tolerances."""
    differs_by: float | None = None
    """Largest absolute difference of these elements; null if not finite."""
    differs_at: str = ""
    """Index of that element in Python notation, such as [3, 1]; if there is none, of the first element that differs."""
    max_absolute: float | None = None
    """Largest absolute difference of finite values."""
    max_relative: float | None = None
    """Largest difference of finite values, relative to the second subject's."""
    max_ulp: float | None = None
    """Largest distance in units in the last place (ULP), over elements with the same sign and a magnitude above the
    absolute tolerance; null if there are none."""
    nans: tuple[Count, Count] = (0, 0)
    """Number of NaNs in the first and the second subject."""
    infinities: tuple[Count, Count] = (0, 0)
    """Number of infinities in the first and the second subject."""
    reason: str = ""
    """Differences other than values: shapes, types, lengths, keys."""


class NodeDifference(Struct, frozen=True, kw_only=True):
    """The first node, in graph order, whose output differs."""

    index: Count
    """Position in the graph, from 0."""
    name: str
    """Node name; may be empty."""
    operator: str
    """Operator type, with its domain if that is not ONNX's own."""
    inputs: tuple[str, ...]
    """Names of its inputs, which still agree."""
    difference: Difference
    """Difference of its first output that differs."""


class Check(Document, frozen=True, kw_only=True):
    """Result of `onnxperf check`."""

    model: str
    """Label of the model; two labels are separated by a comma."""
    first: str
    """Subject under test."""
    second: str
    """Reference subject."""
    rtol: float
    """Relative tolerance."""
    atol: float
    """Absolute tolerance."""
    outputs: tuple[Difference, ...]
    """Comparison of each output."""
    node: NodeDifference | None = None
    """First node that differs; null if none does, or nodes were not compared."""
    walked: bool = False
    """Whether every tensor present on both sides was compared, node by node."""
    level: OptLevel | None = None
    """Lowest optimization level of onnxruntime at which the outputs differ; determined only if no node differs."""
    undecided: str = ""
    """Why the outputs cannot be compared: one side draws random numbers or is not deterministic."""
    notes: tuple[str, ...] = ()
    """Notes on how to read the result."""

    @property
    def equal(self) -> bool:
        """Whether all outputs agree and can be compared."""
        return not self.undecided and all(output.equal for output in self.outputs)

    @property
    def status(self) -> Status:
        """Failed if a side is not deterministic; `equal` tells whether outputs differ."""
        return "failed" if self.undecided else "ok"
