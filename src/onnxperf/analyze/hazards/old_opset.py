"""A model with an old opset, for which onnxruntime has fewer kernels and fusions."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial

_OLD = 13
"""Older versions date from before 2021; most fusions of onnxruntime target this version or newer."""


def find(facts: Facts) -> Iterator[Hazard]:
    """An opset older than onnxruntime's optimizers expect."""
    found, newest = facts.inspection.opset, facts.inspection.newest_opset
    if not 0 < found < _OLD:
        return
    known = f"; the installed onnxruntime supports up to {newest}" if newest else ""
    yield Hazard(
        kind="old-opset",
        title="old opset",
        evidence=f"the model imports opset {found}{known}",
        remedy="export the model again with a newer opset",
        trials=(Trial(name="rewrite opset", rewrite="opset"),),
    )
