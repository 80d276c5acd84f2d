"""Files that are written, and what can be said about them before anything is measured."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from onnxperf.errors import BadOption, FileNotWritten
from onnxperf.wording.names import visible


def write(path: Path, data: bytes) -> None:
    """Write a file, or say in one line why that is not possible; then what was there before is as it was."""
    try:
        _write(path, data)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise FileNotWritten(f"cannot write {visible(str(path))}: {reason}") from error


def _write(path: Path, data: bytes) -> None:
    """Write aside and move: a reader finds the old file or the new one, never a part."""
    if path.exists() and not path.is_file():  # a device or a pipe stays what it is
        path.write_bytes(data)
        return
    real = path.resolve()  # a link stays, and what it leads to changes
    draft = real.with_name(f".onnxperf-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # some file systems notice a full disk only now
        if real.exists():
            draft.chmod(stat.S_IMODE(real.stat().st_mode))
        draft.replace(real)
    finally:
        draft.unlink(missing_ok=True)


def suffix_of(path: str | Path, known: Iterable[str], option: str = "output") -> str:
    """The longest of the known endings that a file's name has; an error that lists them where it has none."""
    name = Path(path).name.lower()
    endings = sorted(known, key=len, reverse=True)
    for ending in endings:
        if name.endswith(ending):
            return ending
    raise BadOption(option=option, value=path, expected=f"a name that ends with {', '.join(sorted(endings))}")


def check_folder(path: str | Path) -> None:
    """Refuse a file that could not be written, before anything is measured."""
    problem = "it is a folder" if Path(path).is_dir() else "its folder does not exist"
    if Path(path).is_dir() or not Path(path).absolute().parent.is_dir():
        raise BadOption(f"cannot write {visible(str(path))}: {problem}")
