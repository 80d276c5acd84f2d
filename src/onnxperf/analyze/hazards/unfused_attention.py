"""An attention that is executed as separate nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from onnxperf.analyze.graphs.unfused import unfused_hazard
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial

_OPTIMISER = "run the optimizer of onnxruntime.transformers on the model and race the result"
_GUARD = "remove the NaN check after the Softmax, which has an effect only if a whole row is masked"


def find(facts: Facts) -> Iterator[Hazard]:
    """Attentions whose Softmax is executed separately."""
    guards = _guards(facts)
    found = unfused_hazard(
        facts.profile,
        facts.inspection,
        "attention",
        "unfused attention",
        _GUARD if guards else _OPTIMISER,
        guards,
    )
    if found is not None:
        yield found


def _guards(facts: Facts) -> tuple[Trial, ...]:
    """A candidate without the NaN checks written by torch's exporter: a finite mask never produces NaN."""
    inspection = facts.inspection
    operators = {node.name: node.op_type for node in inspection.graph.nodes}
    attentions = [each for each in inspection.patterns if each.kind == "attention"]
    if not any(operators.get(name) == "IsNaN" for each in attentions for name in each.extra):
        return ()
    infinite = any(math.isinf(value) for value in inspection.scalars.values())
    return (Trial(name="rewrite drop-nan-guards", rewrite="drop-nan-guards", approximate=infinite),)
