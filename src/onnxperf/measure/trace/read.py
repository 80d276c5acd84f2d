"""Read traces written by any version of onnxruntime's profiler, complete or damaged."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from onnxperf.errors import BadInput
from onnxperf.measure.trace.columns import EVENTS, Columns
from onnxperf.records.trace import Trace

CHUNK_BYTES = 1 << 18
"""Chunk size: decoded events should still be in the processor's cache when they are turned into columns."""
PATIENCE_BYTES = 1 << 22
"""If no event begins within this much text, search for events one by one."""

_LENIENT = json.JSONDecoder(strict=False)  # older versions do not escape line breaks in names

_SEPARATORS = b", \t\r\n"
_BLANK = re.compile(r"[\s,]*")
_NAME = re.compile(r'("name"\s*:\s*")(.*)("\s*,\s*"args"\s*:)', re.DOTALL)
_OPENING = re.compile(r'\{\s*"(?:args|cat|dur|name|ph|pid|tid|ts)"')
_CLOSING = re.compile(r"\}\s*\]\s*\Z")
_ARRAY = re.compile(rb'"traceEvents"\s*:\s*\[')
_OTHER_FILES = {b"\x1f\x8b": "gzip-compressed", b"PK": "a zip archive", b"\x28\xb5\x2f\xfd": "zstd-compressed"}


def read_trace(path: Path) -> Trace:
    """Read a trace file."""
    what = repr(str(path))
    try:
        with _open(path, what) as stream:
            return _parse(stream, what)
    except OSError as error:
        raise BadInput(f"{what} cannot be read: {error.strerror or error}") from error


def _open(path: Path, what: str) -> io.BufferedReader:
    try:
        return path.open("rb")
    except IsADirectoryError:
        raise BadInput(f"{what} is a folder; pass the JSON file written by onnxruntime's profiler") from None
    except (FileNotFoundError, ValueError):  # ValueError: a null byte in the name
        raise BadInput(f"no such file: {what}; onnxruntime writes a trace when end_profiling() is called") from None


def parse_trace(data: bytes, what: str) -> Trace:
    """Read a trace from memory; `what` names it in errors."""
    return _parse(io.BytesIO(data), what)


def trace_of_events(events: Sequence[Mapping[str, Any]]) -> Trace:
    """The trace of a list of events, as returned by json.load."""
    columns = Columns()
    columns.add_values(events)
    return columns.trace("the list of events", [])


# ---------------------------------------------------------------- text to events


class _Walk(NamedTuple):
    """Contents of a text."""

    values: list[Any]
    unreadable: int
    rest: str
    """Remaining text, from the first incomplete event."""
    ended: bool
    """Whether the list's closing bracket was found."""


