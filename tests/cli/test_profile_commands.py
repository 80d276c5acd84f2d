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

import onnxperf
from onnxperf.cli.main import run
from onnxperf.errors import FileNotWritten
from onnxperf.render.kit.files import write
from onnxperf.store import open_store
from tests.api.models import make_model
from tests.headrooms import PEAKS


def test_profile_prints_its_tables_and_writes_every_file(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ("p.json", "p.csv", "p.xlsx", "p.parquet", "p.png", "p.perfetto.json", "p.trace.json", "p-2.trace.json")
    options = [text for file in files[:-1] for text in ("-o", str(tmp_path / file))]
    assert run(["profile", str(linear_path), "--calls", "7", "--threads", "1", *options]) == 0
    printed = capsys.readouterr().out
    assert "MatMul" in printed
    assert " · initialization " in printed
    assert all((tmp_path / file).stat().st_size for file in files)
    assert json.loads((tmp_path / "p.json").read_bytes())["iterations"] == 7
    assert (tmp_path / "p.csv").read_text(encoding="utf-8").startswith("node_name,op_name")
    assert run(["profile", str(tmp_path / "p.trace.json"), "--quiet"]) == 0
    assert capsys.readouterr().out == "MatMul_0 takes 100 % of the time in 1 node.\n"


def test_a_trace_goes_to_standard_output_and_a_lost_one_is_exit_code_3(
    linear_path: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    once = ["profile", str(linear_path), "--calls", "2", "--threads", "1", "--quiet"]
    assert run([*once, "-o", "-.trace.json"]) == 0
    captured = capfdbinary.readouterr()
    assert json.loads(captured.out)[0]["cat"] == "Session"
    assert b"MatMul" in captured.err

    def fail(path: Path, data: bytes) -> None:
        if path.name == "a.trace.json":
            raise FileNotWritten("cannot write a.trace.json: the disk is full")
        write(path, data)

    monkeypatch.setattr("onnxperf.results.base.write", fail)
    assert run([*once, "-o", str(tmp_path / "a.trace.json"), "-o", str(tmp_path / "a.json")]) == 3
    captured = capfdbinary.readouterr()
    assert b"the disk is full" in captured.err
    assert b"MatMul" in captured.out
    assert (tmp_path / "a.json").exists()


def test_all_shows_what_top_cuts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(make_model(12), tmp_path / "long.onnx")
    shown = {}
    for rows in ("--top 1", "--all", "--top 100"):
        once = ["profile", str(tmp_path / "long.onnx"), "--calls", "2", "--threads", "1", "--opt-level", "disable"]
        assert run([*once, *rows.split(), "--no-store"]) == 0
        shown[rows] = capsys.readouterr().out
    assert "other" in shown["--top 1"]
    for rows in ("--all", "--top 100"):
        assert all(f"relu{number}" in shown[rows] for number in range(12))
        assert "others" not in shown[rows]


def test_roofline_prints_what_could_be_won_and_writes_it(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxperf.api._shared.recordings.peaks_of", lambda _threads, _progress: PEAKS)
    options = ["--calls", "3", "--threads", "1", "--roofline", "-o", str(tmp_path / "p.csv"), "--table", "headroom"]
    assert run(["profile", str(linear_path), *options]) == 0
    printed = capsys.readouterr().out
    judged = "could be won is not judged" not in " ".join(printed.split())  # as on a busy machine
    assert ("Time per operator, and what could be won at best on this machine" in printed) == judged
    assert ("The nodes that could win the most" in printed) == judged
    assert "could_win_us" in (tmp_path / "p.csv").read_text(encoding="utf-8").partition("\n")[0]
    assert run(["view", str(linear_path), "--profile", "--by", "headroom", "--threads", "1"]) == 0
    assert "what they could win at best" in " ".join(capsys.readouterr().out.split())


def test_json_on_standard_output_stands_alone(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profile", str(linear_path), "--calls", "2", "--threads", "1", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "linear"


LEVELS = ["--opt-level", "disable,all"]
GRAPH = ["-o", "{tmp}/d.graph.svg"]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["profile", "{model}", "--calls", "33000"], "MatMul"),
        pytest.param(
            ["diff", "{model}", *LEVELS, "--no-race", "--calls", "33000"], "MatMul", marks=pytest.mark.thorough
        ),
        (
            ["diff", "{model}", *LEVELS, "--calls", "3", "--time", "60", "--min-effect", "0.01%"],
            "? No verdict; no inference of opt_level=disable and opt_level=all was profiled completely",
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
    assert "Interrupted: showing what was measured so far." in output
    assert shown in " ".join(output.split())
    with open_store(store) as opened:
        [kept] = opened.runs()
    assert (kept.kind, kept.status) == (command[0], "interrupted")
    assert run(["runs", "show", "last", "--store", store]) == 0
    assert shown in " ".join(capsys.readouterr().out.split())


def test_diff_of_two_levels_prints_rows_and_the_verdict(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = ["--opt-level", "disable,all", "--calls", "3", "--threads", "1", "--time", "0.2"]
    assert run(["diff", str(linear_path), *levels]) == 0
    printed = capsys.readouterr().out
    assert "linear · opt_level=disable against opt_level=all" in printed
    assert "Raced" not in printed, "the answer is that of the race"


def test_a_diff_draws_both_graphs_without_running_anything(
    linear_path: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxperf.api.diff.diff", lambda *_, **__: pytest.fail("nothing is run"))
    monkeypatch.delitem(vars(onnxperf), "diff", raising=False)
    assert run(["diff", str(linear_path), "-o", "-.graph.svg"]) == 0
    assert capsysbinary.readouterr().out.startswith(b"<svg")
    files = [tmp_path / "d.graph.png", tmp_path / "d.graph.svg"]
    named = [text for file in files for text in ("-o", str(file))]
    assert run(["diff", str(linear_path), str(linear_path), *named, "--timeout", "60"]) == 0
    assert capsysbinary.readouterr().out == b""
    assert files[0].read_bytes().startswith(b"\x89PNG")
    assert files[1].read_bytes().startswith(b"<svg")


def test_all_rows_of_a_diff_are_those_of_no_least_share(
    linear_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shares: list[float] = []

    def page(_result: onnxperf.DiffResult, share: float) -> list[object]:
        shares.append(share)
        return []

    monkeypatch.setattr("onnxperf.results.diff.DiffResult.page", page)
    for rows in ("", "--min-share 20%", "--all"):
        sides = [str(linear_path), str(linear_path), "--no-race", "--calls", "2", "--threads", "1"]
        assert run(["diff", *sides, *rows.split(), "--no-store"]) == 0
    capsys.readouterr()
    assert shares == [0.01, 0.2, 0.0]


def test_diff_of_traces_claims_nothing(linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(tmp_path / "t.trace.json")
    assert run(["profile", str(linear_path), "--calls", "3", "--threads", "1", "--quiet", "-o", trace]) == 0
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
    assert record["command"].startswith("onnxperf optimize ")
    assert record["machine"]["cpu"]
    lines = (tmp_path / "o.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["op_name,before,after,change", "MatMul,1,1,0", "total,1,1,0"]
    assert onnx.load(tmp_path / "o.onnx").graph.node[0].op_type == "MatMul"
    assert run(["runs", "show", "last"]) == 0
    shown, _, foot = capsys.readouterr().out.partition("saved as run ")
    assert shown == printed.partition("saved as run ")[0]
    assert foot


def test_diff_writes_its_chart_and_the_graphs_in_one_run(linear_path: Path, tmp_path: Path) -> None:
    chart, drawing = tmp_path / "diff.svg", tmp_path / "diff.graph.svg"
    sides = ["diff", str(linear_path), str(linear_path), "--no-race", "--calls", "3", "--threads", "1"]
    assert run([*sides, "-o", str(chart), "-o", str(drawing)]) == 0
    assert chart.read_bytes().startswith(b"<?xml")
    assert drawing.read_bytes().startswith(b"<svg")


@pytest.mark.parametrize(
    "command", ["profile {model}", "diff {model} {model} --no-race", "optimize {model} -o {tmp}/o.onnx"]
)
def test_a_model_that_needs_more_memory_than_allowed_is_exit_code_1(
    command: str, linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = command.format(model=linear_path, tmp=tmp_path)
    assert run([*filled.split(), "--memory-limit", "1MB"]) == 1
    assert "more than the 1.00 MB of --memory-limit" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["profile", "{tmp}/no.json"], "no.json"),
        (["profile", "{tmp}/empty.json"], "empty"),
        (["profile", "{tmp}/words.json"], "words.json"),
        (["profile", "{model}", "--calls", "0"], "--calls 0"),
        (["profile", "{model}", "--calls", "many"], "--calls many"),
        (["profile", "{model}", "--top", "0"], "--top 0"),
        (["profile", "{tmp}/words.json", "--threads", "1"], "--threads: it does nothing with a trace"),
        (["profile", "{model}", "-o", "{tmp}/out.txt"], "ends with .csv"),
        (
            ["profile", "{model}", "--table", "merged"],
            "choose from: nodes, operators, sources, modules,",
        ),
        (["profile", "{model}", "-o", "{tmp}/no/out.png"], "folder does not exist"),
        (["profile", "{model}", "-o", "{tmp}/no/a.trace.json"], "folder does not exist"),
        (["profile", "{model}", "-o", "{tmp}/no/a.perfetto.json"], "folder does not exist"),
        (["profile", "{model}", "--timeout", "0"], "--timeout 0"),
        (["profile", "{model}", "--provider", "tpu"], "unavailable provider"),
        (["diff", "{model}"], "two sides"),
        (["diff", "{model}", "--opt-level", "disable,best"], "optimization level"),
        (["diff", "{model}", "-o", "{tmp}/no/d.graph.svg"], "folder does not exist"),
        (["diff", "{model}", *GRAPH, "--dim", "batch=8"], "--dim: it does nothing with a drawing"),
        (["diff", "{model}", *GRAPH, "--input", "X=x.npy"], "--input: it does nothing with a drawing"),
        (["diff", "{model}", *GRAPH, "--calls", "3"], "--calls: it does nothing with a drawing"),
        (["diff", "{model}", *GRAPH, "--no-race"], "--no-race: it does nothing with a drawing"),
        (["diff", "{model}", *GRAPH, "--table", "merged"], "--table: it does nothing with a drawing"),
        (["diff", "{model}", *GRAPH, "--min-share", "5%"], "--min-share: it does nothing with a drawing"),
        (["diff", "{model}", *GRAPH, "--all"], "--all: it does nothing with a drawing"),
        (["diff", "{model}", "{model}", *GRAPH, "--opt-level", "disable,all"], "--opt-level: it does nothing with two"),
        (["diff", "{model}", "{model}", "--no-race", "--time", "5"], "--time: it does nothing with a diff without"),
        (["diff", "{model}", "{model}", "--min-share", "much"], "--min-share much"),
        (["optimize", "{model}", "-o", "{model}"], "the model itself"),
        (["optimize", "{model}"], "--output: expected exactly one .onnx file"),
        (["optimize", "{model}", "-o", "a.onnx", "-o", "b.onnx"], "--output: expected exactly one"),
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
