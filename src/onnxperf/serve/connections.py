"""Limits the number of connections and the time spent waiting for clients; client errors are not logged."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 200
"""Maximum number of simultaneous connections."""
CLIENT_S = 10.0
"""Seconds for a client to send a complete request head, or to read part of the answer."""


def most_connections() -> int:
    """The maximum number of connections: most file descriptors are left for the store and for closing connections."""
    if sys.platform == "win32":
        return MOST
    import resource

    return max(1, min(MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4))


class LimitedProtocol(H11Protocol):
    """A connection that is closed if its client takes too long, or if others need its place."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.limit_concurrency = None  # uvicorn's limit answers 503 and keeps the connection
        self.client_turn: asyncio.TimerHandle | None = None
        """Runs while the server has to wait for the client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a free place, or that of a connection waiting for its client."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # to detect clients that do not read
        self._wait_for_client()
        if len(self.connections) > (self.config.limit_concurrency or MOST):
            self._least_wanted().close_now()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._no_wait()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Answer a request as soon as its head is complete; its body is never read."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.flow.write_paused:
            self._no_wait()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        if not self.flow.write_paused:
            self._wait_for_client()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client must read first."""
        super().pause_writing()
        self._wait_for_client(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """The client has read everything."""
        super().resume_writing()
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for_client()
        else:
            self._no_wait()

    def send_400_response(self, msg: str) -> None:
        """Reject input that is not HTTP; if an answer has begun, just close the connection."""
        if self.conn.our_state is h11.IDLE:
            super().send_400_response(msg)
        else:
            self.close_now()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection after sending the data that the client has not read yet."""
        self.transport.close()

    def shutdown(self) -> None:
        """Close with the server: at once, unless an answer has begun."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self.cycle.keep_alive = False

    def close_now(self) -> None:
        """Close silently, even while an answer is being sent."""
        if self.cycle is not None:
            self.cycle.disconnected = True
        self.connections.discard(self)  # its place is free now
        self._no_wait()
        self.transport.abort()

    def _least_wanted(self) -> LimitedProtocol:
        """At the address with most connections, the one waiting longest for its client; else this new one."""
        waiting = [each for each in self.connections if isinstance(each, LimitedProtocol) and each.client_turn]
        of_address = Counter(_address(each) for each in waiting)
        return min(waiting, key=lambda each: (-of_address[_address(each)], _due(each)), default=self)

    def _wait_for_client(self, unread: int | None = None) -> None:
        self._no_wait()
        self.client_turn = self.loop.call_later(CLIENT_S, self._check_client, unread)

    def _no_wait(self) -> None:
        if self.client_turn is not None:
            self.client_turn.cancel()
            self.client_turn = None

    def _check_client(self, unread: int | None) -> None:
        left = self.transport.get_write_buffer_size()
        if unread is not None and left < unread:  # slow, but reading
            self._wait_for_client(left)
        else:
            self.close_now()


def _address(connection: LimitedProtocol) -> str:
    return connection.client[0] if connection.client else ""


def _due(connection: LimitedProtocol) -> float:
    return connection.client_turn.when() if connection.client_turn else 0.0


def silence_libraries() -> None:
    """Silence uvicorn and asyncio, whatever clients send, except for the traceback of a failing page."""
    logging.getLogger("asyncio").addFilter(lambda _record: False)
    logging.getLogger("uvicorn.error").addFilter(_is_of_a_page)


def _is_of_a_page(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return error is not None and not isinstance(error, h11.ProtocolError | asyncio.CancelledError)
