"""Hostile requests, and what every answer carries."""

from __future__ import annotations

import hmac
import sqlite3
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from onnxperf.serve import guard
from tests.serve.conftest import TOKEN, Client, Kept

PLACES = (
    *("/", "/runs", "/runs/last", "/compare", "/history", "/history?model=resnet.onnx", "/badge/resnet.onnx.svg"),
    *("/api", "/api/runs", "/api/overview", "/api/runs/last", "/openapi.json", "/static/x.js", "/nothing"),
)


@pytest.mark.parametrize(
    "path",
    [
        "/runs/../../etc/passwd",
        "/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/runs/..%5c..%5cetc",
        "/runs/%2e%2e/%2e%2e/etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/assets/serve.js",
        "/static/../application.py",
        "/static/%2e%2e/application.py",
        "/static/echarts.min.js",
        "/badge/../../etc/passwd.svg",
        "/badge//etc/passwd.svg",
        "/badge/x.svg",
        "/runs/%00",
        "/runs/last%00.html",
        "/runs/%ff%fe",
        "/runs/%",
        "/api/runs/%2e%2e",
        "/runs/{{7*7}}",
        "/runs/'%20OR%201=1%20--",
    ],
)
def test_paths_that_lead_elsewhere_lead_nowhere(client: Client, path: str) -> None:
    answer = client().get(path)
    assert answer.status_code == 404
    assert "root:" not in answer.text
    assert "49" not in answer.text.split("<main", 1)[-1].split("</main", 1)[0]


@pytest.mark.parametrize(
    "query",
    ["q=%00", "tag=%00%3D", "machine=%ff", "branch=%ff%00", "kind=%F0%9F%98%80", "q=%25_%5c", "q=" + "+a" * 140],
)
def test_strange_texts_find_nothing_and_break_nothing(client: Client, query: str) -> None:
    for path in ("/", "/runs", "/api/runs", "/api/overview"):
        assert client().get(f"{path}?{query}").status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", ["/", "/runs/last", "/api/runs", "/nothing"])
def test_only_get_and_head_are_allowed(client: Client, method: str, path: str) -> None:
    answer = client().request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", PLACES)
def test_head_says_what_get_would_without_a_body(client: Client, path: str) -> None:
    whole, head = client().get(path), client().head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers["content-length"] == whole.headers["content-length"]


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/?q=" + "x" * guard.LONGEST_ADDRESS, {}, 414),
        ("/" + "x" * guard.LONGEST_ADDRESS, {}, 414),
        ("/", {"x-large": "x" * guard.LONGEST_HEADERS}, 431),
        ("/", {f"x-{n}": "x" for n in range(3000)}, 431),
    ],
)
def test_what_is_too_large_is_refused(client: Client, path: str, headers: dict[str, str], status: int) -> None:
    assert client().get(path, headers=headers).status_code == status


@pytest.mark.parametrize("place", PLACES)
def test_every_answer_protects_itself(client: Client, place: str) -> None:
    headers = client().get(place).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert not [name for name in headers if name.startswith("access-control")]
    assert "server" not in headers


@pytest.mark.parametrize(
    ("host", "called", "status"),
    [
        ("127.0.0.1", "127.0.0.1", 200),
        ("127.0.0.1", "localhost", 200),
        ("127.0.0.1", "LOCALHOST", 200),
        ("::1", "[::1]", 200),
        ("127.0.0.1", "evil.example", 400),
        ("127.0.0.1", "127.0.0.1.evil.example", 400),
        ("127.0.0.1", "localhost.evil.example", 400),
        ("10.0.0.7", "10.0.0.7", 200),
        ("10.0.0.7", "evil.example", 400),
        ("perf.lab", "perf.lab", 200),
        ("0.0.0.0", "any.name", 200),
        ("::", "any.name", 200),
    ],
)
def test_a_foreign_name_of_the_host_is_refused(client: Client, host: str, called: str, status: int) -> None:
    assert client(host, called).get("/api/models").status_code == status


def test_a_request_without_the_name_of_a_host_is_refused(client: Client) -> None:
    assert client().get("/", headers={"host": ""}).status_code == 400


# ---------------------------------------------------------------- the token


