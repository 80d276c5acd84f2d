"""A trace as a file for Perfetto: one track per thread, no event that crosses another's end, and the arena's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from onnxperf.records.trace import MISSING, Trace
from onnxperf.wording.labels import types_text
from onnxperf.wording.names import storable

if TYPE_CHECKING:
    from onnxperf.records.trace import Coded, TensorTypes

TOLERANCE_US = 1
"""Onnxruntime cuts start and duration to whole microseconds apart, so the end of a body may pass that of its node."""
_MEMORY = {"mem_bytes_in_use": "arena in use", "mem_arena_held": "arena held"}
"""Figures of onnxruntime 1.28 and newer about its arena after a node, and the names of their counters."""
MOST_LANES = 32
"""Tracks of one thread at most; on the last one, what overlaps is cut."""

Track = tuple[int, int]
Argument = str | int | msgspec.Raw
V = TypeVar("V")
W = TypeVar("W", str, msgspec.Raw)


class _Event(msgspec.Struct, gc=False):
    # The category comes first, as in onnxruntime's own files: that is how our reader finds where events begin.
    cat: str
    pid: int
    tid: int
    dur: int
    ts: int
    ph: str
    name: str
    args: dict[str, Argument]


class _Metadata(msgspec.Struct):
    cat: str
    name: str
    pid: int
    tid: int
    args: dict[str, str | int]
    ph: str = "M"


class _Counter(msgspec.Struct, gc=False):
    cat: str
    name: str
    pid: int
    tid: int
    ts: int
    args: dict[str, int]
    ph: str = "C"


class _Document(msgspec.Struct):
    traceEvents: list[_Event | _Counter | _Metadata]
    displayTimeUnit: str = "ms"


def perfetto_json(trace: Trace, label: str) -> bytes:
    """The trace in Chrome's JSON format; onnxperf reads it again, with the times of some bodies cut by 1 µs.

    Perfetto drops an event that crosses the end of another on its track, and one that contains an event before it
    in the file. So events are sorted, containers first; an end that passes its container's by the clock's
    tolerance is cut, and what overlaps more than that, as kernels on a device may, moves to another track.
    Where the trace has figures of memory, counters show what is in use and what the arena holds after each node.
    """
    tracks, durations, order, names = _place(trace)
    arguments = list(_arguments(trace))
    categories, phases, titles = (_texts(column) for column in (trace.categories, trace.phases, trace.names))
    starts = trace.start_us.tolist()
    events = [
        _Event(
            categories[row],
            tracks[row][0],
            tracks[row][1],
            durations[row],
            starts[row],
            phases[row] or "X",
            titles[row],
            arguments[row],
        )
        for row in order
    ]
    return msgspec.json.encode(_Document([*events, *_counters(trace), *_metadata(names, label)]))


def _metadata(names: dict[Track, str], label: str) -> Iterator[_Metadata]:
    for process in dict.fromkeys(process for process, _ in names):
        yield _Metadata("__metadata", "process_name", process, 0, {"name": storable(label)})
    for place, ((process, thread), name) in enumerate(names.items()):
        yield _Metadata("__metadata", "thread_name", process, thread, {"name": name})
        yield _Metadata("__metadata", "thread_sort_index", process, thread, {"sort_index": place})


def _counters(trace: Trace) -> Iterator[_Counter]:
    """A counter per figure of memory; a track of its own each, because chrome://tracing stacks those of one track."""
    ends = (trace.start_us + trace.duration_us).tolist()
    for column, name in _MEMORY.items():
        sizes = trace.numbers[column].tolist() if column in trace.numbers else []
        known = sorted((ends[row], row) for row, size in enumerate(sizes) if size != MISSING)
        for end, row in known:
            yield _Counter("Memory", name, _known(int(trace.processes[row])), 0, end, {"bytes": sizes[row]})


# ---------------------------------------------------------------- tracks


