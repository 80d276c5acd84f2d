"""Transpose nodes that take a significant share of the time."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.graphs.executed import executed_where, names_of, share_of
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.records.graph import Graph
from onnxperf.wording.numbers import count, share_percent

_FEWEST_NODES, _SMALLEST_SHARE = 3, 0.05
_MOST_BETWEEN = 8
"""Maximum number of nodes between two Transposes that can be merged."""


def find(facts: Facts) -> Iterator[Hazard]:
    """Several Transposes that together take time."""
    profile, original = facts.profile, len(facts.inspection.transposes)
    nodes = executed_where(profile, lambda node: node.op_name == "Transpose")
    share = share_of(profile, nodes)
    if len(nodes) < _FEWEST_NODES or share is None or share < _SMALLEST_SHARE:
        return
    added = sum(1 for node in nodes if not node.sources)
    in_a_row = _follow_each_other(facts.inspection.graph)
    trials = [Trial(name="rewrite merge-transposes", rewrite="merge-transposes")] if in_a_row else []
    name = "disabled_optimizers=TransposeOptimizer"
    trials.append(Trial(name=name, settings={"disabled_optimizers": "TransposeOptimizer"}))
    origin = f"; the model has {original}" + (f", onnxruntime added {added}" if added else "")
    yield Hazard(
        kind="transposes",
        title="Transpose storm",
        evidence=f"{count(len(nodes), 'Transpose node')} executed, {share_percent(share)} of the time{origin}",
        remedy="export the model in the layout that its operators need, so that fewer Transposes remain",
        nodes=names_of(nodes),
        share=share,
        trials=tuple(trials),
    )


def _follow_each_other(graph: Graph) -> bool:
    """Whether a Transpose uses the output of another one, possibly through operators with one input."""
    makers = {name: node for node in graph.nodes for name in node.outputs}
    for node in graph.nodes:
        maker = makers.get(node.inputs[0]) if node.op_type == "Transpose" and node.inputs else None
        for _ in range(_MOST_BETWEEN):
            if maker is None or maker.op_type == "Transpose" or len(maker.inputs) != 1:
                break
            maker = makers.get(maker.inputs[0])
        if maker is not None and maker.op_type == "Transpose":
            return True
    return False
