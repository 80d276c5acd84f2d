"""What each line of a function costs in memory."""

from __future__ import annotations

from msgspec import Struct

from onnxperf.records.base import Experiment, Machine, Status
from onnxperf.records.numbers import Count, Delta


class LineMemory(Struct, frozen=True, kw_only=True):
    """A line of the function; what was not measured is None."""

    number: Count
    """Its number in the file."""
    text: str = ""
    """The line as it is written."""
    occurrences: Count = 0
    """How often it ran."""
    resident_bytes: Count | None = None
    """Resident memory when it had run for the last time; in the function's first line, before any line ran."""
    increment_bytes: Delta | None = None
    """By how much resident memory grew while it ran, summed over its occurrences; below 0: memory was given back."""
    peak_bytes: Count | None = None
    """The most that was resident while it ran, above what was resident when it began: of its worst occurrence."""


class MemoryLines(Experiment, frozen=True, kw_only=True):
    """What `onnxperf memory` found about the lines of a function."""

    machine: Machine
    """Where it was measured."""
    function: str
    """Name of the function."""
    file: str = ""
    """Where it is written."""
    status: Status = "ok"
    """How the call ended."""
    reason: str = ""
    """Why the status is not ok."""
    error_line: Count | None = None
    """Number of the line at which the function failed."""
    start_bytes: Count | None = None
    """Resident before the call, the data of the file included."""
    end_bytes: Count | None = None
    """Resident after the call, its result dropped."""
    exact: bool = True
    """Whether the kernel measured the peaks; otherwise they are unknown."""
    lines: tuple[LineMemory, ...] = ()
    """Every line of the function, in the order of the file."""
