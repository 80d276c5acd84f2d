"""When the nodes of a typical inference ran, and how much memory was in use."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.trace.events import Integers, TraceLayout, number_distinct
from onnxperf.analyze.trace.node_memory import node_memories
from onnxperf.errors import BadOption
from onnxperf.records.graph import Graph
from onnxperf.records.node_memory import NodeMemories
from onnxperf.records.profile import Profile, Timeline, added, steady
from onnxperf.records.trace import Trace

KEPT = 5_000
"""Maximum number of node executions in a record; a store contains thousands of records."""
KEPT_OTHERS = 500
"""The same for the first and the slowest inference."""
DRAWN = 100_000
"""Maximum number of node executions on a page."""


def usual_iteration(profile: Profile) -> int:
    """The inference whose node times are closest to the typical ones, all nodes together, without the first if at
    least two others remain."""
    times = np.array([node.self_us for node in profile.nodes], dtype=float)
    if not times.size:
        return 0
    typical = np.array([node.usual_us for node in profile.nodes])
    distances = np.abs(times - typical[:, None]).sum(axis=0).tolist()
    first = len(distances) - len(steady(distances))
    return min(range(first, len(distances)), key=distances.__getitem__)


def slowest_iteration(profile: Profile) -> int:
    """The inference that took the longest, without the first if at least two others remain."""
    times = profile.run_us or added(node.self_us for node in profile.nodes)
    first = len(times) - len(steady(times))
    return max(range(first, len(times)), key=times.__getitem__, default=0)


def with_timelines(profile: Profile, trace: Trace, layout: TraceLayout, executed: Graph | None = None) -> Profile:
    """The profile with its typical inference, the first and the slowest."""
    timeline = timeline_of(trace, layout, profile, executed)
    turns = dict.fromkeys([0, slowest_iteration(profile)])
    turns.pop(usual_iteration(profile), None)
    others = (timeline_of(trace, layout, profile, executed, KEPT_OTHERS, turn) for turn in turns)
    return replace(profile, timeline=timeline, other_timelines=tuple(each for each in others if each is not None))


def timeline_of(
    trace: Trace,
    layout: TraceLayout,
    profile: Profile,
    executed: Graph | None = None,
    most: int = KEPT,
    iteration: int | None = None,
) -> Timeline | None:
    """Timeline of the typical or a given inference; None if no node ran in it. Limited to the `most` longest
    executions."""
    iteration = usual_iteration(profile) if iteration is None else iteration
    everything = np.flatnonzero(layout.is_kernel & (layout.iteration == iteration))
    if not len(everything):
        return None
    rows = _longest(trace, everything, most)
    rows = rows[np.lexsort((rows, -layout.depth[rows], trace.start_us[rows] + trace.duration_us[rows]))]
    complete = len(rows) == len(everything)
    memory = _memory(trace, layout, profile, iteration, executed) if complete else None
    return Timeline(
        iteration=iteration,
        nodes=_places(layout, rows),
        start_us=tuple((trace.start_us[rows] - trace.start_us[everything].min()).tolist()),
        duration_us=tuple(trace.duration_us[rows].tolist()),
        threads=_threads(trace, rows),
        left_out=len(everything) - len(rows),
        **({} if memory is None else _columns(memory)),
    )


def _longest(trace: Trace, rows: Integers, most: int) -> Integers:
    if len(rows) <= most:
        return rows
    order = np.argsort(-trace.duration_us[rows], kind="stable")
    chosen: Integers = rows[order[:most]]
    return chosen


def _places(layout: TraceLayout, rows: Integers) -> tuple[int, ...]:
    """Indices in the list of nodes, which excludes nodes that ran in no complete inference."""
    known = np.unique(layout.node[layout.counted])
    return tuple(np.searchsorted(known, layout.node[rows]).tolist())


def _threads(trace: Trace, rows: Integers) -> tuple[int, ...]:
    """Thread numbers, ordered by the number of nodes they ran."""
    numbers, _ = number_distinct(trace.threads[rows])
    order = np.argsort(-np.bincount(numbers), kind="stable")
    return tuple(np.argsort(order)[numbers].tolist())


def _memory(
    trace: Trace, layout: TraceLayout, profile: Profile, iteration: int, executed: Graph | None
) -> NodeMemories | None:
    try:
        return node_memories(trace, layout, profile.model, iteration, executed)
    except BadOption:  # traces of older onnxruntime versions contain no memory statistics
        return None


def _columns(memory: NodeMemories) -> dict[str, Any]:
    columns = {
        name: tuple(getattr(node, name) for node in memory.nodes)
        for name in ("in_use_bytes", "held_bytes", "live_bytes")
    }
    known = {name: column for name, column in columns.items() if any(each is not None for each in column)}
    return {**known, "loaded_bytes": memory.loaded_bytes, "base_bytes": memory.base_bytes}
