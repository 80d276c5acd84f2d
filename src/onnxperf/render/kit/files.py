"""Files that are written, and what can be said about them before anything is measured."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from onnxperf.errors import BadOption, FileNotWritten
from onnxperf.wording.names import visible


def write(path: Path, data: bytes) -> None:
    """Write a file, or say in one line why that is not possible."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise FileNotWritten(f"cannot write {visible(str(path))}: {error.strerror}") from error


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
