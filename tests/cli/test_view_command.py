"""`onnxperf view` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import onnx.parser
import pytest
from msgspec.structs import replace

from onnxperf.api.profile import profile
from onnxperf.cli.main import run


def test_a_model_is_listed(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(linear_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("linear   1 node · 40 parameters, 160 B · 40 MACs with batch=1\n")
    assert "  MatMul(X, W) -> Y: float32[batch, 4]  # MatMul_0\n" in printed


@pytest.mark.parametrize(("form", "start"), [("json", "{"), ("dot", "digraph"), ("code", "def run(")])
def test_other_forms_go_to_standard_output_or_a_file(
    linear_path: Path, tmp_path: Path, form: str, start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out"
    assert run(["view", str(linear_path), "--as", form]) == 0
    assert run(["view", str(linear_path), "--as", form, "-o", str(file)]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(start)
    assert captured.err == ""
    assert file.read_text(encoding="utf-8") == captured.out
    assert run(["view", str(linear_path), "--as", form, "-o", "-"]) == 0
    assert capsys.readouterr().out == captured.out


def test_the_name_of_a_file_says_what_it_holds_and_nothing_is_printed(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("resvg_py")
    starts = {
        ".txt": b"linear   1 node",
        ".json": b"{",
        ".dot": b"digraph",
        ".svg": b"<svg",
        ".png": b"\x89PNG",
        ".py": b"def run(",
        ".md": b"```",
    }
    files = [argument for suffix in starts for argument in ("-o", str(tmp_path / f"m{suffix}"))]
    assert run(["view", str(linear_path), *files]) == 0
    assert capsys.readouterr() == ("", "")
    for suffix, start in starts.items():
        assert (tmp_path / f"m{suffix}").read_bytes().startswith(start), suffix


def test_a_form_that_contradicts_the_name_of_the_file_is_refused(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["view", str(linear_path), "--as", "text", "-o", str(tmp_path / "c.svg")]) == 2
    assert "--as text contradicts the ending of" in capsys.readouterr().err
    assert not (tmp_path / "c.svg").exists()


def test_options_of_a_form_go_with_a_file_of_that_form(linear_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    assert run(["view", str(linear_path), "--values", "-o", str(file)]) == 0
    assert len(json.loads(file.read_bytes())["graph"]["initializers"][0]["values"]) == 40


def test_quiet_prints_the_model_in_one_line(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(linear_path), "--quiet"]) == 0
    assert capsys.readouterr().out == "linear   1 node · 40 parameters, 160 B · 40 MACs with batch=1\n"


def test_folded_nodes_are_shown_by_an_option_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = "".join(f"t{i + 1} = Relu(t{i}) " for i in range(100))
    text = f'<ir_version: 8, opset_import: ["": 18]> g (float[N] t0) => (float[N] t100) {{ {nodes} }}'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "long.onnx")
    assert run(["view", str(tmp_path / "long.onnx")]) == 0
    assert "(--all shows them)" in capsys.readouterr().out


def test_a_trace_puts_shares_on_the_nodes(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, metrics = tmp_path / "trace.json", tmp_path / "metrics.json"
    profile(linear_path, repeat=2, keep_trace=trace)
    assert run(["view", str(linear_path), "--profile", str(trace), "--netron", str(metrics)]) == 0
    assert " 100 %  MatMul(X, W)" in capsys.readouterr().out
    assert json.loads(metrics.read_text(encoding="utf-8"))["signature"] == "netron:attachment"


def test_profile_alone_runs_the_model(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(linear_path), "--profile", "--dim", "batch=2"]) == 0
    assert " 100 %  MatMul(X, W) -> Y: float32[2, 4]" in capsys.readouterr().out


def test_an_interrupted_profile_exits_with_130(
    linear_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = profile(linear_path, repeat=2)
    measured.record = replace(measured.record, interrupted=True)
    monkeypatch.setattr("onnxperf.api.profile.profile", lambda *_, **__: measured)
    assert run(["view", str(linear_path), "--profile"]) == 130
    assert "note: interrupted" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--as", "png"], "a PNG is not text"),
        (["--netron", "m.json"], "add --profile"),
        (["--around", "nobody"], "no node or tensor is named 'nobody'"),
        (["--op", "Conv"], "unknown operator 'Conv'"),
        (["--op", "MatMul", "--as", "svg"], "--op chooses what a listing shows"),
        (["--values"], "use --as json"),
        (["-o", "m.pdf"], "ends with .dot, .html, .json, .md, .netron.json, .png, .py, .svg, .txt"),
        (["-o", "-"], "name the format of standard output, such as -o -."),
        (["--by", "memory"], "add --profile"),
        (["--profile", "--netron", "m.txt"], "a file that ends with .json"),
        (["--profile", "--netron", "nowhere/m.json"], "its folder does not exist"),
        (["--profile", "--as", "svg", "-o", "nowhere/m.svg"], "its folder does not exist"),
    ],
)
def test_bad_options_exit_with_two(
    linear_path: Path,
    arguments: list[str],
    reason: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("onnxperf.api.profile.profile", lambda *_, **__: pytest.fail("refused too late"))
    assert run(["view", str(linear_path), *arguments]) == 2
    assert reason in capsys.readouterr().err


def test_open_writes_a_page_that_stays_and_shows_it_where_there_is_a_screen(
    linear_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for display in ("", ":0"):
        monkeypatch.setenv("DISPLAY", display)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        assert run(["view", str(linear_path), "--open"]) == 0
        page = Path(capsys.readouterr().out.strip())
        assert "data-key=" in page.read_text(encoding="utf-8")
    assert shown == [page.as_uri()]


def test_open_contradicts_another_form(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(linear_path), "--open", "--as", "svg"]) == 2
    assert "--open shows a page; leave out --as svg" in capsys.readouterr().err
