"""The child's end of a `multiprocessing.Pipe`, without importing multiprocessing, which takes 20 ms."""

from __future__ import annotations

import io
import struct
import sys
from typing import Protocol

_SIZE, _LARGE_SIZE = struct.Struct("!i"), struct.Struct("!Q")
_LARGEST_SIZE = 2**31 - 1
_LARGE = -1
"""Placeholder for a size: the actual size follows in more bytes."""


class Pipe(Protocol):
    """Interface of a worker's pipe."""

    def recv_bytes(self) -> bytes | bytearray:
        """Wait for a message; raises EOFError if the parent is gone."""

    def send_bytes(self, data: bytes, /) -> None:
        """Send a message."""

    def fileno(self) -> int:
        """File descriptor."""

    def close(self) -> None:
        """Close the pipe."""


class PosixPipe:
    """A pipe with multiprocessing's message format: a size, then the bytes."""

    def __init__(self, handle: int) -> None:
        self._file = io.FileIO(handle, "r+")

    def recv_bytes(self) -> bytearray:
        """Wait for a message; raises EOFError if the parent is gone."""
        (size,) = _SIZE.unpack(self._read(_SIZE.size))
        if size == _LARGE:
            (size,) = _LARGE_SIZE.unpack(self._read(_LARGE_SIZE.size))
        return self._read(size)

    def send_bytes(self, data: bytes, /) -> None:
        """Send a message."""
        if len(data) > _LARGEST_SIZE:
            self._write(_SIZE.pack(_LARGE) + _LARGE_SIZE.pack(len(data)))
            self._write(data)
        else:
            self._write(_SIZE.pack(len(data)) + data)

    def fileno(self) -> int:
        """File descriptor."""
        return self._file.fileno()

    def close(self) -> None:
        """Close the pipe."""
        self._file.close()

    def _read(self, size: int) -> bytearray:
        data = bytearray(size)
        rest = memoryview(data)
        while rest:
            read = self._file.readinto(rest)
            if not read:
                raise EOFError
            rest = rest[read:]
        return data

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) or 0 :]


def open_pipe(handle: int) -> Pipe:
    """The pipe with the file descriptor received from the parent."""
    if sys.platform == "win32":
        from multiprocessing.connection import PipeConnection

        return PipeConnection(handle)
    return PosixPipe(handle)
