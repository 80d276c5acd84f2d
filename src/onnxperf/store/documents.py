"""Records as JSON texts that come back exactly as they were."""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec
from msgspec import Struct

from onnxperf.errors import StoreError
from onnxperf.records import Check, Diff, EinsumPlan, Memory, MemoryLines, Optimization, Profile, Rewrite, Stack

T = TypeVar("T")

KINDS: dict[str, type[Struct]] = {
    record.__name__: record
    for record in (Check, Diff, EinsumPlan, Memory, MemoryLines, Optimization, Profile, Rewrite, Stack)
}
"""Records that are kept whole, as one document; a Bench is not, as its cases have tables."""


def to_document(value: object) -> str:
    """A record, or plain values, as JSON.

    The standard library writes it: msgspec refuses names that are not UTF-8 and turns NaN into null. As everything
    is ASCII then, PostgreSQL takes a NUL inside a name too.
    """
    return json.dumps(msgspec.to_builtins(value, enc_hook=str), separators=(",", ":"))


def from_document(text: str, kind: type[T]) -> T:
    """The record that `to_document` was given."""
    try:
        return msgspec.convert(json.loads(text), kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"damaged: not the record of a {getattr(kind, '__name__', kind)} ({error})") from error


def plain(text: str) -> str:
    """A text that every database takes: what is not UTF-8, or NUL, becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
