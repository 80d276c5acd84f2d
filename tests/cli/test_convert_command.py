"""`onnxperf convert` as a user meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from cyclopts import App

from onnxperf.cli import main
from onnxperf.cli.commands.convert import convert

SOURCES = """
import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

X = np.arange(40, dtype=np.float32).reshape(10, 4) % 7

def alone():
    return LogisticRegression().fit(X, X[:, 0] > 2)

def with_sample():
    return alone(), X

class Liar(LinearRegression):
    def predict(self, X):
        return super().predict(X) + self.lie

def liar():
    from skl2onnx import update_registered_converter
    from skl2onnx.operator_converters.linear_regressor import convert_sklearn_linear_regressor
    from skl2onnx.shape_calculators.linear_regressor import calculate_linear_regressor_output_shapes

    update_registered_converter(
        Liar, "Liar", calculate_linear_regressor_output_shapes, convert_sklearn_linear_regressor
    )
    model = Liar().fit(X, X[:, 0])
    model.lie = 1.0
    return model, X

def number():
    return 3
"""

Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `onnxperf convert` in a folder of its own."""
    (tmp_path / "sources_to_convert.py").write_text(SOURCES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    if "convert" not in set(main.app):
        app = App(name="onnxperf")
        app.command(convert)
        monkeypatch.setattr(main, "app", app)
    return lambda function, *arguments: main.run(["convert", f"sources_to_convert.py:{function}", *arguments])


def test_a_model_with_its_sample_is_written_and_described(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--converter-option", "zipmap=false", "--dynamic", "X.0=rows", "--output-names", "label,scores"]
    assert run("with_sample", "-o", "model.onnx", *arguments) == 0
    said = capsys.readouterr().out
    assert "from sklearn" in said
    assert "rows×2" in said
    assert "Written to model.onnx." in said
    model = onnx.load(tmp_path / "model.onnx")
    assert [output.name for output in model.graph.output] == ["label", "scores"]


@pytest.mark.parametrize("arguments", [["--input", "X=x.npy"], ["--shape", "X=3x4"], []])
def test_a_sample_comes_from_a_file_or_a_shape_or_the_model(
    run: Run, tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.ones((3, 4), np.float32))
    assert run("alone", "-o", "model.onnx", "--quiet", *arguments) == 0
    assert "agrees with its source on 2 outputs" in capsys.readouterr().out


def test_a_model_that_differs_is_not_written_unless_forced(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("liar", "-o", "model.onnx") == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "10 of 10" in said
    assert "Nothing was written." in said
    assert not (tmp_path / "model.onnx").exists()
    assert run("liar", "-o", "model.onnx", "-o", "report.json", "--force") == 1
    record = json.loads((tmp_path / "report.json").read_text())
    assert record["output"] == "model.onnx"
    assert record["checks"][0]["outputs"][0]["equal"] is False
    assert (tmp_path / "model.onnx").is_file()


def test_an_unchecked_model_says_so(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("liar", "-o", "model.onnx", "--no-check") == 0
    assert "was not compared with its source" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        ("with_sample", ["-o", "model.txt"], "ends with .csv, .html, .json, .md, .onnx"),
        (
            "with_sample",
            ["-o", "report.json"],
            "--output: expected exactly one .onnx file, for the model",
        ),
        ("with_sample", [], "--output: expected exactly one .onnx file"),
        ("with_sample", ["-o", "nowhere/model.onnx"], "its folder does not exist"),
        ("with_sample", ["-o", "m.onnx", "--dynamic", "X.0"], "--dynamic X.0: expected NAME=VALUE"),
        ("with_sample", ["-o", "m.onnx", "--dynamic", "Z.0=batch"], "choose from: X"),
        ("with_sample", ["-o", "m.onnx", "--converter-option", "zipmap"], "--converter-option zipmap: expected NAME"),
        ("with_sample", ["-o", "m.onnx", "--option", "zipmap=false"], "unknown option --option"),
        ("missing", ["-o", "m.onnx"], "choose from:"),
        ("number", ["-o", "m.onnx"], "a int cannot be converted"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(
    run: Run, function: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(function, *arguments) == 2
    message = capsys.readouterr().err
    assert said in message
    assert "--against" not in message
    assert message.count("\n") == 1


def test_a_folder_that_is_no_saved_model_is_one_line_too(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["convert", str(tmp_path), "-o", "m.onnx"]) == 2
    assert "contains no saved_model.pb" in capsys.readouterr().err
