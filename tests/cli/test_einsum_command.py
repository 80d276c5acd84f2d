"""`onnxperf einsum` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from onnxperf.api import rewrite_einsum as rewriting
from onnxperf.cli.main import run
from onnxperf.contraction import store
from onnxperf.records.base import Status
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Case, Subject
from tests.contraction.running import arrays_for
from tests.contraction.running import run as run_model

ATTENTION = "bsnh,btnh->bnts"
SHAPES = ["--shape", "2x3x4x5", "--shape", "2x6x4x5"]
QUICK = ["--no-search", "--threads", "1"]
MODEL = f"""<ir_version: 9, opset_import: ["" : 17]>
g (float[batch, 3, 4, 5] x0, float[batch, 6, 4, 5] x1) => (float[batch, 4, 6, 3] y)
{{ y = Einsum <equation = "{ATTENTION}"> (x0, x1) }}"""


@pytest.fixture(autouse=True)
def empty_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command is a process of its own: it remembers only what is on disk."""
    monkeypatch.setattr(store, "in_memory", {})


@pytest.fixture
def model_path(tmp_path: Path) -> Path:
    """A model that is one Einsum."""
    path = tmp_path / "model.onnx"
    onnx.save_model(parser.parse_model(MODEL), path)
    return path


# ---------------------------------------------------------------- an equation


def test_without_a_search_the_estimate_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["einsum", ATTENTION, *SHAPES, *QUICK]) == 0
    printed = capsys.readouterr().out
    assert ATTENTION in printed
    assert "by estimate" in printed
    assert "MatMul" in printed


def test_quietly_the_answer_is_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["einsum", ATTENTION, *SHAPES, *QUICK, "--quiet"]) == 0
    printed, errors = capsys.readouterr()
    assert len(printed.splitlines()) == 1
    assert "by estimate" in printed
    assert errors == ""


def test_the_graph_and_the_record_are_written(tmp_path: Path) -> None:
    graph, record = tmp_path / "best.onnx", tmp_path / "plan.json"
    assert run(["einsum", ATTENTION, *SHAPES, *QUICK, "-o", str(graph), "--json", str(record)]) == 0
    arrays = arrays_for([(2, 3, 4, 5), (2, 6, 4, 5)], "float32")
    np.testing.assert_array_equal(run_model(onnx.load(graph), arrays), np.einsum(ATTENTION, *arrays))
    plan = json.loads(record.read_text(encoding="utf-8"))
    assert plan["equation"] == ATTENTION
    assert plan["shapes"] == [[2, 3, 4, 5], [2, 6, 4, 5]]
    assert plan["searched"] is False
    assert plan["threads"] == 1


