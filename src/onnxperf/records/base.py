"""What several records have in common; every field says its unit."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.numbers import Amount, Count, Delta

BUSY_SHARE = 0.05
"""Part of the processors above which the work of others disturbs a race."""
FREE_SHARE = 0.02
"""Of a time: when threads together waited less than that for a processor, no other program took one."""
FORMAT_VERSION = 1

Status = Literal["pending", "running", "ok", "differs", "failed", "timeout", "oom", "crashed", "skipped"]
Scalar = str | int | float | bool | None


class Machine(Struct, frozen=True, kw_only=True):
    """Where a race took place."""

    cpu: str
    """Model of the processor."""
    vector_extensions: tuple[str, ...]
    """Instruction sets that matter for arithmetic."""
    cores: Count
    """Physical cores that this process may use."""
    logical_cpus: Count
    """Logical processors that this process may use."""
    memory_bytes: Count
    """Memory of the machine."""
    available_bytes: Count
    """Memory that was free before the race."""
    system: str
    """Operating system, its release and the architecture."""
    python: str
    """Version of Python."""
    versions: dict[str, str]
    """Versions of the libraries that matter, where installed."""
    governor: str | None = None
    """Frequency governor, where readable."""
    turbo: bool | None = None
    """Whether the processor may exceed its base frequency, where readable."""
    load_before: Amount | None = None
    """Load average of the last minute before the race."""
    load_after: Amount | None = None
    """The same after the race."""
    throttled_before: Count | None = None
    """Thermal throttling events counted by the kernel before the race, where readable."""
    throttled_after: Count | None = None
    """The same after the race."""
    others_share: Amount | None = None
    """Part of the processors that other processes used meanwhile, from 0 to 1; null where it was not measured."""
    frozen: bool = True
    """Idle workers were stopped while another one was measured (not possible on Windows)."""


def is_busy(others_share: float | None) -> bool:
    """Whether other processes used so much of the processors that it disturbs; not where that is not known."""
    return others_share is not None and others_share > BUSY_SHARE


class Document(Struct, frozen=True, kw_only=True):
    """A record that is written as JSON and kept in the store."""

    version: Count = FORMAT_VERSION
    """Version of this format."""


class Findings(Document, frozen=True, kw_only=True):
    """A document with a conclusion."""

    answer: str = ""
    """The result in one plain sentence."""
    notes: tuple[str, ...] = ()
    """What a reader must know."""


class Experiment(Findings, frozen=True, kw_only=True):
    """Findings from something that was run on a machine."""

    command: str = ""
    """The command line, or the call in Python."""
    machine: Machine | None = None
    """Where it was measured; null for what was made elsewhere."""


class AnyCase(Struct, frozen=True, kw_only=True):
    """Subjects that were measured on the same inputs, in time or in memory."""

    model: str
    """Label of the model; of several models or callables, all labels joined by a comma."""
    shapes: dict[str, tuple[Count, ...]] = {}
    """Shape of every input; of the first size where there are several."""
    status: Status = "ok"
    """The first status of its subjects that is neither ok nor skipped."""
    interrupted: bool = False
    """Stopped by the user before its end."""
    answer: str = ""
    """The result in one plain sentence."""
    notes: tuple[str, ...] = ()
    """What a reader must know: dimensions that defaulted to 1, casts, settings that differ from the defaults."""


class AnySubject(Struct, frozen=True, kw_only=True):
    """What was called in a process, and how that ended."""

    name: str
    """Unique within its case."""
    model: str | None = None
    """Label of its model; null for a plain callable."""
    runtime: str = "callable"
    """ort, numpy, reference… or callable."""
    call: str | None = None
    """Call style, where the runtime has several."""
    status: Status = "pending"
    """How it ended."""
    reason: str = ""
    """Why the status is not ok; in a race also what weakens the verdict."""
    signal: Delta | None = None
    """Number of the signal that ended its process."""
    stderr: str = ""
    """The last lines that a lost process wrote."""
    conditions: dict[str, Scalar] = {}
    """What was really used: providers, threads, spinning, versions, seconds between starts of calls (`every_s`)…"""
