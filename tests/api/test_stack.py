"""`onnxperf.stack` with real workers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnxruntime import InferenceSession
from skl2onnx import to_onnx
from sklearn.cluster import KMeans

import onnxperf
from onnxperf.api import stack as module
from onnxperf.api.stack import stack
from onnxperf.errors import BadModel, BadOption, MissingExtra, SubjectError, WorkerLost
from onnxperf.measure import native_stack
from onnxperf.measure.worker import allocations
from onnxperf.render.stack.tree import tree_text

pytest.importorskip("pyinstrument")


def busy() -> int:
    return sum(number * number for number in range(20_000))


@pytest.fixture
def without_py_spy(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise MissingExtra("py-spy", "stack")

    monkeypatch.setattr(native_stack, "find_py_spy", missing)


@pytest.mark.usefixtures("without_py_spy")
def test_without_py_spy_the_tree_is_there_and_the_share_is_called_a_bound(tmp_path: Path) -> None:
    result = stack(busy, calls=50)
    record = result.record
    assert (record.name, record.runtime, record.calls) == ("busy", "callable", 50)
    assert record.shares is not None
    assert record.shares.how == "pyinstrument"
    assert "at most" in result.answer
    assert "py-spy is not installed" in record.notes[-1]
    assert "busy" in result.text()
    assert {"function", "file", "self_ns", "share", "python"} <= set(result.to_df().columns)
    assert not result.to_df()[["function", "file"]].duplicated().any()
    siblings = [(frame.function, frame.file, frame.line, frame.parent) for frame in record.frames]
    assert len(siblings) == len(set(siblings))
    assert sum(frame.self_ns for frame in record.frames) == pytest.approx(record.frames[0].total_ns, rel=1e-6)
    for name in ("s.txt", "s.html", "s.pyinstrument.html", "s.speedscope.json", "s.png", "s.csv"):
        result.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size
    assert "fonts.googleapis" not in (tmp_path / "s.pyinstrument.html").read_text(encoding="utf-8")
    assert "speedscope" in json.loads((tmp_path / "s.speedscope.json").read_bytes())["$schema"]
    with pytest.raises(BadOption, match="`native`"):
        result.save(tmp_path / "s.native.svg")


@pytest.mark.slow
def test_a_model_is_watched_with_its_compiled_frames(linear_path: Path, tmp_path: Path) -> None:
    steps: list[str] = []
    try:
        result = stack(linear_path, calls=5000, native=True, threads=1, progress=lambda _done, text: steps.append(text))
    except SubjectError as error:
        pytest.skip(f"py-spy may not look into processes here: {error}")
    shares = result.record.shares
    assert shares is not None
    assert shares.how == "py-spy"
    assert shares.python + shares.compiled + shares.unknown == pytest.approx(1)
    assert {"python", "dispatch"} <= {each.kind for each in result.record.native}
    assert any("py-spy" in step for step in steps)
    result.save(tmp_path / "flame.svg")
    assert b"<svg" in (tmp_path / "flame.svg").read_bytes()


@pytest.mark.slow
def test_onnxruntime_is_one_library_and_its_call_style_is_named(linear_path: Path) -> None:
    try:
        result = stack(linear_path, calls=5000, runtime="ort", call="io-binding", native=True, threads=1)
    except SubjectError as error:
        pytest.skip(f"py-spy may not look into processes here: {error}")
    assert result.record.call == "io-binding"
    assert repr(result).startswith("linear · ort · io-binding · 5,000 calls")
    functions = [each.function for each in result.record.native]
    assert functions.count("[onnxruntime: no symbols]") == 1
    assert not any("0x" in frame for frames, _ in result.samples for frame in frames)
    assert "pybind11_detail" not in repr(result)


@pytest.mark.usefixtures("without_py_spy")
def test_a_function_is_found_by_name_and_its_memory_is_told_by_line(tmp_path: Path) -> None:
    pytest.importorskip("memray")
    file = tmp_path / "taking.py"
    file.write_text("SIZE = 3_000_000\n\ndef take():\n    return bytearray(SIZE)\n")
    result = stack(f"{file}:take", calls=4, allocations=True)
    assert (result.record.name, result.record.runtime) == ("take", "callable")
    found = result.record.allocations
    assert found is not None
    assert (found.calls, found.allocators[0].function, found.allocators[0].line) == (4, "take", 4)
    assert found.allocators[0].total_bytes >= 12_000_000
    result.save(tmp_path / "peak.memray.html")
    page = (tmp_path / "peak.memray.html").read_text(encoding="utf-8")
    assert "memray" in page
    assert "cdn.jsdelivr" not in page
    assert "allocations.py" not in page


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("no.py:f", BadOption, "no such file: 'no.py'"),
        ("taking.py:", BadOption, "expected FILE.py:function"),
        ("taking.py:give", BadModel, "has no function 'give'; choose from: take"),
    ],
)
def test_a_function_that_cannot_be_found_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, error: type[Exception], message: str
) -> None:
    (tmp_path / "taking.py").write_text("def take():\n    return 1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        stack(source, calls=1)


@pytest.mark.usefixtures("without_py_spy")
def test_a_model_in_memory_is_watched_as_a_file_is(linear_proto: onnx.ModelProto) -> None:
    assert stack(linear_proto, calls=20).record.calls == 20


@pytest.mark.parametrize(
    ("keywords", "option"),
    [
        ({"feeds": {"X": [1.0]}}, "`feeds=X`"),
        ({"dims": {"batch": 2}}, "`dims=batch`"),
        ({"cast": True}, "`cast`"),
        ({"runtime": "ort"}, "`runtime=ort`"),
    ],
)
def test_a_function_has_no_options_of_a_model(keywords: dict[str, Any], option: str) -> None:
    with pytest.raises(BadOption, match=f"^{option}: a function is called without arguments; leave it out$"):
        stack(busy, **keywords)


@pytest.mark.usefixtures("without_py_spy")
@pytest.mark.parametrize("runtime", ["numpy", "ort"])
def test_a_runner_in_a_function_is_watched(runtime: str) -> None:
    features = np.random.default_rng(0).random((50, 4), np.float32)
    kmeans = KMeans(3, n_init=1, random_state=0).fit(features)  # its numpy kernels hold caches
    runner = onnxperf.load(to_onnx(kmeans, features[:1]), runtime=runtime)
    assert stack(lambda: runner.run({"X": features}), calls=50).record.calls == 50


def test_what_cannot_be_sent_names_what_can(linear_bytes: bytes) -> None:
    session = InferenceSession(linear_bytes)
    recording = onnxperf.load(linear_bytes, profile=True)
    with pytest.raises(BadOption, match=r"InferenceSession.*; call a runner of onnxperf\.load\(model\), or create"):
        stack(lambda: session.run(None, {}))
    with pytest.raises(BadOption, match="records in this process only; load the model without `profile`"):
        stack(lambda: recording.run({}))


def test_allocations_need_memray(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingExtra("memray", "stack")

    monkeypatch.setattr(allocations, "require_memray", missing)
    with pytest.raises(MissingExtra, match=r"memray.*\[stack\]"):
        stack(busy, allocations=True)


def test_a_py_spy_that_is_not_permitted_costs_only_its_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise SubjectError("failed", "py-spy: Permission Denied")

    monkeypatch.setattr(native_stack, "record", refuse)
    assert stack(busy, calls=5).record.notes == ("compiled frames were not seen: py-spy: Permission Denied",)
    with pytest.raises(SubjectError, match="Permission Denied"):
        stack(busy, calls=5, native=True)


def test_a_process_that_is_lost_while_py_spy_looks_on_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*_args: object) -> None:
        raise WorkerLost("crashed", "killed by SIGSEGV")

    monkeypatch.setattr(native_stack, "record", lose)
    with pytest.raises(WorkerLost, match="SIGSEGV"):
        stack(busy, calls=5)


@pytest.mark.usefixtures("without_py_spy")
def test_native_frames_need_py_spy() -> None:
    with pytest.raises(MissingExtra, match=r"\[stack\]"):
        stack(busy, native=True)


@pytest.mark.parametrize(
    ("keyword", "value"),
    [
        ("calls", 0),
        ("sample_every", 0.0),
        ("sample_every", float("inf")),
        ("sample_every", float("nan")),
        ("sample_every", "often"),
        ("timeout", 0.0),
        ("memory_limit", "much"),
    ],
)
def test_values_that_make_no_sense_are_refused(keyword: str, value: object) -> None:
    with pytest.raises(BadOption, match=f"`{keyword}={value}`"):
        stack(busy, **{keyword: value})


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"interval": 0.1}, "unknown option 'interval'"),
        ({"rate": 100}, "unknown option 'rate'"),
        ({"runtime": "ort,numpy"}, "`runtime=ort,numpy`: expected one runtime"),
        ({"runtime": "ort", "call": "all"}, "`call=all`: expected one call style"),
        ({"runtime": "ort", "call": ["run", "run-c"]}, "expected one call style"),
        ({"runtime": "tvm"}, "unknown runtime 'tvm'; choose from: ort, numpy, reference"),
        ({"threads": [1, 2]}, "threads has several values"),
        ({"dims": {"batch": [1, 2]}}, "batch has several sizes"),
    ],
)
def test_one_subject_is_watched(linear_path: Path, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        stack(linear_path, calls=1, **keywords)


@pytest.mark.parametrize(
    ("sample_every", "interval_ns", "rate"),
    [("0.5ms", 500_000, 400), (0.01, 10_000_000, 100), ("2s", 2_000_000_000, 1)],
)
def test_py_spy_samples_as_often_as_pyinstrument_within_its_bounds(
    sample_every: float | str, interval_ns: int, rate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates: list[int] = []

    def record(_pid: int, _call: object, _raw: Path, _duration_s: float, per_second: int) -> None:
        rates.append(per_second)
        raise SubjectError("failed", "not here")

    monkeypatch.setattr(native_stack, "record", record)
    assert stack(busy, calls=5, sample_every=sample_every).record.interval_ns == interval_ns
    assert rates == [rate]


@pytest.mark.usefixtures("without_py_spy")
def test_settings_of_the_session_reach_the_runtime(linear_path: Path) -> None:
    variant = {"lean": {"threads": 1, "runtime": "ort", "call": "run-c"}}
    record = stack(linear_path, calls=20, variants=variant).record
    assert (record.runtime, record.call, record.conditions["threads"]) == ("ort", "run-c", 1)


@pytest.mark.usefixtures("without_py_spy")
def test_a_limit_of_memory_ends_the_calls() -> None:
    with pytest.raises(SubjectError) as lost:
        stack(lambda: bytearray(b"x") * (400 << 20), calls=5, memory_limit="300MB")
    assert lost.value.status == "oom"


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("/home/me/lib/python3.11/site-packages/onnx/reference/op.py", "onnx/reference/op.py"),
        ("/home/me/work/predict.py", "work/predict.py"),
        ("onnxperf/measure/worker/host.py", "onnxperf/measure/worker/host.py"),
        ("<onnxperf numpy runtime>", "<onnxperf numpy runtime>"),
        ("", ""),
    ],
)
def test_no_folder_of_the_machine_is_told(path: str, short: str) -> None:
    assert module._short(path) == short


def test_no_name_can_end_the_script_of_the_page() -> None:
    data = module._described(b'{"frame_records": [["</script>"]]}', "</script>")
    assert "</" not in json.dumps(data)


def test_escapes_in_names_are_shown_and_only_the_separators_of_pyinstrument_stay() -> None:
    frame = "f\x1b[31m\n\u202e\0/a\x9b.py\x001\x01cModel\x07"
    data = module._described(json.dumps({"frame_records": [[[frame], 0.5]]}).encode(), "m\x1b]8;;\0")
    assert data == {
        "frame_records": [[["f\\x1b[31m\\n\\u202e\0/a\\x9b.py\x001\x01cModel\\x07"], 0.5]],
        "target_description": "m\\x1b]8;;\\x00",
    }


@pytest.mark.usefixtures("without_py_spy")
def test_the_name_of_a_function_cannot_colour_the_tree() -> None:
    space: dict[str, Any] = {}
    exec(compile("def red():\n    return sum(range(20_000))\n", "\x1b[41mfile.py", "exec"), space)
    name = "\x1b[41mred"
    space["red"].__code__ = space["red"].__code__.replace(co_name=name, co_qualname=name)
    result = stack(space["red"], calls=200)
    tree = tree_text(result.session, everything=True, color=True)
    assert "\x1b[41m" not in tree
    assert "\\x1b[41mred" in tree
    assert "\\x1b[41mfile.py" in tree
