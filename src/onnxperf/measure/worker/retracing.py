"""Detect whether TensorFlow keeps retracing a function, because then timed calls include compilation."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import LogRecord

_MESSAGE = "triggered tf.function retracing"
_LOGGER = "tensorflow"
_heard: list[str] = []
"""TensorFlow's own warnings, which it logs after five traced calls and at most twice per function."""


def _hear(record: LogRecord) -> bool:
    """A logging filter that records the warning and passes everything."""
    if _MESSAGE in record.getMessage():
        _heard.append(_MESSAGE)
    return True


def watch() -> None:
    """Listen from now on if TensorFlow is loaded; other processes do not import logging."""
    if "tensorflow" not in sys.modules:
        return
    import logging

    logging.getLogger(_LOGGER).addFilter(_hear)  # adding it again has no effect


def retraces() -> bool:
    """Whether TensorFlow has logged the warning since the previous call."""
    heard = bool(_heard)
    _heard.clear()
    return heard
