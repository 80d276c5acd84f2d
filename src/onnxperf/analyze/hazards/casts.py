"""Cast nodes that take a significant share of the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from onnxperf.analyze.graphs.executed import executed_where, names_of, share_of
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.records.profile import NodeTime
from onnxperf.wording.names import first_of
from onnxperf.wording.numbers import count, share_percent

_FEWEST_NODES, _SMALLEST_SHARE = 4, 0.05


def find(facts: Facts) -> Iterator[Hazard]:
    """Several Casts that together take time."""
    profile, idle = facts.profile, len(facts.inspection.idle_casts)
    nodes = executed_where(profile, lambda node: node.op_name == "Cast")
    share = share_of(profile, nodes)
    if len(nodes) < _FEWEST_NODES or share is None or share < _SMALLEST_SHARE:
        return
    added = sum(1 for node in nodes if not node.sources)
    parts = [_idle(idle, len(facts.inspection.casts))] if idle else []
    parts += [f"onnxruntime added {added} because it lacks kernels for a type"] if added else []
    why = "".join(f"; {part}" for part in parts)
    elimination = "optimization.enable_cast_chain_elimination"
    yield Hazard(
        kind="casts",
        title="Cast storm",
        evidence=f"{count(len(nodes), 'Cast node')} executed ({_types(nodes)}), {share_percent(share)} of the time"
        f"{why}",
        remedy="use one type throughout the model; for a CPU, export float16 models in float32",
        nodes=names_of(nodes),
        share=share,
        trials=(
            *((Trial(name="rewrite drop-casts", rewrite="drop-casts"),) if idle else ()),
            Trial(name=f"{elimination}=1", settings={elimination: "1"}, approximate=True),
        ),
    )


def _types(nodes: Sequence[NodeTime]) -> str:
    """The most frequent conversions."""
    pairs = Counter(
        f"{node.inputs[0].dtype} to {node.outputs[0].dtype}" for node in nodes if node.inputs and node.outputs
    )
    return first_of([f"{number} {pair}" for pair, number in pairs.most_common()], 3) or "types unknown"


def _idle(idle: int, casts: int) -> str:
    return f"{idle} of the model's {casts} {'has' if idle == 1 else 'have'} no effect"
