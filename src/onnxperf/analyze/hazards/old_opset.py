"""A model in an old version of ONNX's operators, for which onnxruntime has fewer kernels and fusions."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial

_OLD = 13
"""Versions below are from before 2021; most fusions of onnxruntime are written for this one and newer ones."""


def find(facts: Facts) -> Iterator[Hazard]:
    """An opset below the one that onnxruntime's optimisers expect."""
    found, newest = facts.inspection.opset, facts.inspection.newest_opset
    if not 0 < found < _OLD:
        return
    known = f"; onnxruntime here knows {newest}" if newest else ""
    yield Hazard(
        kind="old-opset",
        title="old opset",
        evidence=f"the model imports opset {found}{known}",
        remedy="export the model again with a newer opset",
        trials=(Trial(name="rewrite opset", rewrite="opset"),),
    )
