"""Raw timings as typed bytes: a small header with a version and a checksum, then compressed columns of int64."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from onnxperf.errors import StoreError
from onnxperf.records.decode import DamagedRecord, decoded
from onnxperf.records.numbers import Count
from onnxperf.records.race import Block

T = TypeVar("T")

_BITS = ("quickest_ns",)
"""Columns of floats: their bits are stored as integers, so that they are restored exactly."""
_OPTIONAL = ("cpu_ns", "span_ns", "free_pieces", *_BITS)
BLOCK_COLUMNS = {1: ("round", "position", "launch", "set_up", "calls", "start_ns", "duration_ns", *_OPTIONAL)}
"""The columns of blocks in each version, in order."""

_MAGIC = b"OXPB"
_TIMES_VERSION = 1
_NEWEST = max(BLOCK_COLUMNS)
_UNKNOWN = -1
"""Stands for a missing time."""
_HEADER = struct.Struct("<4sBBxxII")
"""Magic, version, columns, rows, CRC-32 of the columns before compression."""
_WIDTH = 8
_LARGEST_RATIO = 1100
"""zlib cannot compress by more than 1:1032: a larger claim is damaged, and no memory is allocated for it."""


def pack_blocks(blocks: Sequence[Block]) -> bytes:
    """Pack blocks with their pairing."""
    columns = {name: [getattr(block, name) for block in blocks] for name in BLOCK_COLUMNS[_NEWEST]}
    for name in _BITS:
        columns[name] = [None if value is None else _bits(value) for value in columns[name]]
    known = [[_UNKNOWN if value is None else value for value in column] for column in columns.values()]
    return _pack(known, _NEWEST)


def unpack_blocks(data: bytes) -> tuple[Block, ...]:
    """The blocks passed to `pack_blocks`."""
    version, found = _unpack(data, {version: len(names) for version, names in BLOCK_COLUMNS.items()})
    columns: dict[str, Sequence[Any]] = dict(zip(BLOCK_COLUMNS[version], found, strict=True))
    for name in columns.keys() & {*_OPTIONAL}:
        columns[name] = [None if value == _UNKNOWN else value for value in columns[name]]
    for name in columns.keys() & _BITS:
        columns[name] = [None if value is None else _number(value) for value in columns[name]]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return _checked(rows, tuple[Block, ...])


def _bits(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _number(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def pack_times(times_ns: Sequence[int]) -> bytes:
    """Pack times of single calls."""
    return _pack([times_ns], _TIMES_VERSION)


def unpack_times(data: bytes) -> tuple[int, ...]:
    """The times passed to `pack_times`."""
    return _checked(_unpack(data, {_TIMES_VERSION: 1})[1][0], tuple[Count, ...])


def _checked(values: object, kind: type[T]) -> T:
    try:
        return decoded(values, kind)
    except DamagedRecord as error:
        raise StoreError(f"damaged timings: {error}") from error


def unpacked_size(data: bytes) -> int:
    """The unpacked size that packed timings declare, in bytes; 0 if that cannot be determined."""
    if len(data) < _HEADER.size:
        return 0
    _, _, columns, rows, _ = _HEADER.unpack_from(data)
    return int(rows * columns * _WIDTH)


def _pack(columns: Sequence[Sequence[int]], version: int) -> bytes:
    rows = len(columns[0])
    try:
        raw = b"".join(struct.pack(f"<{rows}q", *column) for column in columns)
    except struct.error as error:
        raise StoreError("a time or a count exceeds 64 bits and cannot be stored") from error
    header = _HEADER.pack(_MAGIC, version, len(columns), rows, zlib.crc32(raw))
    return header + zlib.compress(raw)


def _unpack(data: bytes, known: Mapping[int, int]) -> tuple[int, list[tuple[int, ...]]]:
    """Version and columns; `known` maps versions to their number of columns."""
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        raise StoreError("no timings: the header is missing")
    _, version, found, rows, checksum = _HEADER.unpack_from(data)
    if version > max(known):
        raise StoreError(f"timings of version {version}; this onnxperf reads up to {max(known)}; use a newer onnxperf")
    columns = known.get(version, 0)
    size = rows * columns * _WIDTH
    payload = data[_HEADER.size :]
    if found != columns or not columns or size > _LARGEST_RATIO * len(payload):
        raise StoreError("no timings: the header contradicts itself")
    raw = _decompressed(payload, size)
    if len(raw) != size or zlib.crc32(raw) != checksum:
        raise StoreError("damaged timings: the checksum is wrong")
    return version, [struct.unpack_from(f"<{rows}q", raw, column * rows * _WIDTH) for column in range(columns)]


def _decompressed(payload: bytes, size: int) -> bytes:
    try:
        stream = zlib.decompressobj()
        raw = stream.decompress(payload, size + 1)
    except zlib.error as error:
        raise StoreError("damaged timings: they cannot be decompressed") from error
    if not stream.eof or stream.unused_data:
        raise StoreError("damaged timings: bytes are missing, or there are too many")
    return raw
