"""Where the time of many calls goes, as a page."""

from __future__ import annotations

from collections import Counter

from onnxperf.records.stack import CodeShares, Stack
from onnxperf.render.kit.page import Heading, Part, Verbatim, closing
from onnxperf.render.kit.table import Column, Row, Table
from onnxperf.render.stack.allocations import allocation_parts
from onnxperf.wording.numbers import count, duration, percent


def stack_page(record: Stack, tree: Verbatim | None = None, top: int = 15) -> list[Part]:
    """The tree, which a record from a store lacks; the busiest functions, the memory taken, the answer, the notes."""
    heading = Heading(record.name, [record.runtime, record.call or "", count(record.calls, "call")])
    return [
        tree if tree is not None else heading,
        frames_table(record, top),
        *(native_tables(record, top) if record.native else []),
        *(allocation_parts(record.allocations, top) if record.allocations is not None else []),
        *closing(record.answer, record.notes),
    ]


def native_tables(record: Stack, top: int) -> list[Table]:
    """The libraries by their share, and the busiest functions, compiled ones among them."""
    return [*([_libraries(record.shares)] if record.shares is not None else []), _native_functions(record, top)]


def _libraries(shares: CodeShares) -> Table:
    parts = {"Python": shares.python, **shares.libraries, "unknown": shares.unknown}
    order = sorted((name for name, share in parts.items() if share > 0), key=lambda name: -parts[name])
    rows = [Row([percent(parts[name]), name]) for name in order]
    return Table([Column("share"), Column("library", left=True, room=20)], rows, "Time in each library itself")


def _native_functions(record: Stack, top: int) -> Table:
    columns = [
        Column("self"),
        Column("total"),
        Column("kind", left=True, rank=1),
        Column("function", left=True, room=20),
        Column("where", left=True, rank=1, room=16),
    ]
    rows = [
        Row([percent(each.self_share), percent(each.total_share), each.kind, each.function, each.place])
        for each in record.native[:top]
        if each.self_share > 0
    ]
    return Table(columns, rows, "Busiest functions, compiled ones too")


def frames_table(record: Stack, top: int) -> Table:
    """The functions of Python that take the most time themselves, wherever they are called."""
    columns = [Column("per call"), Column("function", left=True, room=20), Column("where", left=True, room=16)]
    rows = [Row([duration(ns / record.calls), *key]) for key, ns in self_times(record)[:top]]
    return Table(columns, rows, "Time in each function itself")


def self_times(record: Stack) -> list[tuple[tuple[str, str], int]]:
    """Function and file with their own time in ns, wherever in the tree they were called; the busiest first."""
    times: Counter[tuple[str, str]] = Counter()
    for frame in record.frames:
        times[frame.function, frame.file] += frame.self_ns
    return [each for each in times.most_common() if each[1] > 0]
