"""Raw timings as typed bytes: a small header with a version and a checksum, then compressed columns of int64."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from onnxperf.errors import StoreError
from onnxperf.records.race import Block

BLOCK_COLUMNS = ("round", "position", "launch", "set_up", "calls", "start_ns", "duration_ns")
"""The order of the columns in version 1; new ones come with a new version."""

_MAGIC = b"OXPB"
_VERSION = 1
_HEADER = struct.Struct("<4sBBxxII")
"""Magic, version, columns, rows, CRC-32 of the columns before compression."""
_WIDTH = 8
_LARGEST_RATIO = 1100
"""zlib cannot compress by more than 1:1032: a larger claim is damaged, and gets no memory."""


def pack_blocks(blocks: Sequence[Block]) -> bytes:
    """Blocks with their pairing."""
    return _pack([[getattr(block, column) for block in blocks] for column in BLOCK_COLUMNS])


def unpack_blocks(data: bytes) -> tuple[Block, ...]:
    """The blocks that `pack_blocks` was given."""
    columns = _unpack(data, len(BLOCK_COLUMNS))
    return tuple(
        Block(round=a, position=b, launch=c, set_up=d, calls=e, start_ns=f, duration_ns=g)
        for a, b, c, d, e, f, g in zip(*columns, strict=True)
    )


def pack_times(times_ns: Sequence[int]) -> bytes:
    """Times of single calls."""
    return _pack([times_ns])


def unpack_times(data: bytes) -> tuple[int, ...]:
    """The times that `pack_times` was given."""
    return _unpack(data, 1)[0]


def _pack(columns: Sequence[Sequence[int]]) -> bytes:
    rows = len(columns[0])
    try:
        raw = b"".join(struct.pack(f"<{rows}q", *column) for column in columns)
    except struct.error as error:
        raise StoreError("a time or a count does not fit into 64 bits, and cannot be kept") from error
    header = _HEADER.pack(_MAGIC, _VERSION, len(columns), rows, zlib.crc32(raw))
    return header + zlib.compress(raw)


def _unpack(data: bytes, columns: int) -> list[tuple[int, ...]]:
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        raise StoreError("no timings: the header is missing")
    _, version, found, rows, checksum = _HEADER.unpack_from(data)
    if version > _VERSION:
        raise StoreError(f"timings of version {version}, and this onnxperf reads up to {_VERSION}; use a newer one")
    size = rows * columns * _WIDTH
    payload = data[_HEADER.size :]
    if found != columns or version < 1 or size > _LARGEST_RATIO * len(payload):
        raise StoreError("no timings: the header contradicts itself")
    raw = _decompressed(payload, size)
    if len(raw) != size or zlib.crc32(raw) != checksum:
        raise StoreError("damaged timings: the checksum is wrong")
    return [struct.unpack_from(f"<{rows}q", raw, column * rows * _WIDTH) for column in range(columns)]


def _decompressed(payload: bytes, size: int) -> bytes:
    try:
        stream = zlib.decompressobj()
        raw = stream.decompress(payload, size + 1)
    except zlib.error as error:
        raise StoreError("damaged timings: they cannot be decompressed") from error
    if not stream.eof or stream.unused_data:
        raise StoreError("damaged timings: bytes are missing, or there are too many")
    return raw
