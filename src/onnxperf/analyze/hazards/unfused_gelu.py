"""A Gelu that is written and executed as several nodes."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.graphs.unfused import unfused_hazard
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial


def find(facts: Facts) -> Iterator[Hazard]:
    """Gelus whose Erf or Tanh is executed separately."""
    found = unfused_hazard(
        facts.profile,
        facts.inspection,
        "gelu",
        "unfused Gelu",
        "write it as one Gelu node, or as x / sqrt(2), Erf, + 1, * x, * 0.5 with nothing in between",
        (Trial(name="rewrite gelu", rewrite="gelu"),),
    )
    if found is not None:
        yield found
