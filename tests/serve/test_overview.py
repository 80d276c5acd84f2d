"""The overview of a team: models, what needs attention, gates, filters, and what it may cost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient

import onnxperf
from onnxperf.serve.application import application
from onnxperf.store import Store, open_store
from onnxperf.wording.numbers import duration
from tests.serve.team import fill_for_a_team


class Team(NamedTuple):
    """A store of 300 runs, and a client of the application over it."""

    store: Store
    client: TestClient


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with open_store(tmp_path_factory.mktemp("team") / "runs.sqlite") as store:
        fill_for_a_team(store)
        yield Team(store, TestClient(application(store), base_url="http://127.0.0.1:8642"))


def rows(page: str) -> dict[str, str]:
    """The rows of the table of models by model and case, as text."""
    body = page.split('<table class="models now">')[1].split("</table>", maxsplit=1)[0]
    found = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in body.split("<tr>")[2:]]
    return {" ".join(text.split()[:2]).rstrip(","): text for text in found}


def test_every_model_and_case_has_its_time_its_change_and_since_which_commit(team: Team) -> None:
    found = rows(team.client.get("/").text)
    assert list(found) == [
        *("bert-base.onnx batch=1", "bert-base.onnx batch=8", "resnet50.onnx batch=1"),
        *("whisper-encoder.onnx batch=1", "yolo-v8n.onnx batch=1", "zoo:tiny-linear batch=1"),
    ]
    history = onnxperf.history("resnet50.onnx", by_label=True, store=team.store).record  # type: ignore[arg-type]
    [series] = [each for each in history.series if "AMD" in each.machine and each.call == "run"]
    change = series.changes[-1]
    row = found["resnet50.onnx batch=1"]
    assert duration(change.after_ns) in row
    assert f"✗ {100 * (change.ratio - 1):.2f} % slower" in row
    assert f"{change.first_after.commit[:8]} {change.first_after.started[:10]}" in row
    assert "✓ 9.24 % faster" in found["whisper-encoder.onnx batch=1"]
    assert "≈ no change" in found["zoo:tiny-linear batch=1"]
    assert "failed" in found["yolo-v8n.onnx batch=1"]


def test_sparklines_have_levels_with_noise_bands_changes_and_outliers(team: Team) -> None:
    page = team.client.get("/").text
    resnet = page.split(">resnet50.onnx</a>", 2)[-1].split("</svg>")[0]
    for mark in ('class="band"', 'class="level"', 'class="edge slower"', 'class="dots"', 'class="outlier"'):
        assert mark in resnet
    assert 'role="img" aria-label="35 runs, ' in resnet or re.search(r'aria-label="\d+ runs, ', resnet)
    assert "style=" not in page.split("</style>")[1]


def test_what_needs_attention_comes_newest_first_and_leads_there(team: Team) -> None:
    listed = team.client.get("/").text.split('id="attention"')[1].split("</section>")[0]
    chips = re.findall(r'class="sign (\w+)">([^<]+)</span> <a class="topic" href="([^"]+)">([^<]+)', listed)
    assert [(color, text, model) for color, text, _, model in chips] == [
        ("red", "✗ failed", "yolo-v8n.onnx"),
        ("yellow", "? gate undecided", "bert-base.onnx"),
        ("red", "✗ slower", "bert-base.onnx"),
        ("red", "✗ slower", "resnet50.onnx"),
    ]
    assert all(team.client.get(address).status_code == 200 for _, _, address, _ in chips)


def test_the_latest_gates_have_their_outcome(team: Team) -> None:
    listed = team.client.get("/").text.split('id="gates"')[1]
    assert re.findall(r'class="sign \w+">([^<]+)', listed) == [
        *("? undecided", "✓ passed", "✗ failed", "✓ passed", "? undecided", "✓ passed")
    ]
    gates = team.client.get("/api/overview").json()["gates"]
    assert [each["outcome"] for each in gates][:3] == ["undecided", "passed", "failed"]


@pytest.mark.parametrize(
    ("query", "machines", "runs"),
    [
        ("", {"AMD EPYC 7B13 64-Core Processor, 4 cores (8 logical)"}, 300),
        (
            "machine=Intel(R)+Xeon(R)+Platinum+8370C+CPU+%40+2.80GHz",
            {"Intel Xeon Platinum 8370C, 2 cores (4 logical)"},
            72,
        ),
        ("since=2026-11-15", {"AMD EPYC 7B13 64-Core Processor, 4 cores (8 logical)"}, 8),
        ("branch=nothing", set(), 0),
    ],
)
def test_filters_choose_the_runs_that_count(team: Team, query: str, machines: set[str], runs: int) -> None:
    found = team.client.get(f"/api/overview?{query}").json()
    assert {each["series"]["machine"] for each in found["models"]} == machines
    assert found["runs"] == runs
    assert team.client.get(f"/?{query}").status_code == 200


def test_a_branch_is_a_filter_of_every_page(team: Team) -> None:
    runs = team.client.get("/api/runs?branch=release-1.9&limit=500").json()["runs"]
    assert {each["run"]["tags"]["branch"] for each in runs} == {"release-1.9"}
    history = team.client.get("/api/history?model=resnet50.onnx&branch=release-1.9").json()
    points = {point["run"] for each in history["series"] for point in each["points"]}
    assert points <= {each["run"]["id"] for each in runs}
    assert points


def test_filters_stay_on_the_way_to_a_history(team: Team) -> None:
    page = team.client.get("/?branch=main&since=90d").text
    assert "/history?model=resnet50.onnx&amp;branch=main&amp;since=90d" in page
    history = team.client.get("/history?model=resnet50.onnx&branch=main").text
    assert '<option value="main" selected>main</option>' in history
    assert "/history?model=resnet50.onnx&amp;group_by=day&amp;branch=main" in history


def test_the_overview_reads_no_record_of_a_race(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a record was read")

    for name in ("load", "load_record", "portable", "finished_cases"):
        monkeypatch.setattr(Store, name, refuse)
    monkeypatch.setattr("onnxperf.store.blobs.unpack_blocks", refuse)
    assert team.client.get("/").status_code == 200


@pytest.mark.parametrize(("refresh", "expected"), [("", False), ("60", True), ("300", True)])
def test_it_refreshes_only_if_asked(team: Team, refresh: str, expected: bool) -> None:
    page = team.client.get(f"/?refresh={refresh}").text
    assert (f'<meta http-equiv="refresh" content="{refresh}">' in page) == expected


@pytest.mark.parametrize("query", ["refresh=1", "since=yesterday", "since=9999999999d"])
def test_a_wrong_parameter_is_one_line(team: Team, query: str) -> None:
    assert team.client.get(f"/?{query}").status_code == 400


# ---------------------------------------------------------------- runs


@pytest.mark.parametrize(
    ("sort", "key"),
    [
        ("time", lambda each: each["time_ns"]),
        ("speedup", lambda each: each["speedup"]),
        ("machine", lambda each: each["machine"]),
        ("commit", lambda each: each["run"]["tags"]["commit"]),
        ("kind", lambda each: each["run"]["kind"]),
        ("model", lambda each: each["run"]["topic"]),
        ("status", lambda each: each["run"]["status"]),
        ("started", lambda each: each["run"]["started"]),
    ],
)
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_runs_are_sorted_by_any_column_and_gaps_come_last(team: Team, sort: str, key: object, order: str) -> None:
    assert callable(key)
    runs = team.client.get(f"/api/runs?sort={sort}&order={order}&limit=500").json()["runs"]
    values = [key(each) for each in runs]
    known = [each for each in values if each is not None]
    assert known == sorted(known, reverse=order == "desc")
    assert values == known + [None] * (len(values) - len(known))
    assert len(runs) == 300


def test_verdicts_are_sorted_from_faster_to_slower(team: Team) -> None:
    runs = team.client.get("/api/runs?sort=verdict&limit=500").json()["runs"]
    verdicts = list(dict.fromkeys(each["verdict"] for each in runs))
    assert verdicts == ["faster", "equivalent", ""]


def test_a_heading_sorts_and_then_turns_the_order(team: Team) -> None:
    page = team.client.get("/runs?q=bert").text
    assert (
        '<th scope="col" class="left" aria-sort="descending"><a href="/runs?q=bert&amp;sort=started&amp;order=asc">'
        in page
    )
    assert '<a href="/runs?q=bert&amp;sort=time">time</a>' in page
    page = team.client.get("/runs?sort=time").text
    assert 'aria-sort="ascending"><a href="/runs?sort=time&amp;order=desc">time</a>' in page
    assert 'rel="next" href="/runs?page=2&amp;sort=time"' in page


def test_a_run_of_a_race_has_time_speedup_and_verdict_in_the_list(team: Team) -> None:
    [found] = team.client.get("/api/runs?q=whisper&sort=started&limit=1").json()["runs"]
    run = onnxperf.load_run(found["run"]["id"], store=team.store).record
    best = run.cases[0].subjects[1]
    assert (found["time_ns"], found["speedup"], found["verdict"]) == (best.time_ns, best.speedup, best.verdict)


# ---------------------------------------------------------------- badges


@pytest.mark.parametrize(
    ("model", "words"),
    [("resnet50.onnx", "8.91 ms · ✗ slower"), ("zoo:tiny-linear", "50.9 µs · ≈ equal")],
)
def test_a_badge_has_the_time_now_and_the_verdict(team: Team, model: str, words: str) -> None:
    answer = team.client.get(f"/badge/{model}.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert f"<title>{model}: {words}</title>" in answer.text
    assert len(answer.content) < 1000


def test_a_model_that_nobody_measured_has_no_badge(team: Team) -> None:
    answer = team.client.get("/badge/none.onnx.svg")
    assert (answer.status_code, "No race of none.onnx found." in answer.text) == (404, True)


# ---------------------------------------------------------------- how it is sent


def test_pages_are_packed_and_the_chart_library_is_fetched_once(team: Team) -> None:
    [run] = team.client.get("/api/runs?kind=profile&limit=1").json()["runs"]
    page = team.client.get(f"/runs/{run['run']['id']}")
    assert page.headers["content-encoding"] == "gzip"
    [address] = re.findall(r'<script src="(/static/echarts-[0-9a-f]{16}\.js)"></script>', page.text)
    assert "script-src 'self' 'sha256-" in page.headers["content-security-policy"]
    assert "apache.org/licenses" not in page.text
    library = team.client.get(address)
    assert library.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert library.headers["content-type"].startswith("text/javascript")
    assert library.headers["x-content-type-options"] == "nosniff"
    assert library.headers["content-encoding"] == "gzip"
    plain = team.client.get(address, headers={"accept-encoding": "identity"})
    assert plain.content == library.content
    assert "content-encoding" not in plain.headers
    assert page.headers["cache-control"] == "no-store"


def test_pages_without_charts_allow_no_script_files(team: Team) -> None:
    for path in ("/", "/runs", "/history", "/history?model=resnet50.onnx", "/compare"):
        assert "script-src 'sha256-" in team.client.get(path).headers["content-security-policy"], path


def test_the_library_needs_the_token_too(team: Team) -> None:
    guarded = TestClient(application(team.store, None, "correct horse battery"), base_url="http://127.0.0.1:8642")
    for path in ("/static/echarts-0.js", "/badge/resnet50.onnx.svg", "/compare.md?first=a&second=b", "/api/overview"):
        assert guarded.get(path).status_code == 401


def test_a_report_in_a_file_still_has_the_library_inside(team: Team, tmp_path: Path) -> None:
    [run] = team.client.get("/api/runs?kind=profile&limit=1").json()["runs"]
    onnxperf.load_run(run["run"]["id"], store=team.store).save(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<script src" not in text
    assert "'self'" not in text
    assert len(text) > 1e6
