"""What each line of a function costs in memory, as a page."""

from __future__ import annotations

from pathlib import PurePath

from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.render.kit.machine import machine_texts
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.kit.page import Heading, Part, closing
from onnxperf.wording.numbers import grouped, megabytes

_TITLE = "Resident memory in MB: after each line, what the line added, and its peak above what was there before it"
_TAB = 4


def lines_page(record: MemoryLines) -> list[Part]:
    """Every line with what it costs, the answer, notes."""
    facts = [*filter(None, [PurePath(record.file).name]), *machine_texts(record.machine)]
    tables = [lines_table(record)] if record.lines else []
    return [Heading(f"{record.function}, line by line", facts), *tables, *closing(record.answer, record.notes)]


def lines_table(record: MemoryLines) -> Table:
    """A row per line: those that did not run are dim, the one that needs the most is bold, a failing one red."""
    columns = (
        Column("Line #"),
        Column("Mem usage"),
        Column("Increment"),
        Column("Peak"),
        Column("Occurrences"),
        Column("Line Contents", left=True, room=24),
    )
    peaks = {line.number: line.peak_bytes or 0 for line in record.lines}
    highest = max(peaks, key=lambda number: peaks[number], default=None)
    rows = []
    for line in record.lines:
        style = "" if line.occurrences else "dim"
        style = "bold" if line.number == highest and peaks[line.number] else style
        rows.append(Row(_cells(line, record.exact), "red" if line.number == record.error_line else style))
    return Table(columns, rows, _TITLE)


def _cells(line: LineMemory, exact: bool) -> list[str]:
    """What a line did not do is left blank; what cannot be known reads unknown."""
    ran = line.occurrences > 0
    peak = megabytes(line.peak_bytes) if exact else "unknown"
    return [
        str(line.number),
        megabytes(line.resident_bytes) if line.resident_bytes is not None else "",
        megabytes(line.increment_bytes) if ran else "",
        peak if ran else "",
        grouped(line.occurrences) if ran else "",
        line.text.expandtabs(_TAB),
    ]
