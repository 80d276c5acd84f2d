"""`onnxperf bench` as a user meets it: one line and exit code 2 for what cannot be done, rows for what went wrong."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from onnxperf.cli.main import run
from onnxperf.records.race import Bench
from onnxperf.render.kit.documents import from_json

TINY = ("--blocks", "2", "--calls-per-block", "2", "--warmup", "0")
LINEAR = """<ir_version: 8, opset_import: ["" : 17]>
linear (float[batch, 2] X) => (float[batch, 1] Y) <float[2, 1] W = {1, 2}> { Y = MatMul(X, W) }"""


def _one_node(node: str, opset: int = 17, ir: int = 8, domain: str = "") -> onnx.ModelProto:
    extra = f', "{domain}" : 1' if domain else ""
    return parser.parse_model(
        f'<ir_version: {ir}, opset_import: ["" : {opset}{extra}]> g (float[1] X) => (float[1] Y) {{ Y = {node}(X) }}'
    )


def _external(folder: Path, location: str) -> Path:
    model = parser.parse_model(LINEAR)
    tensor = model.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return _written(folder / "external.onnx", model.SerializeToString())


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def _array(path: Path, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Path:
    np.save(path, array)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return _written(tmp_path / "linear.onnx", parser.parse_model(LINEAR).SerializeToString())


def _zip_map() -> onnx.ModelProto:
    """Scores as a list of dictionaries, as scikit-learn's converters make them."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]> g (float[batch, 2] X) => (float[1] scores)
        { scores = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1]> (X) }"""
    )
    element = onnx.helper.make_map_type_proto(onnx.TensorProto.INT64, onnx.helper.make_tensor_type_proto(1, None))
    model.graph.output[0].type.CopyFrom(onnx.helper.make_sequence_type_proto(element))
    return model


@pytest.mark.parametrize("calls", ["all", "run,ort-values"])
def test_call_styles_that_cannot_return_the_outputs_are_skipped(
    calls: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _written(tmp_path / "zipmap.onnx", _zip_map().SerializeToString())
    assert run(["bench", str(path), "--call", calls, *TINY, "--no-store", "--json", str(tmp_path / "b.json")]) == 0
    (case,) = from_json((tmp_path / "b.json").read_bytes(), Bench).cases
    statuses = {each.name: each.status for each in case.subjects}
    assert statuses["run"] == "ok"
    assert {status for name, status in statuses.items() if not name.startswith("run")} == {"skipped"}
    assert " ".join(capsys.readouterr().out.split()).count("this call style returns only tensors") == 1


BAD_INPUT: dict[str, tuple[Callable[[Path], list[str]], str]] = {
    "no model": (lambda _: [], "no model given"),
    "no such file": (lambda d: [str(d / "nowhere.onnx")], "no such file"),
    "not an ONNX file": (lambda d: [str(_written(d / "x.onnx", b"hello"))], "not an ONNX file"),
    "truncated": (
        lambda d: [str(_written(d / "x.onnx", parser.parse_model(LINEAR).SerializeToString()[:60]))],
        "truncated or damaged",
    ),
    "missing external data": (lambda d: [str(_external(d, "weights.bin"))], "weights.bin"),
    "external data outside": (lambda d: [str(_external(d, "../weights.bin"))], "outside"),
    "unknown operator": (lambda d: [str(_written(d / "x.onnx", _one_node("Bar").SerializeToString()))], "operator Bar"),
    "unknown domain": (
        lambda d: [str(_written(d / "x.onnx", _one_node("far.Bar", domain="far").SerializeToString()))],
        "operator Bar of domain far",
    ),
    "unknown opset": (
        lambda d: [str(_written(d / "x.onnx", _one_node("Abs", opset=99).SerializeToString()))],
        "opset 99",
    ),
    "unknown IR version": (
        lambda d: [str(_written(d / "x.onnx", _one_node("Abs", ir=99).SerializeToString()))],
        "IR version 99",
    ),
    "wrong input name": (
        lambda d: ["linear.onnx", "--input", f"Z={_array(d / 'a.npy', np.ones((1, 2), np.float32))}"],
        "its inputs are: X",
    ),
    "wrong dtype": (
        lambda d: ["linear.onnx", "--input", f"X={_array(d / 'a.npy', np.ones((1, 2)))}"],
        "expected float32, got float64",
    ),
    "wrong rank": (
        lambda d: ["linear.onnx", "--input", f"X={_array(d / 'a.npy', np.ones(2, np.float32))}"],
        "has 1 axes, the model expects 2",
    ),
    "no such input file": (lambda d: ["linear.onnx", "--input", f"X={d / 'a.npy'}"], "a.npy"),
    "not contiguous": (
        lambda d: [
            *("linear.onnx", "--call", "io-binding-fixed"),
            *("--input", f"X={_array(d / 'a.npy', np.ones((2, 3), np.float32).T)}"),
        ],
        "np.ascontiguousarray(X)",
    ),
    "unknown call style": (lambda _: ["linear.onnx", "--call", "jump"], "choose from: run, run-c"),
    "unknown runtime": (lambda _: ["linear.onnx", "--runtime", "jvm"], "choose from: ort, numpy, reference"),
    "unknown option": (lambda _: ["linear.onnx", "--thread", "2"], "--threads"),
    "unknown level": (lambda _: ["linear.onnx", "--opt-level", "most"], "extended"),
    "unknown provider": (lambda _: ["linear.onnx", "--provider", "warp"], "cpu"),
    "unknown baseline": (lambda _: ["linear.onnx", "--baseline", "me"], "choose from: ort"),
    "unknown dimension": (lambda _: ["linear.onnx", "--dim", "rows=3"], "choose from: batch"),
    "a dimension that is no number": (lambda _: ["linear.onnx", "--dim", "batch=many"], "not a whole number"),
    "a dimension without a value": (lambda _: ["linear.onnx", "--dim", "batch"], "expected NAME=VALUE"),
    "a dimension given twice": (lambda _: ["linear.onnx", "--dim", "batch=1", "--dim", "batch=2"], "given twice"),
    "a fixed dimension": (lambda _: ["linear.onnx", "--shape", "X=3x4"], "expects 2"),
    "a range without a colon": (lambda _: ["linear.onnx", "--range", "X=3"], "LOW:HIGH"),
    "no threads": (lambda _: ["linear.onnx", "--threads", "0"], "a whole number from 1"),
    "no time": (lambda _: ["linear.onnx", "--time", "0"], "more than 0"),
    "no effect": (lambda _: ["linear.onnx", "--min-effect", "0"], "between 0 and 1"),
    "an effect that is no number": (lambda _: ["linear.onnx", "--min-effect", "small"], "0.01 or 1%"),
    "an unknown kind of picture": (lambda _: ["linear.onnx", "-o", "chart.bmp"], ".parquet, .png"),
    "a folder that does not exist": (lambda d: ["linear.onnx", "--json", str(d / "no" / "r.json")], "folder"),
    "two outputs on stdout": (
        lambda _: ["linear.onnx", "--json", "-", "-o", "-.csv"],
        "only one file can go to standard output",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_line_and_exit_code_2(
    case: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(model.parent)
    arguments, expected = BAD_INPUT[case]
    code = run(["bench", *arguments(tmp_path)])
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.startswith("onnxperf: ")
    assert printed.err.count("\n") == 1
    assert expected in printed.err


def test_control_characters_of_a_model_are_shown_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = _one_node("Bar")
    model.graph.node[0].op_type = "Bar\x1b[2J\u202e"
    assert run(["bench", str(_written(tmp_path / "x.onnx", model.SerializeToString()))]) == 2
    assert "Bar\\x1b[2J\\u202e" in capsys.readouterr().err


def test_debug_shows_the_traceback(model: Path) -> None:
    with pytest.raises(Exception, match="jump"):
        run(["bench", str(model), "--call", "jump", "--debug"])


def test_the_table_ends_with_an_answer_and_what_became_1(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", str(model), "--call", "run,run-c", *TINY]) == 0
    printed = capsys.readouterr().out
    assert all(
        word in printed
        for word in ("run-c", "baseline", "undecided", "unset dimensions default to 1: batch (set them with --dim)")
    )


def test_json_on_stdout_is_all_there_is_on_stdout(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", str(model), "--runtime", "ort,reference", "--json", "-", *TINY]) == 0
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert list(document) == ["version", "machine", "command", "cases"]
    subjects = document["cases"][0]["subjects"]
    assert [subject["name"] for subject in subjects] == ["ort", "reference"]
    fields = ["round", "position", "launch", "set_up", "calls", "start_ns", "duration_ns", "quickest_ns"]
    fields += ["cpu_ns", "span_ns", "free_pieces"]
    assert list(subjects[0]["blocks"][0]) == fields
    assert "reference" in printed.err
    assert from_json(printed.out.encode(), Bench).cases[0].dims == {"batch": 1}


def test_files_are_written_in_every_format(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ("r.json", "r.csv", "r.md", "r.png", "r.xlsx")
    flags = [text for name in files for text in ("-o", str(tmp_path / name))]
    assert run(["bench", str(model), "--dim", "batch=3", *TINY, *flags]) == 0
    assert json.loads((tmp_path / "r.json").read_text())["cases"][0]["dims"] == {"batch": 3}
    assert next(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text())))["name"] == "ort"
    assert "| ort |" in (tmp_path / "r.md").read_text()
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "r.xlsx").read_bytes().startswith(b"PK")


def test_quiet_prints_only_the_answer(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", str(model), "--quiet", *TINY]) == 0
    printed = capsys.readouterr()
    assert re.fullmatch(r"ort takes .* per call\.\n", printed.out)
    assert printed.err == ""


def test_a_subject_that_fails_is_a_row_and_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = _written(tmp_path / "good.onnx", parser.parse_model(LINEAR).SerializeToString())
    bad = _written(tmp_path / "bad.onnx", _one_node("Bar").SerializeToString())
    assert run(["bench", str(good), str(bad), *TINY]) == 1
    printed = capsys.readouterr().out
    assert "failed" in printed
    assert "operator Bar" in " ".join(printed.split())
    assert "good takes" in printed


def test_casting_is_said(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = _array(tmp_path / "a.npy", np.ones((4, 2)))
    assert run(["bench", str(model), "--input", f"X={given}", "--cast", "--call", "all", *TINY]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "X is cast from float64 to float32 inside the timed call" in printed
    assert "io-binding-inplace does not copy its inputs" in printed


def test_what_a_call_is_made_of_is_shown_where_asked(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", str(model), *TINY, "--split", "--call", "run,ort-values"]) == 0
    shown = capsys.readouterr().out
    assert "What a call is made of" in shown
    assert re.search(r"^run +\S+ \S+ +\d+ % +\S+ \S+ +\d+ % +\S+ \S+ +\d+ %", shown, re.MULTILINE)


def test_calls_with_pauses_show_their_cpu_time_and_say_so(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", str(model), *TINY, "--every", "1ms"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "CPU time per call, pauses included: " in shown
    assert "calls start every 1 ms, after idling; CPU includes the pauses" in shown


def test_ctrl_c_prints_what_was_measured_and_exits_with_130(model: Path) -> None:
    terminal, theirs = pty.openpty()
    command = [sys.executable, "-m", "onnxperf", "bench", str(model), "--call", "run,run-c", "--time", "60"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    with subprocess.Popen(
        [*command, "--min-effect", "0.0001"], stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True
    ) as process:
        os.close(theirs)
        seen = b""
        while b"round" not in seen:
            seen += os.read(terminal, 1024)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == 130
    assert "Interrupted" in output
    assert "run-c" in output


def test_the_help_text_imports_no_heavy_library() -> None:
    code = "import sys; from onnxperf.cli.main import run; run(['--help']); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"onnx", "onnxruntime", "pandas", "matplotlib", "numpy"} & set(modules.splitlines()[-1].split())


def test_a_reader_that_has_seen_enough_is_no_error(model: Path) -> None:
    command = (
        f"{sys.executable} -m onnxperf bench {model} --json - {' '.join(TINY)} | head -c 1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.split("{")[-1].strip() == "0"
    assert "Traceback" not in done.stderr


def test_models_that_differ_are_exit_code_1_unless_they_are_meant_to(
    linear_path: Path, linear_proto: onnx.ModelProto, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = onnx.ModelProto()
    changed.CopyFrom(linear_proto)
    changed.graph.node[0].input[1] = "V"
    changed.graph.initializer.append(numpy_helper.from_array(np.ones((10, 4), np.float32), "V"))
    onnx.save(changed, tmp_path / "changed.onnx")
    arguments = ["bench", str(linear_path), str(tmp_path / "changed.onnx"), *TINY, "--quiet"]
    assert run(arguments) == 1
    assert f"changed does not compute what {linear_path.stem} does: output Y" in capsys.readouterr().out
    assert run([*arguments, "--no-check"]) == 0
    assert "does not compute" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("slower", "limit", "code"),
    [(1.1, "5%", 1), (1.052, "5%", 0), (1.0, "5%", 0), (1.1, "0.2", 0)],
    ids=["beyond the limit", "not beyond the noise", "equal", "a larger limit"],
)
def test_a_subject_that_is_slower_than_accepted_is_exit_code_1(
    model: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    slower: float,
    limit: str,
    code: int,
) -> None:
    from tests.analyze.examples import raced
    from tests.render import examples

    record = examples.bench(raced({"run": 1.0, "run-c": slower}))
    monkeypatch.setattr(
        "onnxperf.api.bench.run_cells", lambda _cells, _progress, place: record
    )  # what the race says is given
    assert run(["bench", str(model), "--max-slowdown", limit, "--no-store", "--quiet"]) == code
    told = "run-c is slower than the baseline by more than 5%, beyond the noise" in capsys.readouterr().err
    assert told == (code == 1)


def test_a_limit_that_is_no_number_is_refused_before_anything_is_measured(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", str(model), "--max-slowdown", "much", "--no-store"]) == 2
    assert "--max-slowdown much: expected a number such as 0.01 or 1%" in capsys.readouterr().err
