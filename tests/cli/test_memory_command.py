"""The command `memory`, with a measurement that is already done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import onnxperf
from onnxperf.api._keeping.kept_runs import keep, load_result
from onnxperf.api.runs import runs
from onnxperf.cli.main import run as command
from onnxperf.records.memory import Memory
from onnxperf.results.memory import MemoryResult
from tests.render.memory import examples as made

OK = made.memory(made.case(made.subject()))


def run(monkeypatch: pytest.MonkeyPatch, record: Memory, *arguments: str) -> tuple[Any, dict[str, Any]]:
    """The exit code, and the keywords that the measurement was given."""
    given: dict[str, Any] = {}

    def measure(_model: str, **keywords: Any) -> MemoryResult:
        given.update(keywords)
        return MemoryResult(record)

    monkeypatch.setattr(onnxperf, "memory", measure, raising=False)
    return command(["memory", "m.onnx", "--no-store", *arguments]), given


@pytest.mark.parametrize(
    ("record", "code"),
    [(OK, 0), (made.memory(), 1), (made.memory(made.case(made.subject(), interrupted=True)), 130)],
)
def test_the_exit_code_tells_whether_all_was_measured(
    monkeypatch: pytest.MonkeyPatch, record: Memory, code: int
) -> None:
    assert run(monkeypatch, record)[0] == code


def test_options_reach_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    _, given = run(monkeypatch, OK, "--runtime", "ort,numpy", "--calls", "9", "--dim", "batch=8")
    assert (given["runtime"], given["calls"], given["dims"]) == ("ort,numpy", 9, {"batch": 8})
    assert "skip_arena" not in given
    assert run(monkeypatch, OK, "--skip-arena")[1]["skip_arena"]
    assert run(monkeypatch, OK, "--sample-every", "5ms")[1]["sample_every"] == 0.005


def test_json_on_standard_output_stands_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, OK, "--json", "-")
    assert json.loads(capsys.readouterr().out)["cases"][0]["model"] == "linear"


def test_quiet_prints_only_the_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run(monkeypatch, OK, "--quiet")
    assert capsys.readouterr().out == "ort needs 300 MB.\n"


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["--json", "-", "-o", "-.md"], "only one file can go to standard output"),
        (["-o", "no/m.md"], "its folder does not exist"),
        (["-o", "m.txt"], "--output m.txt: expected a name that ends with .csv, .html, .json, .md"),
        (["-o", "-"], "-o -: add the format, such as -o -.json"),
        (["--table", "nodes"], "unknown table 'nodes'; choose from: subjects, samples, breakdown"),
    ],
)
def test_files_that_cannot_be_written_are_refused_first(
    arguments: list[str], given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["memory", "missing.onnx", "--no-store", *arguments]) == 2
    assert given in capsys.readouterr().err


def test_markdown_on_standard_output_stands_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, OK, "-o", "-.md")
    assert capsys.readouterr().out == MemoryResult(OK).to_markdown()


def test_a_run_is_kept_listed_and_shown_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ONNXPERF_STORE", str(tmp_path / "runs.sqlite"))
    monkeypatch.setenv("COLUMNS", "120")
    keep(MemoryResult(made.memory()))
    assert command(["runs", "--kind", "memory"]) == 0
    assert "ort needs 300 MB." in capsys.readouterr().out
    assert "Where the bytes of ort are" in repr(load_result("last"))


@pytest.mark.parametrize(
    ("record", "status"),
    [
        (OK, "ok"),
        (made.memory(made.case(made.subject(), made.failed())), "oom"),
        (made.memory(made.case(made.subject(), interrupted=True)), "interrupted"),
    ],
)
def test_the_store_keeps_how_a_run_ended(record: Memory, status: str, tmp_path: Path) -> None:
    keep(MemoryResult(record), store=tmp_path / "runs.sqlite")
    assert [run.status for run in runs(store=tmp_path / "runs.sqlite")] == [status]


# ---------------------------------------------------------------- line by line

SOURCE = """\
DATA = bytearray(1 << 20)

def predict():
    return bytes(DATA)

def fails():
    raise ValueError("[red]no")
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "script.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONNXPERF_STORE", str(tmp_path / "runs.sqlite"))
    return "script.py"


def test_lines_are_printed_written_and_kept(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["memory", f"{source}:predict", "--lines", "-o", "l.csv", "-o", "l.png"]) == 0
    assert "return bytes(DATA)" in capsys.readouterr().out
    assert "return bytes(DATA)" in Path("l.csv").read_text(encoding="utf-8")
    assert Path("l.png").stat().st_size
    assert "predict, line by line" in repr(load_result("last"))


def test_a_function_that_fails_is_a_partial_result(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["memory", f"{source}:fails", "--lines", "--quiet", "--json", "l.json"]) == 1
    assert capsys.readouterr().out == "fails failed at line 7: ValueError: [red]no\n"
    assert json.loads(Path("l.json").read_bytes())["status"] == "failed"


@pytest.mark.parametrize(
    ("option", "values"),
    [("dim", ["n=3"]), ("runtime", ["numpy"]), ("threads", ["1"]), ("cast", [])],
)
def test_options_of_models_do_not_go_with_lines(
    option: str, values: list[str], source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["memory", f"{source}:predict", "--lines", f"--{option}", *values]) == 2
    assert f"--{option}: it does nothing with --lines, which calls a function once" in capsys.readouterr().err


def test_a_function_is_measured_without_lines_too(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["memory", f"{source}:predict", "--calls", "5", "--json", "m.json"]) == 0
    (case,) = json.loads(Path("m.json").read_bytes())["cases"]
    assert (case["model"], [each["status"] for each in case["subjects"]]) == ("predict", ["ok"])
    assert "predict needs" in case["answer"]
    assert "predict needs" in repr(load_result("last"))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["script.py:missing"], "has no function 'missing'; choose from: fails, predict"),
        (["nowhere.py:predict"], "no such file: 'nowhere.py'"),
        (["script.py:predict", "--calls", "4"], "--calls 4: expected at least 5 calls"),
        (["script.py:predict", "--sample-every", "0s"], "--sample-every 0s: expected more than 0 seconds"),
        (["script.py:predict", "--dim", "n=3"], "--dim n: a function is called without arguments"),
        (["script.py:predict", "--runtime", "numpy"], "--runtime numpy: a function is called without arguments"),
    ],
)
@pytest.mark.usefixtures("source")
def test_a_function_that_cannot_be_measured_is_bad_input(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["memory", *arguments]) == 2
    assert reason in capsys.readouterr().err
