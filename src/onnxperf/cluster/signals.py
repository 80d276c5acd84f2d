"""Defers signals while Ray starts or ends: it replaces their handlers, and an exception within it may crash it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGBREAK")


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """Record signals, keep their handlers from being replaced, and deliver them at the end.

    They are not blocked: processes started meanwhile would inherit that.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are handled in the main thread
        yield
        return
    noted: list[int] = []
    set_handler: Any = signal.signal
    numbers = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    before = {number: handler for number in numbers if (handler := signal.getsignal(number)) is not None}
    for number in before:
        set_handler(number, lambda number, _frame: noted.append(number))
    _replace_setter(lambda number, _handler: signal.getsignal(number))
    try:
        yield
    finally:
        _replace_setter(set_handler)
        for number, handler in before.items():
            set_handler(number, handler)
        for number in noted:
            signal.raise_signal(number)


def _replace_setter(setter: Any) -> None:
    signal.signal = setter
