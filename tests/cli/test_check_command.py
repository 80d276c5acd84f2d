"""`onnxperf check` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest
from onnx import parser

import onnxperf
from onnxperf.cli.main import run

TWO_STEPS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n, 2] X) => (float[n, 2] Y) { A = Abs(X)  B = Sqrt(A)  Y = Exp(B) }"""
SOURCES = """
import numpy as np

def right():
    return lambda x: x @ (np.arange(40, dtype=np.float32).reshape(10, 4) / 40)

def wrong():
    return lambda x: x @ np.ones((10, 4), dtype=np.float32)

def broken():
    raise ValueError("no")
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    path = tmp_path / "sources_of_models.py"
    path.write_text(SOURCES, encoding="utf-8")
    return path


@pytest.mark.parametrize(("function", "code", "said"), [("right", 0, "agree"), ("wrong", 1, "differ")])
def test_the_exit_code_tells_whether_they_agree(
    linear_path: Path, sources: Path, function: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "check",
        str(linear_path),
        "--runtime",
        "ort",
        "--against",
        f"{sources}:{function}",
        "--dim",
        "batch=3",
    ]
    assert run(arguments) == code
    assert said in capsys.readouterr().out


def test_a_check_is_kept_with_its_answer_and_written(
    linear_path: Path, sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["-o", str(tmp_path / "outputs.csv"), "-o", str(tmp_path / "page.md")]
    against = ["--runtime", "ort", "--against", f"{sources}:wrong"]
    assert run(["check", str(linear_path), *against, "--quiet", *files]) == 1
    assert capsys.readouterr().out.strip() == "ort and source differ in Y."
    assert (tmp_path / "outputs.csv").read_text().startswith("name,equal,elements,differing")
    assert "ort and source differ in Y." in (tmp_path / "page.md").read_text()
    assert onnxperf.runs().to_df()[["kind", "status"]].to_numpy().tolist() == [["check", "differs"]]


def test_json_on_stdout_is_all_there_is_on_stdout(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(linear_path), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"][0]["equal"] is True


@pytest.mark.parametrize(
    ("against", "said"),
    [
        ("nowhere.py:f", "no such file"),
        ("{sources}:missing", "choose from: broken, right, wrong"),
        ("{sources}:broken", "ValueError: no"),
        ("no_such_module:f", "No module named"),
        ("nothing", "FILE.py:function"),
    ],
)
def test_a_source_that_cannot_be_had_is_one_line_and_exit_code_2(
    linear_path: Path, sources: Path, against: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(linear_path), "--against", against.format(sources=sources)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (["--timeout", "0.001"], "no answer within 0.001 s (increase --timeout)"),
        (["--memory-limit", "5MB"], "more than the 5.00 MB of --memory-limit"),
    ],
)
def test_a_limit_that_is_exceeded_is_one_line_and_exit_code_1(
    linear_path: Path, limit: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(linear_path), *limit]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tolerances", "code", "said"),
    [
        (["--rtol", "0", "--atol", "0"], 1, ""),
        ([], 3, "no .npz file is written: no node differs"),
    ],
    ids=["written if a node differs", "refused if no node differs"],
)
def test_the_arrays_of_the_first_node_that_differs_are_a_file(
    tmp_path: Path, tolerances: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(parser.parse_model(TWO_STEPS), tmp_path / "steps.onnx")
    file = tmp_path / "node.npz"
    arguments = ["check", str(tmp_path / "steps.onnx"), "--dim", "n=200", "--quiet", "-o", str(file), *tolerances]
    assert run(arguments) == code
    assert file.exists() == (code == 1)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--save", "folder"], "unknown option --save"),
        (["--against", "a.py:f", "--against", "b.py:f"], "takes one source"),
        (["--device", "cuda"], "--device: it does nothing with two models or runtimes"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_an_option_without_an_effect_is_refused(
    linear_path: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", str(linear_path), *options]) == 2
    assert said in capsys.readouterr().err
