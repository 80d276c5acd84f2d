"""Weights that are denormal numbers, which slow down processors many times."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.graphs.executed import names_of, share_of, touching
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.names import first_of
from onnxperf.wording.numbers import count, grouped, sampled_percent

_FEWEST = 1e-3
"""Minimum share of a tensor's elements; fewer cost no measurable time."""
_SMALLEST_SHARE = 0.01
"""Minimum share of time in the nodes that use them."""


def find(facts: Facts) -> Iterator[Hazard]:
    """Stored tensors with a significant share of denormal elements."""
    found = [each for each in facts.inspection.denormals if each.denormals >= _FEWEST * each.elements]
    if not found:
        return
    tensors = {each.name for each in found}
    users = [node.name for node in facts.inspection.graph.nodes if not tensors.isdisjoint(node.inputs)]
    times = touching(facts.profile, users)
    share = share_of(facts.profile, times)
    if share is not None and share < _SMALLEST_SHARE:
        return
    number, elements = sum(each.denormals for each in found), sum(each.elements for each in found)
    where = f"{count(len(found), 'tensor')} ({first_of([each.name for each in found], 3)})"
    used = f"; the nodes that use them take {sampled_percent(share)} of the time" if share is not None else ""
    yield Hazard(
        kind="denormal-weights",
        title="denormal weights",
        evidence=f"{grouped(number)} of the {grouped(elements)} elements of {where} are denormal numbers{used}",
        remedy="replace weights below 1.2e-38 with zero when exporting the model, or flush denormals to zero",
        nodes=names_of(times),
        share=share,
        trials=(
            Trial(
                name="session.set_denormal_as_zero=1",
                settings={"session.set_denormal_as_zero": "1"},
            ),
            Trial(name="rewrite flush-denormals", rewrite="flush-denormals"),
        ),
    )
