"""`onnxperf.check`, with real runtimes in processes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

import onnxperf
from onnxperf.errors import BadInput, BadOption

TWO_STEPS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n, 2] X) => (float[n, 2] Y) { A = Abs(X)  B = Sqrt(A)  Y = Exp(B) }"""


# sklearn is imported where it is needed: a worker that is sent the function below imports this file.


def wrong_sqrt(x: Any) -> Any:
    """What the model computes, but for an error on the way."""
    return np.exp(np.sqrt(np.abs(x)) * 1.5)


@pytest.mark.parametrize("runtimes", ["ort,numpy", "ort,reference", "numpy,reference"])
def test_runtimes_agree_on_a_small_model(runtimes: str) -> None:
    result = onnxperf.check(parser.parse_model(TWO_STEPS), runtime=runtimes, dims={"n": 5})
    assert result
    assert result.to_df()["elements"].tolist() == [10]
    assert "agree on 1 output" in repr(result)


def test_a_source_that_computes_something_else_differs() -> None:
    result = onnxperf.check(parser.parse_model(TWO_STEPS), runtime="ort", against=wrong_sqrt, dims={"n": 5})
    assert not result
    assert result.record.outputs[0].differing > 0
    assert "ort and source differ in Y" in repr(result)
    assert "differ in Y" in result._repr_html_()


def test_the_first_node_that_differs_is_named_and_its_inputs_are_saved(tmp_path: Path) -> None:
    model = parser.parse_model(TWO_STEPS)
    result = onnxperf.check(model, runtime="ort,numpy", dims={"n": 200}, nodes=True, save=tmp_path, rtol=0, atol=0)
    node = result.record.node
    assert node is not None
    assert node.operator in ("Sqrt", "Exp")
    assert node.saved is not None
    with np.load(node.saved, allow_pickle=False) as saved:
        assert set(saved) == {"input_0", "first_output_0", "second_output_0"}


def test_equal_runtimes_have_no_first_node() -> None:
    assert onnxperf.check(parser.parse_model(TWO_STEPS), nodes=True).record.node is None


def test_a_classifier_with_zipmap_is_compared_with_its_source() -> None:
    from skl2onnx import to_onnx
    from sklearn.datasets import make_classification
    from sklearn.linear_model import LogisticRegression

    X, y = make_classification(60, 5, random_state=0)
    X = X.astype(np.float32)
    model = LogisticRegression().fit(X, y)
    assert onnxperf.check(to_onnx(model, X), runtime="ort", against=model, feeds={"X": X})
    other = LogisticRegression(C=1e-3).fit(X, y)
    result = onnxperf.check(to_onnx(model, X), runtime="ort", against=other, feeds={"X": X})
    assert [output.equal for output in result.record.outputs][1] is False


def test_a_regressor_is_compared_although_its_output_is_a_column() -> None:
    from skl2onnx import to_onnx
    from sklearn.linear_model import LinearRegression

    X = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    model = LinearRegression().fit(X, X.sum(axis=1))
    assert onnxperf.check(to_onnx(model, X), runtime="numpy", against=model, feeds={"X": X})


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"runtime": "ort"}, "two runtimes, or one and `against`"),
        ({"runtime": "ort,jvm"}, "unknown runtime"),
        ({"against": 3, "runtime": "ort"}, "expected an estimator"),
        ({"against": wrong_sqrt, "nodes": True}, "no nodes"),
        ({"rtoll": 1}, "unknown option"),
    ],
)
def test_what_cannot_be_checked_is_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        onnxperf.check(parser.parse_model(TWO_STEPS), **keywords)


def test_a_runtime_that_cannot_run_the_model_is_named() -> None:
    model = parser.parse_model(TWO_STEPS.replace("Sqrt", "Root"))
    assert isinstance(model, onnx.ModelProto)
    with pytest.raises(BadInput, match="Root"):
        onnxperf.check(model)
