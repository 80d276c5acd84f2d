"""The worker side of the package under another interpreter."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from onnxperf.errors import BadInput, required
from onnxperf.measure import travelling
from onnxperf.measure.messages import Compute, Failed, Load, ModelSubject, Prepare, WorkerSpec, outputs_in
from onnxperf.measure.packing import pack_feeds
from onnxperf.measure.process import ProcessWorker, open_worker
from onnxperf.measure.travelling import folder_of_package
from onnxperf.measure.worker.host import Host


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test makes the folder again, in its own place."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    travelling._made.cache_clear()


def spec_under(python: str, model: Path) -> WorkerSpec:
    return WorkerSpec(
        subjects=(ModelSubject(name="run", call="run"),),
        threads=1,
        feeds=pack_feeds({"X": np.ones((2, 10), np.float32)}),
        python=python,
        runtime="ort",
        model_path=str(model),
    )


def test_only_the_package_can_be_imported_from_its_folder() -> None:
    folder = folder_of_package()
    assert [each.name for each in folder.iterdir()] == ["onnxperf"]
    assert folder_of_package() == folder
    assert (folder / "onnxperf" / "measure" / "worker" / "__main__.py").is_file()


def test_where_links_are_forbidden_the_package_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("a required privilege is not held by the client")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    package = folder_of_package() / "onnxperf"
    assert not package.is_symlink()
    assert (package / "measure" / "worker" / "__main__.py").is_file()
    assert not list(package.rglob("__pycache__"))


def test_a_folder_that_was_removed_is_made_again() -> None:
    folder = folder_of_package()
    shutil.rmtree(folder)
    assert folder_of_package() != folder
    assert (folder_of_package() / "onnxperf" / "__init__.py").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="the other interpreter is a shell script")
def test_a_worker_under_another_interpreter_gets_the_package_and_nothing_else_of_our_path(
    linear_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen, other = tmp_path / "seen", tmp_path / "python"
    other.write_text(
        f'#!/bin/sh\necho "$PYTHONPATH|$PYTHONHOME|$OMP_NUM_THREADS" > {seen}\nexec {sys.executable} "$@"\n'
    )
    other.chmod(0o755)
    spec = spec_under(str(other), linear_path)
    with open_worker(spec, timeout_s=60.0) as worker:
        worker.ask(Load(spec))
        worker.ask(Prepare(0))
        names, (output,) = outputs_in(worker.ask(Compute(0)))
    assert (names, output.shape) == (["Y"], (2, 4))
    assert seen.read_text().strip() == f"{folder_of_package()}||1"


def test_an_interpreter_without_our_packages_still_finds_the_package(tmp_path: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": str(folder_of_package())}
    command = [sys.executable, "-P", "-S", "-c", "import onnxperf; print(onnxperf.__file__)"]
    found = subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout
    assert Path(found.strip()).parent == folder_of_package() / "onnxperf"


def test_an_interpreter_that_is_gone_is_one_line_with_its_path(linear_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot start a process: No such file.*; Python is at '/nowhere/python'"):
        ProcessWorker(spec_under("/nowhere/python", linear_path), 60.0)


def test_a_package_that_the_environment_lacks_is_named_with_its_interpreter() -> None:
    host = Host(spec=WorkerSpec(subjects=(), threads=1, feeds={}, python="/other/python"))

    def lacking(_host: Host, _request: object) -> NoReturn:
        required("no_such_library", "stack")
        raise AssertionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("onnxperf.measure.worker.host.handler_of", lambda _kind: lacking)
        assert host.answer(Prepare(0)) == Failed(
            "failed", "no_such_library is not installed at /other/python; add it to this environment"
        )
