"""Nodes so small that calling them costs more than computing them."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.numbers import mean_count, time_text

_TINY_NS = 5e3
"""Mean time of a node, without the profiler, below which it is mostly overhead around its kernel."""
_CALL_NS = 50e3
"""Time of a call below which the overhead of the call itself matters, regardless of the number of nodes."""


def find(facts: Facts) -> Iterator[Hazard]:
    """A call that is short for the number of executed nodes."""
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
        evidence=f"a call of {time_text(facts.call_ns)} executes {nodes}: overhead around kernels matters",
        remedy="reduce the overhead of each call, or use larger batches",
        trials=tuple(trials),
    )
