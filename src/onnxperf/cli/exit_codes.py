"""The exit codes of all commands, and the signals that end them."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

DONE = 0
PARTIAL = 1
"""A partial result, outputs that differ, or an exceeded limit."""
BAD_INPUT = 2
NO_ANSWER = 3
"""Undecided although a decision was requested, or a requested file that could not be written."""
INTERNAL = 70
"""A bug in onnxperf (EX_SOFTWARE of sysexits.h), which must not look like a verdict."""
BROKEN_PIPE = 128 + 13
"""The reader of standard output closed it; the same code as after SIGPIPE."""

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_CAN_WAIT = hasattr(signal, "setitimer")
_MOMENT_S = 0.01
_received: list[int] = []
_finishing: list[bool] = []


def catch_signals() -> None:
    """Let SIGTERM and SIGHUP interrupt a command as Ctrl-C does: results so far are shown and saved.

    A second signal ends the command at once. Signals that are ignored from the start, as under nohup, stay ignored.
    """
    for number in _SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)
    if _CAN_WAIT:
        signal.signal(signal.SIGALRM, _raise)
        sys.unraisablehook = _raise_again


def ignore_signals() -> None:
    """The command has ended, and its cleanup cannot be interrupted."""
    for number in (*_SIGNALS, *([signal.SIGALRM] if _CAN_WAIT else [])):
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def finishing() -> Iterator[None]:
    """While results are saved, shown and written, the first signal only changes the exit code."""
    _finishing.append(True)
    try:
        yield
    finally:
        _finishing.pop()


def received() -> bool:
    """Whether a signal was received."""
    return bool(_received)


def interrupted() -> int:
    """The exit code after a signal: 130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP."""
    return 128 + (_received[0] if _received else signal.SIGINT)


def end_interrupted() -> int:
    """The exit code if there is no result to show, with a notice."""
    from onnxperf.render.kit.complaints import complain

    _finishing.append(True)  # a pending interruption, delayed by an import, would print the same again
    complain(f"interrupted by {signal.Signals(interrupted() - 128).name}; nothing to show")
    return interrupted()


def _interrupt(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    if len(_received) == 1:
        _raise(number, frame)
    elif number != getattr(signal, "SIGHUP", None):  # a closing terminal sends several of these
        raise SystemExit(interrupted())


def _raise(_number: int, frame: FrameType | None) -> None:
    """End the command, but not within an import: an extension interrupted while loading may crash."""
    if _finishing:
        return
    if _CAN_WAIT and _is_importing(frame):
        signal.setitimer(signal.ITIMER_REAL, _MOMENT_S)
    else:
        raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _raise_again(error: UnraisableHookArgs) -> None:
    """If Python can only print an exception, as in a finalizer, the interruption would be lost."""
    if isinstance(error.exc_value, KeyboardInterrupt) and len(_received) == 1:
        signal.setitimer(signal.ITIMER_REAL, _MOMENT_S)  # after this function, which cannot raise either
    elif not isinstance(error.exc_value, KeyboardInterrupt | SystemExit):
        sys.__unraisablehook__(error)
