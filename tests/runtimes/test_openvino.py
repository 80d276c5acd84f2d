"""OpenVINO as a runtime: what it computes, what it uses, and what it refuses."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxperf
from onnxperf.errors import BadFeed, BadModel, MissingExtra, SubjectError
from onnxperf.records.options import SessionOptions
from onnxperf.runtimes.base import Array, Session
from onnxperf.runtimes.find import find_runtime

# Not importorskip: a plain import of OpenVINO reports itself over the network.
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="openvino is not installed: pip install 'onnxperf[openvino]'"
)
RUNTIME = find_runtime("openvino")
STYLES = RUNTIME.call_names
LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("light_*.onnx"))
LARGE = ("light_bvlc_alexnet", "light_densenet121", "light_resnet50", "light_vgg19", "light_zfnet512")
VALUES = np.array([-1.5, 2.25], np.float32)


def model_of(graph: str, opset: int = 18) -> bytes:
    text = f'<ir_version: 8, opset_import: ["" : {opset}, "ai.onnx.ml" : 3]> {graph}'
    return bytes(onnx.parser.parse_model(text).SerializeToString())


def session_of(model: Path | bytes, runtime: str = "openvino") -> Session:
    return find_runtime(runtime).open_session(model, SessionOptions(threads=1))


@pytest.mark.parametrize("call", STYLES)
@pytest.mark.parametrize(
    ("graph", "array"),
    [
        ("g (float[n] X) => (float[n] Y, float[n] Z) { Y = Relu(X) Z = Identity(Y) }", VALUES),
        ("g (float[2] X) => (float[2] A, float[2] Y) { A = Identity(X) Y = Identity(A) }", VALUES),
        ("g (float[2] X) => (float[2] X) { Y = Relu(X) }", VALUES),
        ("g (double[n] X) => (double[n] Y) { Y = Add(X, X) }", VALUES.astype("f8")),
        ("g (float16[n] X) => (float16[n] Y) { Y = Add(X, X) }", VALUES.astype("f2")),
        ("g (bool[n] X) => (bool[n] Y) { Y = Not(X) }", VALUES > 0),
        ("g (int64[n] X) => (int64[n] Y) { Y = Mul(X, X) }", np.array([3, -4])),
        ("g (float[n] X) => (int64[r, k] Y) { Y = NonZero(X) }", np.array([0, 1, 1], np.float32)),
        ("g (float X) => (float Y) { Y = Neg(X) }", np.array(2, np.float32)),
        ("g (float[n] X) => (float Y) { Y = ReduceSum<keepdims = 0>(X) }", VALUES),
        ("g (float[n] X) => (float[n] Y) { Y = Neg(X) }", np.zeros(0, np.float32)),
    ],
)
def test_every_style_and_its_parts_compute_what_onnxruntime_computes(graph: str, array: Array, call: str) -> None:
    model, feeds = model_of(graph), {"X": array}
    session, other = session_of(model), session_of(model, "ort")
    expected = other.bind("run", feeds, {})()
    assert (session.input_names, session.output_names) == (other.input_names, other.output_names)
    parts = session.parts(call, feeds, {})
    for outputs in (session.bind(call, feeds, {})(), parts.fetch(parts.prepare()())):
        for ours, theirs in zip(outputs, expected, strict=True):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.thorough] if path.stem in LARGE else []) for path in LIGHT],
)
def test_the_light_models_of_onnx_give_equal_outputs(path: Path) -> None:
    session, other = session_of(path), session_of(path, "ort")
    assert session.input_names == other.input_names
    image = {other.input_names[0]: np.random.default_rng(0).random((1, 3, 224, 224), np.float32)}
    for ours, theirs in zip(session.bind("run", image, {})(), other.bind("run", image, {})(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


def test_check_compares_it_with_onnxruntime_node_by_node(linear_path: Path) -> None:
    result = onnxperf.check(linear_path, runtime="ort,openvino", nodes=True, threads=1)
    assert result.equal


def test_intermediates_are_all_tensors_in_the_order_of_the_graph() -> None:
    model = model_of("g (float[n] X) => (float[n] Y) { A = Exp(X) B = Neg(A) Y = Abs(B) }")
    found = session_of(model).intermediates({"X": VALUES})
    assert list(found) == ["X", "A", "B", "Y"]
    np.testing.assert_allclose(found["B"], -np.exp(VALUES), rtol=1e-6)


def test_conditions_are_what_the_compiled_model_uses(linear_bytes: bytes) -> None:
    conditions = session_of(linear_bytes).conditions
    assert {name: conditions[name] for name in ("device", "threads", "streams", "precision", "pinning")} == {
        "device": "CPU",
        "threads": 1,
        "streams": 1,
        "precision": "f32",
        "pinning": False,
    }
    assert str(conditions["openvino"]).count(".") == 2


@pytest.mark.parametrize("call", ["run", "io-binding-fixed"])
def test_inputs_are_cast_within_the_call(linear_bytes: bytes, call: str) -> None:
    session = session_of(linear_bytes)
    doubles = {"X": np.ones((2, 10))}
    parts = session.parts(call, doubles, {"X": "float32"})
    (expected,) = session.bind("run", {"X": np.ones((2, 10), np.float32)}, {})()
    for outputs in (session.bind(call, doubles, {"X": "float32"})(), parts.fetch(parts.prepare()())):
        np.testing.assert_array_equal(outputs[0], expected)


@pytest.mark.parametrize("call", STYLES)
def test_values_written_into_the_inputs_are_seen(linear_bytes: bytes, call: str) -> None:
    session, array = session_of(linear_bytes), np.ones((2, 10), np.float32)
    bound = session.bind(call, {"X": array}, {})
    first = bound()[0].copy()
    array *= 2
    np.testing.assert_allclose(bound()[0], 2 * first, rtol=1e-6)


@pytest.mark.parametrize("call", STYLES)
def test_inputs_may_be_read_only(linear_bytes: bytes, call: str) -> None:
    array = np.ones((2, 10), np.float32)
    array.flags.writeable = False
    assert session_of(linear_bytes).bind(call, {"X": array}, {})()[0].shape == (2, 4)


def _give_an_initialiser(session: Session) -> None:
    session.bind("run", {"X": np.ones((2, 10), np.float32), "W": np.ones((10, 4), np.float32)}, {})


def _cast_in_place(session: Session) -> None:
    session.bind("io-binding-inplace", {"X": np.ones((2, 10))}, {"X": "float32"})


def _scatter(session: Session) -> None:
    session.bind("io-binding-fixed", {"X": np.ones((10, 2), np.float32).T}, {})


@pytest.mark.parametrize(
    ("misuse", "error", "message"),
    [
        (_give_an_initialiser, SubjectError, "initializer 'W' is a constant in OpenVINO"),
        (_cast_in_place, SubjectError, "io-binding-inplace does not copy its inputs, so it cannot cast"),
        (_scatter, BadFeed, "for io-binding-fixed, pass np.ascontiguousarray"),
    ],
)
def test_what_a_style_cannot_do_is_said(
    linear_bytes: bytes, misuse: Callable[[Session], None], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        misuse(session_of(linear_bytes))


def _bfloat16() -> bytes:
    values = [helper.make_tensor_value_info(name, TensorProto.BFLOAT16, [2]) for name in "XY"]
    graph = helper.make_graph([helper.make_node("Abs", ["X"], ["Y"])], "g", values[:1], values[1:])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 18)])
    return bytes(model.SerializeToString())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (model_of("g (string[2] X) => (string[2] Y) { Y = Identity(X) }"), "input 'X' has the type string"),
        (_bfloat16(), "input 'X' has the type bf16"),
        (
            model_of("g (float[2] X) => (float[2] Y) { Y = ai.onnx.ml.Foo(X) }"),
            r"unsupported operators: ai\.onnx\.ml\.Foo$",
        ),
        (model_of("g (float[n] X) => (seq(float[n]) Y) { Y = SequenceConstruct(X, X) }"), "cannot load the model"),
        (b"no model", "cannot load the model"),
    ],
    ids=["string", "bfloat16", "unknown operator", "sequence", "junk"],
)
def test_a_model_that_it_cannot_run_is_one_line(model: bytes, message: str) -> None:
    with pytest.raises(BadModel, match=message) as refused:
        session_of(model)
    assert "\n" not in str(refused.value)


def test_where_it_is_missing_the_extra_is_named_before_anything_starts(
    linear_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"openvino is not installed; .*\[openvino\]"):
        onnxperf.bench(linear_path, runtime="ort,openvino", threads=1)


def test_weights_in_a_file_beside_the_model_are_found(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> g (float[n, 64] X) => (float[n, 64] Y) { Y = MatMul(X, W) }'
    )
    model.graph.initializer.append(numpy_helper.from_array(np.eye(64, dtype=np.float32), "W"))
    onnx.save_model(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    array = np.random.default_rng(0).random((2, 64), np.float32)
    np.testing.assert_allclose(session_of(tmp_path / "m.onnx").bind("run", {"X": array}, {})()[0], array, rtol=1e-6)


def test_its_import_reports_nothing_and_leaves_the_library_whole() -> None:
    script = (
        "import sys, threading; from onnxperf.runtimes.find import find_runtime; find_runtime('openvino').ready();"
        "print('openvino_telemetry' in sys.modules, threading.active_count());"
        "sys.modules['openvino_telemetry'] = None; from openvino import convert_model; print(callable(convert_model))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "1", "True"]
