"""The environment of a command: standard streams, environment variables, terminal cursor."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import TextIO

from onnxperf.errors import BadInput, masked
from onnxperf.wording.names import PLAIN_SIGNS, visible_lines

_SHOW_CURSOR = "\x1b[?25h"
_SHORTAGES = frozenset({errno.EFBIG, errno.ENOSPC, errno.EDQUOT, errno.EROFS})
_NO_FOLDER = "No usable temporary directory"
"""The error of `tempfile` if no folder is writable."""


def open_standard_streams() -> None:
    """Make sure that every standard stream exists and accepts any text.

    Otherwise, the next opened file, such as the store, would get the number of a closed stream (`>&-`).
    """
    for number in range(3):
        try:
            os.read(number, 0) if number == 0 else os.write(number, b"")
        except OSError as error:
            if error.errno == errno.EBADF:
                _lead_nowhere(number)
    sys.stdout, sys.stderr = _usable(sys.stdout, 1), _of_its_own(_usable(sys.stderr, 2))


def _lead_nowhere(number: int) -> None:
    opened = os.open(os.devnull, os.O_RDWR)  # it gets the lowest free number, perhaps this one
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)


def _usable(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:
        return os.fdopen(number, "w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
        stream.reconfigure(errors=PLAIN_SIGNS)
    return stream


def _of_its_own(stream: TextIO) -> TextIO:
    """A separate stderr for Python, because libraries log to descriptor 2 (`frameworks.logs`)."""
    try:
        own = os.dup(stream.fileno())
    except (OSError, ValueError):
        return stream
    return os.fdopen(own, "w", 1, encoding=stream.encoding, errors=stream.errors)


def switch_off_telemetry() -> None:
    """Set it for all processes of a command; converters and user functions import onnxruntime, too."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def shortage(error: Exception) -> BadInput | None:
    """A clear error if a file cannot be written: full disk, quota, read-only folder."""
    if not isinstance(error, OSError):
        return None
    advice = "set TMPDIR to a folder with free space, and check `ulimit -f`"
    if _NO_FOLDER in str(error.strerror):
        return BadInput(f"cannot write temporary files; {advice}")
    if error.errno not in _SHORTAGES:
        return None
    name = f"{str(error.filename)!r}" if error.filename else "a temporary file"
    return BadInput(f"cannot write {name}: {error.strerror}; {advice}")


def show_traceback(error: BaseException) -> None:
    """Print the traceback of an error, with passwords masked."""
    import traceback

    with contextlib.suppress(OSError):
        sys.stderr.write(visible_lines(masked("".join(traceback.format_exception(error))), sys.stderr.encoding))


def leave_standard_streams() -> None:
    """Flush the standard streams: an error at exit would change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            abandon(stream)


def abandon(stream: TextIO) -> None:
    """Redirect a stream to nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def show_cursor() -> None:
    """Show the cursor again: an interrupted progress bar may have left it hidden."""
    if "onnxperf.render.kit.progress_bar" in sys.modules and sys.stderr.isatty():
        with contextlib.suppress(OSError):
            sys.stderr.write(_SHOW_CURSOR)
            sys.stderr.flush()
