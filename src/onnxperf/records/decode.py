"""Decode plain, possibly untrusted values into records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec

from onnxperf.records.rules import check_record

T = TypeVar("T")

Fields = dict[str, Any]
UPGRADES: Mapping[type, Sequence[Callable[[Fields], Fields]]] = {}
"""Per record type: step n upgrades version n to version n + 1. Nothing has been released yet, so there are none."""


class DamagedRecord(ValueError):
    """The data is not a valid record of the requested type."""


def decoded(value: object, kind: type[T]) -> T:
    """Decode a record of this type, upgraded to its newest version; anything wrong with it raises DamagedRecord."""
    try:
        record = msgspec.convert(_upgraded(value, kind), kind)
        check_record(record)
        return record
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError, RecursionError) as error:
        raise DamagedRecord(" ".join(str(error).split())) from error


def newest_version(kind: type) -> int:
    """Version in which records of this type are written today."""
    return next(int(each.default) for each in msgspec.structs.fields(kind) if each.name == "version")


def _upgraded(value: object, kind: type) -> object:
    steps = UPGRADES.get(kind, ())
    if not steps or not isinstance(value, dict):
        return value
    fields = cast("Fields", value)
    version = msgspec.convert(fields.get("version", 1), int)
    for step in steps[max(version - 1, 0) :]:
        fields = step(fields)
        version += 1
    return {**fields, "version": version}
