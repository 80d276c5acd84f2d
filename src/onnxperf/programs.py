"""Other programs are found on PATH, never in the current folder: its files may come from a stranger."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

_SUFFIX = ".exe" if sys.platform == "win32" else ""


def find_program(name: str, folders: Iterable[str] | None = None) -> str | None:
    """The absolute path of a program in one of the folders [default: those on PATH], or None."""
    for folder in trusted_folders() if folders is None else folders:
        path = os.path.join(folder, name + _SUFFIX)  # noqa: PTH118 - commands start without pathlib
        if os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113
            return path
    return None


def trusted_folders() -> list[str]:
    """The absolute folders on PATH, without the current one."""
    named = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return [folder for folder in named if os.path.isabs(folder) and not _is_current(folder)]  # noqa: PTH117


def leave_current_folder_out() -> None:
    """Keep libraries and child processes, which look for programs themselves, from using the current folder."""
    os.environ["PATH"] = os.pathsep.join(trusted_folders())


def _is_current(folder: str) -> bool:
    try:
        return os.path.samefile(folder, os.curdir)  # noqa: PTH121
    except OSError:  # one of them does not exist
        return False
