"""One folder for all temporary files of a command and its workers."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from onnxperf.cli import exit_codes

_VARIABLE = "TMPDIR"
_PREFIX = "onnxperf-"
_LOCK = ".lock"


@contextlib.contextmanager
def scratch_folder() -> Iterator[None]:
    """However a command ends, all is gone at its end; what a killed one leaves behind goes with the next command."""
    before = os.environ.get(_VARIABLE)
    base = Path(before or os.environ.get("TEMP") or Path(os.sep, "tmp"))
    folder = base / f"{_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
    try:
        with contextlib.suppress(OSError):  # tempfile finds another place, or shows why there is none
            folder.mkdir(0o700)
            _lock(folder)
            os.environ[_VARIABLE] = str(folder)
            _remove_abandoned(base)
        yield
    finally:
        exit_codes.ignore_signals()
        _remove(folder)
        os.environ.pop(_VARIABLE, None)
        os.environ.update({} if before is None else {_VARIABLE: before})


def lasting_file(suffix: str) -> Path:
    """A new file among the temporary ones that is there after the command has ended."""
    import tempfile

    folder = Path(tempfile.gettempdir())
    base = folder.parent if (folder / _LOCK).exists() else folder
    number, path = tempfile.mkstemp(suffix, _PREFIX, base)
    os.close(number)
    return Path(path)


def _lock(folder: Path) -> None:
    """Mark a folder as in use for as long as this process lives; the mark appears when it holds."""
    if sys.platform == "win32":
        return
    import fcntl

    draft = folder / f"{_LOCK}-draft"
    fcntl.flock(os.open(draft, os.O_CREAT | os.O_RDWR, 0o600), fcntl.LOCK_EX)
    draft.rename(folder / _LOCK)


def _remove_abandoned(base: Path) -> None:
    """Remove the folders of processes of this user that were killed."""
    if sys.platform == "win32":
        return
    import fcntl

    with os.scandir(base) as entries:
        found = [each for each in entries if each.name.startswith(_PREFIX) and each.is_dir(follow_symlinks=False)]
    for each in found:
        with contextlib.suppress(OSError):  # it has no mark, or is in use, or went away meanwhile
            if each.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            mark = os.open(Path(each.path, _LOCK), os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(Path(each.path))
            finally:
                os.close(mark)


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
