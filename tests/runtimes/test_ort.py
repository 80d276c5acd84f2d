"""Onnxruntime in every call style: equal outputs, honest refusals."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

import onnxperf
from onnxperf.errors import BadFeed, BadModel, BadOption, SubjectError
from onnxperf.model.load import open_model
from onnxperf.records.options import ArenaSetting, OptLevel, SessionOptions
from onnxperf.runtimes.base import Runner, Session
from onnxperf.runtimes.ort import session as ort
from onnxperf.runtimes.ort.calls import CALLS

ONE_THREAD = SessionOptions(threads=1)
BINDING = [call.name for call in CALLS.values() if call.needs_contiguous]
OTHERS = [call for call in CALLS if call != "run"]


def parsed(graph: str, opsets: str = '"" : 17', ir_version: int = 8) -> bytes:
    text = f"<ir_version: {ir_version}, opset_import: [{opsets}]> {graph}"
    return bytes(onnx.parser.parse_model(text).SerializeToString())


def session_of(graph: str, opsets: str = '"" : 17', options: SessionOptions = ONE_THREAD) -> ort.OrtSession:
    return ort.open_session(parsed(graph, opsets), options)


def outputs_of(session: Session, call: str, feeds: dict[str, Any], casts: dict[str, str] | None = None) -> list[Any]:
    """Outputs of the second call, as arrays: buffers that are used again must not change them."""
    bound = session.bind(call, feeds, casts or {})
    bound()
    return [value.numpy() if hasattr(value, "numpy") else value for value in bound()]


NEGATE = "negate (float[n, m] X) => (float[n, m] Y) { Y = Neg(X) }"
ZIPMAP_TYPE = helper.make_sequence_type_proto(
    helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
)
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "linear": (
        "linear (float[n, 3] X, float[3, 2] W) => (float[n, 2] Y) { Y = MatMul(X, W) }",
        {"X": np.arange(12, dtype=np.float32).reshape(4, 3), "W": np.ones((3, 2), np.float32)},
    ),
    "several inputs and outputs": (
        """two (float[n] A, int64[n] B) => (float[n] C, int64[n] D, bool[n] E)
        { C = Neg(A)
          D = Add(B, B)
          E = Equal(B, B) }""",
        {"A": np.arange(3, dtype=np.float32), "B": np.arange(3)},
    ),
    "int64": ("add (int64[n] X) => (int64[n] Y) { Y = Add(X, X) }", {"X": np.arange(5)}),
    "float16": ("add (float16[n] X) => (float16[n] Y) { Y = Add(X, X) }", {"X": np.arange(5, dtype=np.float16)}),
    "float64": ("add (double[n] X) => (double[n] Y) { Y = Add(X, X) }", {"X": np.arange(5.0)}),
    "bool": ("flip (bool[n] X) => (bool[n] Y) { Y = Not(X) }", {"X": np.array([True, False])}),
    "no rows": (NEGATE, {"X": np.ones((0, 3), np.float32)}),
    "a scalar": ("negate (float X) => (float Y) { Y = Neg(X) }", {"X": np.array(3, np.float32)}),
}


@pytest.mark.parametrize("call", OTHERS)
@pytest.mark.parametrize("case", CASES)
def test_every_call_style_returns_what_run_returns(case: str, call: str) -> None:
    graph, feeds = CASES[case]
    session = session_of(graph)
    expected = outputs_of(session, "run", feeds)
    for one, other in zip(expected, outputs_of(session, call, feeds), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("case", CASES)
def test_the_parts_of_a_call_one_after_the_other_return_what_run_returns(case: str, call: str) -> None:
    graph, feeds = CASES[case]
    session = session_of(graph)
    parts = session.parts(call, feeds, {})
    parts.fetch(parts.prepare()())
    for one, other in zip(outputs_of(session, "run", feeds), parts.fetch(parts.prepare()()), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("call", [call for call in CALLS if call != "io-binding-inplace"])
def test_preparing_casts_the_inputs(call: str) -> None:
    parts = session_of(NEGATE).parts(call, {"X": np.ones((2, 2))}, {"X": "float32"})
    np.testing.assert_array_equal(parts.fetch(parts.prepare()())[0], -np.ones((2, 2), np.float32))


def test_values_made_from_a_cast_keep_its_memory_alive() -> None:
    ones = np.ones((1000, 1000))  # so large that freed memory goes back to the system at once
    parts = session_of(NEGATE).parts("ort-values", {"X": ones}, {"X": "float32"})
    np.testing.assert_array_equal(parts.fetch(parts.prepare()())[0], -ones)


def test_a_new_call_style_is_one_entry_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CALLS, "again", replace(CALLS["run"], name="again"))
    session, feeds = session_of(NEGATE), {"X": np.ones((2, 2), np.float32)}
    np.testing.assert_array_equal(outputs_of(session, "again", feeds), outputs_of(session, "run", feeds))


def test_call_styles_on_one_session_do_not_disturb_each_other() -> None:
    session = session_of(NEGATE)
    feeds = {call: {"X": np.full((2, 2), number, np.float32)} for number, call in enumerate(CALLS)}
    bound = {call: session.bind(call, feeds[call], {}) for call in CALLS}
    for _ in range(2):
        for call in CALLS:
            output = bound[call]()[0]
            array = output if isinstance(output, np.ndarray) else output.numpy()
            np.testing.assert_array_equal(array, -feeds[call]["X"])


def test_fixed_buffers_follow_what_is_written_into_the_input() -> None:
    feeds = {"X": np.ones((2, 2), np.float32)}
    call = session_of(NEGATE).bind("io-binding-fixed", feeds, {})
    call()
    feeds["X"][...] = 5
    np.testing.assert_array_equal(call()[0], np.full((2, 2), -5, np.float32))


# ---------------------------------------------------------------- what cannot be bound


@pytest.mark.parametrize("call", ["run", "run-c"])
def test_strings_go_in_and_come_out(call: str) -> None:
    session = session_of("same (string[n] X) => (string[n] Y) { Y = Identity(X) }")
    assert outputs_of(session, call, {"X": np.array(["a", "ä"], dtype=object)})[0].tolist() == ["a", "ä"]


@pytest.mark.parametrize("call", ["ort-values", *BINDING])
def test_string_inputs_cannot_be_bound(call: str) -> None:
    session = session_of("same (string[n] X) => (string[n] Y) { Y = Identity(X) }")
    with pytest.raises(SubjectError, match="input 'X' is a string tensor, which this call style cannot bind"):
        session.bind(call, {"X": np.array(["a"], dtype=object)}, {})


LABELS = """labels (int64[n] X) => (string[n] Y)
{ Y = ai.onnx.ml.LabelEncoder <keys_int64s = [0, 1], values_strings = ["n", "y"]> (X) }"""


@pytest.mark.parametrize("call", ["run", "run-c", "ort-values", "io-binding"])
def test_string_outputs_come_out(call: str) -> None:
    session = session_of(LABELS, '"" : 17, "ai.onnx.ml" : 3')
    assert outputs_of(session, call, {"X": np.array([0, 1])})[0].tolist() == ["n", "y"]


@pytest.mark.parametrize("call", ["io-binding-fixed", "io-binding-inplace"])
def test_string_outputs_have_no_buffer(call: str) -> None:
    session = session_of(LABELS, '"" : 17, "ai.onnx.ml" : 3')
    with pytest.raises(SubjectError, match="output 'Y' is not a numeric tensor") as refused:
        session.bind(call, {"X": np.array([0, 1])}, {})
    assert refused.value.status == "skipped"


@pytest.fixture(scope="module")
def zipmap() -> ort.OrtSession:
    """Scores as a list of dictionaries, as scikit-learn's converters make them."""
    node = helper.make_node("ZipMap", ["X"], ["scores"], domain="ai.onnx.ml", classlabels_int64s=[0, 1])
    graph = helper.make_graph(
        [node],
        "zipmap",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", 2])],
        [helper.make_value_info("scores", ZIPMAP_TYPE)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return ort.open_session(model.SerializeToString(), ONE_THREAD)


@pytest.mark.parametrize("call", ["run", "run-c"])
def test_a_sequence_comes_out(zipmap: ort.OrtSession, call: str) -> None:
    assert outputs_of(zipmap, call, {"X": np.array([[0.25, 0.75]], np.float32)}) == [[{0: 0.25, 1: 0.75}]]


@pytest.mark.parametrize("call", ["ort-values", *BINDING])
def test_a_sequence_cannot_be_bound_and_the_reason_names_it(zipmap: ort.OrtSession, call: str) -> None:
    with pytest.raises(
        SubjectError, match=r"output 'scores' is a seq\(map.*, but this call style .*tensors"
    ) as refused:
        zipmap.bind(call, {"X": np.ones((1, 2), np.float32)}, {})
    assert "\n" not in refused.value.reason
    assert refused.value.status == "skipped"


NOT_CONTIGUOUS = {
    "transposed": np.arange(6, dtype=np.float32).reshape(2, 3).T,
    "reversed": np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::-1],
    "sliced": np.arange(12, dtype=np.float32).reshape(2, 6)[:, ::2],
    "broadcast": np.broadcast_to(np.arange(3, dtype=np.float32), (2, 3)),
}


@pytest.mark.parametrize("call", BINDING)
@pytest.mark.parametrize("layout", NOT_CONTIGUOUS)
def test_a_binding_refuses_what_is_not_contiguous(layout: str, call: str) -> None:
    with pytest.raises(BadFeed, match=rf"input 'X' is not contiguous; for {call}, pass np.ascontiguousarray\(X\)"):
        session_of(NEGATE).bind(call, {"X": NOT_CONTIGUOUS[layout]}, {})


@pytest.mark.parametrize("call", ["run", "run-c", "ort-values"])
@pytest.mark.parametrize("layout", NOT_CONTIGUOUS)
def test_the_others_take_any_layout(layout: str, call: str) -> None:
    array = NOT_CONTIGUOUS[layout]
    np.testing.assert_array_equal(outputs_of(session_of(NEGATE), call, {"X": array})[0], -array)


# ---------------------------------------------------------------- casts


@pytest.mark.parametrize("dtype", ["float64", "int64", "float16", "bool", ">f4"])
@pytest.mark.parametrize("call", [call for call in CALLS if call != "io-binding-inplace"])
def test_inputs_are_cast_within_the_call(call: str, dtype: str) -> None:
    array = np.array([[0, 1], [1, 0]]).astype(dtype)
    output = outputs_of(session_of(NEGATE), call, {"X": array}, {"X": "float32"})[0]
    assert output.dtype == np.float32
    np.testing.assert_array_equal(output, -array.astype(np.float32))


def test_a_style_without_copies_cannot_cast() -> None:
    with pytest.raises(SubjectError, match="io-binding-inplace does not copy its inputs, so it cannot cast") as refused:
        session_of(NEGATE).bind("io-binding-inplace", {"X": np.ones((2, 2))}, {"X": "float32"})
    assert refused.value.status == "skipped"


# ---------------------------------------------------------------- sessions


@pytest.mark.parametrize("name", ["cpu", "CPU", "CPUExecutionProvider"])
def test_a_provider_goes_by_its_short_name_or_its_own(name: str) -> None:
    assert ort.provider_name(name) == "CPUExecutionProvider"


@pytest.mark.parametrize("name", ["tpu", "", "NoExecutionProvider"])
def test_an_unknown_provider_lists_those_that_are_available(name: str) -> None:
    with pytest.raises(BadOption, match=r"provider '.*'; choose from: .*cpu") as refused:
        ort.open_session(parsed(NEGATE), SessionOptions(threads=1, provider=name))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("disable", "ORT_DISABLE_ALL"),
        ("basic", "ORT_ENABLE_BASIC"),
        ("extended", "ORT_ENABLE_EXTENDED"),
        ("layout", "ORT_ENABLE_LAYOUT"),
        ("all", "ORT_ENABLE_ALL"),
    ],
)
def test_the_optimisation_level_reaches_the_session(level: OptLevel, expected: str) -> None:
    session = ort.open_session(parsed(NEGATE), SessionOptions(threads=1, opt_level=level))
    assert session.ort.get_session_options().graph_optimization_level.name == expected
    assert session.conditions["opt_level"] == level


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_and_config_entries_reach_the_session(threads: int) -> None:
    entries = {"session.intra_op.allow_spinning": "0", "session.dynamic_block_base": "4"}
    session = ort.open_session(parsed(NEGATE), SessionOptions(threads=threads, options=entries))
    used = session.ort.get_session_options()
    assert used.intra_op_num_threads == session.conditions["threads"] == threads
    assert used.inter_op_num_threads == 1
    for key, value in entries.items():
        assert used.get_session_config_entry(key) == value
    assert session.conditions["option session.dynamic_block_base"] == "4"
    assert session.conditions["spinning"] is False
    assert session.conditions["providers"] == "CPUExecutionProvider"


