"""The commands `profile`, `diff` and `optimize`, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from onnxperf.cli.main import run


def test_profile_prints_its_tables_and_writes_every_file(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"json": "p.json", "csv": "p.csv", "xlsx": "p.xlsx", "parquet": "p.parquet", "plot": "p.png"}
    more = {"keep-trace": "trace.json", "trace-out": "perfetto.json"}
    options = [text for name, file in {**files, **more}.items() for text in (f"--{name}", str(tmp_path / file))]
    assert run(["profile", str(linear_path), "--repeat", "3", "--threads", "1", *options]) == 0
    printed = capsys.readouterr().out
    assert "MatMul" in printed
    assert "session initialisation" in printed
    assert all((tmp_path / file).stat().st_size for file in {**files, **more}.values())
    assert json.loads((tmp_path / "p.json").read_bytes())["iterations"] == 3
    assert (tmp_path / "p.csv").read_text(encoding="utf-8").startswith("node_name,op_name")
    assert run(["profile", str(tmp_path / "trace.json"), "--quiet"]) == 0
    assert capsys.readouterr().out == "MatMul takes 100 % of the time in 1 node.\n"


def test_json_on_standard_output_stands_alone(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", str(linear_path), "--repeat", "2", "--threads", "1", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "linear"


def test_diff_of_two_levels_prints_rows_and_the_verdict(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = ["--opt-level", "disable,all", "--repeat", "3", "--threads", "1", "--time", "0.2"]
    assert run(["diff", str(linear_path), *levels]) == 0
    printed = capsys.readouterr().out
    assert "disable against all" in printed
    assert "Raced without the profiler" in printed


def test_diff_as_a_drawing_goes_to_standard_output_or_a_file(
    linear_path: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(["diff", str(linear_path), "--as", "svg"]) == 0
    assert capsysbinary.readouterr().out.startswith(b"<svg")
    assert run(["diff", str(linear_path), str(linear_path), "--as", "png", "-o", str(tmp_path / "d.png")]) == 0
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")


def test_diff_of_traces_claims_nothing(linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(tmp_path / "t.json")
    assert run(["profile", str(linear_path), "--repeat", "3", "--threads", "1", "--quiet", "--keep-trace", trace]) == 0
    assert run(["diff", trace, trace, "--csv", str(tmp_path / "d.csv"), "--table", "labels"]) == 0
    assert "nothing is claimed" in " ".join(capsys.readouterr().out.split())
    assert "[=CPU]MatMul" in (tmp_path / "d.csv").read_text(encoding="utf-8")


def test_optimize_writes_a_model_that_loads(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "o.onnx"
    assert run(["optimize", str(linear_path), "-o", str(out), "--json", str(tmp_path / "o.json")]) == 0
    assert len(onnx.load(out).graph.node) == 1
    assert "Written to" in capsys.readouterr().out
    assert json.loads((tmp_path / "o.json").read_bytes())["after"] == {"MatMul": 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["profile", "{tmp}/no.json"], "no.json"),
        (["profile", "{tmp}/empty.json"], "empty"),
        (["profile", "{tmp}/words.json"], "words.json"),
        (["profile", "{model}", "--repeat", "0"], "--repeat 0"),
        (["profile", "{model}", "--csv", "{tmp}/out.txt"], "ends with .csv"),
        (["profile", "{model}", "--plot", "{tmp}/no/out.png"], "folder does not exist"),
        (["profile", "{model}", "--provider", "tpu"], "unavailable provider"),
        (["diff", "{model}"], "two sides"),
        (["diff", "{model}", "--opt-level", "disable,best"], "optimisation level"),
        (["diff", "{model}", "--as", "png"], "name a file with -o"),
        (["diff", "{model}", "{model}", "-o", "d.svg"], "a drawing goes there"),
        (["diff", "{model}", "--as", "svg", "--json", "-"], "--json does nothing for a drawing"),
        (["diff", "{model}", "--as", "svg", "--plot", "d.png"], "--plot does nothing for a drawing"),
        (["diff", "{model}", "--as", "svg", "--dim", "batch=8"], "--dim does nothing for a drawing"),
        (["diff", "{model}", "--as", "svg", "--input", "X=x.npy"], "--input does nothing for a drawing"),
        (["diff", "{model}", "--as", "svg", "--no-race"], "--no-race does nothing for a drawing"),
        (["diff", "{model}", "{model}", "--as", "svg", "--opt-level", "disable,all"], "leave out --opt-level"),
        (["diff", "{model}", "{model}", "--min-share", "much"], "--min-share much"),
        (["optimize", "{model}", "-o", "{model}"], "the model itself"),
        (["optimize", "{model}"], "--output"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.json").write_bytes(b"")
    (tmp_path / "words.json").write_text("hello", encoding="utf-8")
    filled = [each.format(tmp=tmp_path, model=linear_path) for each in arguments]
    assert run(filled) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err
