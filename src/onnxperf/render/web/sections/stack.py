"""A stack on a page: a flame graph of its frames, and its functions as a table that is linked with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from onnxperf.records.stack import FunctionTime, Stack, StackFrame
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.web.old_base import Chart, LinkedTable, Section
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import count, duration, duration_unit, grouped, percent

_MOST_ROWS = 2_000
_COLOURS = (0, 4, 2, 3, 5)
"""Of the packages that take the most time themselves; the others are grey."""
_GREY = 6
_ROW, _AROUND, _TALLEST = 22, 110, 1_400


def stack_sections(record: Stack, functions: Sequence[FunctionTime]) -> list[Section]:
    """The flame graph, then a row per function."""
    if not record.frames:
        return []
    return [Section("Flame graph", [flame(record), functions_table(record, functions)])]


def flame(record: Stack) -> Chart:
    """Frames as wide as their time in a call, callers above what they call."""
    frames = record.frames
    starts, depths = _places(frames)
    root = [frame.total_ns for frame in frames if frame.parent is None]
    calls = max(record.calls, 1)
    scale, unit = duration_unit(sum(root) / calls)
    colours = _colours(frames)
    known: dict[tuple[str, str, int], int] = {}
    places = [known.setdefault((each.function, each.file, each.line), len(known)) for each in frames]
    whole = max(sum(root), 1)
    data = {
        "axis": f"{unit} per call",
        "whole": whole / calls / scale,
        "start": [round(start / calls / scale, 6) for start in starts],
        "width": [round(frame.total_ns / calls / scale, 6) for frame in frames],
        "depth": depths,
        "function": places,
        "functions": [
            {
                "name": name_of(function),
                "where": visible(f"{function} ({file}{f':{line}' if line else ''})"),
                "key": _key(function, file, line),
                "colour": colours.get(_package(file), _GREY),
            }
            for function, file, line in known
        ],
        "words": [
            f"{duration(frame.total_ns / calls)} per call, {percent(frame.total_ns / whole)}; "
            f"itself {duration(frame.self_ns / calls)}"
            for frame in frames
        ],
        "kinds": [*({"name": name_of(name), "colour": colour} for name, colour in colours.items()), _OTHERS],
    }
    summary = (
        f"Where the time of {count(record.calls, 'call')} goes, {duration(whole / calls)} each while pyinstrument "
        f"samples them ({duration(record.call_ns)} undisturbed): callers stand above what they call, colours are "
        "packages. Operators count for the function that applies them. A click enlarges a frame; Whole, or the key 0, "
        "shows all."
    )
    height = min(_AROUND + _ROW * (max(depths) + 1), _TALLEST)
    return Chart("flame", "Flame graph", summary, data, _frames_table(record, depths), height)


_OTHERS = {"name": "others", "colour": _GREY}


def _places(frames: Sequence[StackFrame]) -> tuple[list[int], list[int]]:
    """Where each frame begins in its caller, after the frames before it; and how deep it is."""
    starts: list[int] = []
    depths: list[int] = []
    ends: dict[int, int] = {}
    free = 0
    for place, frame in enumerate(frames):
        begin = free if frame.parent is None else ends[frame.parent]
        starts.append(begin)
        depths.append(0 if frame.parent is None else depths[frame.parent] + 1)
        ends[place] = begin
        if frame.parent is None:
            free = begin + frame.total_ns
        else:
            ends[frame.parent] = begin + frame.total_ns
    return starts, depths


def _package(file: str) -> str:
    return file.replace("\\", "/").partition("/")[0] or "built-in"


def _colours(frames: Sequence[StackFrame]) -> dict[str, int]:
    own: Counter[str] = Counter()
    for frame in frames:
        own[_package(frame.file)] += frame.self_ns
    return dict(zip((name for name, _ in own.most_common()), _COLOURS, strict=False))


def _key(function: str, file: str, line: int) -> str:
    return visible(f"function {function} {file}:{line}")


def functions_table(record: Stack, functions: Sequence[FunctionTime]) -> LinkedTable:
    """A row per function, wherever it is called, by its own time."""
    calls = max(record.calls, 1)
    columns = [
        *(Column("function", left=True), Column("where", left=True), Column("itself per call"), Column("share")),
        *(Column("total per call"), Column("share"), Column("places")),
    ]
    rows = [
        Row(
            [
                name_of(each.function),
                f"{each.file}:{each.line}" if each.line else each.file,
                duration(each.self_ns / calls),
                percent(each.self_share),
                duration(each.total_ns / calls),
                percent(each.total_share),
                grouped(each.places),
            ]
        )
        for each in functions[:_MOST_ROWS]
    ]
    keys = [_key(each.function, each.file, each.line) for each in functions[:_MOST_ROWS]]
    return LinkedTable(Table(columns, rows, "Functions of the flame graph"), keys)


def _frames_table(record: Stack, depths: Sequence[int]) -> Table:
    """The tree, every frame indented below its caller."""
    calls = max(record.calls, 1)
    columns = [Column("frame", left=True), Column("where", left=True), Column("total per call"), Column("itself")]
    rows = [
        Row(
            [
                "  " * min(depth, 40) + name_of(frame.function),
                frame.file,
                duration(frame.total_ns / calls),
                duration(frame.self_ns / calls),
            ]
        )
        for frame, depth in list(zip(record.frames, depths, strict=True))[:_MOST_ROWS]
    ]
    return Table(columns, rows)
