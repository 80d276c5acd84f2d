"""Models race what they were converted from, and results that differ are shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import onnxperf
from onnxperf.api._shared.sources import sources_of
from onnxperf.errors import BadOption

SHORT: dict[str, Any] = {"time": 0.1, "blocks": 2, "calls_per_block": 1, "threads": 1}


@pytest.fixture
def estimator() -> Any:
    """Y = X W, as the linear model has it."""
    from sklearn.linear_model import LinearRegression

    model = LinearRegression(fit_intercept=False)
    model.coef_ = np.arange(40, dtype=np.float32).reshape(10, 4).T / 40
    model.intercept_ = np.zeros(4, np.float32)
    return model


def test_a_source_that_agrees_is_ok_and_one_that_does_not_differs(linear_bytes: bytes, estimator: Any) -> None:
    from copy import deepcopy

    wrong = deepcopy(estimator)
    wrong.intercept_ = np.ones(4, np.float32)
    sources = {"right": estimator, "wrong": wrong, "numpy": np.cos}
    result = onnxperf.bench(linear_bytes, against=sources, **SHORT)
    statuses = {subject.name: subject.status for subject in result.subjects}
    assert statuses == {"ort": "ok", "right": "ok", "wrong": "differs", "numpy": "ok"}
    assert any("numpy does not return what" in note for note in result.cases[0].notes)


UNSEEDED = """
import numpy as np
from sklearn.linear_model import LinearRegression

random = np.random.default_rng()

def unseeded():
    model = LinearRegression(fit_intercept=False)
    model.coef_, model.intercept_ = random.random((4, 10)), 0.0
    return model

def wrong():
    model = LinearRegression(fit_intercept=False)
    model.coef_, model.intercept_ = np.ones((4, 10)), 0.0
    return model
"""


@pytest.mark.thorough
def test_a_function_that_makes_another_model_at_every_call_is_recognised(
    linear_bytes: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "unseeded_source.py").write_text(UNSEEDED, encoding="utf-8")
    sources = sources_of(["unseeded_source.py:unseeded", "unseeded_source.py:wrong"], tmp_path)
    result = onnxperf.bench(linear_bytes, against=sources, **SHORT)
    assert result["unseeded"].status == result["wrong"].status == "differs"
    assert result["unseeded"].reason.startswith(
        "unseeded makes a different model at every call: seed its random numbers"
    )
    assert result["wrong"].reason.startswith("output Y:")


@pytest.mark.slow
def test_a_torch_module_is_called_with_tensors_and_compared(linear_bytes: bytes) -> None:
    torch = pytest.importorskip("torch")

    def module(scale: float) -> Any:
        layer = torch.nn.Linear(10, 4, bias=False)
        layer.weight.data = torch.from_numpy((np.arange(40, dtype=np.float32).reshape(10, 4) / 40 * scale).T.copy())
        return layer

    sources = {"torch": module(1), "wrong": module(2)}
    result = onnxperf.bench(linear_bytes, against=sources, split=True, **SHORT)
    assert {s.name: s.status for s in result.subjects} == {"ort": "ok", "torch": "ok", "wrong": "differs"}
    assert "output Y" in result["wrong"].reason
    assert result["wrong"].mean_ns is not None  # the time stands beside the error
    assert result["torch"].conditions["framework"] == "torch"
    assert result["torch"].split is not None
    assert result["torch"].split.prepare_ns > 0
    assert not result.ok


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras' own, when it saves weights
def test_a_keras_model_has_a_row_for_each_of_its_ways(linear_bytes: bytes) -> None:
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(4, use_bias=False)])
    model.set_weights([np.arange(40, dtype=np.float32).reshape(10, 4) / 40])
    result = onnxperf.bench(linear_bytes, against={"keras": model}, **SHORT)
    ways = ("keras call", "keras predict", "keras predict_on_batch")
    assert {s.name: s.status for s in result.subjects} == {"ort": "ok", **dict.fromkeys(ways, "ok")}


def test_several_values_of_a_dimension_are_a_case_each(linear_path: Path) -> None:
    result = onnxperf.bench(linear_path, dims={"batch": [1, 2, 4]}, **SHORT)
    assert [case.dims for case in result.cases] == [{"batch": 1}, {"batch": 2}, {"batch": 4}]
    assert [case.shapes["X"] for case in result.cases] == [(1, 10), (2, 10), (4, 10)]


def test_a_case_that_fails_does_not_end_the_others(linear_proto: onnx.ModelProto, tmp_path: Path) -> None:
    """A fixed reshape fails for every batch but one."""
    text = """
    <ir_version: 9, opset_import: ["" : 18]>
    fixed (float[batch, 4] X) => (float[2, 4] Y)
    <int64[2] shape = {2, 4}>
    { Y = Reshape(X, shape) }
    """
    onnx.save(onnx.parser.parse_model(text), tmp_path / "fixed.onnx")
    result = onnxperf.bench(tmp_path / "fixed.onnx", dims={"batch": [1, 2, 3]}, **SHORT)
    assert [case.status for case in result.cases] == ["failed", "ok", "failed"]
    assert "fixed" in result.cases[0].model
    assert "Reshape" in result.cases[0].answer


def test_only_a_zoo_model_knows_its_frameworks(linear_path: Path) -> None:
    with pytest.raises(BadOption, match="the source is known only of a zoo model"):
        onnxperf.bench(linear_path, against="torch", **SHORT)


@pytest.mark.slow
def test_a_zoo_model_races_its_source(built: Callable[[str, str], list[str]]) -> None:
    built("tiny-linear", "sklearn")
    result = onnxperf.bench("zoo:tiny-linear", against="sklearn", dims={"batch": 3}, **SHORT)
    assert [(s.name, s.status) for s in result.subjects] == [("ort", "ok"), ("sklearn", "ok")]
    assert result.cases[0].model == "zoo:tiny-linear sklearn"
