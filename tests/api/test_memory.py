"""`onnxperf.memory` on real sessions and callables, each in its own process."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxperf
from onnxperf.api._shared import memory_breakdown
from onnxperf.api._shared.subjects import Entry
from onnxperf.measure.profiling import TurnsEnd
from onnxperf.model.inputs import Feeds
from onnxperf.records.memory import MemorySubject, StepName
from onnxperf.records.trace import MISSING
from tests.depth import some

memory_api = importlib.import_module("onnxperf.api.memory")  # the package has a function of that name

MB = 1_000_000
COLUMNS = 100


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Relu(X @ W): 100 columns become 50."""
    weights = numpy_helper.from_array(np.ones((COLUMNS, 50), np.float32), "W")
    nodes = [helper.make_node("MatMul", ["X", "W"], ["M"], name="mm"), helper.make_node("Relu", ["M"], ["Y"], name="r")]
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", COLUMNS])]
    outputs = [helper.make_tensor_value_info("Y", TensorProto.FLOAT, ["n", 50])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [weights])
    path = tmp_path_factory.mktemp("memory") / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def increment(subject: MemorySubject, name: StepName) -> float:
    step = subject.step(name)
    assert step is not None
    return step.increment_bytes


def only(result: onnxperf.MemoryResult, name: str) -> MemorySubject:
    return next(subject for case in result.record.cases for subject in case.subjects if subject.name == name)


def test_a_cast_inside_the_call_is_measured_and_named(model: Path) -> None:
    rows = 200_000
    given = np.ones((rows, COLUMNS))
    result = onnxperf.memory(model, feeds={"X": given}, cast=True, runtime="numpy", calls=5, threads=1)
    subject = only(result, "numpy")
    assert subject.breakdown is not None
    (copy,) = subject.breakdown.copies
    assert (copy.reason, copy.from_type, copy.to_type) == ("cast", "float64", "float32")
    assert copy.copied_bytes == rows * COLUMNS * 4
    assert increment(subject, "steady call") >= copy.copied_bytes
    assert "casting X from float64 to float32" in result.answer


def test_onnxruntimes_arena_and_the_peak_node_are_in_the_breakdown(model: Path) -> None:
    rows = 100_000
    subject = only(onnxperf.memory(model, dims={"n": rows}, calls=5, threads=1, skip_arena=True), "ort")
    breakdown = subject.breakdown
    assert breakdown is not None
    assert breakdown.weights_on_disk_bytes == breakdown.weights_in_memory_bytes == COLUMNS * 50 * 4
    assert breakdown.input_bytes == rows * COLUMNS * 4
    assert breakdown.output_bytes == rows * 50 * 4
    assert breakdown.planned_bytes is not None
    assert breakdown.arena_held_bytes is not None
    assert breakdown.arena_held_bytes >= rows * 50 * 4
    assert breakdown.peak_node
    assert {tensor.role for tensor in breakdown.alive} >= {"input", "output"}
    assert [step.name for step in subject.steps] == ["load", "first call", *["steady call"] * 5]
    assert len(subject.sample_ns) == len(subject.sample_bytes) > 0


@pytest.mark.parametrize(
    ("options", "tried"),
    [({}, ["off", "same-as-requested", "shrinkage"]), ({"skip_arena": True}, []), ({"runtime": "numpy"}, [])],
    ids=["measured", "skipped", "numpy has no arena"],
)
def test_other_settings_of_the_arena_are_measured_where_much_is_unexplained(
    model: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], tried: list[str]
) -> None:
    monkeypatch.setattr(memory_api, "unexplained_bytes", lambda need, _breakdown: need)
    subject = onnxperf.memory(model, dims={"n": 50_000}, calls=5, threads=1, **options).record.cases[0].subjects[0]
    assert [trial.setting for trial in subject.trials] == tried
    # None can do with less than the results of 10 MB.
    assert all(trial.needed_bytes is not None and trial.needed_bytes > 9 * MB for trial in subject.trials)


LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
PAGES = 1 << 20
"""What a process can have free within pages that were resident before the first call."""


def need_and_least(source: Path, runtime: str, **options: Any) -> tuple[int, int]:
    subject = only(onnxperf.memory(source, runtime=runtime, calls=5, threads=1, skip_arena=True, **options), runtime)
    assert subject.breakdown is not None
    assert subject.needed_bytes is not None
    assert subject.breakdown.planned_bytes is not None
    return subject.needed_bytes, subject.breakdown.planned_bytes


def save_model(path: Path, nodes: list[onnx.NodeProto], shape: list[int]) -> Path:
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.array([-1]), "flat")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def steps(*operators: str) -> list[onnx.NodeProto]:
    """A chain of operators from X to Y."""
    names = ["X", *(f"t{number}" for number in range(1, len(operators))), "Y"]
    more = {"Reshape": ["flat"]}
    return [
        helper.make_node(operator, [names[at], *more.get(operator, [])], [names[at + 1]])
        for at, operator in enumerate(operators)
    ]


