"""Records as JSON that can be read back."""

from __future__ import annotations

from typing import Any

import msgspec


def to_json(record: object) -> bytes:
    """A whole record, indented; numbers that JSON lacks become null."""
    try:
        encoded = msgspec.json.encode(record)
    except UnicodeEncodeError:  # a file name that is not UTF-8
        encoded = msgspec.json.encode(_encodable(msgspec.to_builtins(record)))
    return msgspec.json.format(encoded, indent=2) + b"\n"


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value
