"""Where the time of many calls goes, as tables: functions, frames, libraries."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from onnxperf.records.stack import FunctionShare, FunctionTime, NativeFunction, Stack, StackFrame
from onnxperf.render.kit.column import FILES_ONLY, NAME, NS, SHARE, TEXT, WHOLE, WHOLE_NS, Column, bar_column, for_files
from onnxperf.render.kit.table import On, Table
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import duration, whole_percent

_DEEPEST = 40
"""Frames below this depth are not indented further."""
_PARTS = (("Python", "python"), ("kernels", "kernels"), ("numpy calls", "dispatch"), ("unknown", "unknown"))
_LINE = re.compile(r":\d+$")
_WHOLE_SHARE = SHARE._replace(text=whole_percent)


class FrameRow(NamedTuple):
    """A frame, and how deep in the tree it is."""

    frame: StackFrame
    depth: int


def functions_table(record: Stack, top: int | None = None, on: On = "all") -> Table[FunctionShare]:
    """The functions of Python by the time that they take themselves, by the samples on which the answer rests.

    With `top` only so many of those that take any.
    """
    columns: list[Column[FunctionShare]] = [
        Column("self_ns", "per call", lambda row: row.share * record.call_ns, NS),
        Column("share", "share", lambda row: row.share, SHARE),
        bar_column(lambda row: row.share, record.functions),
        *(_part_column(record, heading, kind) for heading, kind in _PARTS),
        Column("function", "function", lambda row: row.function, NAME, room=20),
        Column("file", "where", lambda row: row.file, TEXT, 80, room=16),
    ]
    rows = record.functions if top is None else busiest(record)[:top]
    how = f" ({record.shares.how})" if record.shares is not None else ""
    return Table(columns, rows, f"Time in each function itself, of {duration(record.call_ns)} per call{how}", on=on)


def _part_column(record: Stack, heading: str, kind: str) -> Column[FunctionShare]:
    """Part of the calls that a function spends in one kind of code; a screen leaves out what no function does."""
    width = 60 if any(getattr(each, kind) for each in record.functions) else FILES_ONLY
    return Column(kind, heading, lambda row: getattr(row, kind), _WHOLE_SHARE, width)


def busiest(record: Stack) -> list[FunctionShare]:
    """The functions with time of their own, the busiest first."""
    return [each for each in record.functions if each.share > 0]


# ---------------------------------------------------------------- pyinstrument's tree


def tree_functions_table(record: Stack, functions: Sequence[FunctionTime]) -> Table[FunctionTime]:
    """A row per function of the tree, wherever it is called, by its own time."""
    columns: list[Column[FunctionTime]] = [
        Column("function", "function", lambda row: row.function, NAME),
        Column("file", "where", lambda row: row.file, text=lambda row: place_text(row.file, row.line)),
        for_files("line", lambda row: row.line, WHOLE),
        _per_call(record, "self_ns", "itself per call", lambda row: row.self_ns),
        Column("self_share", "share", lambda row: row.self_share, SHARE),
        _per_call(record, "total_ns", "total per call", lambda row: row.total_ns),
        Column("total_share", "share", lambda row: row.total_share, SHARE),
        Column("places", "places", lambda row: row.places, WHOLE),
    ]
    return Table(columns, functions, "Functions of the flame graph", link=function_key)


def frames_table(record: Stack) -> Table[FrameRow]:
    """The tree, every frame indented below its caller."""
    columns: list[Column[FrameRow]] = [
        Column("function", "frame", lambda row: row.frame.function, text=_indented),
        Column("file", "where", lambda row: row.frame.file),
        for_files("line", lambda row: row.frame.line, WHOLE),
        _per_call(record, "total_ns", "total per call", lambda row: row.frame.total_ns),
        _per_call(record, "self_ns", "itself", lambda row: row.frame.self_ns),
        for_files("parent", lambda row: row.frame.parent, WHOLE),
    ]
    return Table(columns, frame_rows(record), link=lambda row: function_key(row.frame))


def frame_rows(record: Stack) -> list[FrameRow]:
    """Every frame behind its caller."""
    rows: list[FrameRow] = []
    for frame in record.frames:
        rows.append(FrameRow(frame, 0 if frame.parent is None else rows[frame.parent].depth + 1))
    return rows


def _per_call(record: Stack, key: str, heading: str, value: Callable[[Any], int]) -> Column[Any]:
    """A time, which files have of all calls together."""
    calls = max(record.calls, 1)
    return Column(key, heading, value, WHOLE_NS, text=lambda row: duration(value(row) / calls))


def function_key(row: StackFrame | FunctionTime) -> str:
    """What stands for a function on a page: its row and all of its frames."""
    return visible(f"function {row.function} {row.file}:{row.line}")


def _indented(row: FrameRow) -> str:
    return "  " * min(row.depth, _DEEPEST) + name_of(row.frame.function)


def place_text(file: str, line: int) -> str:
    """A file with the number of a line, if there is one."""
    return f"{file}:{line}" if line else file


# ---------------------------------------------------------------- py-spy's samples


def libraries_table(record: Stack) -> Table[tuple[str, float]]:
    """Python and the compiled libraries by their share."""
    shares = record.shares
    parts = {"Python": shares.python, **shares.libraries, "unknown": shares.unknown} if shares is not None else {}
    columns: list[Column[tuple[str, float]]] = [
        Column("share", "share", lambda row: row[1], SHARE),
        Column("library", "library", lambda row: row[0], NAME, room=20),
    ]
    rows = sorted(((name, share) for name, share in parts.items() if share > 0), key=lambda row: -row[1])
    return Table(columns, rows, "Time in each library itself")


def native_table(record: Stack, top: int | None = None, on: On = "all") -> Table[NativeFunction]:
    """The functions that py-spy saw, compiled ones too, by their own time; with `top` the busiest that have any."""
    columns: list[Column[NativeFunction]] = [
        Column("self_share", "self", lambda row: row.self_share, SHARE),
        Column("total_share", "total", lambda row: row.total_share, SHARE),
        Column("kind", "kind", lambda row: row.kind, TEXT, 60),
        Column("function", "function", lambda row: row.function, NAME, room=20),
        Column("place", "where", lambda row: row.place, TEXT, 60, room=16),
    ]
    rows = record.native if top is None else [row for row in record.native[:top] if row.self_share > 0]
    title = "Busiest functions, compiled ones included"
    return Table(columns, rows, title, link=lambda row: native_key(row.function, row.place), on=on)


def native_key(function: str, place: str) -> str:
    """What stands for such a function on a page; the line of a frame is none of it."""
    return visible(f"native {function} {without_line(place)}")


def without_line(place: str) -> str:
    """A file or a library without the number of a line."""
    return _LINE.sub("", place)