def _place(trace: Trace) -> tuple[list[Track], list[int], list[int], dict[Track, str]]:
    """The track and the duration of every event, the order in which to write them, and the names of the tracks."""
    starts, durations = trace.start_us.tolist(), trace.duration_us.tolist()
    # Of two events with the same times, the one that was written later contains the other.
    order = sorted(range(len(starts)), key=lambda row: (starts[row], -durations[row], -row))
    wanted = _wanted_tracks(trace)
    lanes: dict[tuple[Track, bool], list[tuple[Track, list[int]]]] = {}
    names: dict[Track, str] = {}
    taken = {track for track, device in wanted if not device}
    tracks: list[Track] = [(0, 0)] * len(starts)
    for row in order:
        own = lanes.setdefault(wanted[row], [])
        number = _free_lane([ends for _, ends in own], starts[row], starts[row] + durations[row])
        if number == len(own):
            own.append((_new_track(wanted[row], number, taken, names), []))
        tracks[row], ends = own[number]
        if ends:
            durations[row] = min(durations[row], ends[-1] - starts[row])
        ends.append(starts[row] + durations[row])
    host_first = sorted(names.items(), key=lambda item: item[1].startswith("device"))
    return tracks, durations, order, dict(host_first)


def _free_lane(lanes: Sequence[list[int]], start: int, end: int) -> int:
    """The first lane on which this event crosses no end; the next new one if there is none, up to a limit.

    A lane is a stack of the ends of what contains the present, the innermost last.
    """
    for number, ends in enumerate(lanes):
        while ends and ends[-1] <= start:
            ends.pop()
        if not ends or end <= ends[-1] + TOLERANCE_US:
            return number
    return min(len(lanes), MOST_LANES - 1)


def _wanted_tracks(trace: Trace) -> list[tuple[Track, bool]]:
    """Process and thread of every event, and whether it ran on a device."""
    on_device = [category == "Kernel" for category in trace.categories.rows()]
    numbers = zip(trace.processes.tolist(), trace.threads.tolist(), on_device, strict=True)
    return [((_known(process), _known(thread)), device) for process, thread, device in numbers]


def _known(number: int) -> int:
    return 0 if number == MISSING else number


def _new_track(wanted: tuple[Track, bool], lane: int, taken: set[Track], names: dict[Track, str]) -> Track:
    """The thread itself for the first lane of what ran on the host, a number that is free for all others."""
    (process, thread), device = wanted
    track = (process, thread)
    if device or lane:
        free = max((number for owner, number in taken if owner == process), default=0) + 1
        track = (process, free)
        taken.add(track)
    name = f"{'device' if device else 'thread'} {thread}"
    names[track] = f"{name} ({lane + 1})" if lane else name
    return track


# ---------------------------------------------------------------- arguments


def _arguments(trace: Trace) -> Iterator[dict[str, Argument]]:
    """What is known about each event: first for people, then as onnxruntime writes it."""
    texts: Mapping[str, Sequence[Argument]] = {
        "op_name": _texts(trace.op_names),
        "provider": _texts(trace.providers),
        "parent_name": _texts(trace.parent_names),
        "inputs": _spread(trace.inputs, types_text, ""),
        "outputs": _spread(trace.outputs, types_text, ""),
        "input_type_shape": _spread(trace.inputs, _as_written, msgspec.Raw()),
        "output_type_shape": _spread(trace.outputs, _as_written, msgspec.Raw()),
    }
    numbers = {storable(name): column.tolist() for name, column in trace.numbers.items()}
    for row in range(len(trace)):
        known: dict[str, Argument] = {}
        for name, values in texts.items():
            if values[row]:
                known[name] = values[row]
        for name, column in numbers.items():
            if column[row] != MISSING:
                known[name] = column[row]
        statistics = trace.thread_statistics[row] if row < len(trace.thread_statistics) else b""
        if statistics and _is_json(statistics):
            known["thread_scheduling_stats"] = msgspec.Raw(statistics)
        yield known


def _texts(column: Coded[str]) -> list[str]:
    return _spread(column, storable, "")


def _spread(column: Coded[V], change: Callable[[V], W], nothing: W) -> list[W]:
    """The column row by row, each distinct value changed once."""
    known = [*map(change, column.values), nothing]  # -1 finds the end
    return [known[code] for code in column.codes.tolist()]


def _as_written(types: TensorTypes) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode([{storable(dtype): shape} for dtype, shape in types]))


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