@pytest.mark.parametrize(
    ("graph", "opsets", "ir_version", "named"),
    [
        ("g (float[n] X) => (float[n] Y) { Y = Foo(X) }", '"" : 17', 8, "operator Foo does not exist in opset 17"),
        ("g (float[n] X) => (float[n] Y) { Y = Gelu(X) }", '"" : 13', 8, "operator Gelu does not exist in opset 13"),
        (
            "g (float[n] X) => (float[n] Y) { Y = ai.onnx.ml.Foo(X) }",
            '"" : 17, "ai.onnx.ml" : 3',
            8,
            "operator Foo of domain ai.onnx.ml does not exist in opset 3",
        ),
        (
            "g (float[n] X) => (float[n] Y) { Y = my.own.Foo(X) }",
            '"" : 17, "my.own" : 1',
            8,
            "operator Foo of domain my.own is unknown",
        ),
        (
            "g (float[n] X) => (float[n] Y) { Y = my.own.Foo(X) }",
            '"" : 17',
            8,
            "domain my.own has no opset import in the model",
        ),
        ("g (float[n] X) => (float[n] Y) { Y = Neg(X) }", '"" : 99', 8, "opset 99 of domain ai.onnx is newer than"),
        (
            "g (float[n] X) => (float[n] Y) { Y = Neg(X) }",
            '"" : 17, "ai.onnx.ml" : 77',
            8,
            "opset 77 of domain ai.onnx.ml is newer than",
        ),
        ("g (float[n] X) => (float[n] Y) { Y = Neg(X) }", '"" : 17', 99, "IR version 99 is newer than"),
        ("g (string[n] X) => (string[n] Y) { Y = Cos(X) }", '"" : 17', 8, "(Cos)"),
    ],
)
def test_a_model_that_it_does_not_know_is_refused_in_one_line_that_names_the_cause(
    graph: str, opsets: str, ir_version: int, named: str
) -> None:
    with pytest.raises(BadModel) as refused:
        ort.open_session(parsed(graph, opsets, ir_version), ONE_THREAD)
    text = str(refused.value)
    assert text.startswith("onnxruntime ")
    assert named in text
    assert "\n" not in text
    assert ".cc:" not in text
    assert ".h:" not in text


