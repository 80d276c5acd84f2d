"""Memory cost of each line of a function."""

from __future__ import annotations

from msgspec import Struct

from onnxperf.records.base import Experiment, Machine, Status
from onnxperf.records.numbers import Count, Delta


class LineMemory(Struct, frozen=True, kw_only=True):
    """A line of the function; values that were not measured are null."""

    number: Count
    """Line number in the file."""
    text: str = ""
    """Source text of the line."""
    occurrences: Count = 0
    """Number of executions."""
    resident_bytes: Count | None = None
    """Resident memory after its last execution; for the function's first line, before any line ran."""
    increment_bytes: Delta | None = None
    """Growth of resident memory while it ran, summed over its executions; negative if memory was released."""
    peak_bytes: Count | None = None
    """Peak of resident memory while it ran, above the level when it began; of its worst execution."""


class MemoryLines(Experiment, frozen=True, kw_only=True):
    """Result of `onnxperf memory` for the lines of a function."""

    machine: Machine
    """Machine of the measurement."""
    function: str
    """Name of the function."""
    file: str = ""
    """Source file of the function."""
    status: Status = "ok"
    """Status of the call."""
    reason: str = ""
    """Why the status is not ok."""
    error_line: Count | None = None
    """Line number at which the function failed."""
    start_bytes: Count | None = None
    """Resident memory before the call, including data loaded by the file."""
    end_bytes: Count | None = None
    """Resident memory after the call, with its result released."""
    exact: bool = True
    """Whether the kernel measured the peaks; if not, they are unknown."""
    lines: tuple[LineMemory, ...] = ()
    """All lines of the function, in file order."""
