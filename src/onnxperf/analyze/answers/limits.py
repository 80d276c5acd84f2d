"""What limits an answer: faults, interruptions and disturbances that its reader must know first."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from onnxperf.analyze.answers.race import note_on_others, notes_on_readings
from onnxperf.analyze.judges.outcome import fault_of, parts_of
from onnxperf.records.race import Case
from onnxperf.wording.busy import is_busy_text
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count
from onnxperf.wording.spans import in_one, kind_of

_MOST = 6
"""Sentences; a list of hundreds would hide the answer."""


def limits_of(record: Struct) -> list[str]:
    """Sentences that stand right below the answer; those that differ only in numbers are one."""
    kinds: dict[str, list[str]] = {}
    for text in dict.fromkeys(_limits(record)):
        kinds.setdefault(kind_of(text), []).append(text)
    found = [in_one(texts) for texts in kinds.values()]
    if len(found) <= _MOST:
        return found
    return [*found[: _MOST - 1], f"{count(len(found) - _MOST + 1, 'more limitation')}: see the details below"]


def _limits(record: Struct) -> Iterator[str]:
    machine = getattr(record, "machine", None)
    yield from note_on_others(machine.others_share if machine is not None else None)
    for part in parts_of(record):
        yield from (note for note in getattr(part, "notes", ()) if is_busy_text(note))
        if fault := fault_of(part):
            yield f"{_name(part)}: {fault}{_because(part)}"
        if isinstance(part, Case):
            yield from notes_on_readings(part)


def _because(part: Struct) -> str:
    reason = str(getattr(part, "reason", ""))
    return f" ({reason})" if reason else ""


def _name(part: Struct) -> str:
    return name_of(str(getattr(part, "name", "") or getattr(part, "model", "")))
