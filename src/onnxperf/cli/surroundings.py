"""What a command finds and leaves around it: its standard streams, its environment, its cursor."""

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
"""What `tempfile` says when it can write nowhere."""


def open_standard_streams() -> None:
    """Let every standard stream exist and take every text.

    A closed one (`>&-`) would give its number to the next file that is opened, such as the store.
    """
    for number in range(3):
        try:
            os.read(number, 0) if number == 0 else os.write(number, b"")
        except OSError as error:
            if error.errno == errno.EBADF:
                _lead_nowhere(number)
    sys.stdout, sys.stderr = _usable(sys.stdout, 1), _of_its_own(_usable(sys.stderr, 2))


def _lead_nowhere(number: int) -> None:
    opened = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, and so perhaps this one
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
    """Python's stderr beside descriptor 2, which libraries fill with their logs (`frameworks.logs`)."""
    try:
        own = os.dup(stream.fileno())
    except (OSError, ValueError):
        return stream
    return os.fdopen(own, "w", 1, encoding=stream.encoding, errors=stream.errors)


def switch_off_telemetry() -> None:
    """Converters and functions of the user import onnxruntime, too, and all processes of a command inherit this."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def shortage(error: Exception) -> BadInput | None:
    """The error as one of the user's, if the machine does not let us write a file."""
    if not isinstance(error, OSError):
        return None
    advice = "set TMPDIR to a folder with free space; `ulimit -f` must allow files"
    if _NO_FOLDER in str(error.strerror):
        return BadInput(f"no temporary file can be written; {advice}")
    if error.errno not in _SHORTAGES:
        return None
    name = f"{str(error.filename)!r}" if error.filename else "a temporary file"
    return BadInput(f"{name} cannot be written: {error.strerror}; {advice}")


def show_traceback(error: BaseException) -> None:
    """Print where an error comes from, without the passwords that its causes may name."""
    import traceback

    with contextlib.suppress(OSError):
        sys.stderr.write(visible_lines(masked("".join(traceback.format_exception(error))), sys.stderr.encoding))


def leave_standard_streams() -> None:
    """Let nothing be left in a buffer that cannot be written: Python would end with an exit code of its own."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            abandon(stream)


def abandon(stream: TextIO) -> None:
    """Let a stream lead nowhere."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def show_cursor() -> None:
    """A bar that was interrupted while it was wiped may have left it hidden."""
    if "onnxperf.render.kit.progress_bar" in sys.modules and sys.stderr.isatty():
        with contextlib.suppress(OSError):
            sys.stderr.write(_SHOW_CURSOR)
            sys.stderr.flush()
