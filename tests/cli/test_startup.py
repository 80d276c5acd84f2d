"""What a command imports before it answers; `benchmarks/startup.py` has the times."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import onnx.parser
import pytest

ONE_NODE = '<ir_version: 8, opset_import: ["": 18]> g (float[N] x) => (float[N] y) { y = Relu(x) }'
SMALL_ONES = {"psutil", "cloudpickle", "rich.progress"}
"""Libraries of a few ms each."""
ROOMS = {
    "onnxperf.measure.race",
    "onnxperf.measure.machine",
    "onnxperf.frameworks",
    "onnxperf.runtimes",
    "onnxperf.store",
}
DRAWINGS = {f"onnxperf.render.graph.{name}" for name in ("svg", "dot", "layout")}
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
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["bench", "--help"], ["runs", "--help"]])
def test_help_imports_no_heavy_library(arguments: list[str]) -> None:
    assert (LIBRARIES | {"msgspec", "markdown_it", "docutils"}) & imported(*arguments) == set()


def test_the_list_of_runs_imports_nothing_that_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXPERF_STORE", str(tmp_path / "runs.db"))
    assert imported("runs") & LIBRARIES <= {"sqlalchemy"}


@pytest.fixture
def one_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The file of a model with one node."""
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.parser.parse_model(ONE_NODE), "small.onnx")
    return "small.onnx"


@pytest.mark.parametrize("options", [["-o", "-.svg"], ["-o", "-.json"], ["-o", "model.dot"]], ids=str)
def test_a_view_imports_nothing_that_reads_the_model_for_a_child_does_that(options: list[str], one_node: str) -> None:
    assert LIBRARIES & imported("view", one_node, *options) - {"numpy"} == set()


def test_a_listing_imports_nothing_that_runs_or_draws_a_model(one_node: str) -> None:
    found = imported("view", one_node)
    assert LIBRARIES & found == set()
    assert found & (SMALL_ONES | ROOMS | DRAWINGS) == set()
    assert {name for name in found if name.startswith("onnxperf.cli.")} == {
        f"onnxperf.cli.{name}"
        for name in (
            "commands",
            "commands.view",
            "exit_codes",
            "help",
            "main",
            "command",
            "overview",
            "present",
            "printing",
            "surroundings",
        )
    }


def test_a_worker_imports_what_runs_a_model_and_nothing_that_reads_or_shows_one() -> None:
    script = (
        "import sys, onnxperf.measure.worker.serve; from onnxperf.runtimes.find import find_runtime;"
        "find_runtime('ort').ready(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found = set(done.stdout.split())
    assert found & LIBRARIES == {"numpy", "onnxruntime"}
    assert (
        found & {"importlib.metadata", "cyclopts", "rich", "email", "multiprocessing", "onnxperf.frameworks"} == set()
    )
    assert found & {"psutil", "cloudpickle", "statistics", "tempfile", "subprocess", "socket", "logging"} == set()
