"""Private folders and files: other users cannot read or create files there, or make a reader wait."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

from onnxperf.errors import StoreError

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ADVICE = "set ONNXPERF_SPOOL to a folder of your own"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
"""A pipe without a writer would block the reader."""


def make_own(folder: Path) -> None:
    """Create a private folder, unless it exists."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True, mode=0o700)


def check_own(folder: Path, holds: Callable[[Path], bool] = lambda _path: True) -> None:
    """Reject another user's folder, and make this user's folder private.

    A folder with other contents has other uses: it is left unchanged, if only its owner can write to it.
    Windows has no such permissions: there a folder is as safe as its parent.
    """
    if os.name != "posix":
        return
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise StoreError(f"the spool {folder} belongs to another user; {_ADVICE}")
    if not found.st_mode & _OTHERS:
        return
    if not found.st_mode & stat.S_ISVTX and all(map(holds, folder.iterdir())):
        folder.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
    elif found.st_mode & _OTHERS_WRITE:
        raise StoreError(f"the spool {folder} is writable by other users; {_ADVICE}")


def create_own(path: Path) -> IO[bytes]:
    """A new private file; an OSError if the name exists."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600), "wb")


def open_own(path: Path) -> IO[bytes]:
    """This user's regular file, opened for reading; an OSError for anything else."""
    number = os.open(path, os.O_RDONLY | _NO_LINK | _NO_WAIT)
    found = os.fstat(number)
    if stat.S_ISREG(found.st_mode) and (os.name != "posix" or found.st_uid == os.geteuid()):
        return os.fdopen(number, "rb")
    os.close(number)
    raise OSError("not a regular file of this user")
