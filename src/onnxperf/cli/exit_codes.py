"""The exit codes of all commands, and the signals that end them."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

DONE = 0
PARTIAL = 1
"""A partial result, outputs that differ, or a limit that was exceeded."""
BAD_INPUT = 2
NO_ANSWER = 3
"""Undecided where a decision was requested, or a requested file that was not written."""

_last_signal = int(signal.SIGINT)


def catch_signals() -> None:
    """Let SIGTERM and SIGHUP interrupt a command as Ctrl-C does: what was measured until then is shown and kept."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def interrupted() -> int:
    """The exit code after a signal: 130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP."""
    return 128 + _last_signal


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    global _last_signal  # noqa: PLW0603 - the exit code of a process is as global as it gets
    _last_signal = number
    raise KeyboardInterrupt
