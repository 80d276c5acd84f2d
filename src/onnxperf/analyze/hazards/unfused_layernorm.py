"""A LayerNormalization that is spelled out in several nodes, and executed so."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.graphs.unfused import unfused_hazard
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial


def find(facts: Facts) -> Iterator[Hazard]:
    """Normalisations whose subtraction of the mean is executed by itself."""
    found = unfused_hazard(
        facts.profile,
        facts.inspection,
        "layernorm",
        "LayerNormalization that is not fused",
        "export with opset 17 or newer, in which it is one node",
        (Trial(name="rewrite layernorm", rewrite="layernorm"),),
    )
    if found is not None:
        yield found
