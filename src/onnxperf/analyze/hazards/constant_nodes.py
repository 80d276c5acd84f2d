"""Nodes that recompute constants in every call."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.graphs.executed import doing, names_of, share_of
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.numbers import count, sampled_percent


def find(facts: Facts) -> Iterator[Hazard]:
    """Executed nodes that only do the work of constant nodes, which onnxruntime did not fold."""
    nodes = doing(facts.profile, facts.inspection.constant_nodes)
    share = share_of(facts.profile, nodes)
    if share is None:
        return
    fed = len(facts.inspection.overridable)
    rewrite = "fix-initialisers" if fed else "fold-constants"
    why = f"; {count(fed, 'initializer is also an input', 'initializers are also inputs')}" if fed else ""
    them = "it" if len(nodes) == 1 else "them"
    yield Hazard(
        kind="constant-nodes",
        title="constants computed in every call",
        evidence=f"{count(len(nodes), 'node')} executed although no input affects {them}, "
        f"{sampled_percent(share)} of the time{why}",
        remedy="compute them once when exporting the model; initializers should not be inputs",
        nodes=names_of(nodes),
        share=share,
        # a node that depends on an input with a default must not be folded; without that input, onnxruntime folds it
        trials=(Trial(name=f"rewrite {rewrite}", rewrite=rewrite),),
    )
