"""What the doctor found out about a machine."""

from __future__ import annotations

from msgspec import field

from onnxperf.records.base import Document, Machine
from onnxperf.records.headroom import Peaks
from onnxperf.records.numbers import Amount


class MachineReport(Document, frozen=True, kw_only=True):
    """What `onnxperf doctor` found."""

    machine: Machine
    """The machine, before and after the race."""
    rows: dict[str, str]
    """What else was found about it, by name."""
    peaks: tuple[Peaks, ...] = ()
    """What it reached with one thread and with one per core, if that was measured."""
    noise_band: Amount | None = None
    """Relative difference that a race on this machine could mistake for a real one; null if it was not measured."""
    answer: str = field(name="sentence", default="")
    """How small a difference can be seen on this machine, in plain sentences."""
    interrupted: bool = False
    """The user stopped the race."""
    command: str = ""
    """The command line, or the call in Python."""