@pytest.mark.parametrize("runtime", ["ort", "numpy"])
@pytest.mark.parametrize(
    "chain",
    [("Sin", "Cos", "Exp"), ("Sin", "Transpose", "Reshape", "Cos"), ("Sin", "Reshape", "Exp")],
    ids=["written over each other", "views and a copy", "a view in between"],
)
def test_no_measured_need_is_below_the_planned_minimum(tmp_path: Path, runtime: str, chain: tuple[str, ...]) -> None:
    source = save_model(tmp_path / "m.onnx", steps(*chain), [2500, 2000])
    need, least = need_and_least(source, runtime)
    assert 20 * MB <= least <= need + PAGES


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["ort", "numpy"])
@pytest.mark.parametrize("name", some(["squeezenet", "shufflenet", "inception_v2", "densenet121"], every=4))
def test_no_network_needs_less_than_its_planned_minimum(name: str, runtime: str) -> None:
    need, least = need_and_least(LIGHT / f"light_{name}.onnx", runtime)
    assert 0 < least <= need + PAGES


@pytest.mark.slow
def test_a_session_that_meets_larger_and_larger_inputs_has_an_arena_that_grows(model: Path) -> None:
    result = onnxperf.memory(model, dims={"n": [1000, 50_000, 200_000]}, calls=5, threads=1, skip_arena=True)
    *single, mixed = result.record.cases
    assert [case.dims["n"] for case in single] == [(1000,), (50_000,), (200_000,)]
    assert mixed.dims["n"] == (1000, 50_000, 200_000)
    growth = mixed.subjects[0].growth
    assert growth is not None
    assert growth.kind == "arena"
    assert all(case.subjects[0].growth.kind in ("none", "settling") for case in single if case.subjects[0].growth)
    of_largest, of_mixed = single[-1].subjects[0].breakdown, mixed.subjects[0].breakdown
    assert of_largest is not None
    assert of_mixed is not None
    counted = ("dims", "input_bytes", "output_bytes", "planned_bytes", "alive")
    assert [getattr(of_mixed, name) for name in counted] == [getattr(of_largest, name) for name in counted]


def keep_a_megabyte(kept: list[Any] = []) -> None:  # noqa: B006 - its memory between calls
    kept.append(np.ones(MB, np.uint8))


def touch(size: int) -> Callable[[], Any]:
    return lambda: np.ones(size, np.uint8)


def test_the_time_between_samples_may_be_a_text_and_is_recorded() -> None:
    assert onnxperf.memory(touch(MB), calls=5, sample_every="5ms").record.interval_ns == 5_000_000
    assert onnxperf.memory(touch(MB), calls=5).record.interval_ns == 1_000_000


