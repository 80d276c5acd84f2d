"""Nodes that compute the same from constants in every call."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.graphs.executed import doing, names_of, share_of
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.numbers import count, sampled_percent


def find(facts: Facts) -> Iterator[Hazard]:
    """Executed nodes that do the work of constant nodes only: onnxruntime did not fold them."""
    nodes = doing(facts.profile, facts.inspection.constant_nodes)
    share = share_of(facts.profile, nodes)
    if share is None:
        return
    fed = len(facts.inspection.overridable)
    rewrite = "fix-initialisers" if fed else "fold-constants"
    why = f"; {count(fed, 'initialiser is an input, too', 'initialisers are inputs, too')}" if fed else ""
    them = "it" if len(nodes) == 1 else "them"
    yield Hazard(
        kind="constant-nodes",
        title="constants computed in every call",
        evidence=f"{count(len(nodes), 'node')} executed although no input reaches {them}, "
        f"{sampled_percent(share)} of the time{why}",
        remedy="compute them once when the model is exported; initialisers should not be inputs",
        nodes=names_of(nodes),
        share=share,
        # what depends on an input that has a value must not be folded: without that input, onnxruntime does it
        trials=(Trial(name=f"rewrite {rewrite}", rewrite=rewrite),),
    )
