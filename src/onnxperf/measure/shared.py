"""Bytes shared with several processes: an anonymous file that disappears with its last reader."""

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
"""Whether an open file can be sent to a running process."""
_ALIGNMENT = 64
"""Alignment in bytes of memory allocated by runtimes and numpy."""
_CHUNK = 1 << 20
"""Elements written at a time, so that non-contiguous arrays are never copied as a whole."""


class SharedFile(Struct, frozen=True, weakref=True):
    """A file that the parent keeps open as long as this object, or a part of it, is alive there."""

    handle: int
    """File descriptor in the parent; elsewhere only an identifier."""


class SharedBytes(Struct, frozen=True):
    """Bytes in a shared file."""

    file: SharedFile
    start: int
    size: int

    def __len__(self) -> int:
        """Number of bytes."""
        return self.size


def share(arrays: Iterable[np.ndarray[Any, Any]]) -> list[SharedBytes]:
    """Write the values of arrays, in C order, to one file; it is never mapped here, so it uses no memory of this
    process."""
    file = new_file()
    with writing(file, file.handle) as write:
        return [write(array) for array in arrays]


def new_file() -> SharedFile:
    """An empty file that is closed when this object is dropped."""
    file = SharedFile(_open_file())
    weakref.finalize(file, os.close, file.handle)
    return file


@contextlib.contextmanager
def writing(file: SharedFile, handle: int) -> Iterator[Callable[[np.ndarray[Any, Any]], SharedBytes]]:
    """A function that appends the values of an array, in C order, to the file with this descriptor."""
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
    """An anonymous file: nothing has to be removed, however its processes end."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("onnxperf", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def map_file(handle: int) -> np.ndarray[Any, Any]:
    """The contents of a file written by another process, without a copy; they are read on first use."""
    import fcntl
    import mmap

    import numpy as np

    if hasattr(fcntl, "F_ADD_SEALS"):
        with contextlib.suppress(OSError):  # a file on a disk has no seals
            # If the other process truncated the mapped file later, this process would crash.
            fcntl.fcntl(handle, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    size = os.fstat(handle).st_size
    return np.frombuffer(mmap.mmap(handle, size, access=mmap.ACCESS_READ) if size else b"", np.uint8)


def read_file(handle: int) -> np.ndarray[Any, Any]:
    """The contents of a file in numpy's own memory, like the inputs of a real program: mapped memory is read more
    slowly."""
    import numpy as np

    with io.FileIO(handle) as file:
        data = np.empty(os.fstat(handle).st_size, np.uint8)
        rest = data.data
        file.seek(0)
        while rest:
            rest = rest[file.readinto(rest) or len(rest) :]
    return data


def send_file(pipe: int, handle: int) -> None:
    """Send an open file to the process at the other end of a pipe."""
    import socket  # not imported by workers with small inputs

    with socket.socket(fileno=os.dup(pipe)) as channel:
        socket.send_fds(channel, [b"\0"], [handle])


def receive_file(pipe: int) -> int:
    """Receive an open file sent by the process at the other end of a pipe."""
    import socket

    with socket.socket(fileno=os.dup(pipe)) as channel:
        _, handles, _, _ = socket.recv_fds(channel, 1, 1)
    if not handles:
        raise EOFError
    return handles[0]
