"""`onnxperf view` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from onnxperf.api.profile import profile
from onnxperf.cli.main import run


def test_a_model_is_listed(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(linear_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("linear   1 node · 40 parameters, 160 B · 40 MACs with batch=1\n")
    assert "  MatMul(X, W) -> Y: float32[batch, 4]\n" in printed


@pytest.mark.parametrize(("form", "start"), [("json", "{"), ("dot", "digraph"), ("code", "def run(")])
def test_other_forms_go_to_standard_output_or_a_file(
    linear_path: Path, tmp_path: Path, form: str, start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out"
    assert run(["view", str(linear_path), "--as", form]) == 0
    assert run(["view", str(linear_path), "--as", form, "-o", str(file)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(start)
    assert file.read_text(encoding="utf-8") == printed


def test_a_trace_puts_shares_on_the_nodes(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, metrics = tmp_path / "trace.json", tmp_path / "metrics.json"
    profile(linear_path, repeat=2, keep_trace=trace)
    assert run(["view", str(linear_path), "--profile", str(trace), "--netron", str(metrics)]) == 0
    assert " 100 %  MatMul(X, W)" in capsys.readouterr().out
    assert json.loads(metrics.read_text(encoding="utf-8"))["signature"] == "netron:attachment"


def test_profile_alone_runs_the_model(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(linear_path), "--profile", "--dim", "batch=2"]) == 0
    assert " 100 %  MatMul(X, W) -> Y: float32[2, 4]" in capsys.readouterr().out


def test_an_interrupted_profile_exits_with_130(
    linear_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = profile(linear_path, repeat=2)
    measured.record = replace(measured.record, interrupted=True)
    monkeypatch.setattr("onnxperf.api.view.measure", lambda *_, **__: measured)
    assert run(["view", str(linear_path), "--profile"]) == 130
    assert "note: interrupted" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--as", "png"], "a PNG is no text"),
        (["--netron", "m.json"], "add --profile"),
        (["--around", "nobody"], "no node or tensor is named 'nobody'"),
        (["--op", "Conv"], "unknown operator 'Conv'"),
        (["--op", "MatMul", "--as", "svg"], "--op chooses what a listing shows"),
        (["--values"], "add --as json"),
        (["--by", "memory"], "add --profile"),
        (["--profile", "--netron", "m.txt"], "a file that ends with .json"),
        (["--profile", "--netron", "nowhere/m.json"], "its folder does not exist"),
        (["--profile", "--as", "svg", "-o", "nowhere/m.svg"], "its folder does not exist"),
    ],
)
def test_bad_options_exit_with_two(
    linear_path: Path,
    arguments: list[str],
    reason: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("onnxperf.api.view.measure", lambda *_, **__: pytest.fail("refused too late"))
    assert run(["view", str(linear_path), *arguments]) == 2
    assert reason in capsys.readouterr().err
