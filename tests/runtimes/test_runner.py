"""One class of object for every runtime."""

from __future__ import annotations

import pickle
from pathlib import Path

import cloudpickle
import numpy as np
import onnx.parser
import pytest

import onnxperf
from onnxperf.errors import BadFeed, BadModel, BadOption
from onnxperf.model.load import open_model
from onnxperf.records.options import SessionOptions
from onnxperf.runtimes.base import Runner, cast_feeds, owned
from onnxperf.runtimes.find import find_runtime, runtimes

STYLES = [(runtime, call) for runtime in runtimes() for call in find_runtime(runtime).call_names]
TWO = """
<ir_version: 8, opset_import: ["" : 17]>
two (float[n, 3] A, float[n, 3] B) => (float[n, 3] total, float[n, 3] difference)
{ total = Add(A, B)
  difference = Sub(A, B) }
"""


def runner_of(data: bytes, runtime: str, call: str) -> Runner:
    session = find_runtime(runtime).open_session(data, SessionOptions(threads=1))
    return Runner(session, open_model(data), runtime, call)


@pytest.fixture(scope="module")
def two() -> bytes:
    return bytes(onnx.parser.parse_model(TWO).SerializeToString())


@pytest.mark.parametrize(("runtime", "call"), STYLES)
def test_outputs_come_by_name(two: bytes, runtime: str, call: str) -> None:
    a, b = np.full((2, 3), 5, np.float32), np.full((2, 3), 3, np.float32)
    outputs = runner_of(two, runtime, call).run({"B": b, "A": a})
    assert list(outputs) == ["total", "difference"]
    np.testing.assert_array_equal(outputs["total"], a + b)
    np.testing.assert_array_equal(outputs["difference"], a - b)


@pytest.mark.parametrize(("runtime", "call"), STYLES)
def test_a_second_run_does_not_change_the_outputs_of_the_first(linear_bytes: bytes, runtime: str, call: str) -> None:
    runner = runner_of(linear_bytes, runtime, call)
    first = runner.run({"X": np.ones((2, 10), np.float32)})["Y"]
    kept = first.copy()
    runner.run({"X": np.zeros((2, 10), np.float32)})
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize(("runtime", "call"), STYLES)
def test_numbers_in_foreign_byte_order_are_understood(linear_bytes: bytes, runtime: str, call: str) -> None:
    runner = runner_of(linear_bytes, runtime, call)
    array = np.arange(20, dtype=np.float32).reshape(2, 10)
    expected = runner.run({"X": array})["Y"]
    np.testing.assert_array_equal(runner.run({"X": array.astype(">f4")})["Y"], expected)


@pytest.mark.parametrize("runtime", runtimes())
def test_a_missing_input_is_named_with_what_was_given_and_what_is_expected(two: bytes, runtime: str) -> None:
    runner = runner_of(two, runtime, "run")
    with pytest.raises(BadFeed, match=r"missing input B; given: A; the model expects: A, B"):
        runner.run({"A": np.ones((2, 3), np.float32)})
    with pytest.raises(BadFeed, match=r"missing input A, B; given: none; the model expects: A, B"):
        runner.run({})


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_the_reference_agrees_with_onnxruntime(linear_bytes: bytes, rows: int) -> None:
    feeds = {"X": np.random.default_rng(rows).random((rows, 10), np.float32)}
    ours, theirs = (runner_of(linear_bytes, runtime, "run").run(feeds)["Y"] for runtime in ("reference", "ort"))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_the_reference_casts_within_the_call(linear_bytes: bytes) -> None:
    session = find_runtime("reference").open_session(linear_bytes, SessionOptions())
    call = session.bind("run", {"X": np.ones((2, 10))}, {"X": "float32"})
    assert call()[0].dtype == np.float32


def test_the_reference_refuses_what_it_does_not_know_in_one_line() -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[n] X) => (float[n] Y) { Y = Foo(X) }'
    data = onnx.parser.parse_model(text).SerializeToString()
    with pytest.raises(BadModel, match=r"onnx\.reference cannot load the model: .*'Foo'") as refused:
        find_runtime("reference").open_session(data, SessionOptions())
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("runtime", "call"), STYLES)
def test_a_runner_and_its_bound_call_open_their_session_again_in_another_process(
    linear_bytes: bytes, runtime: str, call: str
) -> None:
    features = np.arange(20, dtype=np.float32).reshape(2, 10)

    def sent() -> tuple[bytes, object]:  # the private file of the model goes with the runner
        runner = onnxperf.load(linear_bytes, runtime=runtime, call=call, threads=1)
        packed = cloudpickle.dumps((lambda: runner.run(features), runner.bind(features)))
        return packed, runner.run({"X": features})["Y"]

    packed, expected = sent()
    run, again = pickle.loads(packed)
    np.testing.assert_array_equal(run()["Y"], expected)
    np.testing.assert_array_equal(np.asarray(owned(again()[0])), expected)


