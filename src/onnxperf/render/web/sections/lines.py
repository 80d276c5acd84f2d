"""Memory per line of a function on a page."""

from __future__ import annotations

from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.render.memory.lines import lines_table
from onnxperf.render.web.bars import MEGABYTES, BarSeries, bars
from onnxperf.render.web.old_base import Chart, Section
from onnxperf.wording.names import name_of, shortened
from onnxperf.wording.numbers import count, in_megabytes

_MOST = 60
_LABEL = 48


def lines_sections(record: MemoryLines) -> list[Section]:
    """Bars of the lines that ran; the table with the whole source is below."""
    ran = [line for line in record.lines if line.occurrences]
    return [Section("Lines", [lines_chart(record, ran)])] if ran else []


def lines_chart(record: MemoryLines, ran: list[LineMemory]) -> Chart:
    """For each line what it needed at its peak, and what stays, in the order of the file."""
    largest = sorted(ran, key=lambda line: -max(line.peak_bytes or 0, abs(line.increment_bytes or 0)))[:_MOST]
    shown = sorted(largest, key=lambda line: line.number)
    names = [shortened(f"{line.number}: {line.text.strip()}", _LABEL) for line in shown]
    peaks = [float(line.peak_bytes or 0) for line in shown]
    stays = [float(line.increment_bytes or 0) for line in shown]
    series = [BarSeries("stays", stays, [in_megabytes(size) for size in stays], 0)]
    if record.exact:
        series.insert(0, BarSeries("peak", peaks, [in_megabytes(size) for size in peaks], 1))
    most = max(shown, key=lambda line: line.peak_bytes or 0)
    summary = (
        f"What each of {count(len(shown), 'line')} of {name_of(record.function)} needed at its peak and what stays; "
        f"line {most.number} needs the most, {in_megabytes(most.peak_bytes)}."
    )
    chart = bars("Memory per line", summary, names, series, MEGABYTES)
    return chart._replace(table=lines_table(record))
