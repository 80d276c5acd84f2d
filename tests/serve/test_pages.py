"""What the pages and the API answer."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

from onnxperf.store import open_store
from tests.serve.conftest import HOSTILE, Client, Kept, race
from tests.serve.filling import fill


def ids(page: str) -> list[str]:
    return re.findall(r'<td class="left id"><a href="/runs/(\w+)">', page)


def test_the_list_has_the_newest_run_first(client: Client, kept: Kept) -> None:
    page = client().get("/runs")
    assert page.status_code == 200
    assert ids(page.text) == [kept.check, kept.hostile, kept.after, kept.before]
    assert "1 to 4 of 4 runs" in page.text
    assert "commit=abc123" in page.text


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=RESNET", ["after", "before"]),
        ("q=abc123", ["before"]),
        ("tag=branch%3Dmain", ["before"]),
        ("kind=check", ["check"]),
        ("status=failed", []),
        ("machine=Intel(R)+Xeon(R)+Platinum+8370C+CPU+%40+2.80GHz", ["hostile", "after", "before"]),
        ("page=2", []),
    ],
)
def test_the_list_is_searched_and_filtered(client: Client, kept: Kept, query: str, found: list[str]) -> None:
    names = [getattr(kept, each) for each in found]
    assert ids(client().get(f"/runs?{query}").text) == names
    if not query.startswith("page"):
        listed = client().get(f"/api/runs?{query}").json()
        assert [each["run"]["id"] for each in listed["runs"]] == names
        assert listed["total"] == len(names)


def test_pages_lead_to_one_another_and_keep_the_filters(tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    from onnxperf.serve.application import application

    where = str(tmp_path / "many.sqlite")
    with open_store(where) as store:
        fill(store, 130, race("m.onnx").record)
        client = TestClient(application(store))
        first = client.get("/runs?q=onnxperf").text
        second = client.get("/runs?q=onnxperf&page=2").text
        third = client.get("/runs?q=onnxperf&page=3").text
    assert "1 to 50 of 130 runs" in first
    assert 'rel="next" href="/runs?page=2&amp;q=onnxperf"' in first
    assert 'rel="prev" href="/runs?q=onnxperf"' in second
    assert "101 to 130 of 130 runs" in third
    assert 'rel="next"' not in third
    assert len({*ids(first), *ids(second), *ids(third)}) == 130


def test_an_empty_store_says_so(tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    from onnxperf.serve.application import application

    with open_store(tmp_path / "empty.sqlite") as store:
        client = TestClient(application(store))
        assert "No race of a model saved yet" in client.get("/").text
        assert "No race of a model with these filters." in client.get("/?branch=x").text
        assert "No runs saved yet." in client.get("/runs").text
        assert "No matching runs." in client.get("/runs?q=x").text
        assert "No race of a model saved yet." in client.get("/history").text


@pytest.mark.parametrize("name", ["before", "hostile", "check"])
def test_a_run_is_the_whole_report_with_a_way_back(client: Client, kept: Kept, name: str) -> None:
    run = getattr(kept, name)
    page = client().get(f"/runs/{run}")
    assert page.status_code == 200
    assert '<a class="brand" href="/">' in page.text
    assert f"run {run} · " in page.text
    assert 'id="data"' in page.text
    assert client().get(f"/api/runs/{run}").json()["version"] >= 1


def test_the_start_of_an_id_and_last_lead_to_the_run(client: Client, kept: Kept) -> None:
    for text in (kept.check[:4].upper(), "last"):
        page = client(follow_redirects=False).get(f"/runs/{text}")
        assert (page.status_code, page.headers["location"]) == (303, f"/runs/{kept.check}")


def test_two_runs_that_were_picked_are_compared_the_older_first(client: Client, kept: Kept) -> None:
    picked = client(follow_redirects=False).get(f"/compare?run={kept.after}&run={kept.before}")
    assert picked.status_code == 303
    assert picked.headers["location"] == f"/compare?first={kept.before}&second={kept.after}"
    page = client().get(picked.headers["location"])
    day = kept.store.find(kept.after).started[:10]
    assert f"<h1>resnet.onnx: run {kept.after} ({day}) against commit abc123 ({day})</h1>" in page.text
    record = client().get(f"/api/compare?first={kept.before}&second={kept.after}").json()
    assert (record["first"], record["second"]) == (kept.before, kept.after)
    assert {row["first"] for row in record["rows"]} == {"run", "run-c", "ort-values"}


def test_one_run_leads_to_a_form_for_the_other(client: Client, kept: Kept) -> None:
    for query in ("", f"?second={kept.after}", f"?run={kept.after}"):
        page = client().get(f"/compare{query}")
        assert page.status_code == 200
        assert ('value="' + kept.after + '"' in page.text) == bool(query)


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/nothing", 404, "Page not found."),
        ("/static/x.js", 404, "Page not found."),
        ("/badge/zzz.onnx.svg", 404, "No race of zzz.onnx found."),
        ("/runs/zzzzzz", 404, "Run &#39;zzzzzz&#39; not found."),
        ("/compare?first=zzzzzz&second=last", 404, "Run &#39;zzzzzz&#39; not found."),
        ("/compare?first=last&second=zzz", 404, "Run &#39;zzz&#39; not found."),
        ("/compare?run=a&run=b&run=c", 400, "run: "),
        ("/runs?page=0", 400, "page: "),
        ("/runs?page=x", 400, "page: "),
        (f"/runs?q={'x' * 301}", 400, "q: "),
        ("/history?model=zzz.onnx", 404, "No race of zzz.onnx found."),
        ("/history?model=resnet.onnx&group_by=moon", 400, "choose from: day"),
        ("/docs", 404, "Page not found."),
        ("/redoc", 404, "Page not found."),
    ],
)
def test_what_is_not_there_is_a_page_with_one_line(client: Client, path: str, status: int, words: str) -> None:
    page = client().get(path)
    assert page.status_code == status
    assert words in page.text
    assert "Traceback" not in page.text


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/api/nothing", 404, "Page not found."),
        ("/api/runs/zzzzzz", 404, "Run 'zzzzzz' not found."),
        ("/api/compare?first=last", 400, "second: Field required"),
        ("/api/compare?first=last&second=last", 400, "is not a race"),
        ("/api/runs?limit=501", 400, "limit: "),
        ("/api/runs?offset=-1", 400, "offset: "),
        ("/api/history", 400, "model: Field required"),
    ],
)
def test_errors_of_the_api_are_json(client: Client, path: str, status: int, words: str) -> None:
    answer = client().get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    assert words in answer.json()["error"]


@pytest.mark.parametrize(
    "path", ["/", "/runs", "/runs/last", "/history", "/compare?first=a&second=b", "/badge/a.svg", "/api/runs"]
)
def test_a_store_that_cannot_be_read_is_one_line(
    client: Client, kept: Kept, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.store.close()
    Path(kept.where).write_bytes(b"not a database, and long enough to be looked at as if it were one" * 99)
    answer = client().get(path)
    assert answer.status_code == 503
    assert "is not an SQLite database" in answer.text
    assert "Traceback" not in answer.text


def test_a_store_that_cannot_be_written_is_shown_to_many_at_once(
    filled: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from starlette.testclient import TestClient

    from onnxperf.serve.application import application

    monkeypatch.setattr("onnxperf.store.connect.os.access", lambda *_: False)
    with open_store(filled[0], reading=True) as store, ThreadPoolExecutor(8) as readers:
        client = TestClient(application(store))
        answers = list(readers.map(client.get, ["/", "/api/runs", "/runs/last", "/api/models"] * 8))
    assert {answer.status_code for answer in answers} == {200}


def test_what_nobody_foresaw_is_one_line_too(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("onnxperf.serve.queries.listed", fail)
    for path in ("/runs", "/api/runs"):
        answer = client().get(path)
        assert answer.status_code == 500
        assert "secret" not in answer.text
        assert answer.headers["x-frame-options"] == "DENY"


def test_names_are_text_wherever_they_are_shown(client: Client, kept: Kept) -> None:
    escaped = "&lt;img src=x"
    for path in (
        "/",
        "/runs",
        f"/runs/{kept.hostile}",
        "/history",
        f"/history?model={quote(HOSTILE)}.onnx",
        f"/badge/{quote(HOSTILE)}.onnx.svg",
        f"/compare?first={kept.hostile}&second={kept.after}",
        f"/compare?first={quote(HOSTILE)}",
        f"/?q={HOSTILE[:9]}",
        f"/runs/{HOSTILE[:9]}",
        "/?tag=<script>",
    ):
        page = client().get(path).text
        assert "<img src=x" not in page, path
        assert "<script>window" not in page, path
    assert escaped in client().get("/").text


def test_the_models_of_the_store_have_a_history(client: Client) -> None:
    models = {each["model"]: each["subjects"] for each in client().get("/api/models").json()}
    assert models == {"resnet.onnx": 6, f"{HOSTILE}.onnx": 3}
    assert "/history?model=resnet.onnx" in client().get("/history").text
    page = client().get("/history?model=resnet.onnx&group_by=commit")
    assert page.status_code == 200
    assert "/history?model=resnet.onnx&amp;group_by=version" in page.text
    assert "at most the newest 100 runs of each series" in page.text
    assert "/history?model=resnet.onnx&amp;group_by=commit&amp;top=0" in page.text
    assert client().get("/history?model=resnet.onnx&top=0").status_code == 200
    newest = client().get("/api/history?model=resnet.onnx&top=1").json()
    assert {len(each["points"]) for each in newest["series"]} == {1}
    record = client().get("/api/history?model=resnet.onnx").json()
    assert record["model"] == "resnet.onnx"
    assert {len(each["points"]) for each in record["series"]} == {2}


def test_the_history_of_a_name_looks_at_no_file(
    client: Client, kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("resnet.onnx").write_bytes(b"no model")
    opened: list[str] = []
    monkeypatch.setattr("onnxperf.api.history.open_source", lambda path: opened.append(str(path)))
    for model in ("/etc/passwd", kept.where, "resnet.onnx", "zoo:tiny-linear"):
        assert client().get("/api/history", params={"model": model}).status_code == (200 if "resnet" in model else 404)
    assert opened == []


def test_the_api_documents_itself(client: Client) -> None:
    document = client().get("/openapi.json").json()
    assert set(document["paths"]) == {
        f"/api/{each}" for each in ("overview", "runs", "runs/{run}", "compare", "history", "models")
    }
    parts = set(document["components"]["schemas"])
    named = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(document)))
    assert named <= parts
    assert {"FoundRuns", "KeptRun", "RunComparison", "KnownModel"} <= parts
    page = client().get("/api").text
    for text in (*document["paths"], *parts):
        assert text in page
    assert "http://" not in page
    assert "https://" not in page
    assert (
        client().get("/api/runs").json().keys() == document["components"]["schemas"]["FoundRuns"]["properties"].keys()
    )
