"""Sums over a trace: time per operator, per node and per iteration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.trace.events import Flags, Integers, TraceLayout, combine, number_distinct
from onnxperf.records.graph import Graph
from onnxperf.records.profile import NodeTime, OperatorTime, Profile, added, sum_of, usual
from onnxperf.records.trace import Trace


def summarise(trace: Trace, layout: TraceLayout, label: str) -> Profile:
    """The profile from a trace alone."""
    alike = alike_iterations(trace, layout)
    nodes = _times_of_nodes(trace, layout, layout.counted, alike)
    run_us = _per_run(trace, layout, "run")
    return Profile(
        model=label,
        events=len(trace),
        iterations=layout.iterations,
        loading_us=_session_time(trace, layout, "loading"),
        initialization_us=_session_time(trace, layout, "initialization"),
        run_us=run_us,
        executor_us=_per_run(trace, layout, "execute"),
        alike=alike,
        nodes_us=sum_of(nodes),
        inference_us=usual(run_us, alike) if run_us else None,
        operators=operator_times(nodes),
        nodes=nodes,
        notes=(*trace.notes, *_notes(trace, layout, bool(alike))),
    )


def node_times(trace: Trace, layout: TraceLayout, chosen: Flags | None = None) -> tuple[NodeTime, ...]:
    """Time per node, in execution order, optionally of the `chosen` executions only."""
    counted = layout.counted if chosen is None else layout.counted & chosen
    return _times_of_nodes(trace, layout, counted, alike_iterations(trace, layout))


def _times_of_nodes(trace: Trace, layout: TraceLayout, counted: Flags, alike: Sequence[int]) -> tuple[NodeTime, ...]:
    rows = np.flatnonzero(counted)
    count, iterations = len(layout.node_rows), max(layout.iterations, 1)
    calls = np.bincount(layout.node[rows], minlength=count)
    own = _table(layout, rows, layout.self_us, count, iterations)
    total = _table(layout, rows, trace.duration_us, count, iterations)
    shapes = _distinct_shapes(trace, layout, rows, count)
    on_device = _device_times(trace, layout, count)
    usual_us = [usual(times, alike) for times in own.tolist()]
    usual_total_us = _with_bodies(usual_us, layout.node_parents.tolist())
    places = layout.places()
    return tuple(
        NodeTime(
            name=places[node][1],
            path=places[node][0],
            op_name=trace.op_names.at(row, ""),
            provider=trace.providers.at(row, ""),
            inputs=trace.inputs.at(row, ()),
            outputs=trace.outputs.at(row, ()),
            shapes=int(shapes[node]),
            calls=int(calls[node]),
            self_us=tuple(own[node].tolist()),
            total_us=tuple(total[node].tolist()),
            usual_us=usual_us[node],
            usual_total_us=usual_total_us[node],
            kernel_us=None if on_device is None else int(on_device[node]),
        )
        for node, row in enumerate(layout.node_rows.tolist())
        if calls[node]
    )


def alike_iterations(trace: Trace, layout: TraceLayout) -> tuple[int, ...]:
    """A number for each iteration, equal if the same nodes ran with the same shapes; empty if all are equal."""
    rows = np.flatnonzero(layout.counted)
    executions, first = _executions(trace, layout, rows)
    # The sum of random numbers, one per kind of execution, is a fingerprint that does not depend on the order.
    random = np.random.default_rng(0).integers(0, 2**62, len(first), dtype=np.uint64)
    sums = np.zeros(max(layout.iterations, 1), dtype=np.uint64)
    np.add.at(sums, layout.iteration[rows], random[executions])
    kinds = np.unique(sums, return_inverse=True)[1]
    return tuple(kinds.tolist()) if kinds.any() else ()


def operator_times(nodes: Sequence[NodeTime]) -> tuple[OperatorTime, ...]:
    """Time per operator type, most expensive first."""
    groups: dict[str, list[NodeTime]] = {}
    for node in nodes:
        groups.setdefault(node.op_name, []).append(node)
    operators = [
        OperatorTime(
            op_name=op_name,
            nodes=len(members),
            calls=sum(member.calls for member in members),
            self_us=added(member.self_us for member in members),
            total_us=added(member.total_us for member in members),
            usual_us=sum_of(members),
        )
        for op_name, members in groups.items()
    ]
    return tuple(sorted(operators, key=lambda operator: (-sum(operator.self_us), operator.op_name)))


# ---------------------------------------------------------------- sums


def _table(layout: TraceLayout, rows: Integers, values: Integers, nodes: int, iterations: int) -> Integers:
    """Sums per node and iteration; sums of whole microseconds are exact in a double."""
    cells = layout.node[rows] * iterations + layout.iteration[rows]
    sums = np.bincount(cells, weights=values[rows], minlength=nodes * iterations)
    return sums.astype(np.int64).reshape(nodes, iterations)


def _with_bodies(own: Sequence[float], parents: Sequence[int]) -> list[float]:
    """The time of each node including the nodes in its bodies, which have larger numbers."""
    total = list(own)
    for node in reversed(range(len(total))):
        if parents[node] >= 0:
            total[parents[node]] += total[node]
    return total


def _distinct_shapes(trace: Trace, layout: TraceLayout, rows: Integers, count: int) -> Integers:
    _, first = _executions(trace, layout, rows)
    return np.bincount(layout.node[rows][first], minlength=count)


def _executions(trace: Trace, layout: TraceLayout, rows: Integers) -> tuple[Integers, Integers]:
    """Number the executions by node and shapes; also returns the first of each."""
    shapes = combine(trace.inputs.codes[rows], trace.outputs.codes[rows])
    return number_distinct(combine(layout.node[rows], shapes))


def _device_times(trace: Trace, layout: TraceLayout, count: int) -> Integers | None:
    rows = np.flatnonzero((layout.kinds.codes == layout.kinds.values.index("device")) & (layout.parent >= 0))
    if not len(rows):
        return None
    rows = rows[layout.counted[layout.parent[rows]]]
    sums = np.bincount(layout.node[layout.parent[rows]], weights=trace.duration_us[rows], minlength=count)
    return sums.astype(np.int64)


def _session_time(trace: Trace, layout: TraceLayout, kind: str) -> int | None:
    rows = np.flatnonzero(layout.kinds.codes == layout.kinds.values.index(kind))
    return int(trace.duration_us[rows].sum()) if len(rows) else None


def _per_run(trace: Trace, layout: TraceLayout, kind: str) -> tuple[int, ...]:
    """Duration in each complete iteration; executors of bodies are inside nodes and not counted."""
    wanted = (layout.kinds.codes == layout.kinds.values.index(kind)) & (layout.iteration < layout.iterations)
    rows = np.flatnonzero(wanted & (layout.iteration >= 0) & (layout.parent < 0))
    if not len(rows):
        return ()
    sums = np.bincount(layout.iteration[rows], weights=trace.duration_us[rows], minlength=layout.iterations)
    return tuple(sums.astype(np.int64).tolist())


# ---------------------------------------------------------------- notes


def _notes(trace: Trace, layout: TraceLayout, several_kinds: bool) -> list[str]:
    notes = []
    if layout.iterations == 0:
        notes.append("no inference was recorded completely; the times cover the recorded part")
    elif layout.incomplete:
        notes.append("the last inference was not recorded completely and is excluded from the sums")
    if layout.iterations and not layout.counted.any():
        notes.append("the inferences contain no node events")
    providers = {provider.removesuffix("ExecutionProvider") for provider in trace.providers.values}
    device = bool(np.any(layout.kinds.codes == layout.kinds.values.index("device")))
    if providers & _ASYNCHRONOUS and not device:
        names = ", ".join(sorted(providers & _ASYNCHRONOUS))
        notes.append(f"node times on {names} are mostly launch overhead: the trace contains no device events")
    if several_kinds:
        notes.append("the inferences differ in their shapes or nodes; a time is the mean over their kinds")
    threads = trace.threads[layout.is_kernel]
    if np.any(threads != threads[:1]):
        notes.append("nodes ran on several threads; their times may overlap")
    return notes


_ASYNCHRONOUS = frozenset({"CUDA", "Tensorrt", "ROCM", "MIGraphX", "Dml", "WebGpu", "Js", "NvTensorRTRTX"})


def with_tensors(nodes: Sequence[NodeTime], executed: Graph) -> tuple[NodeTime, ...]:
    """The nodes with their output tensors and attributes in the executed graph."""
    known = dict(executed.nodes_by_place())
    return tuple(
        node if found is None else replace(node, tensors=found.outputs, attributes=found.attributes)
        for node in nodes
        for found in [known.get((node.path, node.name))]
    )
