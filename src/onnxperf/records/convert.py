"""What a conversion made, and how it was checked."""

from __future__ import annotations

from onnxperf.records.base import Document
from onnxperf.records.check import Check
from onnxperf.records.numbers import Count
from onnxperf.records.options import Signature


class Conversion(Document, frozen=True, kw_only=True):
    """What `onnxperf convert` made."""

    model: str
    """Label of the model."""
    framework: str
    """What it was converted from: torch, tensorflow or sklearn."""
    versions: dict[str, str]
    """Versions of the packages that took part."""
    opset: Count
    """Version of ONNX's own operators that it uses."""
    inputs: tuple[Signature, ...]
    """Its inputs, with the names of their free dimensions."""
    outputs: tuple[Signature, ...]
    """Its outputs; an axis that follows a dimension of the inputs has its name."""
    nodes: Count
    """Nodes of the graph, those of subgraphs and functions included."""
    size_bytes: Count
    """Size of the model with its weights."""
    checks: tuple[Check, ...] = ()
    """Comparisons with the source, one per size of the dimensions; empty if it was not checked."""
    rows: Count = 0
    """Rows of the sample on which an estimator was compared with its source; 0 for other models."""
    made_rows: Count = 0
    """Rows besides, made from the sample: its values mixed, thresholds of trees, extremes, zeros."""
    casts: dict[str, tuple[str, str]] = {}
    """Inputs whose type the converter changed, with the types before and after; the source was given the latter."""
    output: str = ""
    """File that it was written to; empty if it was not written."""
    notes: tuple[str, ...] = ()
    """What a reader must know."""

    @property
    def equal(self) -> bool:
        """No comparison found a difference."""
        return all(check.equal for check in self.checks)
