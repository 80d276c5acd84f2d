"""Addresses of clusters: which are refused, and which want a token."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from onnxperf.cluster.ray_connection import check_address, token_mode
from onnxperf.errors import BadOption

grpc = pytest.importorskip("grpc")
Serve = Callable[[Any], str]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts a server that answers every request alike; returns its address."""
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    servers = []

    class Answers(grpc.GenericRpcHandler):  # type: ignore[name-defined,misc]
        def __init__(self, status: Any) -> None:
            self._status = status

        def service(self, _details: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(self._answer)

        def _answer(self, _request: bytes, context: Any) -> bytes:
            if self._status is not None:
                context.abort(self._status, "no")
            return b""

    def start(status: Any) -> str:
        server = grpc.server(ThreadPoolExecutor(1), handlers=[Answers(status)])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        servers.append(server)
        return f"127.0.0.1:{port}"

    yield start
    for server in servers:
        server.stop(None)


@pytest.mark.parametrize("scheme", ["", "ray://"])
@pytest.mark.parametrize(
    ("status", "mode"),
    [
        (None, None),
        (grpc.StatusCode.UNAUTHENTICATED, "token"),
        (grpc.StatusCode.UNIMPLEMENTED, None),  # another version of Ray: it decides by itself
    ],
)
def test_ray_uses_tokens_where_the_cluster_does(serve: Serve, scheme: str, status: Any, mode: str | None) -> None:
    with token_mode(f"{scheme}{serve(status)}"):
        assert os.environ.get("RAY_AUTH_MODE") == mode
    assert "RAY_AUTH_MODE" not in os.environ


def test_what_the_user_has_set_counts(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with token_mode(serve(grpc.StatusCode.UNAUTHENTICATED)):
        assert os.environ["RAY_AUTH_MODE"] == "disabled"
    assert os.environ["RAY_AUTH_MODE"] == "disabled"


@pytest.mark.parametrize("on", ["ray", "auto"])
def test_where_ray_itself_finds_the_cluster_nobody_is_asked(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with token_mode(on):
        assert "RAY_AUTH_MODE" not in os.environ


def test_an_address_where_nobody_listens_is_one_clear_line() -> None:
    with pytest.raises(BadOption, match="no cluster answers there"), token_mode("127.0.0.1:1"):
        pass


@pytest.mark.parametrize("on", ["", "here", "ray://", "host", "host:", "host:x", "http://host:1", "a b:1"])
def test_what_cannot_be_an_address_is_refused(on: str) -> None:
    with pytest.raises(BadOption, match="expected ray, ray://HOST:PORT"):
        check_address(on)
