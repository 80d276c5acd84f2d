"""Einsum nodes, which onnxruntime computes with a generic method."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.graphs.executed import executed_where, names_of, share_of
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.names import first_of
from onnxperf.wording.numbers import count, sampled_percent

_SMALLEST_SHARE = 0.01


def find(facts: Facts) -> Iterator[Hazard]:
    """Einsum nodes that take time."""
    nodes = executed_where(facts.profile, lambda node: node.op_name == "Einsum")
    share = share_of(facts.profile, nodes)
    if share is None or share < _SMALLEST_SHARE:
        return
    equations = list(dict.fromkeys(each.detail for each in facts.inspection.einsums))
    with_them = f": {first_of(equations, 3)}" if equations else ""
    yield Hazard(
        kind="einsums",
        title="Einsum nodes",
        evidence=f"{count(len(nodes), 'Einsum node')} executed, {sampled_percent(share)} of the time{with_them}",
        remedy="replace them with MatMul, Mul and Transpose; `onnxperf einsum` finds the fastest graph",
        nodes=names_of(nodes),
        share=share,
        trials=(Trial(name="rewrite einsum", rewrite="einsum"),),
    )
