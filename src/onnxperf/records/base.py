"""Base classes and types shared by several records; every field states its unit."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.numbers import Amount, Count, Delta

BUSY_SHARE = 0.05
"""Share of the processors used by other programs above which a race is disturbed."""
FREE_SHARE = 0.02
"""Share of a measured time: if all threads together waited less than this for a processor, no other program
interfered."""
FORMAT_VERSION = 1

Status = Literal["pending", "running", "ok", "differs", "failed", "timeout", "oom", "crashed", "skipped"]
Scalar = str | int | float | bool | None


class Machine(Struct, frozen=True, kw_only=True):
    """The machine that a race ran on."""

    cpu: str
    """Processor model."""
    vector_extensions: tuple[str, ...]
    """Vector instruction sets."""
    cores: Count
    """Physical cores available to this process."""
    logical_cpus: Count
    """Logical processors available to this process."""
    memory_bytes: Count
    """Total memory of the machine."""
    available_bytes: Count
    """Memory available before the race."""
    system: str
    """Operating system, release and architecture."""
    python: str
    """Python version."""
    versions: dict[str, str]
    """Versions of the relevant installed libraries."""
    governor: str | None = None
    """CPU frequency governor; null if unreadable."""
    turbo: bool | None = None
    """Whether the processor may exceed its base frequency; null if unreadable."""
    load_before: Amount | None = None
    """One-minute load average before the race."""
    load_after: Amount | None = None
    """The same, after the race."""
    throttled_before: Count | None = None
    """Thermal throttling events counted by the kernel before the race; null if unreadable."""
    throttled_after: Count | None = None
    """The same, after the race."""
    others_share: Amount | None = None
    """Share of the processors used by other processes during the race, from 0 to 1; null if not measured."""
    frozen: bool = True
    """Whether idle workers were paused while another one was measured (not possible on Windows)."""


def is_busy(others_share: float | None) -> bool:
    """Whether other processes used enough of the processors to disturb a race; False if unknown."""
    return others_share is not None and others_share > BUSY_SHARE


class Document(Struct, frozen=True, kw_only=True):
    """A record written as JSON and saved in the store."""

    version: Count = FORMAT_VERSION
    """Format version."""


class Findings(Document, frozen=True, kw_only=True):
    """A document with a conclusion."""

    answer: str = ""
    """The result in one plain sentence."""
    notes: tuple[str, ...] = ()
    """Notes on how to read the result."""


class Experiment(Findings, frozen=True, kw_only=True):
    """Findings from an experiment on a machine."""

    command: str = ""
    """Command line or Python call."""
    machine: Machine | None = None
    """Machine of the measurement; null if measured elsewhere."""


class AnyCase(Struct, frozen=True, kw_only=True):
    """Subjects measured on the same inputs, in time or memory."""

    model: str
    """Label of the model; several labels are separated by commas."""
    shapes: dict[str, tuple[Count, ...]] = {}
    """Shape of every input; if there are several sizes, those of the first."""
    status: Status = "ok"
    """First subject status other than ok and skipped."""
    interrupted: bool = False
    """Whether the user stopped it early."""
    answer: str = ""
    """The result in one plain sentence."""
    notes: tuple[str, ...] = ()
    """Notes on how to read the result: dimensions that defaulted to 1, casts, non-default settings."""


class AnySubject(Struct, frozen=True, kw_only=True):
    """What was called in a process, and its status."""

    name: str
    """Name, unique within the case."""
    model: str | None = None
    """Label of the model; null for a plain callable."""
    runtime: str = "callable"
    """Runtime: ort, numpy, reference… or callable."""
    call: str | None = None
    """Call style; null if the runtime has only one."""
    status: Status = "pending"
    """Final status."""
    reason: str = ""
    """Why the status is not ok; in a race, also why the verdict is weaker."""
    signal: Delta | None = None
    """Number of the signal that killed its process."""
    stderr: str = ""
    """Last lines of stderr from a process that died."""
    conditions: dict[str, Scalar] = {}
    """Conditions actually in effect: providers, threads, spinning, versions, seconds between starts of calls
    (`every_s`)…"""
