"""What every request must pass (sizes, host, method, token), and the headers that every answer has."""

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
"""Bytes of path and query; no address that the pages make comes near it."""
LONGEST_HEADERS = 8_000
"""Bytes of all headers."""
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
"""Of every answer that does not say otherwise."""


class Guard:
    """An ASGI application that lets only harmless requests through to another one."""

    def __init__(self, application: Application, hosts: frozenset[str] | None, token: str = "") -> None:
        self._application = application
        self._hosts = hosts
        """Names by which the server may be called; None for any."""
        self._token = token.encode()
        self._pass = hmac.new(self._token, b"onnxperf serve", hashlib.sha256).hexdigest()
        """What the cookie holds: it opens this server, and does not tell the token."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
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
        """Why a request is not answered: status, reason and headers; None if nothing speaks against it."""
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_ADDRESS:
            return HTTPStatus.REQUEST_URI_TOO_LONG, "The address is too long.", {}
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LONGEST_HEADERS:
            return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large.", {}
        # A page of a stranger may give its own name this address (DNS rebinding); its requests carry that name.
        if self._hosts is not None and _host_in(headers.get("host", "")) not in self._hosts:
            return HTTPStatus.BAD_REQUEST, "This server is not called by that name.", {}
        if scope["method"] not in _METHODS:
            return (
                HTTPStatus.METHOD_NOT_ALLOWED,
                "This server only shows: GET and HEAD.",
                {"allow": ", ".join(_METHODS)},
            )
        if self._token:
            return self._unknown(scope, headers)
        return None

    def _unknown(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str, dict[str, str]] | None:
        """The token is missing, or wrong, or was given in the address, which is then replaced by a clean one."""
        cookie = f"onnxperf-{(scope.get('server') or ('', 0))[1]}"  # cookies do not tell ports apart
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
        # A browser that follows a link on another site leaves the cookie out; a page of ours that loads again has it.
        follows = headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") == "navigate"
        again = {"refresh": "0"} if follows else {}
        reason = "This token is wrong." if typed or given else "This server asks for its token."
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
