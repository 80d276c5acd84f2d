"""Raw timings as bytes: exact, checked, and never trusted."""

from __future__ import annotations

import contextlib
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.errors import StoreError
from onnxperf.records.race import Block
from onnxperf.store.blobs import pack_blocks, pack_times, unpack_blocks, unpack_times
from tests.render.examples import blocks
from tests.store.examples import BLOCKS, TIMES

PACKED = pack_blocks(blocks(8430.0, count=50))


@given(BLOCKS)
def test_blocks_come_back_as_they_were(given_blocks: tuple[Block, ...]) -> None:
    assert unpack_blocks(pack_blocks(given_blocks)) == given_blocks


@given(TIMES)
def test_times_come_back_as_they_were(times: tuple[int, ...]) -> None:
    assert unpack_times(pack_times(times)) == times


@given(st.integers(0, len(PACKED) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_harmless(place: int, change: int) -> None:
    damaged = bytearray(PACKED)
    damaged[place] ^= change
    with contextlib.suppress(StoreError):
        assert unpack_blocks(bytes(damaged)) == unpack_blocks(PACKED)  # two bytes of the header have no meaning


@given(st.integers(0, len(PACKED) - 1))
def test_missing_bytes_are_noticed(length: int) -> None:
    with pytest.raises(StoreError, match="timings"):
        unpack_blocks(PACKED[:length])


@given(st.binary(max_size=60))
def test_any_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(StoreError, match="timings"):
        unpack_times(data)


def header(version: int = 1, columns: int = 1, rows: int = 1) -> bytes:
    return struct.pack("<4sBBxxII", b"OXPB", version, columns, rows, 0)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (header(version=2), "use a newer onnxperf"),
        (header(version=0), "contradicts"),
        (header(columns=7), "contradicts"),
        (header(rows=2**32 - 1) + zlib.compress(bytes(1000)), "contradicts"),
        (header(rows=1) + zlib.compress(bytes(10**6)), "too many"),
        (header(rows=1) + zlib.compress(bytes(8)), "the checksum is wrong"),
        (header(rows=2) + zlib.compress(bytes(8)), "the checksum is wrong"),
    ],
)
def test_a_header_that_promises_what_it_cannot_hold_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        unpack_times(data)


def test_times_are_not_taken_for_blocks() -> None:
    with pytest.raises(StoreError, match="contradicts"):
        unpack_blocks(pack_times([1]))


def test_bytes_after_the_end_are_noticed() -> None:
    with pytest.raises(StoreError, match="too many"):
        unpack_blocks(PACKED + b"x")


def test_a_number_beyond_64_bits_cannot_be_kept() -> None:
    with pytest.raises(StoreError, match=r"^a time or a count exceeds 64 bits and cannot be stored$"):
        pack_times([2**63])


def test_the_bytes_of_version_1_stay_as_they_are() -> None:
    """A store moves between machines, whatever the order of bytes is there."""
    columns = struct.pack("<2q", 1, 2)
    head = struct.pack("<4sBBxxII", b"OXPB", 1, 1, 2, zlib.crc32(columns))
    assert unpack_times(head + zlib.compress(columns)) == (1, 2)
    assert pack_times([1, 2]) == head + zlib.compress(columns)


def test_blocks_of_a_long_race_take_few_bytes() -> None:
    assert len(pack_blocks(blocks(8430.0, count=10_000))) < 20 * 10_000


@given(st.one_of(st.none(), st.floats(0, 1e12, allow_nan=False)))
def test_the_quickest_piece_of_a_block_comes_back_to_the_last_bit(quickest: float | None) -> None:
    block = Block(round=0, position=0, launch=0, calls=1, start_ns=0, duration_ns=1, quickest_ns=quickest)
    assert unpack_blocks(pack_blocks([block])) == (block,)
