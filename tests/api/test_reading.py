"""Models are read in a child process with limits: what a model does to it becomes one line here."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import psutil
import pytest
from onnx import helper, numpy_helper

import onnxperf
from onnxperf.api._shared.opening import open_source
from onnxperf.errors import BadInput, BadModel, OnnxperfError
from onnxperf.measure.memory import peak_bytes, reset_peak
from onnxperf.measure.model_reader import applied, view_of
from onnxperf.model.opened import Model
from tests import bombs, reader_jobs
from tests.measure.processes import gone

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel shows its memory, and limits that of others")
QUICK: dict[str, Any] = {"time": 0.1, "rounds": 1}


def job(function: Callable[[onnx.ModelProto, bytes], bytes]) -> str:
    return f"{reader_jobs.__name__}:{function.__name__}"


@pytest.fixture
def linear(linear_path: Path) -> Model:
    return open_source(linear_path)


# ---------------------------------------------------------------- bombs

COMMANDS: dict[str, Callable[[Path, Path], object]] = {
    "view": lambda model, _folder: onnxperf.view(model),
    "code": lambda model, _folder: onnxperf.view(model, as_="code"),
    "check": lambda model, _folder: onnxperf.check(model, runtime="ort,numpy"),
    "profile": lambda model, _folder: onnxperf.profile(model, calls=1),
    "bench": lambda model, _folder: onnxperf.bench(model, **QUICK),
    "memory": lambda model, _folder: onnxperf.memory(model),
    "diff": lambda model, _folder: onnxperf.diff(model, model, **QUICK),
    "diff view": lambda model, _folder: onnxperf.diff_view(model, model),
    "optimize": lambda model, folder: onnxperf.optimize(model, folder / "o.onnx"),
    "rewrite": lambda model, folder: onnxperf.rewrite_einsum(model, folder / "r.onnx", **QUICK),
}
LONG = {("code", "flattened"), ("diff view", "flattened")}
"""Shapes are inferred more than once, until memory ends each time."""
PAIRS = [
    pytest.param(command, bomb, marks=[pytest.mark.slow] if (command, bomb) in LONG else [], id=f"{command} {bomb}")
    for command in COMMANDS
    for bomb in bombs.BOMBS
]


@linux
@pytest.mark.parametrize(("command", "bomb"), PAIRS)
def test_a_bomb_is_a_result_or_one_line_and_takes_no_memory_here(command: str, bomb: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.onnx"
    onnx.save(bombs.BOMBS[bomb](), path)
    assert reset_peak()
    before = peak_bytes() or 0
    with contextlib.suppress(OnnxperfError):
        COMMANDS[command](path, tmp_path)
    assert (peak_bytes() or 0) - before < 200 << 20


@pytest.mark.parametrize(
    ("bomb", "reason"),
    [
        ("declared", r"tensor 'w' declares the shape \[1099511627776\], which is 8796093022208 bytes, but has 8"),
        ("doubling functions", "expand to more than 250,000 nodes"),
        ("chain of functions", "are nested more than 100 deep"),
    ],
)
def test_what_no_command_can_use_is_refused_when_it_is_opened(bomb: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.onnx"
    onnx.save(bombs.BOMBS[bomb](), path)
    with pytest.raises(BadModel, match=reason):
        open_source(path)


def test_a_size_that_cannot_be_followed_leaves_the_others_known() -> None:
    view = view_of(open_source(bombs.flattened(2**20)))
    assert view.graph.types["s"].shape == (2,)
    assert [node.op_type for node in view.graph.nodes] == ["Shape", "Gather", "Mul", "Reshape", "Add"]


# ---------------------------------------------------------------- limits


def test_what_takes_too_long_is_ended_and_the_next_model_is_read(linear_path: Path) -> None:
    model = replace(open_source(linear_path), timeout_s=0.2)
    with pytest.raises(BadModel, match=r"cannot be read within 0\.2 s; increase `timeout`, or simplify the model"):
        applied(model, job(reader_jobs.wait_for_ever), b"")
    assert open_source(linear_path).inputs[0].name == "X"


@linux
def test_what_takes_too_much_memory_is_refused(linear: Model) -> None:
    with pytest.raises(BadModel, match=r"needs more than 537 MB of memory to be read"):
        applied(linear, job(reader_jobs.take_memory), b"%d" % (2 << 30))
    assert applied(linear, job(reader_jobs.take_memory), b"%d" % (64 << 20)) == b""


@pytest.mark.parametrize(
    "words", ["cannot allocate memory for thread-local data: ABORT", "terminate called: std::bad_alloc"]
)
def test_a_library_that_ends_the_process_for_lack_of_memory_is_the_same(linear: Model, words: str) -> None:
    with pytest.raises(BadModel, match="needs more than 537 MB of memory to be read"):
        applied(linear, job(reader_jobs.end_for_lack_of_memory), words.encode())


def test_an_answer_that_this_process_could_not_hold_is_refused(linear: Model) -> None:
    with pytest.raises(BadModel, match="needs more than"):
        applied(linear, job(reader_jobs.answer_at_length), b"%d" % (64 << 20))
    assert applied(linear, job(reader_jobs.answer_at_length), b"3") == bytes(3)


def test_a_crash_is_one_line_and_the_next_model_is_read(linear: Model) -> None:
    with pytest.raises(BadModel, match=r"linear\.onnx' cannot be read: killed by SIGSEGV"):
        applied(linear, job(reader_jobs.crash), b"")
    assert applied(linear, job(reader_jobs.answer_at_length), b"1") == bytes(1)


@linux
def test_the_reader_writes_no_large_file_starts_no_process_and_leaves_no_core(linear: Model) -> None:
    found = json.loads(applied(linear, job(reader_jobs.limits), b""))
    assert found.pop("RLIMIT_AS") > 1 << 29
    assert found == {"RLIMIT_FSIZE": 2**31 - 1, "RLIMIT_NPROC": 0, "RLIMIT_CORE": 0}


# ---------------------------------------------------------------- one process


def test_one_reader_serves_all_models(linear: Model, tmp_path: Path) -> None:
    first = applied(linear, job(reader_jobs.process_id), b"")
    other = open_source(bombs.model([helper.make_node("Neg", ["x"], ["y"])]))
    assert applied(other, job(reader_jobs.process_id), b"") == first


def test_a_reader_that_was_killed_meanwhile_is_replaced(linear: Model) -> None:
    pid = int(applied(linear, job(reader_jobs.process_id), b""))
    process = psutil.Process(pid)
    process.kill()
    assert gone(pid)
    assert int(applied(linear, job(reader_jobs.process_id), b"")) != pid


def test_a_reader_that_ends_with_the_thread_that_started_it_is_replaced(linear: Model) -> None:
    pid = int(applied(linear, job(reader_jobs.process_id), b""))
    psutil.Process(pid).kill()
    assert gone(pid)
    thread = threading.Thread(target=applied, args=(linear, job(reader_jobs.process_id), b""))
    thread.start()
    thread.join()
    assert applied(linear, job(reader_jobs.answer_at_length), b"1") == bytes(1)


def test_ctrl_c_ends_the_question_at_once_and_the_next_one_is_answered(linear: Model) -> None:
    with pytest.raises(KeyboardInterrupt):
        applied(linear, job(reader_jobs.interrupt_the_parent), b"")
    assert applied(linear, job(reader_jobs.answer_at_length), b"1") == bytes(1)


@pytest.mark.fresh_workers
def test_a_process_that_cannot_be_started_is_one_line(linear: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = int(applied(linear, job(reader_jobs.process_id), b""))
    psutil.Process(pid).kill()
    assert gone(pid)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "no such program")
        with pytest.raises(BadInput, match="directory; Python is at 'no such program'"):
            open_source(linear.path)
    assert open_source(linear.path).label == "linear"


SCRIPT = """
import sys
import onnxperf, psutil
onnxperf.view(sys.argv[1])
(reader,) = psutil.Process().children()
print(reader.pid, "onnx" in sys.modules)
"""


def test_a_process_that_shows_a_model_imports_no_onnx_and_leaves_no_reader(linear_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(linear_path)]
    pid, imported = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert (imported, gone(int(pid))) == ("False", True)


# ---------------------------------------------------------------- the same as before


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(bombs.model([helper.make_node("Neg", ["x"], ["y"])]), path)
    first = open_source(path)
    onnx.save(bombs.model([helper.make_node("Neg", ["x"], ["y"])], shape=(3, 4)), path)
    second = open_source(path)
    assert (first.inputs[0].shape, second.inputs[0].shape) == ((2,), (3, 4))
    assert first.fingerprint != second.fingerprint


def test_values_travel_as_they_are(tmp_path: Path) -> None:
    weights = numpy_helper.from_array(np.array([1.0, -0.0, np.inf], np.float32), "w")
    path = tmp_path / "m.onnx"
    onnx.save(bombs.model([helper.make_node("Add", ["x", "w"], ["y"])], initializers=(weights,)), path)
    assert view_of(open_source(path), values=True).graph.initializers[0].values == (1.0, -0.0, "inf")


@pytest.mark.parametrize("field", ["doc_string", "producer_name"])
def test_prose_that_is_not_utf_8_is_shown_with_its_bad_parts_replaced(field: str, tmp_path: Path) -> None:
    proto = bombs.model([helper.make_node("Neg", ["x"], ["y"])])
    setattr(proto, field, "before?after")
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString().replace(b"before?after", b"before\xffafter"))
    view = view_of(open_source(path))
    assert "before�after" in (view.doc, view.producer)


def test_a_name_that_is_not_text_is_one_line_wherever_it_stands(tmp_path: Path) -> None:
    proto = bombs.model([bombs.call("F", "x", "y")])
    proto.functions.append(bombs.function("F", helper.make_node("Neg", ["a"], ["b"])))
    proto.functions[0].attribute.append("attribute?")
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString().replace(b"attribute?", b"attribute\xff"))
    with pytest.raises(BadModel, match=r"not (UTF-8|text)"):
        view_of(open_source(path))


def test_a_tensor_may_have_more_elements_than_its_file_has_bytes_if_it_is_only_declared(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(bombs.model([helper.make_node("Add", ["x", "x"], ["y"])], shape=(20_000_000,)), path)
    graph = onnxperf.view(path).record.graph
    assert graph.inputs[0].shape == graph.outputs[0].shape == (20_000_000,)


@linux
def test_a_file_may_have_a_name_that_is_not_text(linear_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "caf\udce9.onnx"
    path.write_bytes(linear_path.read_bytes())
    assert view_of(open_source(path)).graph.inputs[0].name == "X"
