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


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".txt", "linear   1 node"), (".json", "{"), (".dot", "digraph"), (".svg", "<svg"), (".py", "def run(")],
)
def test_every_form_goes_to_standard_output_or_a_file(
    linear_path: Path, tmp_path: Path, suffix: str, start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"out{suffix}"
    assert run(["view", str(linear_path), "-o", f"-{suffix}", "-o", str(file)]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(start)
    assert captured.err == ""
    assert file.read_text(encoding="utf-8") == captured.out


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


@pytest.mark.parametrize("others", [[], ["m.txt"], ["m.svg", "m.html"]])
def test_values_go_into_json_whatever_else_is_written(
    linear_path: Path, tmp_path: Path, others: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [argument for name in ("m.json", *others) for argument in ("-o", name)]
    assert run(["view", str(linear_path), "--values", *files]) == 0
    assert len(json.loads(Path("m.json").read_bytes())["graph"]["initializers"][0]["values"]) == 40


@pytest.mark.parametrize("names", [["m.txt"], ["m.md"], ["m.svg", "m.txt"]])
def test_a_listing_is_shortened_in_the_file_that_holds_it(
    linear_path: Path, tmp_path: Path, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [argument for name in names for argument in ("-o", name)]
    assert run(["view", str(linear_path), "--op", "MatMul", *files]) == 0
    assert "MatMul(X, W)" in Path(names[-1]).read_text(encoding="utf-8")


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
    trace, metrics = tmp_path / "m.trace.json", tmp_path / "m.netron.json"
    profile(linear_path, calls=2).save(trace)
    assert run(["view", str(linear_path), "--profile", str(trace)]) == 0
    assert " 100 %  MatMul(X, W)" in capsys.readouterr().out
    assert run(["view", str(linear_path), "--profile", str(trace), "-o", str(metrics)]) == 0
    assert json.loads(metrics.read_text(encoding="utf-8"))["signature"] == "netron:attachment"
    assert "1 node has no name: Netron cannot show" in capsys.readouterr().err
    assert run(["view", str(linear_path), str(trace), "-o", "-.netron.json"]) == 0
    assert json.loads(capsys.readouterr().out)["signature"] == "netron:attachment"


def test_profile_alone_runs_the_model(linear_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(linear_path), "--profile", "--dim", "batch=2"]) == 0
    assert " 100 %  MatMul(X, W) -> Y: float32[2, 4]" in capsys.readouterr().out


def test_an_interrupted_profile_exits_with_130(
    linear_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = profile(linear_path, calls=2)
    measured.record = replace(measured.record, interrupted=True)
    monkeypatch.setattr("onnxperf.api.profile.profile", lambda *_, **__: measured)
    assert run(["view", str(linear_path), "--profile"]) == 130
    assert "note: interrupted" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-o", "m.netron.json"], "--output m.netron.json: a Netron file holds times; add --profile"),
        (["--around", "nobody"], "no node or tensor is named 'nobody'"),
        (["--op", "Conv"], "unknown operator 'Conv'"),
        (["--op", "MatMul", "-o", "m.svg"], "--op: it does nothing with forms other than the listing"),
        (["--values"], "--values: it does nothing with forms other than JSON"),
        (["--values", "-o", "m.txt"], "--values: it does nothing with forms other than JSON"),
        (["--threads", "2"], "--threads: it does nothing with a model that is not profiled (add --profile)"),
        (["-o", "m.pdf"], "ends with .dot, .html, .json, .md, .netron.json, .png, .py, .svg, .txt"),
        (["-o", "-"], "add the format, such as -o -."),
        (["--by", "memory"], "add --profile"),
        (["--profile", "-o", "nowhere/m.netron.json"], "its folder does not exist"),
        (["--profile", "-o", "nowhere/m.svg"], "its folder does not exist"),
        (["--depth", "deep"], "--depth deep: 'deep' is not a whole number"),
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


@pytest.mark.parametrize("option", [["--as", "svg"], ["--netron", "m.json"]])
def test_options_that_a_suffix_replaces_are_gone(
    linear_path: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["view", str(linear_path), *option]) == 2
    assert option[0] in capsys.readouterr().err
