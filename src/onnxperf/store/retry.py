"""Transient failures, and retries for a limited time."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError

from onnxperf.errors import StoreError

T = TypeVar("T")

PATIENCE_S = 5.0
"""Default retry time of a command: a restarting server is back by then."""
_PASSING_STATES = {
    "08": "the connection failed or was lost",
    "23505": "another writer took a name or number first: a retry will see it",
    "40": "a deadlock, or transactions that cannot be serialized",
    "53300": "too many connections",
    "57P": "the server is starting or stopping, or has ended this connection",
}
"""Prefixes of PostgreSQL's error codes (SQLSTATE)."""
_PASSING_IN_SQLITE = ("is locked", "is busy")
_LASTING = ("authentication failed", "does not exist", "pg_hba.conf", "translate host name", "permission denied")
"""Parts of messages of failed connections, which have no code: retrying does not help."""
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0


class Patience(NamedTuple):
    """How long to retry, and by which clock."""

    seconds: float
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def retried(step: Callable[[], T], patience: Patience) -> T:
    """The result of a step, which is retried after transient failures; a failed step must have no effect."""
    deadline = patience.clock() + patience.seconds
    pauses = _pauses()
    while True:
        try:
            return step()
        except StoreError as error:
            pause_s = next(pauses)
            if not is_passing(error) or patience.clock() + pause_s > deadline:
                raise
        patience.sleep(pause_s)


def is_passing(error: StoreError) -> bool:
    """Whether the same write may succeed in a moment."""
    cause = error.__cause__
    if not isinstance(cause, DBAPIError):
        return False
    state = getattr(cause.orig, "sqlstate", None)
    if state:
        return str(state).startswith(tuple(_PASSING_STATES))
    message = str(cause.orig).lower()
    if isinstance(cause.orig, sqlite3.Error):
        return any(sign in message for sign in _PASSING_IN_SQLITE)
    lost = cause.connection_invalidated or isinstance(cause, OperationalError)
    return lost and not any(sign in message for sign in _LASTING)


def is_refusal(error: StoreError) -> bool:
    """Whether the database rejects these values, now or later."""
    return isinstance(error.__cause__, (DataError, IntegrityError)) and not is_passing(error)


def _pauses() -> Iterator[float]:
    """Increasing pauses, with random differences between conflicting writers."""
    pause_s = _FIRST_PAUSE_S
    while True:
        yield pause_s * secrets.SystemRandom().uniform(0.5, 1.0)
        pause_s = min(_LONGEST_PAUSE_S, 2 * pause_s)
