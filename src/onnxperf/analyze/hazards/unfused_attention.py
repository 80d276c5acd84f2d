"""An attention that is executed as single nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from onnxperf.analyze.graphs.unfused import unfused_hazard
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial

_OPTIMISER = "try the optimiser of onnxruntime.transformers on the model, and race its result"
_GUARD = "leave out the test for NaN behind the Softmax, which has an effect only where a whole row is masked"


def find(facts: Facts) -> Iterator[Hazard]:
    """Attentions whose Softmax is executed by itself."""
    guards = _guards(facts)
    found = unfused_hazard(
        facts.profile,
        facts.inspection,
        "attention",
        "attention that is not fused",
        _GUARD if guards else _OPTIMISER,
        guards,
    )
    if found is not None:
        yield found


def _guards(facts: Facts) -> tuple[Trial, ...]:
    """A trial without the tests for NaN that torch's exporter writes: a mask that is finite never makes one."""
    inspection = facts.inspection
    operators = {node.name: node.op_type for node in inspection.graph.nodes}
    attentions = [each for each in inspection.patterns if each.kind == "attention"]
    if not any(operators.get(name) == "IsNaN" for each in attentions for name in each.extra):
        return ()
    infinite = any(math.isinf(value) for value in inspection.scalars.values())
    return (Trial(name="rewrite drop-nan-guards", rewrite="drop-nan-guards", approximate=infinite),)
