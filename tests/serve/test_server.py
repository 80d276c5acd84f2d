"""The command: where it listens, who may enter, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from onnxperf.cli.main import run
from onnxperf.errors import BadOption, MissingExtra
from onnxperf.serve.server import listen
from tests.serve.conftest import TOKEN, Kept
from tests.serve.serving import serving


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONNXPERF_TOKEN", raising=False)


@pytest.mark.skipif(os.name != "posix", reason="signals of Unix")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_it_cleanly(kept: Kept, name: str) -> None:
    with serving("--store", kept.where) as server, httpx.Client() as visitor:
        assert server.line == f"{kept.where} is at {server.url} (press Ctrl-C to stop)\n"
        assert urlsplit(server.url).hostname == "127.0.0.1"
        assert kept.before in visitor.get(f"{server.url}runs").text  # its connection stays open
        assert server.end(signal.Signals[name]) == (0, "")
        with pytest.raises(httpx.ConnectError):
            httpx.get(server.url)


def test_a_request_of_any_size_or_form_gets_an_answer_and_harms_nothing(kept: Kept) -> None:
    requests = [
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nx: " + b"a" * 100_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /runs/\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\nOrigin: http://evil.example\r\n\r\n",
    ]
    with serving("--store", kept.where) as server:
        place = (urlsplit(server.url).hostname, urlsplit(server.url).port)
        for request in requests:
            with socket.create_connection(place, timeout=30) as connection:
                connection.sendall(request)
                status = connection.recv(100).split(b" ", 2)[1]
            assert status in {b"200", b"400", b"404", b"405", b"414", b"431"}, request[:50]
            assert (status == b"200") == (b"websocket" in request), request[:50]
        assert httpx.get(server.url).status_code == 200
        code, said = server.end(signal.SIGTERM)
    assert (code, "Traceback" in said) == (0, False)


def has_ipv6() -> bool:
    """Whether this machine really has it; `socket.has_ipv6` is about Python."""
    try:
        with socket.create_server(("::", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_need_the_token_that_was_printed(kept: Kept, host: str) -> None:
    if host == "::" and not has_ipv6():
        pytest.skip("no IPv6")
    listener = listen(kept.where, host, 0, None)
    listener.bound.close()
    query = parse_qs(urlsplit(listener.url).query)
    assert query["token"] == [listener.token]
    assert len(listener.token) >= 40
    assert listener.hosts is None


def test_a_server_for_other_machines_is_entered_by_its_printed_address(kept: Kept) -> None:
    with serving("--store", kept.where, "--host", "0.0.0.0") as server, httpx.Client(follow_redirects=True) as visitor:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        clean = url.partition("?")[0]
        assert visitor.get(clean).status_code == 401
        entered = visitor.get(url)
        assert (entered.status_code, str(entered.url)) == (200, clean)
        assert visitor.get(f"{clean}api/runs").status_code == 200
        assert server.end(signal.SIGTERM)[0] == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_this_machine_alone_needs_no_token_unless_it_is_given(kept: Kept, host: str) -> None:
    free, closed = listen(kept.where, host, 0, None), listen(kept.where, host, 0, TOKEN)
    for listener in (free, closed):
        listener.bound.close()
        assert "token" not in listener.url
    assert (free.token, closed.token) == ("", TOKEN)
    assert free.hosts is not None
    assert host in free.hosts


def test_the_variable_has_the_token_too(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXPERF_TOKEN", TOKEN)
    listener = listen(kept.where, "0.0.0.0", 0, None)
    listener.bound.close()
    assert listener.token == TOKEN
    assert TOKEN not in listener.url
    given = listen(kept.where, "0.0.0.0", 0, "another token that is long")
    given.bound.close()
    assert given.token == "another token that is long"


@pytest.mark.parametrize("token", ["", "short", "x" * 15])
def test_a_token_that_can_be_guessed_is_refused(kept: Kept, token: str) -> None:
    with pytest.raises(BadOption, match="the token is too short; use at least 16 random characters"):
        listen(kept.where, "0.0.0.0", 0, token)


def test_a_port_that_is_taken_is_named(kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert run(["serve", "--store", kept.where, "--port", str(port)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"cannot listen at 127.0.0.1 port {port}: Address already in use" in said.err
    assert "choose another --port (0 for any free one) or --host" in said.err


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("no.such.host.invalid", 0, "cannot listen at no.such.host.invalid port 0: "),
        ("a" * 300, 0, "cannot listen at a"),
        ("127.0.0.1", 65536, "`port=65536`: expected a number from 0 to 65535"),
        ("127.0.0.1", -1, "`port=-1`: expected a number"),
    ],
)
def test_an_address_that_does_not_exist_is_one_line(kept: Kept, host: str, port: int, said: str) -> None:
    with pytest.raises(BadOption, match=said):
        listen(kept.where, host, port, TOKEN)


def test_a_store_that_does_not_exist_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--store", str(tmp_path / "none.sqlite")]) == 2
    assert f"no store at {tmp_path / 'none.sqlite'} yet" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_missing_library_is_named_with_its_extra(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtra, match=r"uvicorn is not installed; install it with: .*serve"):
        listen(kept.where, "127.0.0.1", 0, None)
