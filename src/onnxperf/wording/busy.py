"""What is said of other programs that used the processors during a measurement."""

from __future__ import annotations

from onnxperf.wording.numbers import whole_percent

_START = "busy machine: other programs used"


def busy_text(share: float) -> str:
    """One warning for a whole measurement."""
    return f"{_START} {whole_percent(share)} of the processors meanwhile"


def is_busy_text(note: str) -> bool:
    """Whether a note is this warning."""
    return note.startswith(_START)