@pytest.mark.parametrize("path", PLACES)
def test_without_the_token_nothing_is_shown(client: Client, kept: Kept, path: str) -> None:
    answer = client("0.0.0.0", token=TOKEN).get(path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert kept.before not in answer.text
    assert TOKEN not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer wrong"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": f"Bearer {TOKEN[:-1]}"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": TOKEN},
        {"authorization": "Bearer "},
        {"authorization": "Bearer \xff\xfe"},
        {"cookie": f"onnxperf-8642={TOKEN}"},
        {"cookie": "onnxperf-8642="},
        {"cookie": "onnxperf-8642=\xff; ;=;\x01"},
    ],
)
def test_a_wrong_token_is_refused(client: Client, headers: dict[str, str]) -> None:
    raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    assert client(token=TOKEN).get("/", headers=raw).status_code == 401


@pytest.mark.parametrize(
    "query", ["token=", "token=wrong", "token=%00", "token=%ff", "token=a&token=b", f"Token={TOKEN}"]
)
def test_a_wrong_token_in_the_address_is_refused(client: Client, query: str) -> None:
    answer = client(token=TOKEN).get(f"/?{query}")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert 'name="token"' in answer.text


def test_the_bearer_of_the_token_may_enter(client: Client) -> None:
    assert client(token=TOKEN).get("/api/runs", headers={"authorization": f"bearer {TOKEN}"}).status_code == 200


def test_a_token_in_the_address_becomes_a_cookie_and_a_clean_address(client: Client) -> None:
    browser = client(token=TOKEN, follow_redirects=False)
    answer = browser.get("/history", params={"model": "a b", "token": TOKEN, "by": "day"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/history?model=a+b&by=day")
    cookie = answer.headers["set-cookie"]
    assert "; HttpOnly; SameSite=Strict" in cookie
    assert "Secure" not in cookie
    assert TOKEN not in cookie
    assert browser.get("/").status_code == 200


def test_behind_https_the_cookie_stays_there(client: Client) -> None:
    browser = client(token=TOKEN, follow_redirects=False)
    browser.base_url = "https://127.0.0.1:8642"
    assert browser.get("/", params={"token": TOKEN}).headers["set-cookie"].endswith("; Secure")


@pytest.mark.parametrize("path", ["//evil.example/", "///evil.example", "/\\evil.example"])
def test_the_clean_address_is_never_elsewhere(client: Client, path: str) -> None:
    browser = client(token=TOKEN, follow_redirects=False)
    answer = browser.get(f"http://127.0.0.1:8642{path}", params={"token": TOKEN})
    assert answer.headers["location"].startswith("/evil")


def test_tokens_are_compared_in_constant_time(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[Sequence[bytes]] = []

    def compare_digest(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(guard, "hmac", SimpleNamespace(new=hmac.new, compare_digest=compare_digest))
    visitor = client(token=TOKEN)
    visitor.get("/", headers={"authorization": "Bearer guess"})
    visitor.get("/?token=guess")
    assert compared.count((b"guess", TOKEN.encode())) == 2
    assert all(type(one) is type(other) is bytes for one, other in compared)


def test_a_link_on_another_site_is_followed_once_more_with_the_cookie(client: Client) -> None:
    browser = client(token=TOKEN)
    from_elsewhere = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert browser.get("/", headers=from_elsewhere).headers["refresh"] == "0"
    assert "refresh" not in browser.get("/", headers={"sec-fetch-site": "same-origin"}).headers


# ---------------------------------------------------------------- nothing changes


def dump(where: str) -> list[str]:
    connection = sqlite3.connect(where)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def test_no_request_changes_the_store(client: Client, kept: Kept) -> None:
    before = dump(kept.where)
    visitor = client(token=TOKEN)
    visitor.get("/", params={"token": TOKEN})
    addresses = [
        *PLACES,
        f"/compare?first={kept.before}&second={kept.after}",
        f"/compare.md?first={kept.before}&second={kept.after}",
        "/runs?q=a&kind=b&status=running&machine=c&tag=d",
    ]
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE"):
        for address in addresses:
            visitor.request(method, address)
    assert dump(kept.where) == before
