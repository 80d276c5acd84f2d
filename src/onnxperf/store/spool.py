"""The spool: results that wait in separate files while their store cannot be written."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import platformdirs
from sqlalchemy import URL

from onnxperf.errors import BadInput, StoreError, masked
from onnxperf.store.bundle import open_bundle, write_bundle
from onnxperf.store.database import Store
from onnxperf.store.names import new_uid
from onnxperf.store.portable import CaseRow, RunRow
from onnxperf.store.private_files import check_own, create_own, make_own, open_own
from onnxperf.store.retry import is_refusal

VARIABLE = "ONNXPERF_SPOOL"
_RESULT = ".result.zip"
_STEP = ".step.zip"
_PLACE = "store.txt"
_KEY = re.compile(r"[0-9a-f]{16}")
_LONGEST_PLACE = 500
_ABANDONED_S = 24 * 3600
"""Age after which an incomplete file was left by a dead process."""


class Flushed(NamedTuple):
    """What happened to the waiting files."""

    results: int
    """Number of cases and whole runs written; steps such as the end of a run are not counted."""
    names: dict[str, str]
    """Names of runs that were taken, with their new names in the store."""
    damaged: tuple[Path, ...]
    """Files set aside because they cannot be read, or because the store rejects them."""
    failure: StoreError | None
    """Why the rest is still waiting."""
    refused: StoreError | None = None
    """Why nothing is read: the folder belongs to another user."""


class Waiting(NamedTuple):
    """Results that wait for a store."""

    place: str
    results: int
    folder: Path


class Spool:
    """The results waiting for one store: one bundle per write, each complete or absent.

    Several processes may write and flush at once, without a lock: every file contains unique names, so writing it twice
    has no effect.
    """

    def __init__(self, url: URL, place: str) -> None:
        self._place = place
        self.folder = spool_folder() / _key(url)

    def add(self, run: RunRow, cases: Iterable[CaseRow] = (), result: bool = True) -> None:
        """Keep a write for later; once this returns, it survives the end of this process and of the machine."""
        name = f"{time.time_ns():020}-{new_uid()}{_RESULT if result else _STEP}"
        part = self.folder / f".{name}.part"
        try:
            make_own(self.folder.parent)
            check_own(self.folder.parent, _is_key)
            make_own(self.folder)
            check_own(self.folder)
            with contextlib.suppress(FileExistsError), create_own(self.folder / _PLACE) as file:
                file.write(self._place.encode("utf-8", "surrogateescape"))
            with create_own(part) as file:
                write_bundle(file, [(run, cases)])
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.folder / name)
            _make_permanent(self.folder)
        except OSError as error:
            raise StoreError(f"the spool {self.folder} cannot be written ({error.strerror})") from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)

    def files(self) -> list[Path]:
        """The waiting files, oldest first."""
        return sorted(_files(self.folder, _RESULT) + _files(self.folder, _STEP))

    def flush(self, store: Store) -> Flushed:
        """Write the waiting files in order, until the store fails."""
        results, names, damaged = 0, dict[str, str](), list[Path]()
        failure = None
        try:
            _check(self.folder)
        except StoreError as error:
            return Flushed(0, {}, (), None, error)
        for path in self.files():
            try:
                names |= _written(path, store)
                path.unlink()
                results += path.name.endswith(_RESULT)
            except FileNotFoundError:  # another process was faster
                continue
            except (BadInput, StoreError) as error:
                if isinstance(error, StoreError) and not is_refusal(error):
                    failure = error
                    break
                damaged.append(_set_aside(path))
        _remove_abandoned(self.folder)
        return Flushed(results, names, tuple(damaged), failure)


def _written(path: Path, store: Store) -> dict[str, str]:
    """Write a waiting file; returns names that were taken, with their new names in the store."""
    with open_bundle(path, open_own) as runs:
        names = {(row := run.row()).name: store.merge(row, run) for run in runs}
    return {wanted: name for wanted, name in names.items() if wanted != name}


def spool_folder() -> Path:
    """The folder of waiting results: set in ONNXPERF_SPOOL, or in the user's data directory."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser().absolute() if named else platformdirs.user_data_path("onnxperf") / "spool"


def waiting() -> list[Waiting]:
    """The results that wait for each store."""
    found = []
    with contextlib.suppress(OSError):
        for folder in sorted(filter(_is_key, spool_folder().iterdir())):
            found += _waiting_in(folder)
    return found


def _waiting_in(folder: Path) -> list[Waiting]:
    """The results in one folder; none if it belongs to another user."""
    with contextlib.suppress(StoreError):
        _check(folder)
        results = len([each for each in _files(folder, _RESULT) if stat.S_ISREG(each.lstat().st_mode)])
        return [Waiting(_place_in(folder), results, folder)] if results else []
    return []


def _check(folder: Path) -> None:
    """Reject an existing folder of another user."""
    with contextlib.suppress(OSError):
        if folder.exists():
            check_own(folder.parent, _is_key)
            check_own(folder)


def _is_key(folder: Path) -> bool:
    """Whether a folder's name is that of a store's key."""
    return _KEY.fullmatch(folder.name) is not None


def _key(url: URL) -> str:
    """A name for a store, the same with and without its password, from which neither can be recovered."""
    shown = {name: value for name, value in url.query.items() if masked(f"{name}=x") == f"{name}=x"}
    bare = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, shown).render_as_string()
    return hashlib.sha256(bare.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _files(folder: Path, suffix: str) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.name.endswith(suffix) and not path.name.startswith(".")]
    except OSError:
        return []


def _place_in(folder: Path) -> str:
    try:
        with open_own(folder / _PLACE) as file:
            return file.read(_LONGEST_PLACE).decode("utf-8", "replace")
    except OSError:
        return str(folder)


def _set_aside(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.damaged")
    with contextlib.suppress(OSError):
        path.replace(aside)
    return aside


def _remove_abandoned(folder: Path) -> None:
    for path in folder.glob(".*.part"):
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > _ABANDONED_S:
                path.unlink()


def _make_permanent(folder: Path) -> None:
    """Flush the file names in a folder to the disk, if the system supports it."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
