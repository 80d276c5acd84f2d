"""The commands `profile`, `diff` and `optimize`, as a user calls them."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from onnxperf.cli.main import run
from onnxperf.cli.present import command_line
from onnxperf.store import open_store
from tests.headrooms import PEAKS


def test_profile_prints_its_tables_and_writes_every_file(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ("p.json", "p.csv", "p.xlsx", "p.parquet", "p.png", "p.perfetto.json")
    named = [("keep-trace", "trace.json"), ("trace-out", "perfetto.json"), *(("output", file) for file in files)]
    options = [text for name, file in named for text in (f"--{name}", str(tmp_path / file))]
    assert run(["profile", str(linear_path), "--repeat", "3", "--threads", "1", *options]) == 0
    printed = capsys.readouterr().out
    assert "MatMul" in printed
    assert "session initialisation" in printed
    assert all((tmp_path / file).stat().st_size for _, file in named)
    assert json.loads((tmp_path / "p.json").read_bytes())["iterations"] == 3
    assert (tmp_path / "p.csv").read_text(encoding="utf-8").startswith("node_name,op_name")
    assert (tmp_path / "p.perfetto.json").read_bytes() == (tmp_path / "perfetto.json").read_bytes()
    assert run(["profile", str(tmp_path / "trace.json"), "--quiet"]) == 0
    assert capsys.readouterr().out == "MatMul_0 takes 100 % of the time in 1 node.\n"


def test_roofline_prints_what_could_be_won_and_writes_it(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxperf.api._shared.recordings.peaks_of", lambda _threads, _progress: PEAKS)
    options = ["--repeat", "3", "--threads", "1", "--roofline", "-o", str(tmp_path / "p.csv"), "--table", "headroom"]
    assert run(["profile", str(linear_path), *options]) == 0
    printed = capsys.readouterr().out
    assert "Headroom per operator" in printed
    assert "The nodes that could win the most" in printed
    assert "could_win_us" in (tmp_path / "p.csv").read_text(encoding="utf-8").partition("\n")[0]
    assert run(["view", str(linear_path), "--profile", "--by", "headroom", "--threads", "1"]) == 0
    assert "what they could win at best" in " ".join(capsys.readouterr().out.split())


def test_json_on_standard_output_stands_alone(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", str(linear_path), "--repeat", "2", "--threads", "1", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "linear"


LEVELS = ["--opt-level", "disable,all"]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["profile", "{model}", "--repeat", "33000"], "MatMul"),
        pytest.param(
            ["diff", "{model}", *LEVELS, "--no-race", "--repeat", "33000"], "MatMul", marks=pytest.mark.thorough
        ),
        (
            ["diff", "{model}", *LEVELS, "--repeat", "3", "--time", "60", "--min-effect", "0.01%"],
            "no inference of disable and all was profiled completely",
        ),
    ],
    ids=["profile", "profiles of a diff", "race of a diff"],
)
def test_ctrl_c_shows_and_keeps_what_was_measured_as_interrupted(
    command: list[str], shown: str, linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal, theirs = pty.openpty()
    store = str(tmp_path / "runs.sqlite")
    arguments = [part.format(model=linear_path) for part in command]
    program = [sys.executable, "-m", "onnxperf", *arguments, "--threads", "1", "--store", store]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True) as process:
        os.close(theirs)
        seen = b""
        while b"round" not in seen:
            seen += os.read(terminal, 1024)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == 130
    assert "Interrupted: this is what was measured until then." in output
    assert shown in " ".join(output.split())
    with open_store(store) as opened:
        [kept] = opened.runs()
    assert (kept.kind, kept.status) == (command[0], "interrupted")
    assert run(["runs", "show", "last", "--store", store]) == 0
    assert shown in " ".join(capsys.readouterr().out.split())


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
    assert run(["diff", trace, trace, "-o", str(tmp_path / "d.csv"), "--table", "labels"]) == 0
    assert "there is no verdict" in " ".join(capsys.readouterr().out.split())
    assert "[=CPU]MatMul" in (tmp_path / "d.csv").read_text(encoding="utf-8")


def test_optimize_writes_a_model_that_loads(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "o.onnx"
    assert run(["optimize", str(linear_path), "-o", str(out), "--json", str(tmp_path / "o.json")]) == 0
    assert len(onnx.load(out).graph.node) == 1
    assert "1 node became 1; 0 groups fused; written to" in capsys.readouterr().out
    assert json.loads((tmp_path / "o.json").read_bytes())["after"] == {"MatMul": 1}


def test_optimize_writes_reports_beside_the_model_and_keeps_the_run(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["o.onnx", "o.json", "o.md", "o.csv"]
    outputs = [text for name in names for text in ("-o", str(tmp_path / name))]
    assert run(["optimize", str(linear_path), *outputs, "--table", "operators"]) == 0
    printed = capsys.readouterr().out
    record = json.loads((tmp_path / "o.json").read_bytes())
    assert record["command"] == command_line()
    assert record["machine"]["cpu"]
    assert (tmp_path / "o.csv").read_text(encoding="utf-8") == "op_name,before,after\nMatMul,1,1\n"
    assert onnx.load(tmp_path / "o.onnx").graph.node[0].op_type == "MatMul"
    assert run(["runs", "show", "last"]) == 0
    assert capsys.readouterr().out.split("\n", 1)[1] == printed


def test_diff_writes_its_chart_without_as_and_the_graphs_with_it(linear_path: Path, tmp_path: Path) -> None:
    chart, drawing = tmp_path / "chart.svg", tmp_path / "drawing.svg"
    sides = ["diff", str(linear_path), str(linear_path)]
    assert run([*sides, "--no-race", "--repeat", "3", "--threads", "1", "-o", str(chart)]) == 0
    assert run([*sides, "--as", "svg", "-o", str(drawing)]) == 0
    assert chart.read_bytes().startswith(b"<?xml")
    assert drawing.read_bytes().startswith(b"<svg")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["profile", "{tmp}/no.json"], "no.json"),
        (["profile", "{tmp}/empty.json"], "empty"),
        (["profile", "{tmp}/words.json"], "words.json"),
        (["profile", "{model}", "--repeat", "0"], "--repeat 0"),
        (["profile", "{model}", "-o", "{tmp}/out.txt"], "ends with .csv"),
        (
            ["profile", "{model}", "--table", "merged"],
            "choose from: nodes, operators, sources, modules,",
        ),
        (["profile", "{model}", "-o", "{tmp}/no/out.png"], "folder does not exist"),
        (["profile", "{model}", "--keep-trace", "{tmp}/no/trace.json"], "folder does not exist"),
        (["profile", "{model}", "--trace-out", "{tmp}/no/trace.json"], "folder does not exist"),
        (["profile", "{model}", "--provider", "tpu"], "unavailable provider"),
        (["diff", "{model}"], "two sides"),
        (["diff", "{model}", "--opt-level", "disable,best"], "optimisation level"),
        (["diff", "{model}", "--as", "png"], "name a file with -o"),
        (["diff", "{model}", "--as", "svg", "-o", "a.svg", "-o", "b.svg"], "a drawing goes into one file"),
        (["diff", "{model}", "--as", "svg", "-o", "d.png"], "a name that ends with .svg"),
        (["diff", "{model}", "--as", "svg", "--json", "-"], "--json does nothing with a drawing"),
        (["diff", "{model}", "--as", "svg", "--json", "d.json"], "--json does nothing with a drawing"),
        (["diff", "{model}", "--as", "svg", "--dim", "batch=8"], "--dim does nothing with a drawing"),
        (["diff", "{model}", "--as", "svg", "--input", "X=x.npy"], "--input does nothing with a drawing"),
        (["diff", "{model}", "--as", "svg", "--no-race"], "--no-race does nothing with a drawing"),
        (["diff", "{model}", "{model}", "--as", "svg", "--opt-level", "disable,all"], "leave out --opt-level"),
        (["diff", "{model}", "{model}", "--min-share", "much"], "--min-share much"),
        (["optimize", "{model}", "-o", "{model}"], "the model itself"),
        (["optimize", "{model}"], "--output: expected one name that ends with .onnx"),
        (["optimize", "{model}", "-o", "a.onnx", "-o", "b.onnx"], "--output: expected one name"),
        (["optimize", "{model}", "-o", "{tmp}/a.onnx", "-o", "{tmp}/a.txt"], "ends with .csv"),
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