@pytest.mark.parametrize("store", [False, True], ids=["not by default", "if asked"])
def test_python_saves_a_run_only_if_asked(store: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXPERF_STORE", str(tmp_path / "runs.sqlite"))
    asked: dict[str, Any] = {"store": True, "tags": {"a": "b"}} if store else {}
    result = onnxperf.memory(touch(MB), calls=5, **asked)
    assert bool(result.run) is store
    assert (tmp_path / "runs.sqlite").exists() is store


def test_callables_are_weighed_by_name() -> None:
    result = onnxperf.memory({"small": touch(50 * MB), "large": touch(200 * MB)}, calls=5)
    assert increment(only(result, "small"), "steady call") == pytest.approx(50 * MB, rel=0.02)
    assert increment(only(result, "large"), "first call") == pytest.approx(200 * MB, rel=0.02)


def test_a_callable_that_leaks_is_named() -> None:
    result = onnxperf.memory({"small": touch(5 * MB), "leak": keep_a_megabyte}, calls=50)
    growth = only(result, "leak").growth
    assert growth is not None
    assert growth.kind == "leak"
    assert growth.bytes_per_call == pytest.approx(MB, rel=0.05)
    assert "leak leaks" in result.answer
    assert only(result, "small").growth is not None
    assert only(result, "small").growth.kind == "none"  # type: ignore[union-attr]


def test_the_data_of_a_callable_came_before_the_mark_was_reset() -> None:
    data = np.ones(100 * MB, np.uint8)
    result = onnxperf.memory(lambda: int(data[::4096].sum()), calls=5)
    (subject,) = result.record.cases[0].subjects
    assert subject.step("load") is None
    assert increment(subject, "first call") < 10 * MB
    assert subject.peak_bytes is not None
    assert subject.peak_bytes > 100 * MB


def test_a_subject_that_dies_does_not_end_the_others() -> None:
    result = onnxperf.memory({"dies": lambda: os._exit(3), "lives": touch(MB)}, calls=5)
    assert not result.ok
    assert only(result, "dies").status == "crashed"
    assert only(result, "lives").status == "ok"


def test_a_subject_past_its_limit_is_out_of_memory() -> None:
    result = onnxperf.memory({"large": touch(800 * MB), "small": touch(MB)}, calls=5, memory_limit="400MB")
    assert only(result, "large").status == "oom"
    assert only(result, "small").status == "ok"


def test_the_outputs_of_ort_values_have_a_size(model: Path) -> None:
    subject = only(onnxperf.memory(model, dims={"n": 1000}, call="ort-values", calls=5), "ort")
    assert subject.breakdown is not None
    assert subject.breakdown.output_bytes == 1000 * 50 * 4


@pytest.mark.parametrize(
    ("runtime", "call", "casts", "copies"),
    [
        ("ort", "run", {}, [("layout", "float64", 4000)]),
        ("ort", "run-c", {}, [("layout", "float64", 4000)]),
        ("ort", "run", {"X": "float32"}, [("cast", "float32", 2000), ("layout", "float32", 2000)]),
        ("ort", "ort-values", {}, []),
        ("numpy", "run", {}, []),
        ("numpy", "run", {"X": "float32"}, [("cast", "float32", 2000)]),
    ],
)
def test_only_onnxruntime_copies_inputs_that_are_not_contiguous(
    runtime: str, call: str, casts: dict[str, str], copies: list[tuple[str, str, int]]
) -> None:
    feeds = Feeds({"X": np.ones((COLUMNS, 5)).T}, {})
    entry = Entry(model=cast(Any, None), feeds=feeds, casts=casts)
    found = memory_breakdown.copies_of(entry, runtime, call)
    assert [(each.reason, each.to_type, each.copied_bytes) for each in found] == copies


def without_an_account(error: BaseException) -> Callable[..., Any]:
    def record_arena(*_arguments: object) -> None:
        raise error

    return record_arena


def test_ctrl_c_during_the_account_of_the_arena_keeps_what_was_weighed(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_api, "record_arena", without_an_account(KeyboardInterrupt()))
    result = onnxperf.memory(model, dims={"n": [10, 20]}, calls=5)
    assert result.interrupted
    (case,) = result.record.cases  # the others were not begun
    assert case.interrupted
    assert case.subjects[0].status == "ok"
    assert case.subjects[0].needed_bytes is not None


def test_a_trace_that_was_interrupted_is_no_account(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = TurnsEnd(turns=(), interrupted=True)
    monkeypatch.setattr(memory_breakdown, "take_turns", lambda *_arguments: ended)
    result = onnxperf.memory(model, dims={"n": 10}, calls=5)
    assert result.interrupted
    assert only(result, "ort").breakdown is not None
    assert only(result, "ort").breakdown.arena_held_bytes is None  # type: ignore[union-attr]


def test_a_trace_without_memory_leaves_the_arena_unknown_and_says_so(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_breakdown, "_per_iteration", lambda *_arguments: ())
    result = onnxperf.memory(model, dims={"n": 10}, calls=5)
    breakdown = only(result, "ort").breakdown
    assert breakdown is not None
    assert breakdown.arena_held_bytes is breakdown.arena_used_bytes is None
    assert breakdown.planned_bytes
    assert any("has no memory figures" in note for note in result.record.cases[0].notes)


@pytest.mark.parametrize("numbers", [{}, {"mem_arena_held": np.array([MISSING, MISSING])}])
def test_columns_without_values_say_nothing_about_any_call(numbers: dict[str, Any]) -> None:
    layout = SimpleNamespace(is_kernel=np.array([True, True]), iteration=np.array([0, 1]), iterations=2)
    result = SimpleNamespace(trace=SimpleNamespace(numbers=numbers), layout=layout)
    assert memory_breakdown._per_iteration(cast(Any, result), "mem_arena_held") == ()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"calls": 4}, "`calls=4`: expected at least 5 calls"),
        ({"sample_every": 0}, "`sample_every=0`: expected more than 0 seconds"),
        ({"sample_every": float("inf")}, "`sample_every=inf`: expected more than 0 seconds"),
        ({"sample_every": "often"}, "`sample_every=often`: expected a time such as 50ms"),
        ({"timeout": 0}, "`timeout=0`: expected more than 0 seconds"),
        ({"runtime": "tvm"}, "unknown runtime 'tvm'"),
        ({"dims": {"n": []}}, "`dims=n`: no value given"),
        ({"tempo": 3}, "unknown option 'tempo'"),
        ({"repeat": 9}, "unknown option 'repeat'"),
        ({"interval": 0.1}, "unknown option 'interval'"),
    ],
)
def test_wrong_options_are_refused_in_one_line(model: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(onnxperf.BadOption, match=said):
        onnxperf.memory(model, **options)


@pytest.mark.parametrize("options", [{"feeds": {"X": 1}}, {"dims": {"n": 3}}, {"runtime": "numpy"}, {"cast": True}])
def test_a_function_has_no_inputs_of_a_model(options: dict[str, Any]) -> None:
    with pytest.raises(onnxperf.BadOption, match="a function is called without arguments"):
        onnxperf.memory(touch(1), **options)


def test_models_and_functions_do_not_mix(model: Path) -> None:
    with pytest.raises(onnxperf.BadOption, match="'m' is not a function, the others are"):
        onnxperf.memory({"m": model, "f": touch(1)})  # type: ignore[arg-type]


def test_what_cannot_run_at_all_is_refused(tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError("no such luck")

    with pytest.raises(onnxperf.BadInput, match="no such luck"):
        onnxperf.memory(fail)
