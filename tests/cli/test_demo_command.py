"""`onnxperf demo` as a newcomer meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxperf.cli.main import run


def test_the_demo_writes_a_model_and_a_chart_and_says_what_to_try_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    printed = capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} >= {"onnxperf-demo.onnx", "onnxperf-demo.png"}
    assert "io-binding-inplace" in printed
    assert "onnxperf profile onnxperf-demo.onnx   where does the time go?" in printed
