"""Memory of one inference, node by node, from the memory columns of a trace."""

from __future__ import annotations

import math

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.answers.profile import node_memory_answer
from onnxperf.analyze.graphs.live_set import live_sets
from onnxperf.analyze.trace.events import Integers, TraceLayout
from onnxperf.analyze.trace.work import ELEMENT_BYTES
from onnxperf.errors import BadOption
from onnxperf.records.graph import Graph
from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.records.trace import MISSING, TensorType, Trace

_IN_USE, _DELTA = "mem_bytes_in_use", "mem_in_use_delta"
_COLUMNS = (_IN_USE, "mem_bytes_requested_in_use", "mem_arena_held", "output_size")


def node_memories(
    trace: Trace, layout: TraceLayout, label: str, iteration: int | None = None, executed: Graph | None = None
) -> NodeMemories:
    """Memory in one iteration [default: the last complete one]; with the executed graph, also its live sets."""
    if not layout.is_kernel.any():
        raise BadOption("this trace contains no nodes, so there is no memory to show; profile the model again")
    last = max(layout.iterations, 1) - 1
    chosen = last if iteration is None else iteration
    rows = _rows(trace, layout, chosen)
    if not len(rows) or not 0 <= chosen <= last:
        raise BadOption(f"unknown iteration {chosen}; choose from: 0 to {last}")
    if all(value is None for value in _values(trace, _IN_USE, rows)):
        raise BadOption("this trace contains no memory statistics; profile the model again with a newer onnxruntime")
    nodes = _nodes(trace, layout, rows)
    unsized = False
    if executed is not None:
        found = live_sets(executed, tensor_sizes(trace, layout, executed, chosen))
        live = {(each.path, each.name): each.live_bytes for each in found.sets}
        nodes = [replace(node, live_bytes=live.get((node.path, node.name))) for node in nodes]
        unsized = bool(found.unknown)
    peak = max(range(len(nodes)), key=lambda at: nodes[at].in_use_bytes or 0)
    nodes[peak] = replace(nodes[peak], is_peak=True)
    first = _before(trace, _rows(trace, layout, 0))
    record = NodeMemories(
        model=label,
        iteration=chosen,
        loaded_bytes=first,
        base_bytes=_before(trace, rows),
        session_peak_bytes=max((each for each in _values(trace, "mem_in_use_peak", rows) if each), default=None),
        nodes=tuple(nodes),
    )
    return replace(record, notes=tuple(_notes(record, last, unsized)), answer=node_memory_answer(record))


def tensor_sizes(trace: Trace, layout: TraceLayout, executed: Graph, iteration: int) -> dict[str, int]:
    """Sizes of the tensors computed in an iteration; the largest, if a node in a loop computed several."""
    rows, places = _rows(trace, layout, iteration), layout.places()
    outputs = {place: node.outputs for place, node in executed.nodes_by_place()}
    sizes: dict[str, int] = {}
    for row, node in zip(rows.tolist(), layout.node[rows].tolist(), strict=True):
        names, types = tuple(filter(None, outputs.get(places[node], ()))), trace.outputs.at(row, ())
        if len(names) != len(types):
            continue  # types cannot be assigned to outputs
        for name, tensor in zip(names, types, strict=True):
            size = _size_bytes(tensor)
            if size is not None:
                sizes[name] = max(size, sizes.get(name, 0))
    return sizes


def _rows(trace: Trace, layout: TraceLayout, iteration: int) -> Integers:
    """The executions of nodes in an iteration in the order they ended; containers come after their contents."""
    rows = np.flatnonzero(layout.is_kernel & (layout.iteration == iteration))
    ends = trace.start_us[rows] + trace.duration_us[rows]
    return rows[np.lexsort((rows, -layout.depth[rows], ends))]


def _values(trace: Trace, column: str, rows: Integers) -> list[int | None]:
    found = trace.numbers.get(column)
    if found is None:
        return [None] * len(rows)
    return [None if value == MISSING else value for value in found[rows].tolist()]


def _before(trace: Trace, rows: Integers) -> int | None:
    """Memory in use before the first of these executions."""
    for after, added in zip(_values(trace, _IN_USE, rows), _values(trace, _DELTA, rows), strict=True):
        if after is not None and added is not None:
            return after - added
    return None


def _nodes(trace: Trace, layout: TraceLayout, rows: Integers) -> list[NodeMemory]:
    places = layout.places()
    columns = (_values(trace, column, rows) for column in _COLUMNS)
    return [
        NodeMemory(
            name=places[node][1],
            path=places[node][0],
            op_name=trace.op_names.at(row, ""),
            in_use_bytes=in_use,
            requested_bytes=requested,
            held_bytes=held,
            output_bytes=output,
        )
        for row, node, in_use, requested, held, output in zip(
            rows.tolist(), layout.node[rows].tolist(), *columns, strict=True
        )
    ]


def _size_bytes(tensor: TensorType) -> int | None:
    """Size of a tensor; None for strings, whose size is not in the trace."""
    element = ELEMENT_BYTES.get(tensor.dtype)
    return None if element is None else math.ceil(math.prod(tensor.shape) * element)


def _notes(record: NodeMemories, last: int, unsized: bool) -> list[str]:
    notes = ["the arena contains only weights packed by kernels; other weights and the inputs are outside"]
    block = (record.base_bytes or 0) - (record.loaded_bytes or 0)
    if record.iteration > 0 and block > 0:
        notes.append(
            "before its first node onnxruntime allocated memory for the results of several nodes at once; "
            "in iteration 0 it allocates node by node"
        )
    if record.iteration == 0 < last:
        notes.append("later iterations may allocate memory for the results of several nodes at once")
    if unsized:
        notes.append("live sets exclude tensors whose size is not in the trace")
    return notes
