"""The documents say what the code does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from onnxperf.cli.main import app, run

ROOT = Path(__file__).parents[1]
COMMANDS = (
    *("advise", "bench", "bisect", "check", "convert", "demo", "diff", "doctor", "einsum", "envs", "gate", "history"),
    *("memory", "optimize", "profile", "quantize", "runs", "serve", "stack", "sweep", "tune", "view"),
)


def load_maker(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    return load_maker("make_records")


def test_the_page_of_files_is_what_the_formats_say() -> None:
    assert (ROOT / "docs" / "files.md").read_text(encoding="utf-8") == load_maker("make_files").page()


def test_the_files_that_the_walks_pass_exist_and_no_walk_is_longer_than_twelve_steps() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    _, *walks = text.split("## A walk: ")
    assert len(walks) == 2
    for walk in walks:
        assert len(re.findall(r"^\d+\. ", walk, flags=re.MULTILINE)) <= 12
        paths = set(re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", walk))
        assert len(paths) >= 12
        assert [path for path in sorted(paths) if not (ROOT / "src" / "onnxperf" / path).is_file()] == []


def test_the_page_of_records_is_what_the_records_say(maker: ModuleType) -> None:
    assert (ROOT / "docs" / "records.md").read_text(encoding="utf-8") == maker.page()


def test_every_field_of_an_exported_record_is_documented(maker: ModuleType) -> None:
    classes = maker.classes()
    records = [classes[name] for name in maker.exported(classes)]
    silent = [f"{record.name}.{name}" for record in records for name, _, meaning in maker.fields(record) if not meaning]
    assert silent == []


def test_the_records_in_the_fields_of_a_document_and_its_bases_are_on_the_page(maker: ModuleType) -> None:
    assert {"Bench", "Subject", "Measurement", "Block", "KeptRun", "MachineReport", "Document"} <= maker.exported(
        maker.classes()
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_page_and_an_example_in_its_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / f"{command}.md").read_text(encoding="utf-8")
    assert f"onnxperf {command}" in page
    app([command, "--help"], result_action="return_value")
    assert re.search(rf"Examples:\n  # .*\n  onnxperf {command}", capsys.readouterr().out)


def test_every_option_of_bench_is_on_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    app(["bench", "--help"], result_action="return_value")
    options = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out)) - {"--help", "--version", "--debug"}
    page = (ROOT / "docs" / "bench.md").read_text(encoding="utf-8")
    assert sorted(option for option in options if option not in page) == []


def test_the_overview_says_what_every_command_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    overview = capsys.readouterr().out
    assert all(re.search(rf" {command} +[A-Z]\w+,? ", overview) for command in COMMANDS if command != "demo")
    assert "Start here: onnxperf demo" in overview
