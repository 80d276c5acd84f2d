"""A LayerNormalization that is written and executed as several nodes."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.graphs.unfused import unfused_hazard
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial


def find(facts: Facts) -> Iterator[Hazard]:
    """Normalizations whose subtraction of the mean is executed separately."""
    found = unfused_hazard(
        facts.profile,
        facts.inspection,
        "layernorm",
        "unfused LayerNormalization",
        "export with opset 17 or newer (a single node)",
        (Trial(name="rewrite layernorm", rewrite="layernorm"),),
    )
    if found is not None:
        yield found
