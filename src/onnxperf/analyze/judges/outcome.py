"""Topic, status and answer of a run, extracted from any record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from msgspec import Struct

from onnxperf.records.options import OptLevel
from onnxperf.records.runs import RunStatus

_SEVERAL = ("cases", "subjects", "checks")
_SINGLE = ("race", "before", "after")
_FINE = ("ok", "skipped", "pending", "running")
_NAMES = ("model", "equation", "function", "name")
"""Fields with the topic; the first one in a record is used."""


def status_of(record: Struct) -> RunStatus:
    """Interrupted, or the first status that is not ok, or differs if outputs are not equal, or ok."""
    parts = list(parts_of(record))
    if any(getattr(part, "interrupted", False) for part in parts):
        return "interrupted"
    statuses: list[RunStatus] = [getattr(part, "status", "ok") for part in parts]
    faults = (status for status in statuses if status not in _FINE)
    differs: RunStatus = "differs" if any(getattr(part, "equal", True) is False for part in parts) else "ok"
    return next(faults, differs)


def fault_of(part: Struct) -> str:
    """The status of a subject, case or comparison with a problem; else empty."""
    status = str(getattr(part, "status", "ok"))
    return "" if status in _FINE else status


def topic_of(record: Struct) -> str:
    """Topic of a record: the labels of its models, an equation or a function."""
    for field in _NAMES:
        if hasattr(record, field):
            return str(getattr(record, field))
    sides = (getattr(record, name, None) for name in _SINGLE)
    parts = [*getattr(record, "cases", ()), *(side for side in sides if isinstance(side, Struct))]
    found = dict.fromkeys(topic_of(part) for part in parts)
    return ", ".join(name for name in found if name and name not in get_args(OptLevel))  # the sides of a diff


def answers_of(record: Struct) -> list[str]:
    """The result in plain sentences, one per case."""
    found = [str(getattr(record, "answer", "")), *(str(case.answer) for case in getattr(record, "cases", ()))]
    return [answer for answer in found if answer]


def parts_of(record: Struct) -> Iterator[Struct]:
    """A record with its cases, subjects, comparisons, race and sides."""
    yield record
    for name in _SEVERAL:
        for part in getattr(record, name, None) or ():
            yield from parts_of(part)
    for name in _SINGLE:
        part = getattr(record, name, None)
        if isinstance(part, Struct):
            yield from parts_of(part)
