"""What memory calls took: tables for a page, and memray's flame graph as a page of its own."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from onnxperf.records.stack import Allocations, Allocator
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.kit.page import GAP, Flow, Part
from onnxperf.wording.numbers import average, count, grouped, percent, size


def allocation_parts(record: Allocations, top: int) -> list[Part]:
    """The lines that take the most bytes, those that take memory most often, and the sums below them."""
    largest = record.allocators[:top]
    most_often = sorted(record.allocators, key=lambda each: -each.count)[:top]
    tables = [_table(largest, record, "Lines that take the most memory")]
    if set(most_often) != set(largest):
        tables.append(_table(most_often, record, "Lines that take memory most often"))
    return [*tables, GAP, Flow(_facts(record))]


def _facts(record: Allocations) -> list[str]:
    """The sums."""
    calls = count(record.calls, "call")
    return [
        f"memory at its peak {size(record.peak_bytes)}",
        f"taken in {calls} {size(record.total_bytes)} ({size(record.total_bytes / record.calls)} per call)",
        f"in {count(record.count, 'allocation')} ({average(record.count / record.calls)} per call)",
        "memray",
    ]


def _table(allocators: Sequence[Allocator], record: Allocations, title: str) -> Table:
    """A row per line of Python."""
    columns = [
        Column("bytes"),
        Column("share"),
        Column("allocations"),
        Column("at peak", rank=1),
        Column("function", left=True, room=16),
        Column("where", left=True, room=16),
    ]
    rows = [
        Row(
            [
                size(each.total_bytes),
                percent(each.total_bytes / max(record.total_bytes, 1)),
                grouped(each.count),
                size(each.peak_bytes),
                each.function,
                f"{each.file}:{each.line}" if each.line else each.file,
            ]
        )
        for each in allocators
    ]
    return Table(columns, rows, title)


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
