"""Silences what C++ libraries log past Python, such as TensorFlow during its import."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

_STDERR = 2


@contextlib.contextmanager
def quiet_libraries() -> Iterator[None]:
    """Redirect descriptor 2 to nowhere, if Python's own stderr uses another one, as in the command line."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow reads it when it is imported
    if not _is_elsewhere():
        yield
        return
    kept, nowhere = os.dup(_STDERR), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, _STDERR)
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)
        os.close(nowhere)


def _is_elsewhere() -> bool:
    try:
        return sys.stderr.fileno() != _STDERR
    except (OSError, ValueError, AttributeError):  # a stream without a descriptor: of a notebook, or of tests
        return False
