"""Interpreters that are given by their path."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from onnxperf.environments.find import environment, planned
from onnxperf.environments.probe import Inventory, ask
from onnxperf.errors import BadOption

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="fakes of interpreters are shell scripts")
FULL = {"numpy": "2.4.6", "msgspec": "0.22.0"}


def program(folder: Path, *lines: str) -> Path:
    path = folder / "python"
    path.write_text("\n".join(["#!/bin/sh", *lines]))
    path.chmod(0o755)
    return path


def interpreter(folder: Path, version: tuple[int, int, int], packages: dict[str, str]) -> Path:
    return program(folder, f"echo '{json.dumps({'version': version, 'packages': packages})}'")


def test_our_own_interpreter_reports_what_it_has() -> None:
    found = ask(Path(sys.executable))
    assert found is not None
    assert found.version == sys.version_info[:3]
    assert {"numpy", "msgspec"} <= found.relevant().keys()


def test_a_given_interpreter_is_an_environment_with_the_packages_that_matter(tmp_path: Path) -> None:
    python = interpreter(tmp_path, (3, 12, 1), {"OnnxRuntime_GPU": "1.20.1", "sympy": "1.13", **FULL})
    found = environment(str(python))
    assert (found.name, found.python, found.python_version) == (str(python), str(python), "3.12.1")
    assert found.packages == {"onnxruntime-gpu": "1.20.1", **FULL}
    assert found.created is None


def test_a_plan_runs_no_interpreter(tmp_path: Path) -> None:
    python = program(tmp_path, f"touch {tmp_path / 'was-run'}")
    found = planned(str(python))
    assert found is not None
    assert (found.python, found.python_version, found.packages) == (str(python), "", {})
    assert not (tmp_path / "was-run").exists()
    with pytest.raises(BadOption, match="no such program"):
        planned(str(tmp_path / "other"))


def test_a_link_is_not_followed_because_a_virtual_environment_is_one(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    link = tmp_path / "python"
    link.symlink_to(interpreter(tmp_path / "base", (3, 11, 0), FULL))
    assert environment(str(link)).python == str(link)


def test_our_path_does_not_reach_the_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))
    answer = '{"version": [3, 11, 0], "packages": {"found": "$PYTHONPATH$PYTHONHOME"}}'
    found = ask(program(tmp_path, f"cat <<END\n{answer}\nEND"))
    assert found == Inventory((3, 11, 0), {"found": ""})


@pytest.mark.parametrize(
    ("version", "packages", "told"),
    [
        ((3, 10, 13), FULL, "this is Python 3.10.13; expected 3.11 or newer"),
        ((2, 7, 18), {}, "this is Python 2.7.18; expected 3.11 or newer"),
        ((3, 11, 7), {"numpy": "1.26"}, "msgspec not installed there; install with: "),
        ((3, 11, 7), {}, "numpy and msgspec not installed there; install with: "),
    ],
)
def test_an_interpreter_without_what_a_worker_needs_is_refused(
    tmp_path: Path, version: tuple[int, int, int], packages: dict[str, str], told: str
) -> None:
    python = interpreter(tmp_path, version, packages)
    with pytest.raises(BadOption, match=f"^`env={python}`: {told}"):
        environment(str(python))


@pytest.mark.parametrize("line", ["echo hello", "exit 1", "echo '{\"version\": 3}'", "printf '\\377'"])
def test_a_program_that_is_no_interpreter_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(BadOption, match="this program is not a Python interpreter"):
        environment(str(program(tmp_path, line)))


def test_a_folder_and_a_file_that_does_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="this is a folder; use its interpreter"):
        environment(str(tmp_path))
    with pytest.raises(BadOption, match="no such program"):
        environment(str(tmp_path / "python"))
