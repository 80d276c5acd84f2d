"""Whether TensorFlow traces a function again and again: then calls are timed that compile what they run."""

from __future__ import annotations

import logging
import sys

_MESSAGE = "triggered tf.function retracing"
_LOGGER = "tensorflow"


class _Watch(logging.Handler):
    """Hears TensorFlow's own warning, which comes when five calls were traced, and at most twice for a function."""

    heard = False

    def emit(self, record: logging.LogRecord) -> None:
        """Look at a message; never fail, and never show it."""
        self.heard = self.heard or _MESSAGE in record.getMessage()


_WATCH = _Watch(logging.WARNING)


def watch() -> None:
    """Listen from now on, if this process has TensorFlow."""
    logger = logging.getLogger(_LOGGER)
    if "tensorflow" in sys.modules and _WATCH not in logger.handlers:
        logger.addHandler(_WATCH)


def retraces() -> bool:
    """Whether TensorFlow has complained since the last time this was asked."""
    heard, _WATCH.heard = _WATCH.heard, False
    return heard
