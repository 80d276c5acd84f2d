"""Temporary folders, marked while their process lives, so that those of killed processes are found and removed."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

VARIABLE = "TMPDIR"
PREFIX = "onnxperf-"
LOCK = ".lock"


def base_folder() -> Path:
    """The folder for temporary files on this machine."""
    return Path(os.environ.get(VARIABLE) or os.environ.get("TEMP") or Path(os.sep, "tmp"))


def name_of_folder() -> str:
    """A new name, for this process."""
    return f"{PREFIX}{os.getpid()}-{os.urandom(4).hex()}"


def make(folder: Path) -> None:
    """Make a folder for this user alone, marked as in use for as long as this process lives."""
    folder.mkdir(0o700)
    _lock(folder)


def remove(folder: Path) -> None:
    """Remove a folder and its contents."""
    import shutil  # commands start without it

    shutil.rmtree(folder, ignore_errors=True)


def remover(folder: Path) -> Callable[[], None]:
    """A function that removes a folder in this process only: a forked child that ends keeps the files of its parent."""
    owner = os.getpid()

    def remove_own() -> None:
        if os.getpid() == owner:
            remove(folder)

    return remove_own


def remove_abandoned(base: Path) -> None:
    """Remove the folders of this user's killed processes."""
    if sys.platform == "win32":
        return
    import fcntl

    with os.scandir(base) as entries:
        found = [each for each in entries if each.name.startswith(PREFIX) and each.is_dir(follow_symlinks=False)]
    for each in found:
        with contextlib.suppress(OSError):  # it has no mark, is in use, or has gone meanwhile
            if each.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            mark = os.open(Path(each.path, LOCK), os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(Path(each.path))
            finally:
                os.close(mark)


def _lock(folder: Path) -> None:
    """The mark appears once the lock is held."""
    if sys.platform == "win32":
        return
    import fcntl

    draft = folder / f"{LOCK}-draft"
    fcntl.flock(os.open(draft, os.O_CREAT | os.O_RDWR, 0o600), fcntl.LOCK_EX)
    draft.rename(folder / LOCK)
