"""Result of a conversion, and how it was checked."""

from __future__ import annotations

from onnxperf.records.base import Document
from onnxperf.records.check import Check
from onnxperf.records.numbers import Count
from onnxperf.records.options import Signature


class Conversion(Document, frozen=True, kw_only=True):
    """Result of `onnxperf convert`."""

    model: str
    """Label of the model."""
    framework: str
    """Source framework: torch, tensorflow or sklearn."""
    versions: dict[str, str]
    """Versions of the packages involved."""
    opset: Count
    """ONNX opset version."""
    inputs: tuple[Signature, ...]
    """Inputs, with the names of their free dimensions."""
    outputs: tuple[Signature, ...]
    """Outputs; an axis that depends on an input dimension has its name."""
    nodes: Count
    """Number of nodes, including those in subgraphs and functions."""
    size_bytes: Count
    """Size of the model including weights."""
    checks: tuple[Check, ...] = ()
    """Comparisons with the source, one per set of dimension sizes; empty if not checked."""
    rows: Count = 0
    """Sample rows on which an estimator was compared with its source; 0 for other models."""
    made_rows: Count = 0
    """Additional rows derived from the sample: mixed values, tree thresholds, extremes, zeros."""
    casts: dict[str, tuple[str, str]] = {}
    """Inputs whose type the converter changed, with the types before and after; the source received the latter."""
    output: str = ""
    """Output file; empty if none was written."""
    notes: tuple[str, ...] = ()
    """Notes on how to read the result."""

    @property
    def equal(self) -> bool:
        """Whether no comparison found a difference."""
        return all(check.equal for check in self.checks)
