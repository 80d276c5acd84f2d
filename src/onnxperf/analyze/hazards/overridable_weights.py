"""Initializers that are also inputs: onnxruntime can neither fold them nor fuse the nodes that use them."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.graphs.executed import names_of, share_of, touching
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.names import first_of
from onnxperf.wording.numbers import count, sampled_percent


def find(facts: Facts) -> Iterator[Hazard]:
    """Weights that a feed may override."""
    names = facts.inspection.overridable
    if not names:
        return
    tensors = set(names)
    users = [node.name for node in facts.inspection.graph.nodes if not tensors.isdisjoint(node.inputs)]
    times = touching(facts.profile, users)
    share = share_of(facts.profile, times)
    used = f"; the nodes that use them take {sampled_percent(share)} of the time" if share is not None else ""
    counted = count(len(names), "initializer is also an input", "initializers are also inputs")
    yield Hazard(
        kind="overridable-weights",
        title="weights that are inputs",
        evidence=f"{counted}: {first_of(names, 3)}{used}",
        remedy="export the model without initializers among its inputs",
        nodes=names_of(times),
        share=share,
        trials=(Trial(name="rewrite fix-initialisers", rewrite="fix-initialisers"),),
    )
