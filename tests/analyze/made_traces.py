"""Traces as onnxruntime would write them, made from a tree of what ran: times in ns, cut to us as the profiler does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from onnxperf.measure.trace.read import trace_of_events
from onnxperf.records.trace import Trace


@dataclass
class Ran:
    """A node that ran: its own time, and the bodies that it executed."""

    name: str
    op_name: str = "Add"
    own_ns: int = 3_000
    bodies: list[list[Ran]] = field(default_factory=list)


@dataclass
class Clock:
    now_ns: int = 5_000_000
    gap_ns: int = 1_500
    """Time that passes between an event and the next."""


def event(clock: Clock, start_ns: int, name: str, cat: str, tid: int, **args: Any) -> dict[str, Any]:
    """An event that ends now: start and duration are cut apart."""
    duration = (clock.now_ns - start_ns) // 1000
    return {
        "cat": cat,
        "pid": 1,
        "tid": tid,
        "dur": duration,
        "ts": start_ns // 1000,
        "ph": "X",
        "name": name,
        "args": {key: str(value) for key, value in args.items()},
    }


def run_nodes(clock: Clock, nodes: list[Ran], tid: int, depth: int = 0) -> list[dict[str, Any]]:
    """The events of an executor: those of its nodes, then its own."""
    events = []
    start = clock.now_ns
    for index, node in enumerate(nodes):
        clock.now_ns += clock.gap_ns
        began = clock.now_ns
        for body in node.bodies:
            clock.now_ns += clock.gap_ns
            events += run_nodes(clock, body, tid, depth + 1)
        clock.now_ns += node.own_ns
        more = {"op_name": node.op_name, "node_index": index, "provider": "CPUExecutionProvider"}
        events.append(event(clock, began, f"{node.name}_kernel_time", "Node", tid, expected_depth=depth, **more))
    clock.now_ns += clock.gap_ns
    return [*events, event(clock, start, "SequentialExecutor::Execute", "Session", tid)]


def run_model(clock: Clock, nodes: list[Ran], tid: int = 1) -> list[dict[str, Any]]:
    """The events of one inference, its run at their end."""
    clock.now_ns += clock.gap_ns + 2_000
    start = clock.now_ns
    clock.now_ns += clock.gap_ns
    events = run_nodes(clock, nodes, tid)
    clock.now_ns += clock.gap_ns
    return [*events, event(clock, start, "model_run", "Session", tid)]


def loading() -> list[dict[str, Any]]:
    """The events of a session before it runs."""
    clock = Clock(now_ns=700_000)
    first = event(clock, 10_000, "model_loading_uri", "Session", 1)
    clock.now_ns = 4_000_000
    return [first, event(clock, 800_000, "session_initialization", "Session", 1)]


def events_of(iterations: list[list[Ran]], gap_ns: int = 1_500) -> list[dict[str, Any]]:
    """The events of a whole session."""
    clock = Clock(gap_ns=gap_ns)
    return [*loading(), *(each for nodes in iterations for each in run_model(clock, nodes))]


def trace_of(iterations: list[list[Ran]], gap_ns: int = 1_500) -> Trace:
    """The trace of a whole session."""
    return trace_of_events(events_of(iterations, gap_ns))


def graphs(own_ns: st.SearchStrategy[int], depth: int = 3) -> st.SearchStrategy[list[Ran]]:
    """Random graphs with nested bodies, in which every name is unique."""
    leaf = st.builds(Ran, name=st.just("n"), op_name=st.sampled_from(["Add", "Conv", "Relu"]), own_ns=own_ns)

    def with_bodies(inner: st.SearchStrategy[Ran]) -> st.SearchStrategy[Ran]:
        body = st.lists(inner, min_size=1, max_size=3)
        return st.builds(
            Ran,
            name=st.just("c"),
            op_name=st.sampled_from(["If", "Loop", "Scan"]),
            own_ns=own_ns,
            bodies=st.lists(body, min_size=1, max_size=3),
        )

    node = st.recursive(leaf, with_bodies, max_leaves=depth * 4)
    return st.lists(node, min_size=1, max_size=6).map(_named)


def _named(nodes: list[Ran], prefix: str = "") -> list[Ran]:
    for index, node in enumerate(nodes):
        node.name = f"{prefix}{node.op_name}{index}"
        for place, body in enumerate(node.bodies):
            _named(body, f"{node.name}.{place}.")
    return nodes
