"""Connections: how many, how long a client is waited for, and that nothing a client does is written to the terminal."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any
from urllib.parse import urlsplit

import h11
import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState

from onnxperf.serve import connections
from onnxperf.serve.connections import CLIENT_S, MOST, LimitedProtocol, most_connections
from tests.serve.conftest import Kept
from tests.serve.serving import serving

LIMIT = 4
WHOLE = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
HALF = b"GET / HTTP/1.1\r\nHost: a\r\nx: "


class Loop:
    """A clock that is moved by hand; tasks do not run."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []

    def call_later(self, delay: float, call: Callable[..., None], *args: Any) -> Timer:
        self.timers.append(Timer(self.now + delay, call, args))
        return self.timers[-1]

    def create_task(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        work.close()
        return Future()

    def move(self, seconds: float) -> None:
        self.now += seconds
        for timer in [each for each in self.timers if each.due <= self.now and not each.done]:
            timer.done = True
            timer.call(*timer.args)


class Timer:
    def __init__(self, due: float, call: Callable[..., None], args: tuple[Any, ...]) -> None:
        self.due, self.call, self.args, self.done = due, call, args, False

    def cancel(self) -> None:
        self.done = True

    def when(self) -> float:
        return self.due


class Wire:
    """A transport that keeps what is written, as if its client read nothing."""

    def __init__(self, client: str) -> None:
        self.client, self.closed, self.written = client, False, b""

    def get_extra_info(self, name: str) -> Any:
        return {"peername": (self.client, 1), "sockname": ("here", 2)}.get(name)

    def set_write_buffer_limits(self, _high: int) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return len(self.written)

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True

    close = abort


class Clients:
    """Makes connections to one server."""

    def __init__(self) -> None:
        self.loop, self.state = Loop(), ServerState()
        self.config = uvicorn.Config(_answer, http=LimitedProtocol, log_config=None, limit_concurrency=LIMIT)

    def connect(self, client: str = "a", sent: bytes = b"") -> tuple[LimitedProtocol, Wire]:
        protocol, wire = LimitedProtocol(self.config, self.state, {}, _loop=self.loop), Wire(client)
        protocol.connection_made(wire)  # type: ignore[arg-type]
        if sent and not wire.closed:
            protocol.data_received(sent)
        return protocol, wire


async def _answer(_scope: object, _receive: object, _send: object) -> None: ...


@pytest.fixture
def clients() -> Clients:
    return Clients()


def finish(connection: LimitedProtocol) -> None:
    """Let a request be answered."""
    connection.conn.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
    connection.conn.send(h11.EndOfMessage())
    connection.cycle.response_complete = True
    connection.on_response_complete()


@pytest.mark.parametrize("sent", [b"", HALF])
def test_a_head_that_does_not_come_in_time_ends_the_connection(clients: Clients, sent: bytes) -> None:
    connection, wire = clients.connect(sent=sent)
    clients.loop.move(CLIENT_S / 2)
    connection.data_received(b"GET" if not sent else b"y")  # one byte more does not help
    assert not wire.closed
    clients.loop.move(CLIENT_S / 2)
    assert wire.closed
    assert connection not in clients.state.connections


def test_a_request_may_be_answered_for_as_long_as_that_takes(clients: Clients) -> None:
    _, wire = clients.connect(sent=WHOLE)
    clients.loop.move(1000 * CLIENT_S)
    assert not wire.closed


@pytest.mark.parametrize("sent", [b"", HALF])
def test_an_answered_connection_does_not_wait_for_ever_either(clients: Clients, sent: bytes) -> None:
    connection, wire = clients.connect(sent=WHOLE)
    finish(connection)
    if sent:
        connection.data_received(sent)
    clients.loop.move(CLIENT_S)
    assert wire.closed


def test_a_client_that_reads_nothing_is_not_waited_for_but_a_slow_one_is(clients: Clients) -> None:
    connection, wire = clients.connect(sent=WHOLE + WHOLE)
    wire.write(b"answer")
    connection.pause_writing()
    finish(connection)  # the second request waits behind it
    for left in (b"nswer", b"swer"):
        wire.written = left
        clients.loop.move(CLIENT_S)
        assert not wire.closed
    clients.loop.move(CLIENT_S)
    assert wire.closed


def test_a_connection_beyond_the_limit_takes_the_place_of_the_one_that_waits_longest(clients: Clients) -> None:
    wires = []
    for _ in range(LIMIT + 2):
        wires.append(clients.connect(sent=HALF)[1])
        clients.loop.move(0.1)
    assert [wire.closed for wire in wires] == [True, True, *[False] * LIMIT]
    assert len(clients.state.connections) == LIMIT


def test_a_client_with_many_connections_takes_no_other_clients_place(clients: Clients) -> None:
    _, wire = clients.connect("honest")
    for _ in range(3 * LIMIT):
        clients.loop.move(0.1)
        clients.connect("greedy", HALF)
    assert not wire.closed


def test_where_all_are_being_answered_a_new_one_is_closed_at_once(clients: Clients) -> None:
    wires = [clients.connect(sent=WHOLE)[1] for _ in range(LIMIT)]
    assert clients.connect(sent=WHOLE)[1].closed
    assert not any(wire.closed for wire in wires)


def test_what_is_no_http_is_refused_and_within_a_request_just_ends(clients: Clients) -> None:
    _, wire = clients.connect(sent=b"\0\r\n\r\n")
    assert wire.written.startswith(b"HTTP/1.1 400")
    body = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n"
    connection, wire = clients.connect(sent=body)
    assert (wire.written, wire.closed) == (b"", True)
    assert connection.cycle.disconnected  # the answer to it is not sent


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="limits of Unix")
@pytest.mark.parametrize(("files", "most"), [(1024, MOST), (256, 64), (3, 1)])
def test_most_file_descriptors_are_left(files: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (files, files))
    assert most_connections() == most


@pytest.mark.parametrize(
    ("error", "shown"), [(None, False), (h11.LocalProtocolError("x"), False), (ZeroDivisionError(), True)]
)
def test_only_a_page_that_fails_is_written(error: Exception | None, shown: bool) -> None:
    found = logging.LogRecord("x", logging.ERROR, "", 0, "", (), (type(error), error, None) if error else None)
    assert connections._is_of_a_page(found) == shown


def test_many_half_sent_requests_lock_nobody_out_and_write_nothing(kept: Kept) -> None:
    with serving("--store", kept.where) as server:
        place = (urlsplit(server.url).hostname, urlsplit(server.url).port)
        half = [socket.create_connection(place) for _ in range(MOST + 50)]
        for each in half:
            each.sendall(HALF)
        assert httpx.get(server.url).status_code == 200
        for each in half:
            each.close()
        assert server.end(signal.SIGTERM) == (0, "")
