"""Starts a server that listens at an address until a signal ends it."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import platform
import secrets
import socket
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from onnxperf.errors import BadOption, required
from onnxperf.store import is_missing, open_store, place_of

Where = bool | str | Path | None
"""True or None means the default store."""
VARIABLE = "ONNXPERF_TOKEN"
_SHORTEST_TOKEN = 16
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LARGEST_HEAD = 16_384
"""Maximum bytes read of a request line with its headers."""
_GRACE_S = 3
"""Seconds for begun answers to finish when the server ends."""


class Listener(NamedTuple):
    """Where the server listens, and who may access it."""

    place: str
    """The store, without secrets, for messages."""
    bound: socket.socket
    url: str
    """The address to open; it contains the token if it was generated here, as nobody knows it yet."""
    hosts: frozenset[str] | None
    """Accepted names of the server; None for any."""
    token: str


def listen(where: Where, host: str, port: int, token: str | None) -> Listener:
    """Listen at an address; if other machines can reach it, a token is required. A missing store is rejected."""
    required("fastapi", "serve")
    required("uvicorn", "serve")
    place = _place_in(where)
    if is_missing(place):  # viewing creates no file
        raise BadOption(
            f"no store at {place_of(place)} yet; create it with a run, such as: onnxperf bench zoo:tiny-linear"
        )
    token = token if token is not None else os.environ.get(VARIABLE)
    if token is not None and len(token) < _SHORTEST_TOKEN:
        raise BadOption(f"the token is too short; use at least {_SHORTEST_TOKEN} random characters")
    made = "" if token is not None or _is_loopback(host) else secrets.token_urlsafe()
    bound = _bound(host, port)
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{bound.getsockname()[1]}/{f'?token={quote(made)}' if made else ''}"
    return Listener(place_of(place), bound, url, names_of(host), token or made)


def serve_store(where: Where, listener: Listener) -> None:
    """Answer requests until SIGINT or SIGTERM."""
    import uvicorn

    from onnxperf.serve.application import application
    from onnxperf.serve.connections import LimitedProtocol, most_connections, silence_libraries

    silence_libraries()
    most = most_connections()
    with listener.bound, open_store(_place_in(where), reading=True) as store:
        config = uvicorn.Config(
            application(store, listener.hosts, listener.token),
            http=LimitedProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,  # addresses may contain the token
            server_header=False,
            h11_max_incomplete_event_size=_LARGEST_HEAD,
            limit_concurrency=most,
            backlog=max(1, most // 4),  # this many are accepted at once, before the first one can be closed
            timeout_graceful_shutdown=_GRACE_S,
        )
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again after closing everything
            uvicorn.Server(config).run(sockets=[listener.bound])


def names_of(host: str) -> frozenset[str] | None:
    """The names by which browsers reach this server; if it listens at all addresses, any: there the token protects."""
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(host).is_unspecified:
            return None
    return _LOOPBACK | {host.lower()} | (frozenset() if _is_loopback(host) else {platform.node().lower()})


def _bound(host: str, port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise BadOption(option="port", value=port, expected="a number from 0 to 65535")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadOption(
            f"cannot listen at {host} port {port}: {reason}; choose another `port` (0 for any free one) or `host`"
        ) from error


def _place_in(where: Where) -> str | Path | None:
    return None if isinstance(where, bool) else where


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
