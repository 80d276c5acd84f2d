"""Where other programs are looked for."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onnxperf.programs import find_program, leave_current_folder_out
from tests.source import FILES, offenders, parsed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs are scripts here")


def program(folder: Path, name: str = "tool", text: str = "#!/bin/sh\n") -> str:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("entry", ["", ".", "./", "..{sep}here", "bin", "{here}", "{here}/", "{link}", "{missing}"])
def test_a_program_in_the_current_folder_is_never_found(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    program(here)
    program(here / "bin")
    (tmp_path / "link").symlink_to(here)
    monkeypatch.chdir(here)
    named = entry.format(sep=os.sep, here=here, link=tmp_path / "link", missing=tmp_path / "missing")
    monkeypatch.setenv("PATH", named)
    assert find_program("tool") is None
    there = program(tmp_path / "there")
    monkeypatch.setenv("PATH", f"{named}{os.pathsep}{tmp_path / 'there'}")
    assert find_program("tool") == there
    leave_current_folder_out()
    assert [folder for folder in os.environ["PATH"].split(os.pathsep) if folder != str(tmp_path / "missing")] == [
        str(tmp_path / "there")
    ]


def test_only_a_file_that_can_be_run_is_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (find_program("folder"), find_program("text"), find_program("missing")) == (None, None, None)


@pytest.mark.parametrize("words", [("view", "zoo:tiny-linear"), pytest.param(("doctor",), marks=pytest.mark.thorough)])
def test_a_command_starts_no_program_of_the_current_folder(tmp_path: Path, words: tuple[str, ...]) -> None:
    names = ("git", "uv", "nvidia-smi", "uname", "pip", "py-spy", "xdg-settings", "ldconfig", "gcc", "lscpu")
    for name in names:
        program(tmp_path, name, f"#!/bin/sh\ntouch {tmp_path}/started-{name}\n")
    path = f".{os.pathsep}{os.pathsep}{tmp_path}{os.pathsep}{os.environ['PATH']}{os.pathsep}"
    command = [sys.executable, "-P", "-m", "onnxperf", *words]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("started-*")) == []


def searches(path: Path) -> Iterator[str]:
    """Calls that look for a program, and programs that are started by a name."""
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Attribute(value=ast.Name(id="shutil"), attr="which"):
                yield "shutil.which"
            case ast.Attribute(value=ast.Name(id="platform"), attr="processor" | "architecture" as name):
                yield f"platform.{name}"
            case ast.Attribute(attr="find_library" as name):
                yield name
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="subprocess")),
                args=[ast.List(elts=[ast.Constant(value=str(name)), *_]), *_],
            ):
                yield name


def test_one_function_looks_for_programs() -> None:
    assert offenders(FILES, lambda path: list(searches(path))) == {}


def test_what_looks_for_programs_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("shutil.which('a'); platform.processor(); subprocess.run(['git', 'status']); subprocess.run([git])")
    assert sorted(searches(file)) == ["git", "platform.processor", "shutil.which"]
