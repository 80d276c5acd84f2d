"""The package alone, for workers under other interpreters: beside it lies nothing that they could import."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from onnxperf.scratch import remover

_PACKAGE = Path(__file__).resolve().parents[1]


def folder_of_package() -> Path:
    """A folder in which only `onnxperf` can be imported; it goes with this process."""
    if not _made().is_dir():  # a command's temporary files are removed at its end
        _made.cache_clear()
    return _made()


@cache
def _made() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="onnxperf-package-"))
    atexit.register(remover(folder))
    here = folder / _PACKAGE.name
    try:
        here.symlink_to(_PACKAGE, target_is_directory=True)
    except (OSError, NotImplementedError):  # Windows reserves links for administrators
        shutil.copytree(_PACKAGE, here, ignore=shutil.ignore_patterns("__pycache__"))
    return folder
