"""Records as JSON that can be read back."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Struct

from onnxperf.errors import BadInput
from onnxperf.records.decode import decoded, newest_version
from onnxperf.wording.names import storable

R = TypeVar("R", bound=Struct)


class _Header(Struct):
    version: int


def to_json(record: object) -> bytes:
    """A whole record, indented; numbers that JSON lacks become null."""
    return msgspec.json.format(compact_json(record), indent=2) + b"\n"


def compact_json(value: object) -> bytes:
    """The same in as few bytes as possible."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # a file name that is not UTF-8
        return msgspec.json.encode(_encodable(msgspec.to_builtins(value)))


def from_json(data: bytes, kind: type[R]) -> R:
    """The record that `to_json` wrote."""
    try:
        fields = msgspec.json.decode(data)
        version = msgspec.convert(fields, _Header).version
        if version <= newest_version(kind):
            return decoded(fields, kind)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"not a {kind.__name__} document of onnxperf: {error}") from error
    raise BadInput(
        f"this result has format version {version}, and this onnxperf reads up to {newest_version(kind)}; "
        "read it with a newer onnxperf"
    )


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value
