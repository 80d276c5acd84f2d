"""Bytes from one process to several: a file without a name, read by all that get it, and gone with the last of them."""

from __future__ import annotations

import io
import os
import sys
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np

CAN_SHARE = sys.platform != "win32"
"""Whether an open file can be handed to a process that runs already."""
_ALIGNMENT = 64
"""Bytes: that of the memory that runtimes and numpy allocate."""
_CHUNK = 1 << 20
"""Elements that are written at a time, so that an array without a contiguous copy never gets one here."""


class SharedFile(Struct, frozen=True, weakref=True):
    """A file that its parent holds open as long as this object, or a part of it, is alive there."""

    handle: int
    """Its number in the parent; elsewhere no more than a name."""


class SharedBytes(Struct, frozen=True):
    """Bytes in such a file."""

    file: SharedFile
    start: int
    size: int

    def __len__(self) -> int:
        """How many they are."""
        return self.size


def share(arrays: Iterable[np.ndarray[Any, Any]]) -> list[SharedBytes]:
    """The values of arrays, in C order, in one file; it is never mapped here, so it takes no memory of this process."""
    import numpy as np

    file = SharedFile(_new_file())
    weakref.finalize(file, os.close, file.handle)
    parts = []
    with io.FileIO(file.handle, "w", closefd=False) as raw, io.BufferedWriter(raw) as writer:
        for array in arrays:
            writer.write(bytes(-writer.tell() % _ALIGNMENT))
            parts.append(SharedBytes(file, writer.tell(), array.nbytes))
            chunks = np.nditer(array, ["external_loop", "buffered", "zerosize_ok"], order="C", buffersize=_CHUNK)
            for chunk in chunks:
                writer.write(np.ascontiguousarray(chunk).view(np.uint8).data)
    return parts


def _new_file() -> int:
    """A file that no folder lists: nothing has to be removed, whatever ends the processes that hold it."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("onnxperf")
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def read_file(handle: int) -> np.ndarray[Any, Any]:
    """The contents of a file in memory of numpy's own, where a program has its inputs: mapped, they are read slower."""
    import numpy as np

    with io.FileIO(handle) as file:
        data = np.empty(os.fstat(handle).st_size, np.uint8)
        rest = data.data
        file.seek(0)
        while rest:
            rest = rest[file.readinto(rest) or len(rest) :]
    return data


def send_file(pipe: int, handle: int) -> None:
    """Hand an open file to the process at the other end of a pipe."""
    import socket  # a worker with small inputs starts without it

    with socket.socket(fileno=os.dup(pipe)) as channel:
        socket.send_fds(channel, [b"\0"], [handle])


def receive_file(pipe: int) -> int:
    """Take over an open file that the process at the other end of a pipe has sent."""
    import socket

    with socket.socket(fileno=os.dup(pipe)) as channel:
        _, handles, _, _ = socket.recv_fds(channel, 1, 1)
    if not handles:
        raise EOFError
    return handles[0]
