"""Connections of the server: how many there are, and how long a client is waited for; its mistakes are not logged."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 200
"""Connections at once."""
CLIENT_S = 10.0
"""For a client to send a whole head of a request, or to read something of the answer."""


def most_connections() -> int:
    """How many connections are kept: most file descriptors are left for the store and for those that are closing."""
    if sys.platform == "win32":
        return MOST
    import resource

    return max(1, min(MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4))


class LimitedProtocol(H11Protocol):
    """A connection that is closed when its client is waited for too long, or when others need its place."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.limit_concurrency = None  # uvicorn's: it answers 503, and keeps the connection
        self.client_turn: asyncio.TimerHandle | None = None
        """Runs while nothing can be done before the client does something."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take part, if there is a place: that of one whose client is waited for, if need be."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # so that it is known whenever a client does not read
        self._wait_for_client()
        if len(self.connections) > (self.config.limit_concurrency or MOST):
            self._least_wanted().close_now()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._no_wait()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """A request that is complete up to its body, which nobody reads, is answered now."""
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
        """The client has to read."""
        super().pause_writing()
        self._wait_for_client(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """The client has read all."""
        super().resume_writing()
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for_client()
        else:
            self._no_wait()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP; within a request that is being answered, the connection just ends."""
        if self.conn.our_state is h11.IDLE:
            super().send_400_response(msg)
        else:
            self.close_now()

    def timeout_keep_alive_handler(self) -> None:
        """End a connection without another request; what the client has not read yet is still sent."""
        self.transport.close()

    def shutdown(self) -> None:
        """End with the server: at once, unless an answer has begun."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self.cycle.keep_alive = False

    def close_now(self) -> None:
        """Close without a word; an answer that is on its way ends, too."""
        if self.cycle is not None:
            self.cycle.disconnected = True
        self.connections.discard(self)  # it needs no place from now on
        self._no_wait()
        self.transport.abort()

    def _least_wanted(self) -> LimitedProtocol:
        """Of the address with most connections, the one whose client is waited for longest; else this new one."""
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
        if unread is not None and left < unread:  # slow, but it reads
            self._wait_for_client(left)
        else:
            self.close_now()


def _address(connection: LimitedProtocol) -> str:
    return connection.client[0] if connection.client else ""


def _due(connection: LimitedProtocol) -> float:
    return connection.client_turn.when() if connection.client_turn else 0.0


def silence_libraries() -> None:
    """Let uvicorn and asyncio write nothing but the traceback of a page that fails, whatever clients send."""
    logging.getLogger("asyncio").addFilter(lambda _record: False)
    logging.getLogger("uvicorn.error").addFilter(_is_of_a_page)


def _is_of_a_page(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return error is not None and not isinstance(error, h11.ProtocolError | asyncio.CancelledError)
