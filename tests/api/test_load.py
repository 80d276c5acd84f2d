"""`onnxperf.load`: one class of object for every runtime."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

import onnxperf
from onnxperf.errors import BadFeed, BadInput, BadOption
from onnxperf.runtimes.find import find_runtime, runtimes

STYLES = [(runtime, call) for runtime in runtimes() for call in find_runtime(runtime).call_names]


@pytest.mark.parametrize(("runtime", "call"), STYLES)
def test_every_runtime_and_call_style_predicts(linear_path: Path, runtime: str, call: str) -> None:
    runner = onnxperf.load(linear_path, runtime=runtime, call=call, threads=1)
    assert isinstance(runner, onnxperf.Runner)
    assert (runner.runtime, runner.call) == (runtime, call)
    features = np.ones((3, 10), np.float32)
    weights = np.arange(40, dtype=np.float32).reshape(10, 4) / 40
    np.testing.assert_allclose(runner.run({"X": features})["Y"], features @ weights, rtol=1e-5)


def test_a_model_comes_as_path_text_bytes_or_proto(
    linear_path: Path, linear_bytes: bytes, linear_proto: onnx.ModelProto
) -> None:
    for model in (linear_path, str(linear_path), linear_bytes, linear_proto):
        assert onnxperf.load(model, threads=1).output_names == ("Y",)


def test_a_model_given_as_bytes_stays_loaded(linear_bytes: bytes) -> None:
    runner = onnxperf.load(linear_bytes, runtime="reference")
    assert runner.run({"X": np.ones((1, 10), np.float32)})["Y"].shape == (1, 4)


def test_options_reach_the_session(linear_bytes: bytes) -> None:
    runner = onnxperf.load(linear_bytes, threads=2, opt_level="basic", options={"session.intra_op.allow_spinning": "0"})
    conditions = runner.session.conditions
    assert (conditions["threads"], conditions["opt_level"], conditions["spinning"]) == (2, "basic", False)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"runtime": "tvm"}, "unknown runtime 'tvm'; choose from: ort, numpy, reference"),
        ({"call": "fly"}, "unknown call style 'fly'; choose from: run, run-c"),
        ({"runtime": "reference", "call": "run-c"}, "unknown call style 'run-c'; choose from: run"),
        ({"provider": "tpu"}, "provider 'tpu'; choose from: .*cpu"),
        ({"threads": 0}, "`threads=0`: expected a whole number from 1"),
        ({"runtime": "ort,numpy"}, "`runtime=ort,numpy`: expected one name"),
        ({"call": ["run", "run-c"]}, "expected one name"),
        ({"threads": [1, 2]}, "threads has several values"),
        ({"variants": {"a": {}, "b": {}}}, "variants has several values"),
        ({"env": "onnxruntime==1.20.1"}, "`env`: a model is loaded in this process"),
        (
            {"thread": 1},
            "unknown option 'thread'; choose from: call, env, opt_level, options, options_unchecked, provider, "
            "runtime, threads, variants$",
        ),
        ({"timeout": 1.0}, "unknown option 'timeout'"),
        ({"blocks": 1}, "unknown option 'blocks'"),
    ],
)
def test_a_wrong_option_lists_the_valid_ones(linear_bytes: bytes, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        onnxperf.load(linear_bytes, **keywords)


def test_a_variant_has_a_runtime_and_a_call_style(linear_bytes: bytes) -> None:
    lean = onnxperf.load(linear_bytes, variants={"lean": {"threads": 1, "call": "run-c"}})
    assert (lean.runtime, lean.call, lean.session.conditions["threads"]) == ("ort", "run-c", 1)
    assert onnxperf.load(linear_bytes, variants={"plain": {"runtime": "numpy"}}).runtime == "numpy"


def test_help_shows_the_parameters_with_their_defaults() -> None:
    parameters = inspect.signature(onnxperf.load).parameters
    assert list(parameters)[:3] == ["model", "call", "runtime"]
    assert (parameters["runtime"].default, parameters["threads"].default, parameters["profile"].default) == (
        "ort",
        None,
        False,
    )


@pytest.mark.parametrize("runtime", ["ort", "numpy"])
def test_a_runner_travels_to_another_process(linear_bytes: bytes, runtime: str) -> None:
    runner = onnxperf.load(linear_bytes, runtime=runtime, threads=1)
    again = pickle.loads(pickle.dumps(runner))
    assert (again.runtime, again.call, again.options) == (runtime, "run", runner.options)
    assert again.run({"X": np.ones((1, 10), np.float32)})["Y"].shape == (1, 4)


def test_a_missing_input_is_named(linear_bytes: bytes) -> None:
    with pytest.raises(BadFeed, match="missing input X"):
        onnxperf.load(linear_bytes, threads=1).run({})


SEQUENCE = """
<ir_version: 8, opset_import: ["" : 17]>
joined (seq(float[n]) parts) => (float[m] whole) { whole = ConcatFromSequence <axis = 0> (parts) }
"""


def test_a_list_for_a_sequence_runs_and_is_recorded_here_and_others_name_that(tmp_path: Path) -> None:
    model = onnx.parser.parse_model(SEQUENCE)
    parts = [np.ones(2, np.float32), np.zeros(3, np.float32)]
    for runtime in ("ort", "numpy"):
        assert onnxperf.load(model, runtime=runtime).run({"parts": parts})["whole"].tolist() == [1, 1, 0, 0, 0]
    recording = onnxperf.load(model, profile=True)
    recording.run({"parts": parts})
    assert "ConcatFromSequence" in str(recording.profile())
    with pytest.raises(BadFeed, match=r"'parts' is not a tensor but of kind sequence; .*onnxperf\.load\(model\)\.run"):
        onnxperf.profile(model, {"parts": parts})


@pytest.mark.parametrize("runtime", runtimes())
def test_what_is_no_model_is_bad_input(runtime: str) -> None:
    with pytest.raises(BadInput):
        onnxperf.load(b"no model", runtime=runtime)
