"""Work in float16 on a CPU, for which onnxruntime has hardly any float16 kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from onnxperf.analyze.graphs.executed import executed_where, names_of, share_of
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.records.profile import NodeTime
from onnxperf.wording.numbers import count, sampled_percent

_CPU = "CPUExecutionProvider"


def find(facts: Facts) -> Iterator[Hazard]:
    """A float16 model on the CPU for which onnxruntime added Casts or decomposed operators."""
    half = [name for name, each in facts.inspection.tensors.items() if each.dtype == "float16"]
    parts_of = Counter(node.sources for node in facts.profile.nodes)
    nodes = executed_where(facts.profile, lambda node: _is_added(node, parts_of) and node.provider in ("", _CPU))
    share = share_of(facts.profile, nodes)
    if not half or share is None:
        return
    casts = sum(node.op_name == "Cast" for node in nodes)
    apart = {name for node in nodes if node.op_name != "Cast" for name in node.sources}
    parts = [count(casts, "Cast") + " added"] if casts else []
    parts += [f"{count(len(apart), 'operator')} decomposed into {count(len(nodes) - casts, 'node')}"] if apart else []
    yield Hazard(
        kind="float16",
        title="float16 on a CPU",
        evidence=f"{count(len(half), 'tensor is', 'tensors are')} float16, for which onnxruntime lacks CPU kernels: "
        f"{' and '.join(parts)}, {sampled_percent(share)} of the time",
        remedy="export the model in float32 for a CPU",
        nodes=names_of(nodes),
        share=share,
        trials=(Trial(name="rewrite widen-float16", rewrite="widen-float16", approximate=True),),
    )


def _is_added(node: NodeTime, parts_of: Mapping[tuple[str, ...], int]) -> bool:
    """A Cast without an original, or a part of an operator replaced by the nodes of its definition."""
    if not node.sources:
        return node.op_name == "Cast"
    return len(node.sources) == 1 and parts_of[node.sources] > 1
