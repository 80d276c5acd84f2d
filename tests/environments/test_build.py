"""How environments are built: which programs run, with which options, and how they end."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from onnxperf.environments import build as building
from onnxperf.environments import probe
from onnxperf.environments.build import build, python_in
from onnxperf.environments.failures import BuildFailed
from onnxperf.environments.probe import Inventory
from onnxperf.errors import BadInput, BadOption

NAME = "onnxruntime==1.20.1"
WHEELS = ("--only-binary", ":all:")
OURS = ("numpy>=1.24", "msgspec>=0.19")


class FakePrograms:
    """Commands that would run, and what the interpreter reports after each installation."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *versions: dict[str, str], modules: Sequence[str] = ()) -> None:
        self.commands: list[list[str]] = []
        reports = iter(versions)
        monkeypatch.setattr(building, "run", lambda command, folder: self.commands.append(command))
        monkeypatch.setattr(probe, "ask", lambda _python: Inventory((3, 11, 7), next(reports)))
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if name in modules else None)

    def installed(self) -> list[list[str]]:
        return [each[each.index(":all:") + 1 :] for each in self.commands if "install" in each]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "draft"


@pytest.mark.parametrize(
    ("uv", "modules", "maker", "installer"),
    [
        ("/bin/uv", ["pip", "uv"], ["/bin/uv", "venv"], ["/bin/uv", "pip", "install"]),
        (None, ["pip", "uv"], [sys.executable, "-P", "-m", "uv", "venv"], [sys.executable, "-P", "-m", "uv", "pip"]),
        (None, ["pip"], [sys.executable, "-P", "-m", "venv", "--without-pip"], [sys.executable, "-P", "-m", "pip"]),
        (None, [], [sys.executable, "-P", "-m", "venv"], ["PYTHON", "-P", "-m", "pip", "install"]),
    ],
)
def test_uv_is_used_where_it_is_there_then_our_pip_then_that_of_the_environment(
    uv: str | None,
    modules: list[str],
    maker: list[str],
    installer: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(building, "find_program", lambda _name: uv)
    programs = FakePrograms(monkeypatch, {"onnxruntime": "1.20.1", "numpy": "2.4.6"}, modules=modules)
    build([NAME], folder, lambda _text: None)
    make, install, check = programs.commands
    python = str(python_in(folder))
    assert make[: len(maker)] == maker
    assert make[-1] == str(folder)
    assert install[: len(installer)] == [python if each == "PYTHON" else each for each in installer]
    assert install[-5:] == [*WHEELS, NAME, *OURS]
    assert check == [python, "-P", "-c", "import numpy, msgspec, onnxruntime"]


@pytest.mark.parametrize(
    ("requested", "first", "again"),
    [
        ([NAME], {"onnxruntime": "1.20.1", "numpy": "2.4.6"}, False),
        (["onnxruntime<1.19"], {"onnxruntime": "1.18.1", "numpy": "2.4.6"}, True),
        (["onnxruntime-gpu==1.16.0"], {"onnxruntime_gpu": "1.16.0", "numpy": "2.0.0"}, True),
        (["onnxruntime==1.16.0"], {"onnxruntime": "1.16.0", "numpy": "1.26.4"}, False),
        (["onnxruntime==1.16.0", "numpy==2.0.0"], {"onnxruntime": "1.16.0", "numpy": "2.0.0"}, False),
        (["torch"], {"torch": "2.0", "numpy": "2.4.6"}, False),
    ],
)
def test_an_onnxruntime_before_numpy_2_gets_a_numpy_1_unless_one_is_requested(
    requested: list[str], first: dict[str, str], again: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = FakePrograms(monkeypatch, first, {**first, "numpy": "1.26.4"}, modules=["pip"])
    build(requested, folder, lambda _text: None)
    assert len(programs.installed()) == 1 + again
    assert ("numpy<2" in programs.installed()[-1]) is again


def test_what_a_program_printed_explains_its_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_command: Sequence[str], folder: Path) -> None:
        raise BuildFailed("ImportError: libcudart.so.12: cannot open shared object file")

    monkeypatch.setattr(building, "run", fail)
    with pytest.raises(BadOption, match=r"^`env=onnxruntime==1\.20\.1`: it could not be built: ImportError: libcudart"):
        build([NAME], folder, lambda _text: None)


def test_a_program_that_cannot_start_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "find_program", lambda _name: "/nowhere/uv")
    with pytest.raises(BadInput, match="environments cannot be built: No such file or directory"):
        build([NAME], folder, lambda _text: None)


def test_a_program_gets_our_variables_without_our_path_and_its_output_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/ours")
    monkeypatch.setenv("PIP_INDEX_URL", "https://example.org")
    script = 'import os, sys; e = os.environ; sys.exit(f\'{e.get("PYTHONPATH")} {e["PIP_INDEX_URL"]} {os.getcwd()}\')'
    with pytest.raises(BuildFailed) as failure:
        building.run([sys.executable, "-c", script], tmp_path)
    assert failure.value.output.strip() == f"None https://example.org {tmp_path}"


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX's")
def test_an_interrupted_program_ends_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pids"
    os.mkfifo(pipe)
    found: list[int] = []

    def interrupt(_process: subprocess.Popen[bytes], *_: Any, **__: Any) -> None:
        found.extend(int(each) for each in pipe.read_text().split())
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        building.run(["/bin/sh", "-c", f"sleep 1000 & echo $$ $! > {pipe}; wait"], tmp_path)
    assert len(found) == 2
    _, alive = psutil.wait_procs([psutil.Process(pid) for pid in found if psutil.pid_exists(pid)], timeout=60)
    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == []
