"""What memory calls took: tables for the terminal, and memray's flame graph as a page."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from onnxperf.records.stack import Allocations, Allocator
from onnxperf.render.kit.old_console import print_flow, print_sheet
from onnxperf.render.kit.table import Column, Row, Table
from onnxperf.wording.numbers import percent, size


def print_allocations(record: Allocations, console: Console, top: int) -> None:
    """The lines that take the most bytes, those that take memory most often, and the sums below them."""
    largest = record.allocators[:top]
    most_often = tuple(sorted(record.allocators, key=lambda each: -each.count)[:top])
    print_sheet("Lines that take the most memory", allocation_sheet(largest, record), console)
    if set(most_often) != set(largest):
        print_sheet("Lines that take memory most often", allocation_sheet(most_often, record), console)
    console.print()
    print_flow(allocation_facts(record), console)


def allocation_facts(record: Allocations) -> tuple[str, ...]:
    """The sums."""
    calls = f"{record.calls:,} call{'s' if record.calls > 1 else ''}"
    return (
        f"memory at its peak {size(record.peak_bytes)}",
        f"taken in {calls} {size(record.total_bytes)} ({size(record.total_bytes / record.calls)} per call)",
        f"in {record.count:,} allocations ({_few(record.count / record.calls)} per call)",
        "memray",
    )


def allocation_sheet(allocators: Sequence[Allocator], record: Allocations) -> Table:
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
                f"{each.count:,}",
                size(each.peak_bytes),
                each.function,
                f"{each.file}:{each.line}" if each.line else each.file,
            ]
        )
        for each in allocators
    ]
    return Table(columns, rows)


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


def _few(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
