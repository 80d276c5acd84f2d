"""Records as JSON texts that come back exactly as they were."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import msgspec

from onnxperf import records
from onnxperf.errors import StoreError
from onnxperf.records.base import Document
from onnxperf.records.profile import Diff, Profile, usual
from onnxperf.records.race import Bench

T = TypeVar("T")


@cache
def kinds() -> dict[str, type[Document]]:
    """Documents by their names, wherever in records they are; a Bench is not among them, as its cases have tables."""
    modules = [
        importlib.import_module(f"{records.__name__}.{each.name}") for each in pkgutil.iter_modules(records.__path__)
    ]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
    documents = [each for each in found if issubclass(each, Document) and each.__module__ != Document.__module__]
    return {each.__name__: each for each in documents if each is not Bench}


def to_document(value: object) -> str:
    """A record, or plain values, as JSON.

    The standard library writes it: msgspec refuses names that are not UTF-8 and turns NaN into null. As everything
    is ASCII then, PostgreSQL takes a NUL inside a name too.
    """
    return json.dumps(msgspec.to_builtins(value, enc_hook=str), separators=(",", ":"))


def from_document(text: str, kind: type[T]) -> T:
    """The record that `to_document` was given; one of an older version in today's form."""
    try:
        return msgspec.convert(_upgraded(json.loads(text), kind), kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"damaged: not the record of a {getattr(kind, '__name__', kind)} ({error})") from error


def newest_version(kind: type[Document]) -> int:
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


def plain(text: str) -> str:
    """A text that every database takes: what is not UTF-8, or NUL, becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
