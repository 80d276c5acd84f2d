"""Nodes that compute in float64."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.graphs.executed import executed_where, names_of, share_of
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.records.profile import NodeTime
from onnxperf.wording.numbers import count, sampled_percent, size

_SMALLEST_SHARE = 0.01


def find(facts: Facts) -> Iterator[Hazard]:
    """Executed nodes with a float64 tensor, except Casts."""
    nodes = executed_where(facts.profile, _is_float64)
    share = share_of(facts.profile, nodes)
    if share is None or share < _SMALLEST_SHARE:
        return
    stored = facts.inspection.float64_bytes
    weights = f"; {size(stored)} of weights are stored as float64" if stored else ""
    yield Hazard(
        kind="float64",
        title="float64 work",
        evidence=f"{count(len(nodes), 'node')} computed in float64, {sampled_percent(share)} of the time{weights}",
        remedy="export the model in float32 if that precision suffices",
        nodes=names_of(nodes),
        share=share,
        trials=(Trial(name="rewrite float32", rewrite="float32", approximate=True),),
    )


def _is_float64(node: NodeTime) -> bool:
    return node.op_name != "Cast" and any(each.dtype == "double" for each in (*node.inputs, *node.outputs))
