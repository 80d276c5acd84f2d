"""Facts about models that were never run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.graph import Graph
from onnxperf.records.inspection import Inspection
from onnxperf.records.options import SessionOptions
from onnxperf.records.profile import NodeTime, Profile

CPU = "CPUExecutionProvider"
ITERATIONS = 4


def node(name: str, op_name: str, us: int, **fields: Any) -> NodeTime:
    """A node that takes the same time in each iteration."""
    times = (us,) * ITERATIONS
    own: dict[str, Any] = {"provider": CPU, "calls": ITERATIONS, "self_us": times, "total_us": times, **fields}
    return NodeTime(name=name, op_name=op_name, usual_us=float(us), usual_total_us=float(us), **own)


def facts(nodes: Sequence[NodeTime] = (), session: SessionOptions | None = None, **fields: Any) -> Facts:
    """What is known of a model with these nodes; an inference takes 10 us besides."""
    run = 10 + sum(each.self_us[0] for each in nodes)
    profile = Profile(model="made", events=0, iterations=ITERATIONS, run_us=(run,) * ITERATIONS, nodes=tuple(nodes))
    inspection = Inspection(graph=Graph(), opset=18)
    return Facts(
        profile=profile, inspection=inspection, session=session or SessionOptions(threads=4), cores=4, **fields
    )
