"""One folder for all temporary files of a command and its workers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from onnxperf import scratch
from onnxperf.cli import exit_codes


@contextlib.contextmanager
def scratch_folder() -> Iterator[None]:
    """Remove all temporary files when a command ends, and those of killed commands."""
    before = os.environ.get(scratch.VARIABLE)
    base = scratch.base_folder()
    folder = base / scratch.name_of_folder()
    try:
        with contextlib.suppress(OSError):  # tempfile finds another folder, or reports why there is none
            scratch.make(folder)
            os.environ[scratch.VARIABLE] = str(folder)
            scratch.remove_abandoned(base)
        yield
    finally:
        exit_codes.ignore_signals()
        scratch.remove(folder)
        os.environ.pop(scratch.VARIABLE, None)
        os.environ.update({} if before is None else {scratch.VARIABLE: before})


def lasting_file(suffix: str) -> Path:
    """A new temporary file that is kept after the command ends."""
    import tempfile

    folder = Path(tempfile.gettempdir())
    base = folder.parent if (folder / scratch.LOCK).exists() else folder
    number, path = tempfile.mkstemp(suffix, scratch.PREFIX, base)
    os.close(number)
    return Path(path)
