"""Pages of runs, results and traces: what is taken, what is compared, what is refused, what is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

import onnxperf
from onnxperf.api.load_run import _kind_of
from onnxperf.cli.main import run
from onnxperf.results.base import result_classes, shows
from onnxperf.results.bench import BenchResult
from onnxperf.results.diff import DiffResult
from onnxperf.results.profile import ProfileResult
from onnxperf.results.runs import ComparisonResult
from tests.render import examples

TRACE = [
    {
        "cat": "Node",
        "pid": 1,
        "tid": 1,
        "dur": 10,
        "ts": 5,
        "ph": "X",
        "name": "a_kernel_time",
        "args": {"op_name": "Add"},
    },
    {"cat": "Session", "pid": 1, "tid": 1, "dur": 20, "ts": 0, "ph": "X", "name": "model_run", "args": {}},
]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(TRACE))
    return path


@pytest.fixture
def result() -> BenchResult:
    return BenchResult(examples.bench(examples.case(examples.subject("run", 8430.0, "baseline"))))


@pytest.fixture
def store(linear_path: Path, tmp_path: Path) -> str:
    """Two runs of a race."""
    where = str(tmp_path / "runs.sqlite")
    for _ in range(2):
        assert (
            run(["bench", str(linear_path), "--call", "run,run-c", "--time", "0.2", "--store", where, "--quiet"]) == 0
        )
    return where


def test_a_result_that_was_saved_is_read_again(result: BenchResult, tmp_path: Path) -> None:
    result.save(tmp_path / "r.json")
    (found,) = onnxperf.report(tmp_path / "r.json").results
    assert isinstance(found, BenchResult)
    assert found.record == result.record


@pytest.mark.parametrize("kind", result_classes(), ids=lambda kind: kind.__name__)
def test_the_fields_of_a_file_tell_its_kind(kind: type[Struct]) -> None:
    assert _kind_of(dict.fromkeys(kind.__struct_encode_fields__)) is kind


def test_a_trace_is_profiled(trace: Path, tmp_path: Path) -> None:
    found = onnxperf.report(trace, output=tmp_path / "t.html")
    assert isinstance(found.results[0], ProfileResult)
    assert "Add" in (tmp_path / "t.html").read_text()


def test_two_profiles_are_compared_first(trace: Path) -> None:
    kinds = [type(each) for each in onnxperf.report(trace, trace).results]
    assert kinds == [DiffResult, ProfileResult, ProfileResult]


def test_runs_have_their_blocks_and_two_races_are_compared_first(store: str) -> None:
    newest = [each.id for each in onnxperf.runs(store=store)]
    compared, one, other = onnxperf.report(*newest, store=store).results
    assert isinstance(compared, ComparisonResult)
    assert compared.story().topic == " against ".join(reversed(newest))
    assert [one.run, other.run] == newest
    assert all(subject.blocks for subject in one.record.cases[0].subjects)
    assert onnxperf.report(store=store).results[0].run == newest[0]


def test_results_of_different_kinds_stand_below_each_other(result: BenchResult, trace: Path) -> None:
    found = onnxperf.report(result, trace)
    assert [each.kind for each in found.results] == ["bench", "profile"]
    page = found.to_html()
    assert page.count("<article") == 2
    assert "## bench" in found.to_markdown()
    assert "## profile" in found.to_markdown()


def test_a_notebook_shows_the_page_in_a_frame_that_only_runs_scripts(result: BenchResult) -> None:
    shown = result.report()._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts"')
    assert "</script>" not in shown
    assert "report of bench" in repr(result.report())


@pytest.mark.parametrize(
    ("sources", "keywords", "problem"),
    [
        (["none.json"], {}, "cannot read none.json: No such file"),
        (["empty.json"], {}, "cannot read empty.json"),
        (["other.json"], {}, "other.json is no result of onnxperf"),
        (["run"], {}, "no run 'run'"),
        ([], {"output": "page.txt"}, r"\.html, \.md"),
        ([], {"output": "no/such/page.html"}, "folder does not exist"),
    ],
)
def test_what_cannot_be_told_is_refused(
    sources: list[str], keywords: dict[str, Any], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.json").write_text("")
    Path("other.json").write_text('{"a": 1}')
    with pytest.raises(onnxperf.BadInput, match=problem):
        onnxperf.report(*sources, **keywords)


def test_the_command_writes_pages_and_says_where(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    opened: list[str] = []

    def browse(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    monkeypatch.setenv("DISPLAY", ":0")
    assert run(["report", "--store", store, "--open"]) == 0
    assert capsys.readouterr().out.endswith("wrote report.html\n")
    assert opened == [(tmp_path / "report.html").as_uri()]
    assert run(["report", "last", "--store", store, "-o", "a.md", "-o", "b.html", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert Path("a.md").read_text().startswith("## bench")


def test_without_a_browser_the_page_stays_where_it_is(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert run(["report", "--store", store, "--open"]) == 0
    assert "no browser found; open the page yourself: report.html" in capsys.readouterr().err


def test_every_result_is_written_as_a_page(result: BenchResult, tmp_path: Path) -> None:
    result.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert all(".html" in show.formats() for show in shows().values())
