"""Nodes so small that calling them costs more than what they compute."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.numbers import mean_count, time_text

_TINY_NS = 5e3
"""Mean time of a node, without the profiler, below which it is mostly the work around its kernel."""
_CALL_NS = 50e3
"""Time of a call below which the call itself is a part that matters, however few nodes there are."""


def find(facts: Facts) -> Iterator[Hazard]:
    """A call that is short for the number of nodes that it executes."""
    executed = sum(node.calls for node in facts.profile.nodes) / max(facts.profile.iterations, 1)
    if not executed or not facts.call_ns or facts.call_ns >= max(_TINY_NS * executed, _CALL_NS):
        return
    nodes = f"{mean_count(executed)} nodes of {time_text(facts.call_ns / executed)} each" if executed > 1 else "1 node"
    trials = [
        Trial(name="call=run-c", call="run-c"),
        Trial(name="call=io-binding", call="io-binding"),
        *([Trial(name="arena=off", settings={"arena": "off"})] if facts.session.arena == "default" else []),
        *([Trial(name="threads=1", settings={"threads": "1"})] if (facts.session.threads or 1) > 1 else []),
    ]
    yield Hazard(
        kind="tiny-nodes",
        title="tiny nodes",
        evidence=f"a call of {time_text(facts.call_ns)} executes {nodes}: the work around kernels matters",
        remedy="do less around the model in each call, or give it larger batches",
        trials=tuple(trials),
    )
