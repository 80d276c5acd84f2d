"""What adding something costs, as CONTRIBUTING.md promises: a command with its record is built here in six files."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onnxperf.results.base import result_classes
from onnxperf.store.documents import kinds

TOY = Path(__file__).parent / "plugins" / "toy_command"
ROOMS = {
    "records": "onnxperf.records",
    "answers": "onnxperf.analyze.answers",
    "render": "onnxperf.render.race",
    "results": "onnxperf.results",
    "api": "onnxperf.api",
    "cli": "onnxperf.cli.commands",
}
ROWS = ("cli/main.py", "__init__.py", "options/functions.py")
"""The rows that a command needs besides: its place in the command line, its public name, and its options."""


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The files of the toy command, each in the room where it belongs, and its row in the command line."""
    main = importlib.import_module("onnxperf.cli.main")
    for folder, package in ROOMS.items():
        module = importlib.import_module(package)
        monkeypatch.setattr(module, "__path__", [*module.__path__, str(TOY / folder)])
    _forget()
    main.app.command(importlib.import_module("onnxperf.cli.commands.toy").toy)
    yield
    del main.app["toy"]
    for package in ROOMS.values():
        sys.modules.pop(f"{package}.toy", None)
        vars(sys.modules[package]).pop("toy", None)
    _forget()


def _forget() -> None:
    """What was found in the rooms before."""
    result_classes.cache_clear()
    kinds.cache_clear()


def test_a_command_with_its_record_costs_nine_files() -> None:
    assert len(list(TOY.rglob("*.py"))) + len(ROWS) == 9


@pytest.mark.usefixtures("toy")
def test_such_a_command_is_shown_kept_found_and_written_in_every_format(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from onnxperf.cli.main import run

    suffixes = (".json", ".csv", ".md", ".html", ".xlsx", ".parquet")
    files = [word for suffix in suffixes for word in ("-o", str(tmp_path / f"toy{suffix}"))]
    store = ["--store", str(tmp_path / "runs.sqlite")]
    assert run(["toy", str(linear_path), *store, *files]) == 0
    assert "linear has 1 node." in capsys.readouterr().out
    assert all((tmp_path / f"toy{suffix}").stat().st_size for suffix in suffixes)
    assert run(["runs", "show", "last", *store]) == 0
    assert "linear has 1 node." in capsys.readouterr().out
    assert run(["runs", *store]) == 0
    assert "linear has 1 node." in capsys.readouterr().out


@pytest.mark.usefixtures("toy")
def test_such_a_command_refuses_files_that_its_result_does_not_have(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from onnxperf.cli.main import run

    assert run(["toy", str(linear_path), "-o", str(tmp_path / "toy.png")]) == 2
    assert "expected a name that ends with .csv, .html, .json, .md, .parquet, .xlsx" in capsys.readouterr().err
