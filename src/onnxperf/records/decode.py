"""The one way from plain values, which may come from strangers, to a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import msgspec

from onnxperf.records.rules import check_record

T = TypeVar("T")

Fields = dict[str, Any]
UPGRADES: Mapping[type, Sequence[Callable[[Fields], Fields]]] = {}
"""Per kind of record: step n leads from version n to version n + 1. Nothing was released yet, so there is none."""


class DamagedRecord(ValueError):
    """What was read is no record of that kind."""


def decoded(value: object, kind: type[T]) -> T:
    """A record of a kind, in the form of its newest version; whatever is wrong with it is a DamagedRecord."""
    try:
        record = msgspec.convert(_upgraded(value, kind), kind)
        check_record(record)
        return record
    except (ValueError, TypeError, ArithmeticError, AttributeError, LookupError, RecursionError) as error:
        raise DamagedRecord(" ".join(str(error).split())) from error


def newest_version(kind: type) -> int:
    """The version of a kind of record that is written today."""
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