@pytest.mark.parametrize(
    ("message", "explained"),
    [
        ("[ONNXRuntimeError] : 1 : FAIL : Something\n broke", "Something broke"),
        (
            "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for Cos(7) node with name ''",
            "operator Cos (opset 7) has no implementation",
        ),
        ("[ONNXRuntimeError] : 1 : FAIL : /src/onnxruntime/core/a.cc:25 void f(int) Bad thing", "Bad thing"),
    ],
)
def test_messages_lose_paths_and_signatures(message: str, explained: str) -> None:
    assert ort.explain(RuntimeError(message)) == explained


def test_a_path_is_opened_in_place(linear_path: Path) -> None:
    session = ort.open_session(linear_path, ONE_THREAD)
    assert (session.input_names, session.output_names) == (("X",), ("Y",))
    runner = Runner(session, open_model(linear_path), "ort", "run")
    assert runner.run({"X": np.ones((2, 10), np.float32)})["Y"].shape == (2, 4)


@pytest.mark.parametrize("arena", ["default", "off", "same-as-requested", "shrinkage"])
def test_the_setting_of_the_arena_reaches_the_session_and_changes_no_result(arena: ArenaSetting) -> None:
    graph = "g (float[2] X) => (float[2] Y) { Y = Add(X, X) }"
    session = session_of(graph, options=SessionOptions(threads=1, arena=arena))
    assert session.conditions.get("arena", "default") == arena
    used = session.ort.get_session_options()
    assert used.enable_cpu_mem_arena == (arena != "off")
    assert (session.run_options is not None) == (arena == "shrinkage")
    (result,) = outputs_of(session, "run", {"X": np.array([1, 2], np.float32)})
    assert result.tolist() == [2, 4]


def test_telemetry_is_off_wherever_onnxruntime_is_imported(tmp_path: Path) -> None:
    script = (
        "import onnxruntime; calls = []; onnxruntime.disable_telemetry_events = lambda: calls.append(1);"
        "import onnxperf.runtimes.ort.session; print(calls)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[1]\n"
    home = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    home |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    script = "from onnxperf.runtimes.ort import session; print(session.available_providers())"
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, env=home)
    assert list(tmp_path.iterdir()) == []  # an identifier of the device would be kept here
    sources = Path(onnxperf.__file__).parent.rglob("*.py")
    importing = [path.name for path in sources if re.search(r"^\s*import onnxruntime", path.read_text(), re.MULTILINE)]
    assert importing == ["session.py"]
