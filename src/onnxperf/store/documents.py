"""Records as JSON texts that are restored exactly."""

from __future__ import annotations

import importlib
import json
import pkgutil
from functools import cache
from typing import TypeVar

import msgspec

from onnxperf import records
from onnxperf.errors import StoreError
from onnxperf.records.base import Document
from onnxperf.records.decode import decoded
from onnxperf.records.race import Bench

T = TypeVar("T")


@cache
def kinds() -> dict[str, type[Document]]:
    """Documents by name, wherever they are in records; without Bench, whose cases have tables."""
    modules = [
        importlib.import_module(f"{records.__name__}.{each.name}") for each in pkgutil.iter_modules(records.__path__)
    ]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
    documents = [each for each in found if issubclass(each, Document) and each.__module__ != Document.__module__]
    return {each.__name__: each for each in documents if each is not Bench}


def to_document(value: object) -> str:
    """A record, or plain values, as JSON.

    The standard library writes it: msgspec rejects names that are not UTF-8, and turns NaN into null. As the result is
    pure ASCII, PostgreSQL accepts even a NUL inside a name.
    """
    return json.dumps(msgspec.to_builtins(value, enc_hook=str), separators=(",", ":"))


def from_document(text: str, kind: type[T]) -> T:
    """The record passed to `to_document`."""
    try:
        return decoded(json.loads(text), kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"damaged: not the record of a {getattr(kind, '__name__', kind)} ({error})") from error


def plain(text: str) -> str:
    """A text that every database accepts: NUL, and characters that are not UTF-8, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")