@contextlib.contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Disable garbage collection: events contain no cycles, and searching for them would take a seventh of the time."""
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


@_collector_at_rest()
def _parse(stream: io.BufferedIOBase, what: str) -> Trace:
    """Decode each chunk as a whole, up to the last event that begins in it; if that fails, event by event."""
    columns = Columns()
    rest = _skip_head(stream, what)
    found = _OPENING.search(rest.decode("utf-8", "replace"))
    opening = found.group().encode() if found else b'{"cat"'  # the other events begin like the first
    space = bytearray(CHUNK_BYTES)  # reused: fresh memory would cost as much as reading
    ended = False
    while not ended:
        if 2 * len(rest) > len(space):
            space = bytearray(4 * len(rest))
        end = _fill(space, rest, stream)
        cut = space.rfind(opening, 2, end)
        if cut > 0 and _decode_at_once(space, cut, columns):
            rest = bytes(space[cut:end])
        elif end == len(rest) + 1:  # nothing came
            rest, ended = _walk_over(rest, columns, last=True)
            break
        elif cut > 0 or end > PATIENCE_BYTES:
            stop = cut if cut > 0 else space.rfind(b"}", 1, end) + 1 or 1
            rest, ended = _walk_over(bytes(space[1:stop]), columns)
            rest = (rest + space[stop:end]).lstrip(_SEPARATORS)
        else:
            rest = bytes(space[1:end])
    return columns.trace(what, _notes_on_end(rest + stream.read(CHUNK_BYTES), opening, ended))


def _fill(space: bytearray, rest: bytes, stream: io.BufferedIOBase) -> int:
    """Fill the buffer with a bracket, the rest of the previous chunk and new data; returns the end."""
    start = len(rest) + 1
    space[:start] = b"[" + rest
    with memoryview(space) as view, view[start:] as free:
        return start + stream.readinto(free)


def _skip_head(stream: io.BufferedIOBase, what: str) -> bytes:
    """The data after the opening bracket of the list of events."""
    head = stream.read(CHUNK_BYTES // 4).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not head:
        raise BadInput(f"{what} is empty; onnxruntime writes its events when end_profiling() is called")
    if head.startswith(b"["):
        return head[1:].lstrip()
    if not head.startswith(b"{"):
        kind = next((kind for magic, kind in _OTHER_FILES.items() if head.startswith(magic)), None)
        why = f"is {kind}; unpack it first" if kind else "is not JSON; pass the file written by onnxruntime's profiler"
        raise BadInput(f"{what} {why}")
    found = _ARRAY.search(head)
    if found is None:
        head += stream.read()  # other entries of any length may come first
        found = _ARRAY.search(head)
    if found is None:
        raise BadInput(f"{what} is not a trace: neither a list of events nor an object with traceEvents")
    return head[found.end() :].lstrip()


def _decode_at_once(space: bytearray, cut: int, columns: Columns) -> bool:
    """Add the events up to `cut`, if all of them are valid."""
    end = cut
    while space[end - 1] in _SEPARATORS:
        end -= 1
    overwritten, space[end] = space[end], ord("]")
    try:
        columns.add_text(memoryview(space)[: end + 1])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    finally:
        space[end] = overwritten
    return True


def _walk_over(data: bytes, columns: Columns, last: bool = False) -> tuple[bytes, bool]:
    """Add events one by one; returns the remaining data and whether the list has ended."""
    walk = _walk(data.decode("utf-8", "replace"), last)
    columns.add_values(walk.values)
    columns.unreadable += walk.unreadable
    return walk.rest.encode(), walk.ended


def _walk(text: str, last: bool) -> _Walk:
    """Find events one by one; after an unreadable one, continue with the next."""
    values: list[Any] = []
    unreadable = 0
    place = _skip_blank(text, 0)
    while place < len(text) and text[place] != "]":
        try:
            value, end = _LENIENT.raw_decode(text, place)
            value = _well_formed(text[place:end]) or value
        except (ValueError, RecursionError):
            end = _next_event(text, place, last)
            if end < 0:
                break
            value = _repaired(text[place:end])
        if value is None:
            unreadable += 1
        else:
            values.append(value)
        place = _skip_blank(text, end)
    ended = text.startswith("]", place)
    return _Walk(values, unreadable, text[place + ended :], ended)


def _well_formed(text: str) -> Any:
    """The event as decoded from a chunk; None if it is unusual."""
    try:
        return EVENTS.decode(f"[{text}]")[0]
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _skip_blank(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return found.end() if found else place


def _next_event(text: str, place: int, last: bool) -> int:
    """End of an unreadable event; -1 if the text ends within it."""
    following = _OPENING.search(text, place + 1)
    if following is None and last:
        closing = _CLOSING.search(text, place)
        return closing.start() + 1 if closing else -1
    return following.start() if following else -1


def _repaired(text: str) -> Any:
    """An event whose name contains unescaped quotes or backslashes, as written by older versions; None if
    unreadable."""
    escaped = _NAME.sub(lambda found: found[1] + json.dumps(found[2])[1:-1] + found[3], text, count=1)
    try:
        return _LENIENT.raw_decode(escaped)[0]
    except (ValueError, RecursionError):
        return None


def _notes_on_end(rest: bytes, opening: bytes, ended: bool) -> list[str]:
    if ended:
        return ["the file contains a second list of events, which was ignored"] if opening in rest else []
    lost = "the last event is incomplete and was ignored" if rest.strip() else "later events, if any, are missing"
    return [f"the trace is truncated: {lost}"]
