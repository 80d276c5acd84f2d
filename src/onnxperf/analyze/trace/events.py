"""Structure of a trace's events: iterations, nesting, self times and nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onnxperf.records.graph import Place
from onnxperf.records.trace import MISSING, Coded, Trace

Integers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]

TOLERANCE_US = 1
"""Start and duration are truncated separately to whole microseconds, so an end may be off by this much."""

_NODE_SUFFIXES = {"_kernel_time": "kernel", "_fence_before": "fence_before", "_fence_after": "fence_after"}
_SESSION_KINDS = {"session_initialization": "initialization", "model_run": "run"}
KINDS = ("kernel", "fence_before", "fence_after", "loading", "initialization", "execute", "run", "device", "other")
_KERNEL, _EXECUTE, _RUN, _DEVICE = (KINDS.index(kind) for kind in ("kernel", "execute", "run", "device"))
_FEW = 1 << 20
_MOST_BODIES = 100
"""Maximum depth of nested bodies: a damaged trace could nest in every event."""
_BEFORE_ANY_RUN = [KINDS.index(kind) for kind in ("loading", "initialization")]


@dataclass(frozen=True, eq=False, kw_only=True)
class TraceLayout:
    """Structure derived from the times, order and names of events; one row per event of the trace."""

    kinds: Coded[str]
    """kernel (the execution of a node), run (an inference), execute, loading, initialization, device…"""
    node_names: Coded[str]
    """Names of node events without their suffix."""
    iteration: Integers
    """Index of the inference, from 0; -1 outside of all. The last one may be incomplete."""
    parent: Integers
    """Row of the node whose body contains a node, or that launched a kernel on a device; -1 if there is none."""
    depth: Integers
    """Number of bodies around a node."""
    self_us: Integers
    """Duration without nested nodes."""
    node: Integers
    """Number of the node, in execution order; -1 for events that execute none."""
    node_rows: Integers
    """Row of the first execution of each node."""
    node_parents: Integers
    """Number of the node whose body contains each node; -1 at the top level."""
    iterations: int
    """Number of complete inferences."""
    incomplete: bool
    """Whether the trace ends with events of an incomplete inference."""

    @property
    def is_kernel(self) -> Flags:
        """The executions of nodes."""
        flags: Flags = self.kinds.codes == _KERNEL
        return flags

    @property
    def counted(self) -> Flags:
        """Executions of nodes in complete inferences, or in the incomplete one if there is no other."""
        inside: Flags = (self.iteration >= 0) & (self.iteration < max(self.iterations, 1))
        return self.is_kernel & inside

    def places(self) -> list[Place]:
        """Path and name of every node by number; the node around a body has a smaller number."""
        places: list[Place] = []
        for row, outer in zip(self.node_rows.tolist(), self.node_parents.tolist(), strict=True):
            path = () if outer < 0 else (*places[outer][0], places[outer][1])
            places.append((path, self.node_names.at(row, "")))
        return places


def lay_out(trace: Trace) -> TraceLayout:
    """Derive the structure of a trace; events are only compared within their thread."""
    kinds, node_names = _kinds_and_names(trace)
    order = _ending_order(trace, kinds.codes)
    iteration, iterations, incomplete = _iterations(trace, kinds.codes, order)
    parent = _nest(trace, kinds.codes, order)
    kernels = kinds.codes == _KERNEL
    self_us = trace.duration_us.copy()
    inside = np.flatnonzero(kernels & (parent >= 0))
    np.subtract.at(self_us, parent[inside], trace.duration_us[inside])
    depth = _depths(parent)
    node, node_rows, node_parents = _number_nodes(trace, node_names, kernels, parent, depth)
    devices = np.flatnonzero(kinds.codes == _DEVICE)
    parent[devices] = _launchers(trace, kernels, devices)
    return TraceLayout(
        kinds=kinds,
        node_names=node_names,
        iteration=iteration,
        parent=parent,
        depth=depth,
        self_us=self_us,
        node=node,
        node_rows=node_rows,
        node_parents=node_parents,
        iterations=iterations,
        incomplete=incomplete,
    )


def _kinds_and_names(trace: Trace) -> tuple[Coded[str], Coded[str]]:
    """Classify every distinct pair of category and name once, and apply the result to the rows."""
    place, first = number_distinct(combine(trace.categories.codes, trace.names.codes))
    kinds, names = [], []
    places: dict[str, int] = {}
    for row in first.tolist():
        category, name = int(trace.categories.codes[row]), int(trace.names.codes[row])
        kind, node_name = _kind(trace.categories.values[category], trace.names.values[name])
        kinds.append(KINDS.index(kind))
        names.append(-1 if node_name is None else places.setdefault(node_name, len(places)))
    return (
        Coded(KINDS, np.array(kinds, dtype=np.int64)[place]),
        Coded(tuple(places), np.array(names, dtype=np.int64)[place]),
    )


def _kind(category: str, name: str) -> tuple[str, str | None]:
    if category == "Node":
        for suffix, kind in _NODE_SUFFIXES.items():
            if name.endswith(suffix):
                return kind, name.removesuffix(suffix)
        return "kernel", name
    if category == "Kernel":
        return "device", None
    if category == "Session":
        if name.startswith("model_loading"):
            return "loading", None
        if name.endswith("Executor::Execute"):
            return "execute", None
        return _SESSION_KINDS.get(name, "other"), None
    return "other", None


def _ending_order(trace: Trace, kinds: Integers) -> Integers:
    """Rows thread by thread, in the order the events ended.

    That is the file order, except in versions of onnxruntime that sort by start. Those are sorted by end, and if ends
    are too close to decide, possible containers come after their contents.
    """
    by_thread = np.argsort(trace.threads, kind="stable")
    ends = trace.start_us + trace.duration_us
    same_thread = np.diff(trace.threads[by_thread]) == 0
    structural = np.isin(kinds[by_thread], (_KERNEL, _EXECUTE, _RUN))
    backwards = np.diff(ends[by_thread]) < -TOLERANCE_US
    if not np.any(backwards & same_thread & structural[1:] & structural[:-1]):
        return by_thread
    rank = np.zeros(len(trace), dtype=np.int64)
    rank[kinds == _EXECUTE] = TOLERANCE_US
    rank[kinds == _RUN] = 2 * TOLERANCE_US
    return np.lexsort((-trace.start_us, ends + rank, trace.threads))


def _iterations(trace: Trace, kinds: Integers, order: Integers) -> tuple[Integers, int, bool]:
    """The inference of every event: a run is written when it ends, so its events are those since the previous run."""
    runs = np.flatnonzero(kinds == _RUN)
    runs = runs[np.argsort(trace.start_us[runs], kind="stable")]
    iteration = np.full(len(trace), -1, dtype=np.int64)
    number = np.full(len(trace), -1, dtype=np.int64)
    number[runs] = np.arange(len(runs))
    threads = trace.threads[order]
    for thread in np.unique(trace.threads[runs]).tolist():
        rows = order[threads == thread]
        closing = rows[kinds[rows] == _RUN]
        since = np.searchsorted(np.flatnonzero(kinds[rows] == _RUN), np.arange(len(rows)))
        iteration[rows] = np.append(number[closing], len(runs))[since]
    others = ~np.isin(trace.threads, trace.threads[runs])  # threads that run nodes or devices, but no inference
    last_before = np.searchsorted(trace.start_us[runs], trace.start_us[others], side="right") - 1
    iteration[others] = last_before if len(runs) else 0
    iteration[np.isin(kinds, _BEFORE_ANY_RUN)] = -1
    cut_off = (iteration == len(runs)) & (kinds == _KERNEL)
    iteration[(iteration == len(runs)) & ~np.isin(kinds, (_KERNEL, _EXECUTE, _DEVICE))] = -1
    return iteration, len(runs), bool(cut_off.any())


def _nest(trace: Trace, kinds: Integers, order: Integers) -> Integers:
    """The node around each node.

    Between a node and the nodes of its body there is always the event of the body's executor. An executor therefore
    claims the nodes that ended since it started, and a node claims the executors right before it that lie within it.
    """
    around = np.full(len(trace), -1, dtype=np.int64)
    if np.count_nonzero(kinds == _EXECUTE) <= np.count_nonzero(kinds == _RUN):
        return around  # no body ran
    rows, spans = _spans(trace, kinds, order)
    # A node has a body only if the executor of one is right before it.
    claims = spans.executor.copy()
    claims[1:] |= spans.executor[:-1] & spans.at(slice(-1)).inside(spans.at(slice(1, None)))
    for _ in range(_MOST_BODIES):
        claimer, claims = _claim(spans, claims)
        claimed, rest = np.flatnonzero(claimer >= 0), np.flatnonzero(claimer < 0)
        around[rows[claimed]] = rows[claimer[claimed]]
        rows, spans, claims = rows[rest], spans.at(rest), claims[rest]
        if not claims.any():
            break
    return _skip_executors(around, kinds)


class _Spans(NamedTuple):
    """Nodes and executors in the order they ended."""

    start: Integers
    end: Integers
    executor: Flags
    section: Integers
    """Changes with the thread and after an inference."""

    def at(self, places: Integers | slice) -> _Spans:
        """A subset of the spans."""
        return _Spans(self.start[places], self.end[places], self.executor[places], self.section[places])

    def inside(self, other: _Spans) -> Flags:
        """Whether each is in the body of the other (a node), or among its nodes (an executor)."""
        starts_inside = self.start >= other.start
        in_executor = starts_inside | (self.end > other.start + TOLERANCE_US)
        in_node = starts_inside & self.executor & (self.end <= other.end + TOLERANCE_US)
        flags: Flags = (self.section == other.section) & np.where(other.executor, in_executor, in_node)
        return flags


def _spans(trace: Trace, kinds: Integers, order: Integers) -> tuple[Integers, _Spans]:
    """The rows of nodes and executors in the order they ended, and their spans."""
    kind = kinds[order]
    chosen = np.flatnonzero((kind == _KERNEL) | (kind == _EXECUTE) | (kind == _RUN))
    rows, kind = order[chosen], kind[chosen]
    is_run = kind == _RUN
    others = np.flatnonzero(~is_run)
    changes = np.append(False, is_run[:-1] | (np.diff(trace.threads[rows]) != 0))
    start = trace.start_us[rows]
    spans = _Spans(start, start + trace.duration_us[rows], kind == _EXECUTE, np.cumsum(changes))
    return rows[others], spans.at(others)


def _claim(spans: _Spans, claims: Flags) -> tuple[Integers, Flags]:
    """Let nodes and executors claim their contents; returns the claimer of each row, and which still have to claim.

    Each claims the rows right before it, up to the first that it does not contain. If it reaches another one that has
    not claimed yet, it waits.
    """
    claimers = np.flatnonzero(claims)
    places = np.arange(claimers[-1])
    turn: Integers = np.cumsum(claims[: len(places)], dtype=np.int64)  # index of the next claimer
    contained = spans.at(slice(len(places))).inside(spans.at(claimers).at(turn))
    last_outside = np.append(-1, np.maximum.accumulate(np.where(contained, -1, places)))[claimers]
    ready = last_outside >= np.append(-1, claimers[:-1])
    mine = (places > last_outside[turn]) & ready[turn]
    claimer = np.full(len(claims), -1, dtype=np.int64)
    claimer[: len(places)][mine] = claimers[turn][mine]
    claims = claims.copy()
    claims[claimers[ready]] = False
    return claimer, claims


def _skip_executors(around: Integers, kinds: Integers) -> Integers:
    """Link nodes to the node around their executor."""
    parent = around.copy()
    in_executor = np.flatnonzero((kinds == _KERNEL) & (around >= 0))
    parent[in_executor] = around[around[in_executor]]
    return parent


def _depths(parent: Integers) -> Integers:
    depth = np.zeros(len(parent), dtype=np.int64)
    ancestor = parent
    while np.any(ancestor >= 0):
        depth += ancestor >= 0
        ancestor = np.where(ancestor >= 0, parent[ancestor], -1)
    return depth


def _number_nodes(
    trace: Trace, names: Coded[str], kernels: Flags, parent: Integers, depth: Integers
) -> tuple[Integers, Integers, Integers]:
    """Number the nodes: executions with equal name, index and operator within the same node are the same node."""
    index = trace.numbers.get("node_index", np.full(len(trace), MISSING))
    known = np.where(index == MISSING, -1, index)
    own, _ = number_distinct(combine(combine(names.codes, known), trace.op_names.codes))
    provisional = np.full(len(trace), -1, dtype=np.int64)
    node_rows, node_parents, starts = (np.empty(0, dtype=np.int64) for _ in range(3))
    for level in range(int(depth[kernels].max(initial=-1)) + 1):
        rows = np.flatnonzero(kernels & (depth == level))
        parents = np.where(parent[rows] >= 0, provisional[parent[rows]], -1)
        place, first = number_distinct(combine(own[rows], parents))
        provisional[rows] = place + len(node_rows)
        outer, begun = parents[first], trace.start_us[rows[first]]
        # In a damaged trace, a body may start before the node around it; that node still gets the smaller number.
        begun = np.where(outer >= 0, np.maximum(begun, np.append(starts, 0)[outer]), begun)
        node_rows, node_parents = np.append(node_rows, rows[first]), np.append(node_parents, outer)
        starts = np.append(starts, begun)
    execution = np.lexsort((depth[node_rows], starts))
    renumbered = np.empty(len(execution) + 1, dtype=np.int64)
    renumbered[execution] = np.arange(len(execution))
    renumbered[-1] = -1
    return renumbered[provisional], node_rows[execution], renumbered[node_parents[execution]]


def combine(first: Integers, second: Integers) -> Integers:
    """One number for every pair of numbers, small if the ranges are small."""
    if _reach(first) * _reach(second) > _FEW:
        first, second = number_distinct(first)[0], number_distinct(second)[0]
    both: Integers = (first - first.min(initial=0)) * _reach(second) + (second - second.min(initial=0))
    return both


def _reach(values: Integers) -> int:
    return int(values.max(initial=0)) - int(values.min(initial=0)) + 1


def number_distinct(values: Integers) -> tuple[Integers, Integers]:
    """Number the distinct values; returns the number of each row and a row for each number."""
    reach = _reach(values)
    if reach > max(_FEW, 4 * len(values)):
        _, rows, numbers = np.unique(values, return_index=True, return_inverse=True)
        return numbers, rows
    # A lookup table avoids sorting, which would take most of the time of a large trace.
    places = values - values.min(initial=0)
    first = np.full(reach, -1, dtype=np.int64)
    first[places[::-1]] = np.arange(len(values) - 1, -1, -1)  # the first row of a value is written last
    occurs = first >= 0
    return (np.cumsum(occurs) - 1)[places], first[occurs]


def _launchers(trace: Trace, kernels: Flags, devices: Integers) -> Integers:
    """For each kernel on a device, the last previous execution of the node it refers to."""
    found = np.full(len(devices), -1, dtype=np.int64)
    named = {name: code for code, name in enumerate(trace.names.values)}
    wanted = trace.parent_names.codes[devices]
    for code in np.unique(wanted[wanted >= 0]).tolist():
        rows = np.flatnonzero(kernels & (trace.names.codes == named.get(trace.parent_names.values[code], -2)))
        mine = np.flatnonzero(wanted == code)
        place = np.searchsorted(rows, devices[mine]) - 1
        found[mine[place >= 0]] = rows[place[place >= 0]]
    return found
