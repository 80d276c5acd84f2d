"""The one way from plain values, which may come from strangers, to a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from onnxperf.records.diff import Diff
from onnxperf.records.profile import Profile, usual
from onnxperf.records.rules import check_record

T = TypeVar("T")


class DamagedRecord(ValueError):
    """What was read is no record of that kind."""


def decoded(value: object, kind: type[T]) -> T:
    """A record of a kind, one of an older version in today's form; whatever is wrong with it is a DamagedRecord."""
    try:
        record = msgspec.convert(_upgraded(value, kind), kind)
        check_record(record)
    except (ValueError, TypeError, ArithmeticError, AttributeError, RecursionError) as error:
        raise DamagedRecord(" ".join(str(error).split())) from error
    return record


def newest_version(kind: type) -> int:
    """The version of a kind of record that is written today."""
    return next(int(each.default) for each in msgspec.structs.fields(kind) if each.name == "version")


def _upgraded(document: Any, kind: type) -> Any:
    while isinstance(document, dict) and (step := _UPGRADES.get((kind, document.get("version")))) is not None:
        document = step(document)
    return document


def _diff_with_before_and_after(document: dict[str, Any]) -> dict[str, Any]:
    """Version 1 called the sides base and opti."""
    sides = {"base": "before", "opti": "after"}
    rows = [
        {_renamed(name, sides): value for name, value in row.items()} if isinstance(row, dict) else row
        for row in document.get("rows", ())
    ]
    return {**{sides.get(name, name): value for name, value in document.items()}, "rows": rows, "version": 2}


def _renamed(field: str, sides: dict[str, str]) -> str:
    side, mark, rest = field.partition("_")
    return f"{sides.get(side, side)}{mark}{rest}"


def _profile_with_faster_halves(document: dict[str, Any]) -> dict[str, Any]:
    """Version 1 had other usual times; those of today follow from the times of the iterations."""
    tables: dict[str, Any] = {
        name: [_timed_anew(row, {"usual_us": "self_us", "usual_total_us": "total_us"}) for row in document[name]]
        for name in ("operators", "nodes", "sources")
        if name in document
    }
    return {**document, **tables, "version": 2}


def _diff_with_faster_halves(document: dict[str, Any]) -> dict[str, Any]:
    sides: dict[str, Any] = {
        name: _upgraded(document[name], Profile) for name in ("before", "after") if name in document
    }
    times = {"before_usual_us": "before_us", "after_usual_us": "after_us"}
    return {**document, **sides, "rows": [_timed_anew(row, times) for row in document.get("rows", ())], "version": 3}


def _timed_anew(row: Any, times: dict[str, str]) -> Any:
    if not isinstance(row, dict):
        return row
    return {**row, **{name: usual(row.get(times[name], ())) for name in times if name in row}}


_UPGRADES: dict[tuple[type, object], Callable[[dict[str, Any]], dict[str, Any]]] = {
    (Diff, 1): _diff_with_before_and_after,
    (Diff, 2): _diff_with_faster_halves,
    (Profile, 1): _profile_with_faster_halves,
}
"""From a version of a record to the next one."""
