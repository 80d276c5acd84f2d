"""Bytes from one process to several: a file without a name, read by all that get it, and gone with the last of them."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
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
    file = new_file()
    with writing(file, file.handle) as write:
        return [write(array) for array in arrays]


def new_file() -> SharedFile:
    """An empty file that is closed with this object."""
    file = SharedFile(_open_file())
    weakref.finalize(file, os.close, file.handle)
    return file


@contextlib.contextmanager
def writing(file: SharedFile, handle: int) -> Iterator[Callable[[np.ndarray[Any, Any]], SharedBytes]]:
    """A function that adds the values of an array, in C order, to a file that has this number here."""
    import numpy as np

    with io.FileIO(handle, "w", closefd=False) as raw, io.BufferedWriter(raw) as writer:

        def write(array: np.ndarray[Any, Any]) -> SharedBytes:
            writer.write(bytes(-writer.tell() % _ALIGNMENT))
            part = SharedBytes(file, writer.tell(), array.nbytes)
            chunks = np.nditer(array, ["external_loop", "buffered", "zerosize_ok"], order="C", buffersize=_CHUNK)
            for chunk in chunks:
                writer.write(np.ascontiguousarray(chunk).view(np.uint8).data)
            return part

        yield write


def _open_file() -> int:
    """A file that no folder lists: nothing has to be removed, whatever ends the processes that hold it."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("onnxperf", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def map_file(handle: int) -> np.ndarray[Any, Any]:
    """The contents of a file that another process has written, without a copy; they are read with their first use."""
    import fcntl
    import mmap

    import numpy as np

    if hasattr(fcntl, "F_ADD_SEALS"):
        with contextlib.suppress(OSError):  # a file of a disk has no seals
            # Cut short by the other process later on, what is mapped would end this one.
            fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    size = os.fstat(handle).st_size
    return np.frombuffer(mmap.mmap(handle, size, access=mmap.ACCESS_READ) if size else b"", np.uint8)


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
