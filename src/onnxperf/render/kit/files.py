"""Files that are written, and what can be said about them before anything is measured."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from onnxperf.drafts import write_aside, written_aside
from onnxperf.errors import BadOption, FileNotWritten
from onnxperf.wording.names import visible


def write(path: Path, data: bytes) -> None:
    """Write a file, or say in one line why that is not possible; then what was there before is as it was."""
    with explained(path):
        if _is_device(path):
            path.write_bytes(data)  # a device or a pipe stays what it is
        else:
            write_aside(path.resolve(), data)  # a link stays, and what it leads to changes


def copy(source: Path, path: Path, beside: Iterable[Path] = ()) -> None:
    """Copy a file after those it depends on, which keep their names: all of them or none."""
    import shutil  # commands start without it

    if _is_device(path):
        write(path, source.read_bytes())
        return
    others = {path.parent / each.name: each for each in beside}
    place = path if others else path.resolve()
    with explained(path), written_aside(*others, place) as folder:
        for target, each in {**others, place: source}.items():
            shutil.copyfile(each, folder / target.name)


@contextlib.contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """What keeps a file from being written becomes one line."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or error
        raise FileNotWritten(f"cannot write {visible(str(path))}: {reason}") from error


def _is_device(path: Path) -> bool:
    with contextlib.suppress(ValueError):
        return path.exists() and not path.is_file()
    return False


def suffix_of(path: str | Path, known: Iterable[str], option: str = "output") -> str:
    """The longest known extension of a file name; without one, an error lists them."""
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
