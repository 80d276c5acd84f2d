"""The examples run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_call_styles_prints_its_table_and_draws_its_chart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("call_styles", EXAMPLES / "call_styles.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    monkeypatch.setattr(example, "REPEAT", 2)
    monkeypatch.setattr(example, "NUMBER", 2)
    monkeypatch.setattr(sys, "argv", ["call_styles.py", str(tmp_path)])
    example.main()
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("skl", "numpy", "reference", "run-c", "io-binding-inplace", "ttime"))
    assert (tmp_path / "call_styles.png").read_bytes().startswith(b"\x89PNG")
