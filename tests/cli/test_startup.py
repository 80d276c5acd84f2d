"""What a command imports before it answers; `benchmarks/startup.py` has the times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import onnx.parser
import pytest

ONE_NODE = '<ir_version: 8, opset_import: ["": 18]> g (float[N] x) => (float[N] y) { y = Relu(x) }'
SCRIPT = """
import sys
from onnxperf.cli.main import run

code = run(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""
LIBRARIES = {"onnx", "onnxruntime", "numpy", "pandas", "sqlalchemy", "matplotlib", "scipy", "torch", "tensorflow"}


def imported(*arguments: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True)
    return LIBRARIES & set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["bench", "--help"]])
def test_help_imports_no_heavy_library(arguments: list[str]) -> None:
    assert imported(*arguments) == set()


@pytest.mark.parametrize("options", [[], ["--as", "svg"], ["--as", "json"], ["-o", "model.dot"]], ids=str)
def test_a_view_imports_only_what_reads_the_model(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(ONE_NODE), "small.onnx")
    assert imported("view", "small.onnx", *options) == {"numpy", "onnx"}
