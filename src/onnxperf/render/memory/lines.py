"""What each line of a function costs in memory, on the terminal and in notebooks."""

from __future__ import annotations

from pathlib import PurePath

from rich.console import Console

from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.render.kit.console_parts import print_end, print_heading, print_sheet
from onnxperf.render.kit.html import end_html, page_html, paragraph_html, sheet_html
from onnxperf.render.kit.table import Column, Row, Sheet
from onnxperf.render.race.einsum import machine_texts
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import UNICODE, Marks, marks_for, megabytes

HEADING = "Resident memory in MB: after each line, what the line added, and its peak above what was there before it"
_TAB = 4


def print_lines(record: MemoryLines, console: Console) -> None:
    """Every line with what it costs, the answer, notes."""
    print_heading(_title(record), lines_facts(record), console)
    if record.lines:
        print_sheet(HEADING, lines_sheet(record, marks_for(console.encoding)), console)
    print_end(record.answer, record.notes, console)


def lines_html(record: MemoryLines) -> str:
    """The same as an HTML fragment."""
    heading = " · ".join([name_of(_title(record)), *lines_facts(record)])
    return page_html(
        paragraph_html(heading, "font-weight:600")
        + sheet_html(lines_sheet(record), HEADING)
        + end_html(record.answer, record.notes)
    )


def lines_facts(record: MemoryLines) -> list[str]:
    """Where the function is, and where it was measured."""
    return [*filter(None, [PurePath(record.file).name]), *machine_texts(record.machine)]


def lines_sheet(record: MemoryLines, marks: Marks = UNICODE) -> Sheet:
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
        rows.append(Row(_cells(line, record.exact, marks), "red" if line.number == record.error_line else style))
    return Sheet(columns, rows)


def _title(record: MemoryLines) -> str:
    return f"{record.function}, line by line"


def _cells(line: LineMemory, exact: bool, marks: Marks) -> list[str]:
    """What a line did not do is left blank; what cannot be known says so."""
    ran = line.occurrences > 0
    peak = megabytes(line.peak_bytes, marks) if exact else "unknown"
    return [
        str(line.number),
        megabytes(line.resident_bytes, marks) if line.resident_bytes is not None else "",
        megabytes(line.increment_bytes, marks) if ran else "",
        peak if ran else "",
        f"{line.occurrences:,}" if ran else "",
        line.text.expandtabs(_TAB),
    ]