def test_a_runner_of_a_file_sends_its_path_and_options(linear_path: Path) -> None:
    runner = onnxperf.load(linear_path, threads=2, opt_level="basic")
    sent = pickle.dumps(runner)
    assert linear_path.read_bytes() not in sent
    twice = pickle.loads(pickle.dumps(pickle.loads(sent)))
    conditions = twice.session.conditions
    assert (conditions["threads"], conditions["opt_level"]) == (2, "basic")
    assert twice.model.fingerprint == runner.model.fingerprint


def test_an_only_input_may_come_without_its_name(linear_bytes: bytes, two: bytes) -> None:
    runner = onnxperf.load(linear_bytes, threads=1)
    features = np.ones((2, 10), np.float32)
    expected = runner.run({"X": features})["Y"]
    np.testing.assert_array_equal(runner.run(features)["Y"], expected)
    np.testing.assert_array_equal(runner.run(features.tolist())["Y"], expected)
    np.testing.assert_array_equal(runner.bind(features)()[0], expected)
    assert "X" in runner.run(features, intermediate=True)
    with pytest.raises(BadFeed, match=r"^expected a dict of arrays by input name, got ndarray; the inputs are: A, B$"):
        onnxperf.load(two, threads=1).run(features)


def test_a_runner_shows_its_signature(two: bytes) -> None:
    assert repr(runner_of(two, "ort", "run-c")) == "Runner(ort, run-c: A, B -> total, difference)"


def test_an_unknown_runtime_lists_those_that_exist() -> None:
    with pytest.raises(BadOption, match=r"unknown runtime 'tvm'; choose from: ort, numpy, reference"):
        find_runtime("tvm")


@pytest.mark.parametrize("runtime", runtimes())
def test_an_unknown_call_style_lists_those_of_the_runtime(runtime: str) -> None:
    description = find_runtime(runtime)
    with pytest.raises(BadOption, match=rf"unknown call style 'fly'; choose from: {', '.join(description.call_names)}"):
        description.call("fly")


def test_only_named_inputs_are_cast() -> None:
    feeds = {"A": np.ones(2), "B": np.ones(2)}
    cast = cast_feeds(feeds, {"A": "float32"})
    assert cast["A"].dtype == np.float32
    assert cast["B"] is feeds["B"]


@pytest.mark.parametrize("runtime", runtimes())
@pytest.mark.parametrize(
    ("feeds", "expected"),
    [
        ({"A": np.ones((2, 3)), "B": np.ones((2, 3), np.float32)}, "expected float32, got float64"),
        ({"A": np.ones(3, np.float32), "B": np.ones((2, 3), np.float32)}, "has 1 axes"),
        ({"A": np.ones((2, 3), np.float32), "B": np.ones((2, 3), np.float32), "C": 1}, "no input 'C'"),
    ],
)
def test_inputs_that_do_not_fit_are_refused_by_every_runtime(
    two: bytes, runtime: str, feeds: dict[str, object], expected: str
) -> None:
    with pytest.raises(BadFeed, match=expected):
        runner_of(two, runtime, "run").run(feeds)


def with_weights() -> onnx.ModelProto:
    proto = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2] X) => (float[2] Y) { Y = Add(X, W) }'
    )
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 2], np.float32), "W"))
    return proto


@pytest.mark.parametrize("runtime", ["numpy", "reference", "ort"])
def test_external_data_may_be_links_as_in_the_cache_of_a_hub(runtime: str, tmp_path: Path) -> None:
    proto = with_weights()
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "main" / "onnx"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    saved = tmp_path / "saved" / "model.onnx"
    saved.parent.mkdir()
    onnx.save_model(proto, saved, save_as_external_data=True, location="model.onnx_data", size_threshold=0)
    for name, blob in (("model.onnx", "0a"), ("model.onnx_data", "1b")):
        saved.with_name(name).rename(blobs / blob)
        (snapshot / name).symlink_to(f"../../../blobs/{blob}")
    runner = onnxperf.load(snapshot / "model.onnx", runtime=runtime)
    assert runner.run({"X": np.ones(2, np.float32)})["Y"].tolist() == [2, 3]


@pytest.mark.parametrize("runtime", ["numpy", "reference"])
def test_external_data_outside_the_folder_are_never_read(runtime: str, tmp_path: Path) -> None:
    proto = with_weights()
    (tmp_path / "inner").mkdir()
    saved = tmp_path / "inner" / "model.onnx"
    onnx.save_model(proto, saved, save_as_external_data=True, location="model.data", size_threshold=0)
    saved.with_name("model.data").rename(tmp_path / "model.data")
    saved.with_name("model.data").symlink_to(tmp_path / "model.data")
    with pytest.raises(BadModel, match="outside the model's folder"):
        find_runtime(runtime).open_session(saved, SessionOptions(threads=1))
