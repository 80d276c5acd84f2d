"""Which line of a function needs the most memory, in one plain sentence."""

from __future__ import annotations

from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.wording.numbers import count, in_megabytes


def lines_answer(record: MemoryLines) -> str:
    """The line that needs the most, or what went wrong."""
    if record.status != "ok":
        place = f" at line {record.error_line}" if record.error_line else ""
        return f"{record.function} failed{place}: {record.reason}"
    ran = [line for line in record.lines if line.occurrences]
    if not ran:
        return f"No line of {record.function} ran."
    if not record.exact:
        most = max(ran, key=lambda line: line.increment_bytes or 0)
        return f"Line {most.number} adds the most: {_kept(most)} stay after it has run."
    most = max(ran, key=lambda line: line.peak_bytes or 0)
    rest = f"{_kept(most, ' of it')} stay" if (most.increment_bytes or 0) > 0 else "none of it stays"
    peak = in_megabytes(most.peak_bytes)
    return f"Line {most.number} needs the most: {peak} above what was resident before it; {rest}."


def lost_answer(record: MemoryLines) -> str:
    """Why there is nothing about any line."""
    return f"{record.function} could not be measured: {record.reason}."


def _kept(line: LineMemory, single: str = "") -> str:
    """What stays of a line; it is a sum where the line ran more than once, unlike the peak of its worst occurrence."""
    over = single if line.occurrences == 1 else f" over {count(line.occurrences, 'occurrence')}"
    return f"{in_megabytes(line.increment_bytes)}{over}"
