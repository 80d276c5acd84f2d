"""The pages "How do I …" are scripts: their files, commands and answers are read from the pages themselves.

A fenced block that begins with `# NAME` is the file NAME, `sh` is what a user types, `text` is what was printed, and
`python` without a name is a cell of a notebook. Blocks within a comment of HTML are there for these tests. A command
exits with 0 unless a comment at its end names another exit code.
"""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import onnxperf
from tests.depth import all_or

ROOT = Path(__file__).parents[1]
HOW = ROOT / "docs" / "how"
PATIENCE_S = 300
MOST_COMMANDS = 3
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
# Unless a command has the option in front, it is shortened by what stands behind it.
SHORT = {
    "advise": ("--time", "--time 0.5"),
    "bench": ("--time", "--blocks 2 --calls-per-block 2 --warmup 0"),
    "diff": ("--time", "--time 0.3 --calls 5"),
    "einsum": ("--time", "--time 0.3"),
    "memory": ("--lines", "--calls 5 --skip-arena"),
    "profile": ("--calls", "--calls 5"),
    "tune": ("--time", "--time 6"),
}


class Expected(NamedTuple):
    """Phrases that a page promises and its commands print, files that they leave, and zoo models that it needs."""

    phrases: tuple[str, ...]
    files: tuple[str, ...] = ()
    zoo: tuple[tuple[str, str], ...] = ()
    unless: str = ""
    """What a command says where it rightly leaves no file: a busy machine proves nothing in a few seconds."""


RUN_CELLS = """
import json
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="nocolor")
for cell in json.loads(Path("cells.json").read_text()):
    shell.run_cell(cell, store_history=True).raise_error()
"""
TORCH = (("tiny-resnet", "torch"), ("tiny-bert", "torch"))
PAGES = {
    "faster": Expected(
        ("Tiny nodes:", "The search: defaults / candidate"), ("tuned.settings.json",), unless="there is no winner"
    ),
    "fastest-call": Expected(("io-binding-inplace", "best rival"), ("calls.png",)),
    "slow-node": Expected(("Time per module", "In the original model"), ("bert.svg",), TORCH),
    "optimisation-level": Expected(("opt_level=all is", "Time per original node"), (), TORCH[:1]),
    "models-disagree": Expected(("Node 1 (Relu) is the first whose output", "agree on 1 output"), ("where.npz",)),
    "memory": Expected(("planned minimum", "needs the most: "), ("memory.png",)),
    "sklearn": Expected(("The model agrees with its source on 2 outputs", "speedup"), ("iris.onnx",)),
    "torch": Expected(("The model agrees with its source on 1 output", "speedup"), ("mlp.onnx", "race.md")),
    "keras": Expected(("The model agrees with its source on 1 output", "predict_on_batch"), ("mlp.onnx",)),
    "sweep": Expected(("Interrupted", "pending", "3 cases", "batch subject"), ("all.csv", "all.xlsx")),
    "notebook": Expected(("MatMul(points, first)", "numpy")),
    "einsum": Expected(("candidates", "ORT Einsum as written"), ("best.onnx", "orders.png")),
    "rewrite": Expected(("Einsum_0",)),
    "scripting": Expected(("run-c", "us per call"), ("run.json",)),
    "restricted": Expected(
        ("xlsxwriter is not installed; install it with:", "[excel]'", "XDG_CACHE_HOME"), ("calls.csv",)
    ),
}
TRIED = {"fastest-call", "notebook"}
"""Pages that stand for all: of a command, of a plan with a signal, of a notebook."""


class Command(NamedTuple):
    """What a user types, and how it may end."""

    line: str
    codes: tuple[int, ...] = (0,)


def page_of(name: str) -> str:
    return (HOW / f"{name}.md").read_text(encoding="utf-8")


def blocks(text: str, kind: str) -> list[str]:
    return [found["text"] for found in BLOCK.finditer(text) if found["kind"] == kind]


def commands(text: str) -> list[Command]:
    lines = [line for block in blocks(text, "sh") for line in block.replace("\\\n", " ").splitlines() if line.strip()]
    return [Command(line, exit_codes(line)) for line in lines]


def exit_codes(line: str) -> tuple[int, ...]:
    named = re.search(r"# .*exit code (\d+)(?:, or (\d+))?", line)
    return tuple(int(code) for code in named.groups() if code) if named else (0,)