def test_json_on_stdout_is_all_there_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["einsum", "ij,jk", "--shape", "3x4", "--shape", "4x5", *QUICK, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["canonical"] == "ij,jk->ik"


@pytest.mark.parametrize(
    ("arguments", "field", "value"),
    [
        (["--dtype", "float64"], "dtype", "float64"),
        (["--dtype", "int32"], "dtype", "int32"),
        (["--opset", "21"], "opset", 21),
        (["--portable"], "portable", True),
        (["--runtime", "numpy"], "runtime", "numpy"),
    ],
)
def test_options_reach_the_plan(
    arguments: list[str], field: str, value: object, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    graph = tmp_path / "best.onnx"
    shapes = ["--shape", "3x4", "--shape", "4x5"]
    assert run(["einsum", "ij,jk->ik", *shapes, *QUICK, *arguments, "--json", "-", "-o", str(graph)]) == 0
    assert json.loads(capsys.readouterr().out)[field] == value
    onnx.checker.check_model(onnx.load(graph))


@pytest.mark.parametrize("shape", ["", "x"])
def test_a_scalar_has_an_empty_shape(shape: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["einsum", "i,->i", "--shape", "3", "--shape", shape, *QUICK, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["shapes"] == [[3], []]


@pytest.mark.slow
def test_a_search_prints_its_race_and_writes_its_orders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chart, table = tmp_path / "orders.png", tmp_path / "orders.csv"
    arguments = ["--threads", "1", "--time", "0.2", "-o", str(chart), "-o", str(table)]
    assert run(["einsum", "ij,jk->ik", "--shape", "3x4", "--shape", "4x5", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "ORT Einsum as written" in printed
    assert "numpy.einsum, opt_einsum" in printed  # left out, as there is no time for them
    assert chart.read_bytes().startswith(b"\x89PNG")
    assert len(table.read_text(encoding="utf-8").splitlines()) == 1 + 6


# ---------------------------------------------------------------- a model


def race_as(monkeypatch: pytest.MonkeyPatch, rivals: list[Subject]) -> None:
    """Every race of whole models ends with the next of these, the last one for all that follow."""
    left = list(rivals)

    def race(*_: object) -> Case:
        rival = left.pop(0) if len(left) > 1 else left[0]
        subjects = (Subject(name="original", status="ok"), rival)
        return Case(model="m", baseline="original", status=rival.status, subjects=subjects)

    monkeypatch.setattr(rewriting.ModelTrial, "race", race)


def rival(verdict: Verdict | None, status: Status = "ok", speedup: float | None = None) -> Subject:
    return Subject(name="rewritten", status=status, speedup=speedup, verdict=verdict)


@pytest.mark.parametrize(
    ("rivals", "code", "answer"),
    [
        ([rival("faster", speedup=2.0)], 0, "1 of 1 Einsum node rewritten"),
        ([rival("equivalent", speedup=1.0)], 3, "Nothing was written: no replacement keeps the outputs"),
        (
            [rival("faster", speedup=2.0), rival("slower", speedup=0.749)],
            3,
            "the whole model is slower (speedup 0.75×)",
        ),
        ([rival("faster", speedup=2.0), rival("undecided", speedup=1.2)], 3, "is undecided (speedup 1.20×)"),
        ([rival("faster", speedup=2.0), rival(None, "crashed")], 3, "a gain of the whole model is crashed"),
    ],
)
def test_a_model_is_written_only_if_it_is_proven_faster(
    rivals: list[Subject],
    code: int,
    answer: str,
    model_path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    race_as(monkeypatch, rivals)
    output = tmp_path / "out.onnx"
    arguments = ["--rewrite", str(model_path), "-o", str(output), "--dim", "batch=2"]
    assert run(["einsum", *arguments, *QUICK, "-o", str(tmp_path / "report.json")]) == code
    printed, errors = capsys.readouterr()
    assert answer in " ".join(printed.split())
    assert ("Nothing was written:" in printed) == (code == 3)
    assert errors == ""
    assert output.exists() == (code == 0)
    assert json.loads((tmp_path / "report.json").read_text())["output"] == ("" if code else str(output))


def test_a_model_without_einsum_stays_as_it_is(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.onnx"
    assert run(["einsum", "--rewrite", str(linear_path), "-o", str(output), "--dim", "batch=2", *QUICK]) == 3
    assert "has no Einsum node; nothing was written." in capsys.readouterr().out
    assert not output.exists()


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([ATTENTION.replace("->", "=>"), *SHAPES], "position"),
        (["ij,jk->iz", "--shape", "3x4", "--shape", "4x5"], "output letter 'z' (position 9) is not in any operand"),
        (["ij,jk", "--shape", "3x4", "--shape", "5x4"], "letter 'j' is 4 in operand 1 and 5 in operand 2"),
        (["ij,jk", "--shape", "3x4"], "2 operands and 1 shape"),
        (["ij,jk"], 'onnxperf einsum "ij,jk" --shape 8x16 --shape 16x32'),
        (["ij", "--shape", "3xfour"], "--shape 3xfour"),
        (["ij", "--shape", "3x-4"], "--shape 3x-4"),
        (["ij", "--shape", "3.5x4"], "--shape 3.5x4"),
        (["ij", "--shape", "X=3x4"], "--shape X=3x4"),
        (["ij", "--shape", "3x4x5"], "operand 1 has 3 dimensions"),
        (["ij", "--shape", "3x4", "--dtype", "float33"], "--dtype float33"),
        (["ij", "--shape", "3x4", "--dtype", "complex64"], "unknown einsum element type 'complex64'"),
        (["ij", "--shape", "3x4", "--opset", "5"], "an opset from 13"),
        (["ij", "--shape", "3x4", "--runtime", "torch"], "unknown runtime 'torch'"),
        (["ij", "--shape", "3x4", "--threads", "0"], "--threads 0"),
        (["ij", "--shape", "3x4", "--time", "-1"], "--time -1"),
        (["ij", "--shape", "3x4", "--time", "0"], "--time 0"),
        ([], "give either an equation or a model with --rewrite"),
        (
            ["ij", "--shape", "3x4", "--rewrite", "{model}", "-o", "{folder}/out.onnx"],
            "give either an equation or a model",
        ),
        (["ij", "--shape", "3x4", "--dim", "batch=8"], "--dim: it does nothing with an equation"),
        (
            ["--rewrite", "{model}", "--shape", "8x16", "-o", "{folder}/out.onnx"],
            "--shape 8x16: expected the shape of an",
        ),
        (["--rewrite", "{model}"], "--output: expected exactly one .onnx file"),
        (["--rewrite", "{folder}/nothing.onnx", "-o", "{folder}/out.onnx"], "nothing.onnx"),
        (["--rewrite", "{model}", "-o", "{folder}/out.bin"], "ends with .csv, .html, .json, .md, .onnx"),
        (["--rewrite", "{model}", "-o", "{folder}/out.onnx", "--again"], "--again: it does nothing with --rewrite"),
        (
            ["ij", "--shape", "3x4", "-o", "best.txt"],
            "--output best.txt: expected a name that ends with .csv, .html, .json, .md, .onnx",
        ),
        (["ij", "--shape", "3x4", "-o", "best.gif"], "ends with .csv, .html"),
        (["ij", "--shape", "3x4", "-o", "{folder}/no/best.onnx"], "its folder does not exist"),
        (["ij", "--shape", "3x4", "--json", "{folder}/no/plan.json"], "its folder does not exist"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], said: str, model_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = [each.format(model=model_path, folder=tmp_path) for each in arguments]
    threads = [] if "--threads" in filled else ["--threads", "1"]
    assert run(["einsum", *filled, "--no-search", *threads]) == 2
    printed, errors = capsys.readouterr()
    assert said in " ".join(errors.split())
    assert len(errors.strip().splitlines()) == 1, errors
    assert printed == ""
    assert not (tmp_path / "out.onnx").exists()


def test_an_equation_with_control_characters_does_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["einsum", "ij\x1b[2J,jk", "--shape", "3x4", "--shape", "4x5", "--no-search"]) == 2
    assert "\x1b[2J" not in "".join(capsys.readouterr())
