"""What each line of a function costs in memory, as a page, a table and a chart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import BLUE, MEGABYTES, ORANGE, Chart
from onnxperf.render.kit.column import WHOLE, Column, Format, bar_column
from onnxperf.render.kit.machine import machine_texts
from onnxperf.render.kit.page import Heading, Page, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.render.memory.tables import MILLIONS
from onnxperf.wording.names import name_of, shortened
from onnxperf.wording.numbers import count, grouped, in_megabytes, megabytes

_TITLE = "Resident memory in MB: after each line, what the line added, and its peak above what was there before it"
_TAB = 4
_MOST_BARS = 60
_LABEL = 48
"""Characters of a line in the chart."""


def lines_page(record: MemoryLines) -> Page:
    """Every line with what it costs, the answer, notes."""
    file = PurePath(record.file).name
    shown: list[Any] = [*lines_charts(record)] or ([lines_table(record)] if record.lines else [])
    return [
        Heading(f"{record.function}, line by line", [file, *machine_texts(record.machine)]),
        Section(f"Lines of {file}" if file else "Lines", shown),
        *answered(record.answer, record.notes),
    ]


def lines_table(record: MemoryLines) -> Table[LineMemory]:
    """A row per line: those that did not run are dim, the one that needs the most is bold, a failing one red."""
    highest = max(record.lines, key=lambda line: line.peak_bytes or 0, default=None)

    def style(line: LineMemory) -> str:
        if line.number == record.error_line:
            return "red"
        return "bold" if line is highest and line.peak_bytes else "" if line.occurrences else "dim"

    def peak(line: LineMemory) -> str:
        return "unknown" if line.occurrences and not record.exact else _blank(line.peak_bytes)

    def occurrences(line: LineMemory) -> str:
        return grouped(line.occurrences) if line.occurrences else ""

    columns: list[Column[LineMemory]] = [
        Column("number", "Line #", lambda line: line.number, Format(str, "whole")),
        _column("resident_bytes", "Mem usage", lambda line: line.resident_bytes),
        _column("increment_bytes", "Increment", lambda line: line.increment_bytes),
        Column("peak_bytes", "Peak", lambda line: line.peak_bytes, MILLIONS, text=peak),
        bar_column(lambda line: line.peak_bytes, record.lines),
        Column("occurrences", "Occurrences", lambda line: line.occurrences, WHOLE, 80, text=occurrences),
        Column("text", "Line Contents", lambda line: line.text, text=lambda line: line.text.expandtabs(_TAB), room=24),
    ]
    return Table(columns, record.lines, _TITLE, style)


def lines_charts(record: MemoryLines) -> list[Chart]:
    """What each line that ran needed at its peak, and what stays, in the order of the file."""
    ran = [line for line in record.lines if line.occurrences]
    largest = sorted(ran, key=lambda line: -max(line.peak_bytes or 0, abs(line.increment_bytes or 0)))[:_MOST_BARS]
    shown = sorted(largest, key=lambda line: line.number)
    if not shown:
        return []
    stays = _bars("stays, over all occurrences", [line.increment_bytes or 0 for line in shown], BLUE)
    needed = _bars("needed while it ran", [line.peak_bytes or 0 for line in shown], ORANGE)
    most = max(shown, key=lambda line: line.peak_bytes or 0)
    answer = (
        f"line {most.number} needs the most, {in_megabytes(most.peak_bytes)}." if record.exact else "peaks are unknown."
    )
    summary = (
        f"What {count(len(shown), 'line')} of {name_of(record.function)} needed above what was resident before, and "
        f"what stays; {answer}"
    )
    names = [shortened(f"{line.number}: {line.text.strip()}", _LABEL) for line in shown]
    picture = bars(names, [needed, stays] if record.exact else [stays], "above what was resident before", MEGABYTES)
    return [bars_chart("Memory per line", summary, picture, lines_table(record))]


def _column(key: str, heading: str, value: Callable[[LineMemory], int | None]) -> Column[LineMemory]:
    """A size; lines without one leave it blank, as a listing of source should."""
    return Column(key, heading, value, MILLIONS, text=lambda line: _blank(value(line)))


def _blank(size: int | None) -> str:
    return "" if size is None else megabytes(size)


def _bars(name: str, sizes: list[int], color: int) -> BarSeries:
    words = [in_megabytes(size) if size >= 0 else f"{in_megabytes(-size)} given back" for size in sizes]
    return BarSeries(name, [float(size) for size in sizes], words, color)
