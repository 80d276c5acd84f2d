"""Checks every request (sizes, host, method, token), and sets the headers of every answer."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode

from onnxperf.serve.templates import error_answer

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LONGEST_ADDRESS = 2_000
"""Maximum bytes of path and query; the addresses on our pages are far shorter."""
LONGEST_HEADERS = 8_000
"""Maximum bytes of all headers."""
_METHODS = ("GET", "HEAD")
_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""For every answer that does not override them."""


class Guard:
    """An ASGI application that passes only harmless requests to another one."""

    def __init__(self, application: Application, hosts: frozenset[str] | None, token: str = "") -> None:
        self._application = application
        self._hosts = hosts
        """Accepted names of the server; None for any."""
        self._token = token.encode()
        self._pass = hmac.new(self._token, b"onnxperf serve", hashlib.sha256).hexdigest()
        """The value of the cookie: it grants access to this server, without revealing the token."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":  # no websockets, no lifespan
            return
        without_body = scope["method"] == "HEAD"

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                present = {name.decode("latin-1").lower() for name, _ in message["headers"]}
                missing = [_encoded(name, value) for name, value in _HEADERS.items() if name not in present]
                message = {**message, "headers": [*message["headers"], *missing]}
            elif without_body:
                message = {**message, "body": b""}
            await send(message)

        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(scope, headers)
        if refused is not None:
            status, reason, more = refused
            answer = error_answer(scope["path"], status, reason, more)
            await answer(scope, receive, send_guarded)
        else:
            await self._application({**scope, "method": "GET"}, receive, send_guarded)

    def _refused(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str, dict[str, str]] | None:
        """Why a request is rejected: status, reason and headers; None if it is accepted."""
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_ADDRESS:
            return HTTPStatus.REQUEST_URI_TOO_LONG, "Address too long.", {}
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LONGEST_HEADERS:
            return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "Headers too large.", {}
        # A foreign page may resolve its own name to this address (DNS rebinding); its requests contain that name.
        if self._hosts is not None and _host_in(headers.get("host", "")) not in self._hosts:
            return HTTPStatus.BAD_REQUEST, "Unexpected Host header.", {}
        if scope["method"] not in _METHODS:
            return (
                HTTPStatus.METHOD_NOT_ALLOWED,
                "Read-only: only GET and HEAD are allowed.",
                {"allow": ", ".join(_METHODS)},
            )
        if self._token:
            return self._unknown(scope, headers)
        return None

    def _unknown(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str, dict[str, str]] | None:
        """The token is missing or wrong, or was given in the address, which is then replaced by one without it."""
        cookie = f"onnxperf-{(scope.get('server') or ('', 0))[1]}"  # cookies do not distinguish ports
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(given.strip().encode("latin-1")):
            return None
        if hmac.compare_digest(_cookie_in(headers, cookie).encode(), self._pass.encode()):
            return None
        query = scope["query_string"].decode("latin-1")
        typed = parse_qs(query, errors="replace").get("token", [""])[0]
        if typed and self._is_token(typed.strip().encode("utf-8", "replace")):
            rest = urlencode([(name, value) for name, value in parse_qsl(query) if name != "token"])
            path = "/" + (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").lstrip("/\\")
            secure = "; Secure" if scope.get("scheme") == "https" else ""
            value = f"{cookie}={self._pass}; Path=/; HttpOnly; SameSite=Strict{secure}"
            clean = f"{path}?{rest}" if rest else path
            return HTTPStatus.SEE_OTHER, "", {"location": clean, "set-cookie": value}
        # Browsers omit the cookie after following a link on another site; reloading our own page sends it.
        follows = headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") == "navigate"
        again = {"refresh": "0"} if follows else {}
        reason = "Wrong token." if typed or given else "This server requires a token."
        return HTTPStatus.UNAUTHORIZED, reason, {"www-authenticate": "Bearer", **again}

    def _is_token(self, given: bytes) -> bool:
        return hmac.compare_digest(given, self._token)


def _encoded(name: str, value: str) -> tuple[bytes, bytes]:
    return name.encode("latin-1"), value.encode("latin-1")


def _host_in(header: str) -> str:
    """The name without its port."""
    name = header.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name.partition(":")[0]


def _cookie_in(headers: Mapping[str, str], name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""
