"""The command `stack`, as a user calls it."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

import onnxperf
from onnxperf.api._keeping.kept_runs import load_result
from onnxperf.api.runs import runs
from onnxperf.cli.main import run
from onnxperf.records.stack import FunctionShare, Stack
from onnxperf.results.stack import StackResult
from tests.render.stack import examples as made


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "out.pdf"], "--output out.pdf: expected a name that ends with .csv, .html, .json"),
        (["-o", "s.native.svg"], "--output s.native.svg: this needs --native"),
        (["-o", "s.svg", "--chart", "native"], "--chart native: this needs --native"),
        (["-o", "s.csv", "--table", "allocations"], "--table allocations: this needs --allocations"),
        (["-o", "chart.bmp"], "--output chart.bmp: expected a name that ends with "),
        (["-o", "no/such/folder/out.txt"], "folder does not exist"),
        (["--calls", "0"], "--calls 0: expected at least 1"),
        (["--top", "0"], "--top 0: expected at least 1"),
        (["--sample-every", "0ms"], "--sample-every 0ms: expected more than 0 seconds"),
        (["--sample-every", "seldom"], "--sample-every seldom: expected a time such as 50ms"),
        (["--runtime", "ort,numpy"], "--runtime ort,numpy: expected one runtime"),
        (["-o", "peak.memray.html"], "--output peak.memray.html: this needs --allocations"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_runs(
    linear_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["stack", str(linear_path), "--no-store", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_the_tree_and_the_share_are_printed_and_the_run_is_kept(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyinstrument")
    files = ["--store", str(tmp_path / "runs.sqlite"), "--json", str(tmp_path / "stack.json")]
    assert run(["stack", str(linear_path), "--calls", "5000", *files]) == 0
    printed = capsys.readouterr().out
    assert "call_again" in printed
    assert re.search(r"A call takes \S+ .s: \d+ % ", printed)
    assert [each.kind for each in runs(store=tmp_path / "runs.sqlite")] == ["stack"]
    kept = load_result("last", store=tmp_path / "runs.sqlite").record
    assert kept == msgspec.json.decode((tmp_path / "stack.json").read_bytes(), type=Stack)


@pytest.mark.parametrize(("options", "rows"), [(["--top", "2"], 2), ([], 15), (["--all"], 20)])
def test_so_many_functions_are_shown(
    options: list[str], rows: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shares = tuple(
        FunctionShare(function=f"function_{number}", file="f.py", share=0.05, python=1.0) for number in range(20)
    )
    result = StackResult(made.stack(functions=shares, native=(), allocations=None))
    monkeypatch.setattr(onnxperf, "stack", lambda *_args, **_keywords: result, raising=False)
    assert run(["stack", "m.onnx", "--no-store", *options]) == 0
    assert capsys.readouterr().out.count("function_") == rows


def test_only_the_answer_is_printed_when_quiet(
    linear_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyinstrument")
    monkeypatch.setattr("onnxperf.measure.native_stack.find_program", lambda *_args: None)
    assert run(["stack", str(linear_path), "--calls", "5000", "--quiet", "--no-store"]) == 0
    assert capsys.readouterr().out.startswith("A call takes ")
