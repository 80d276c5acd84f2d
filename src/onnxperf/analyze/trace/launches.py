"""Join traces of one model from several processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from onnxperf.analyze.trace.events import KINDS, Integers, TraceLayout, lay_out
from onnxperf.records.trace import MISSING, Coded, Trace

V = TypeVar("V")
_Run = tuple[object, ...]
"""Operator, inputs and outputs."""
_INDEX = "node_index"


class JoinedLaunches(NamedTuple):
    """Several launches as one trace."""

    trace: Trace
    launches: tuple[int, ...]
    """Number of inferences of each launch."""


class _Part(NamedTuple):
    trace: Trace
    layout: TraceLayout
    rows: Integers
    """Rows of the counted events."""


def join_launches(traces: Sequence[Trace]) -> JoinedLaunches:
    """Join launches one after the other.

    Of all except the first, everything before the second inference is dropped: loading, and the call with cold caches
    and first allocations.
    """
    parts = [_part(trace, 0 if number == 0 else 1) for number, trace in enumerate(traces)]
    parts = [parts[0], *(_named_as_in(parts[0], each) for each in parts[1:])]
    starts, threads = _starts(parts), _threads(parts)
    first = traces[0]
    joined = Trace(
        categories=_coded([(each.trace.categories, each.rows) for each in parts]),
        phases=_coded([(each.trace.phases, each.rows) for each in parts]),
        names=_coded([(each.trace.names, each.rows) for each in parts]),
        processes=np.full(len(starts), first.processes[0] if len(first) else 0, dtype=np.int64),
        threads=threads,
        start_us=starts,
        duration_us=np.concatenate([each.trace.duration_us[each.rows] for each in parts]),
        op_names=_coded([(each.trace.op_names, each.rows) for each in parts]),
        providers=_coded([(each.trace.providers, each.rows) for each in parts]),
        parent_names=_coded([(each.trace.parent_names, each.rows) for each in parts]),
        inputs=_coded([(each.trace.inputs, each.rows) for each in parts]),
        outputs=_coded([(each.trace.outputs, each.rows) for each in parts]),
        numbers={name: _numbers(parts, name) for name in dict.fromkeys(n for each in traces for n in each.numbers)},
        thread_statistics=tuple(each.trace.thread_statistics[row] for each in parts for row in each.rows.tolist()),
        notes=tuple(dict.fromkeys(note for each in traces for note in each.notes)),
    )
    counts = [each.layout.iterations - (number > 0) for number, each in enumerate(parts)]
    return JoinedLaunches(joined, tuple(max(each, 0) for each in counts))


def _part(trace: Trace, first: int) -> _Part:
    """Complete inferences starting with `first`; if that is 0, also events that belong to none."""
    layout = lay_out(trace)
    inside = (layout.iteration >= (first or -1)) & (layout.iteration < layout.iterations)
    return _Part(trace, layout, np.flatnonzero(inside))


def _named_as_in(first: _Part, other: _Part) -> _Part:
    """The launch with the names and numbers of the first one.

    The optimizer numbers its nodes differently in each process. Names that mean the same in both are kept; the others
    are matched by what they run, in execution order.
    """
    known, mine = _nodes_by_name(first), _nodes_by_name(other)
    if known is None or mine is None:
        return other
    free: dict[_Run, list[str]] = {}
    for name, node in known.items():
        if name not in mine or mine[name].run != node.run:
            free.setdefault(node.run, []).append(name)
    moved = [name for name, node in mine.items() if name not in known or known[name].run != node.run]
    renamed = {name: free[mine[name].run].pop(0) for name in moved if free.get(mine[name].run)}
    names, indices = other.trace.names, other.trace.numbers[_INDEX].copy()
    values = tuple(renamed.get(each, each) for each in names.values)
    wanted = np.array([known[each].number if each in known else MISSING for each in values] + [MISSING])
    is_known = wanted[names.codes] != MISSING
    indices[is_known] = wanted[names.codes][is_known]
    numbers = {**other.trace.numbers, _INDEX: indices}
    return other._replace(trace=replace(other.trace, names=Coded(values, names.codes), numbers=numbers))


class _Node(NamedTuple):
    run: _Run
    number: int


def _nodes_by_name(part: _Part) -> dict[str, _Node] | None:
    """What the events of each name run, in execution order; None if a name stands for several nodes."""
    trace = part.trace
    if _INDEX not in trace.numbers:
        return None
    rows = part.rows[trace.numbers[_INDEX][part.rows] != MISSING]
    codes, indices = trace.names.codes[rows], trace.numbers[_INDEX][rows]
    distinct, first = np.unique(codes, return_index=True)
    if len(np.unique(np.stack([codes, indices]), axis=1).T) > len(distinct):
        return None
    return {
        trace.names.values[codes[at]]: _Node(_run(trace, int(rows[at])), int(indices[at]))
        for at in np.sort(first).tolist()
    }


def _run(trace: Trace, row: int) -> _Run:
    return trace.op_names.at(row, ""), trace.inputs.at(row, ()), trace.outputs.at(row, ())


def _starts(parts: Sequence[_Part]) -> Integers:
    """Start times shifted so that each launch begins after the previous one."""
    shifted, end = [], 0
    for number, part in enumerate(parts):
        starts = part.trace.start_us[part.rows]
        if number > 0:
            starts = starts - starts.min(initial=0 if not len(starts) else starts[0]) + end + 1
        end = int((starts + part.trace.duration_us[part.rows]).max(initial=end))
        shifted.append(starts)
    return np.concatenate(shifted)


def _threads(parts: Sequence[_Part]) -> Integers:
    """Threads by the ids of the first launch, since corresponding threads of other processes have other ids."""
    known: list[int] = []
    found = []
    for part in parts:
        rows = part.rows[np.argsort(part.layout.kinds.codes[part.rows] != KINDS.index("run"), kind="stable")]
        ids, first = np.unique(part.trace.threads[rows], return_index=True)
        mine = ids[np.argsort(first)].tolist()  # in the order of their first events, threads that run inferences first
        known += mine[len(known) :]
        new = dict(zip(mine, known, strict=False))
        found.append(np.array([new[each] for each in ids.tolist()], dtype=np.int64)[
            np.searchsorted(ids, part.trace.threads[part.rows])
        ])  # fmt: skip
    return np.concatenate(found)


def _coded(columns: Sequence[tuple[Coded[V], Integers]]) -> Coded[V]:
    places: dict[V, int] = {}
    codes = []
    for column, rows in columns:
        new = np.array([*(places.setdefault(each, len(places)) for each in column.values), -1], dtype=np.int64)
        codes.append(new[column.codes[rows]])  # -1 finds the -1 at the end
    return Coded(tuple(places), np.concatenate(codes))


def _numbers(parts: Sequence[_Part], name: str) -> Integers:
    columns = [
        each.trace.numbers[name][each.rows] if name in each.trace.numbers else np.full(len(each.rows), MISSING)
        for each in parts
    ]
    return np.concatenate(columns)
