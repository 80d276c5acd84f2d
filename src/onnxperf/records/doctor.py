"""Report of `onnxperf doctor` on a machine."""

from __future__ import annotations

from msgspec import field

from onnxperf.records.base import Document, Machine
from onnxperf.records.headroom import Peaks
from onnxperf.records.numbers import Amount


class MachineReport(Document, frozen=True, kw_only=True):
    """Result of `onnxperf doctor`."""

    machine: Machine
    """The machine before and after the race."""
    rows: dict[str, str]
    """Further facts about the machine, by name."""
    peaks: tuple[Peaks, ...] = ()
    """Peak performance with one thread and with one per core, if measured."""
    noise_band: Amount | None = None
    """Relative difference that a race on this machine could mistake for a real one; null if not measured."""
    answer: str = field(name="sentence", default="")
    """Smallest difference that can be detected on this machine, in plain sentences."""
    interrupted: bool = False
    """Whether the user stopped the race."""
    command: str = ""
    """Command line or Python call."""
