"""Two runs of a kind compared: with a verdict or side by side, their title, their settings, their Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from msgspec.structs import replace
from starlette.testclient import TestClient

from onnxperf.caller import Caller, called_by
from onnxperf.records.runs import KeptRun
from onnxperf.serve.application import application
from onnxperf.serve.comparing import compared, title_of
from onnxperf.store import Store, open_store
from tests.api.kept import check
from tests.render import gallery
from tests.serve.team import fill_for_a_team


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("compared") / "runs.sqlite") as opened:
        fill_for_a_team(opened, 120)
        yield opened


@pytest.fixture(scope="module")
def client(store: Store) -> TestClient:
    return TestClient(application(store), base_url="http://127.0.0.1:8642")


def two(store: Store, kind: str, topic: str = "") -> tuple[KeptRun, KeptRun]:
    """The oldest and the newest run of a kind."""
    newest, *_, oldest = [each for each in store.runs(kind=kind) if topic in each.topic]
    return oldest, newest


def address_of(runs: tuple[KeptRun, KeptRun], path: str = "/compare") -> str:
    return f"{path}?first={runs[0].id}&second={runs[1].id}"


def test_two_profiles_are_compared_node_by_node(store: Store, client: TestClient) -> None:
    both = two(store, "profile")
    page = client.get(address_of(both))
    assert page.status_code == 200
    commits = [each.tags["commit"][:8] for each in both]
    days = [each.started[:10] for each in both]
    title = f"resnet50.onnx: commit {commits[1]} ({days[1]}) against commit {commits[0]} ({days[0]})"
    assert f"<h1>{title}</h1>" in page.text
    assert f"resnet50.onnx · {commits[0]}" in unescape(page.text)
    for section in ("Settings that differ", "Markdown to copy"):
        assert f"<h2>{section}</h2>" in page.text


@pytest.mark.parametrize("kind", ["profile", "bench", "gate"])
def test_the_command_line_of_the_server_is_nowhere(store: Store, kind: str) -> None:
    with called_by(Caller("onnxperf serve --token hidden-secret-token")):
        found = compared(store, *(each.id for each in two(store, kind)))
    assert "onnxperf serve" not in f"{found.story}{found.markdown}"
    assert found.story.command == ""


def test_races_have_a_verdict_and_the_settings_that_differ(store: Store, client: TestClient) -> None:
    both = two(store, "bench", "bert")
    page = client.get(address_of(both))
    assert "bert-base.onnx: commit " in page.text.split("<h1>")[1]
    text = client.get(address_of(both, "/compare.md"))
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    lines = text.text.splitlines()
    assert lines[0].startswith("### bert-base.onnx: commit ")
    assert f"| commit | {both[0].tags['commit']} | {both[1].tags['commit']} |" in lines
    assert not [line for line in lines if line.startswith(("| python |", "| cores |"))]


def test_one_run_is_offered_others_of_its_kind_and_model_the_older_one_first(store: Store, client: TestClient) -> None:
    first, last = two(store, "profile")
    page = unescape(client.get(f"/compare?second={last.id}").text)
    alike = [each for each in store.runs(kind="profile") if each.id != last.id]
    for other in alike:
        assert f'href="/compare?first={other.id}&second={last.id}"' in page
    assert page.count('href="/compare?first=') == len(alike)
    assert f'href="/compare?first={first.id}&second={last.id}"' in unescape(
        client.get(f"/compare?first={first.id}").text
    )
    assert "with another" not in client.get("/compare?second=zzz").text


def test_runs_of_different_kinds_are_one_line(store: Store, client: TestClient) -> None:
    other = (two(store, "bench")[0], two(store, "profile")[0])
    answer = client.get(address_of(other))
    assert answer.status_code == 400
    assert "Runs of bench and profile cannot be compared: pick two runs of the same kind." in answer.text


def test_a_kind_without_a_test_is_shown_side_by_side(store: Store, client: TestClient) -> None:
    names = [store.keep(check(equal), "check", topic="m.onnx", answer="Equal.") for equal in (True, False)]
    page = client.get(f"/compare?first={names[0]}&second={names[1]}")
    assert page.status_code == 200
    assert "no verdict: there is no test for two runs of check; values are first → second" in unescape(page.text)
    assert "Side by side" in page.text
    assert "no verdict" in client.get(f"/compare.md?first={names[0]}&second={names[1]}").text


@pytest.mark.parametrize("name", sorted(set(gallery.RECORDS) - {"sweep of failures only"}))
def test_any_two_runs_of_a_kind_can_be_compared(store: Store, client: TestClient, name: str) -> None:
    result: Any = gallery.result(name)
    names = [store.keep(result.record, result.kind, topic="m") for _ in range(2)]
    for path in ("/compare", "/compare.md"):
        answer = client.get(f"{path}?first={names[0]}&second={names[1]}")
        assert answer.status_code == 200, answer.text[-300:]


@pytest.mark.parametrize(
    ("first", "second", "title"),
    [
        ({}, {}, "m.onnx: run b (2026-01-02) against run a (2026-01-01)"),
        (
            {"commit": "1" * 12},
            {"commit": "2" * 12},
            "m.onnx: commit 22222222 (2026-01-02) against commit 11111111 (2026-01-01)",
        ),
        (
            {"commit": "1" * 12},
            {"commit": "1" * 12, "dirty": "yes"},
            "m.onnx: commit 11111111 with local changes (2026-01-02) against commit 11111111 (2026-01-01)",
        ),
    ],
)
def test_a_title_has_the_model_the_commits_and_the_dates(
    first: dict[str, str], second: dict[str, str], title: str
) -> None:
    older = KeptRun(
        id="a", kind="bench", record="Bench", command="", started="2026-01-01T00", topic="m.onnx", tags=first
    )
    newer = replace(older, id="b", started="2026-01-02T00", tags=second)
    assert title_of(older, newer) == title


def test_two_runs_of_one_commit_and_day_are_told_apart_by_their_ids() -> None:
    older = KeptRun(
        id="a", kind="bench", record="Bench", command="", started="2026-01-01T00", topic="m", tags={"commit": "1"}
    )
    assert title_of(older, replace(older, id="b")) == "m: run b (2026-01-01) against run a (2026-01-01)"
    assert title_of(older, replace(older, id="b", topic="n")) == "n, run b (2026-01-01) against m, run a (2026-01-01)"
