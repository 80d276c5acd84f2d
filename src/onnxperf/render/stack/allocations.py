"""What memory calls took: tables for a page, and memray's flame graph as a page of its own."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from onnxperf.records.stack import Allocations, Allocator, Stack
from onnxperf.render.kit.column import BYTES, NAME, SHARE, WHOLE, Column, for_files
from onnxperf.render.kit.page import GAP, Flow
from onnxperf.render.kit.table import On, Table
from onnxperf.render.stack.tables import place_text
from onnxperf.wording.numbers import average, count, size

_NOTHING = Allocations(calls=0, peak_bytes=0, total_bytes=0, count=0)


def allocation_parts(record: Allocations, top: int) -> list[Any]:
    """The lines that take the most bytes, those that take memory most often, and the sums below them."""
    largest = record.allocators[:top]
    most_often = sorted(record.allocators, key=lambda each: -each.count)[:top]
    tables = [_table(record, largest, "Lines that take the most memory", "screen")]
    if set(most_often) != set(largest):
        tables.append(_table(record, most_often, "Lines that take memory most often", "screen"))
    return [*tables, _table(record, record.allocators, on="page"), GAP, Flow(_facts(record))]


def allocations_table(record: Stack) -> Table[Allocator]:
    """All lines that took memory, if requested."""
    found = record.allocations
    return _table(found, found.allocators) if found is not None else _table(_NOTHING, ())


def _facts(record: Allocations) -> list[str]:
    """The sums."""
    calls = count(record.calls, "call")
    return [
        f"memory at its peak {size(record.peak_bytes)}",
        f"taken in {calls} {size(record.total_bytes)} ({size(record.total_bytes / record.calls)} per call)",
        f"in {count(record.count, 'allocation')} ({average(record.count / record.calls)} per call)",
        "memray",
    ]


def _table(record: Allocations, allocators: Sequence[Allocator], title: str = "", on: On = "all") -> Table[Allocator]:
    """A row per line of Python."""
    columns: list[Column[Allocator]] = [
        Column("total_bytes", "bytes", lambda row: row.total_bytes, BYTES),
        Column("share", "share", lambda row: row.total_bytes / max(record.total_bytes, 1), SHARE),
        Column("count", "allocations", lambda row: row.count, WHOLE),
        Column("peak_bytes", "at peak", lambda row: row.peak_bytes, BYTES, 60),
        Column("function", "function", lambda row: row.function, NAME, room=16),
        Column("file", "where", lambda row: row.file, text=lambda row: place_text(row.file, row.line), room=16),
        for_files("line", lambda row: row.line, WHOLE),
    ]
    return Table(columns, allocators, title, on=on)


def flame_page(path: Path, title: str, inside: Callable[[Any], Any]) -> str:
    """memray's flame graph of what was held at the peak, a page that loads nothing from the network."""
    import memray
    from memray.reporters.flamegraph import FlameGraphReporter

    with memray.FileReader(path) as reader:
        peak: Sequence[Any] = [inside(each) for each in reader.get_high_watermark_allocation_records()]
        snapshots = list(reader.get_memory_snapshots())
        metadata = replace(reader.metadata, command_line=title)
        reporter = FlameGraphReporter.from_snapshot(peak, memory_records=snapshots, native_traces=False)
    page = io.StringIO()
    reporter.render(page, metadata, show_memory_leaks=False, merge_threads=True, inverted=False, no_web=True)
    return page.getvalue()
