"""Denormal numbers among the values computed by a model, which slow down processors."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.names import first_of, name_of
from onnxperf.wording.numbers import count, sampled_percent

ENTRY = "session.set_denormal_as_zero"


def find(facts: Facts) -> Iterator[Hazard]:
    """Tensors with denormals in a call on these inputs; if unknown, the race decides."""
    if facts.session.options.get(ENTRY) == "1" or facts.denormals == {}:
        return
    found = sorted((facts.denormals or {}).items(), key=lambda item: -item[1])
    texts = [f"{name_of(name)} ({sampled_percent(part)} of its elements)" for name, part in found]
    made = [node for node in facts.profile.nodes if set(node.tensors) & dict(found).keys()]
    yield Hazard(
        kind="denormal-activations",
        title="denormal activations",
        evidence=f"{count(len(found), 'tensor')} with denormal numbers: {first_of(texts, 3)}"
        if found
        else "the intermediate results were too large to check",
        remedy="let the session treat denormal numbers as zero",
        nodes=tuple(node.name for node in made),
        share=facts.share_of(made) if made else None,
        trials=(Trial(name=f"{ENTRY}=1", settings={ENTRY: "1"}),),
    )
