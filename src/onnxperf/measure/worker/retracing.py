"""Whether TensorFlow traces a function again and again: then calls are timed that compile what they run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import LogRecord

_MESSAGE = "triggered tf.function retracing"
_LOGGER = "tensorflow"
_heard: list[str] = []
"""TensorFlow's own warnings, which come when five calls were traced, and at most twice for a function."""


def _hear(record: LogRecord) -> bool:
    """A filter that lets everything pass."""
    if _MESSAGE in record.getMessage():
        _heard.append(_MESSAGE)
    return True


def watch() -> None:
    """Listen from now on, if this process has TensorFlow; others import no logging."""
    if "tensorflow" not in sys.modules:
        return
    import logging

    logging.getLogger(_LOGGER).addFilter(_hear)  # once, however often it is added


def retraces() -> bool:
    """Whether TensorFlow has complained since the last time this was asked."""
    heard = bool(_heard)
    _heard.clear()
    return heard
