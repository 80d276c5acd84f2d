"""The one way to write files that last: write aside, then move, so that the old file stays if anything fails."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

_BEFORE = ".before"


@contextlib.contextmanager
def written_aside(*paths: Path) -> Iterator[Path]:
    """A new folder next to files of one folder: files written there under the same names replace them at the end.

    They are moved in the order of `paths`, a model after the weights that it refers to; unwritten ones are left out.
    If anything fails, all files are as they were before, and no draft is left.
    """
    import shutil  # commands start without it

    folder = paths[0].parent / f".onnxperf-{os.getpid()}-{os.urandom(4).hex()}"
    folder.mkdir(0o700)
    try:
        yield folder
        written = [path for path in paths if (folder / path.name).exists()]
        for path in written:
            _finish(folder / path.name, path)
        _move(folder, written)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_aside(path: Path, data: bytes) -> None:
    """Write a whole file."""
    with written_aside(path) as folder:
        (folder / path.name).write_bytes(data)


def _finish(draft: Path, path: Path) -> None:
    """Flush a draft to the disk, with the permissions of the file that it replaces."""
    with draft.open("rb+") as file:
        os.fsync(file.fileno())  # some file systems notice a full disk only now
    if path.exists():
        draft.chmod(stat.S_IMODE(path.stat().st_mode))


def _move(folder: Path, paths: Sequence[Path]) -> None:
    before = folder / _BEFORE
    try:
        if len(paths) > 1:
            before.mkdir()
        for path in paths:
            if path is not paths[-1] and path.exists():  # nothing can fail after the last one
                _set_by(path, before / path.name)
            (folder / path.name).replace(path)
    except BaseException:
        moved = [path for path in paths if not (folder / path.name).exists()]
        if len(moved) < len(paths):
            _take_back(before, moved)
        raise


def _take_back(before: Path, moved: Sequence[Path]) -> None:
    for path in moved:
        if not (before / path.name).exists():
            path.unlink()
    for kept in before.glob("*"):
        kept.replace(before.parent.parent / kept.name)


def _set_by(path: Path, place: Path) -> None:
    """Keep a file that may be needed again, without a moment in which it is missing, if the file system allows it."""
    try:
        os.link(path, place)
    except OSError:
        path.replace(place)
