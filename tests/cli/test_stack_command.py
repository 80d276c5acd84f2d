"""The command `stack`, as a user calls it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from onnxperf.api._keeping.kept_runs import load_result
from onnxperf.api.runs import runs
from onnxperf.cli.commands.stack import StackFlags, stack
from onnxperf.cli.main import run
from onnxperf.cli.present import KeptOutputFlags
from onnxperf.records.stack import Stack


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "out.pdf"], "--output out.pdf: expected a name that ends with .csv, .html, .json"),
        (["-o", "flame.svg"], "--output flame.svg: a flame graph needs --native"),
        (["-o", "chart.bmp"], "--output chart.bmp: expected a name that ends with "),
        (["-o", "no/such/folder/out.txt"], "folder does not exist"),
        (["--calls", "0"], "--calls 0: expected at least 1"),
        (["--top", "0"], "--top 0: expected at least 1"),
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
    output = KeptOutputFlags(store=str(tmp_path / "runs.sqlite"), json=str(tmp_path / "stack.json"))
    assert stack(str(linear_path), options=StackFlags(calls=5000), output=output) == 0
    printed = capsys.readouterr().out
    assert "call_again" in printed
    assert "undisturbed. Of this, " in printed
    assert [run.kind for run in runs(store=tmp_path / "runs.sqlite")] == ["stack"]
    kept = load_result("last", store=tmp_path / "runs.sqlite").record
    assert kept == msgspec.json.decode((tmp_path / "stack.json").read_bytes(), type=Stack)


def test_only_the_answer_is_printed_when_quiet(
    linear_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyinstrument")
    monkeypatch.setattr("onnxperf.measure.native_stack.find_program", lambda *_args: None)
    output = KeptOutputFlags(quiet=True, no_store=True)
    assert stack(str(linear_path), options=StackFlags(calls=5000), output=output) == 0
    assert capsys.readouterr().out.startswith("A call takes ")
