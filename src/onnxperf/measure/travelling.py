"""A folder with only this package, so that workers with other interpreters cannot import anything else from ours."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from onnxperf.scratch import remover

_PACKAGE = Path(__file__).resolve().parents[1]


def folder_of_package() -> Path:
    """A folder from which only `onnxperf` can be imported; it is removed with this process."""
    if not _made().is_dir():  # temporary files are removed at the end of a command
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
