"""Stored environments: one folder each in the user's cache, either complete or absent."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import platformdirs
from msgspec.structs import replace

from onnxperf.environments.build import Tell, python_in
from onnxperf.errors import BadInput
from onnxperf.records.envs import Environment

_REVISION = 1
"""Incremented when a change here invalidates caches."""
_DESCRIPTION = "environment.json"
_DRAFT = ".draft-"
"""The name of folders being built or removed; if no command is working on them, they are garbage."""


def folder_of_all() -> Path:
    """The folder of all environments."""
    return platformdirs.user_cache_path("onnxperf") / "environments"


def folder_of(requirements: Sequence[str]) -> Path:
    """The folder of an environment with these packages, for this Python."""
    python = (sys.implementation.cache_tag, platform.python_version(), sysconfig.get_platform())
    key = hashlib.sha256(repr((_REVISION, tuple(requirements), python)).encode()).hexdigest()[:12]
    readable = re.sub(r"[^a-z0-9.]+", "-", "-".join(requirements))[:60].strip("-")
    return folder_of_all() / f"{readable}-{key}"


def recall(folder: Path) -> Environment | None:
    """The environment in a folder, if it is usable."""
    description = folder / _DESCRIPTION
    try:
        found = msgspec.json.decode(description.read_bytes(), type=Environment)
        used = datetime.fromtimestamp(description.stat().st_mtime, UTC)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    python = python_in(folder)
    if not os.access(python, os.X_OK):  # the interpreter on which it is based is gone
        return None
    return replace(found, python=str(python), used=used.isoformat(timespec="seconds"))


def note_use(folder: Path) -> None:
    """Record that an environment was used now; a read-only cache is not an error."""
    with contextlib.suppress(OSError):
        os.utime(folder / _DESCRIPTION)


def all_kept() -> Iterator[tuple[Path, Environment]]:
    """Every environment with its folder, sorted by name."""
    found = ((folder, recall(folder)) for folder in folders())
    known = [(folder, each) for folder, each in found if each is not None]
    yield from sorted(known, key=lambda each: (each[1].name, each[1].python_version, each[0]))


def folders() -> list[Path]:
    """Folders of environments, including unusable ones."""
    try:
        return [each for each in folder_of_all().iterdir() if not each.name.startswith(".")]
    except OSError:
        return []


def keep(draft: Path, folder: Path, environment: Environment) -> None:
    """Turn a finished draft into an environment, atomically; the caller holds the lock."""
    (draft / _DESCRIPTION).write_bytes(msgspec.json.format(msgspec.json.encode(environment)))
    discard(folder)  # a previous one that is no longer usable
    draft.rename(folder)


def discard(folder: Path) -> None:
    """Remove a folder; readers see all of it or nothing. The caller holds the lock."""
    if folder.is_dir():
        aside = new_draft()
        folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)


def discard_drafts() -> None:
    """Remove the drafts of killed commands; the caller holds the lock, so no command is using them."""
    for each in folder_of_all().glob(f"{_DRAFT}*"):
        shutil.rmtree(each, ignore_errors=True)


def new_draft() -> Path:
    """A unique folder, not created yet: a program that outlives its killed command may still write to the old one."""
    return folder_of_all() / f"{_DRAFT}{os.getpid()}-{os.urandom(4).hex()}"


@contextlib.contextmanager
def locked(tell: Tell = lambda _text: None) -> Iterator[None]:
    """One command at a time builds and removes; the lock is released when its process ends."""
    folder = folder_of_all()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("a+b")
    except OSError as error:
        reason = error.strerror or error
        raise BadInput(f"environments cannot be stored in {str(folder)!r}: {reason}; make it writable") from error
    with file:
        if not lock(file.fileno(), wait=False):
            tell("waiting for another command that is building an environment")
            lock(file.fileno(), wait=True)
        yield


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder; links count as themselves."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(place, name).lstat().st_size
    return total


def lock(handle: int, wait: bool) -> bool:
    """Lock a file; returns whether it succeeded."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        if wait:
            raise
        return False
    return True