def named_files(text: str) -> dict[str, str]:
    found = [re.match(r"# (\S+\.\w+)\n", block["text"]) for block in BLOCK.finditer(text)]
    return {name[1]: name.string for name in found if name}


def visible(text: str) -> str:
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which `onnxperf` and `python` are those under test, and races are short."""
    programs = tmp_path / "programs"
    programs.mkdir()
    cases = "\n".join(
        f'  {name}) case "$*" in *{option}*) ;; *) more="{short}";; esac;;' for name, (option, short) in SHORT.items()
    )
    for name, script in {
        "onnxperf": f'case "$1" in\n{cases}\nesac\nexec {sys.executable} -m onnxperf "$@" $more',
        "python": f'exec {sys.executable} "$@"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\nmore=\n{script}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(Path(onnxperf.__file__).parents[1]))
    monkeypatch.setenv("COLUMNS", "80")
    place = tmp_path / "here"
    place.mkdir()
    return place


def typed(command: Command, folder: Path) -> str:
    """Run a command as a user would; returns all that it prints."""
    if command.codes == (128 + signal.SIGINT,):
        return interrupted(command, folder)
    done = subprocess.run(
        ["sh", "-c", command.line],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode in command.codes, f"{command.line}\n{done.stdout}"
    return done.stdout


def interrupted(command: Command, folder: Path) -> str:
    """Run a command on a terminal until its second case has begun, then press Ctrl-C."""
    terminal, theirs = pty.openpty()
    with subprocess.Popen(
        ["sh", "-c", f"exec {command.line}"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        encoding="utf-8",
    ) as process:
        os.close(theirs)
        seen = b""
        while b"case 2 of" not in seen:
            seen += os.read(terminal, 1024)
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=PATIENCE_S)
    os.close(terminal)
    assert process.returncode in command.codes, printed
    return printed


def run_cells(cells: list[str], folder: Path) -> str:
    """Run the cells of a notebook in IPython, which prints the plain form of their last lines."""
    (folder / "cells.json").write_text(json.dumps(cells), encoding="utf-8")
    (folder / "run_cells.py").write_text(RUN_CELLS, encoding="utf-8")
    return typed(Command("python run_cells.py"), folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", all_or(TRIED, PAGES))
def test_the_commands_of_a_page_do_what_it_promises(
    name: str, folder: Path, built: Callable[[str, str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, expected = page_of(name), PAGES[name]
    for model, framework in expected.zoo:
        built(model, framework)
    if not expected.zoo:  # a page may be about the user's folders
        monkeypatch.setenv("HOME", str(folder.parent))
        for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
            monkeypatch.delenv(variable)
    for file, content in named_files(text).items():
        (folder / file).write_text(content, encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    printed = [typed(command, folder) for command in commands(text)]
    cells = [cell for cell in blocks(text, "python") if not cell.startswith("# ")]
    printed += [run_cells(cells, folder)] if cells else []
    flowing = " ".join(" ".join(printed).split())
    assert [phrase for phrase in expected.phrases if phrase not in flowing] == [], flowing
    missing = [file for file in expected.files if not (folder / file).is_file()]
    assert missing == [] or (expected.unless and expected.unless in flowing), flowing


def test_every_page_is_run() -> None:
    assert {path.stem for path in HOW.glob("*.md")} - {"README"} == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_solves_its_job_in_at_most_three_commands(name: str) -> None:
    text = visible(page_of(name))
    assert text.startswith("# How do I ")
    typed_lines = [command.line for command in commands(text)] or [
        line for cell in blocks(text, "python") for line in cell.splitlines() if "onnx" in line and line[0] == "%"
    ]
    assert 1 <= len(typed_lines) <= MOST_COMMANDS
    assert all("onnx" in line for line in typed_lines)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_it_promises_says_how_to_read_it_and_what_it_does_not_claim(name: str) -> None:
    text = visible(page_of(name))
    shown = " ".join(" ".join(blocks(text, "text")).split())
    assert [phrase for phrase in PAGES[name].phrases if phrase not in shown] == []
    assert "**How to read it.**" in text
    assert "**What it does not claim.**" in text


def test_the_index_and_the_readme_lead_to_every_page() -> None:
    index = (HOW / "README.md").read_text(encoding="utf-8")
    assert [name for name in PAGES if f"({name}.md)" not in index] == []
    assert "(docs/how/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
