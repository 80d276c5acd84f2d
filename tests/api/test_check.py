"""`onnxperf.check`, with real runtimes in processes of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

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
        ({"runtime": "ort"}, "compares two models, two runtimes, or one model"),
        ({"runtime": "ort,jvm"}, "unknown runtime"),
        ({"runtime": "ort,numpy", "against": wrong_sqrt}, "or one model in one runtime with `against`"),
        ({"against": ["torch"]}, "expected FILE.py:function"),
        ({"against": wrong_sqrt, "save": "somewhere"}, "no nodes"),
        ({"against": 3, "runtime": "ort"}, "expected an estimator"),
        ({"against": wrong_sqrt, "nodes": True}, "no nodes"),
        ({"rtoll": 1}, "unknown option"),
    ],
)
def test_what_cannot_be_checked_is_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        onnxperf.check(parser.parse_model(TWO_STEPS), **keywords)


@pytest.mark.parametrize(
    ("second", "keywords", "error", "message"),
    [
        (TWO_STEPS, {"runtime": "ort,numpy"}, BadOption, "compares two models"),
        (TWO_STEPS, {"against": wrong_sqrt}, BadOption, "compares two models"),
        (TWO_STEPS.replace("X", "Z"), {}, BadInput, "one and two take different inputs: inputs X against Z"),
        (TWO_STEPS.replace("n, 2", "n, 3"), {}, BadInput, r"input X float32\[1, 2\] against float32\[1, 3\]"),
    ],
)
def test_two_models_that_cannot_be_compared_are_refused(
    second: str, keywords: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        onnxperf.check({"one": parser.parse_model(TWO_STEPS), "two": parser.parse_model(second)}, **keywords)


def test_a_runtime_that_cannot_run_the_model_is_named() -> None:
    model = parser.parse_model(TWO_STEPS.replace("Sqrt", "Root"))
    assert isinstance(model, onnx.ModelProto)
    with pytest.raises(BadInput, match="Root"):
        onnxperf.check(model)


# ---------------------------------------------------------------- two models


def changed(text: str = TWO_STEPS, old: str = "", new: str = "") -> onnx.ModelProto:
    return parser.parse_model(text.replace(old, new))


def test_two_models_that_compute_the_same_agree() -> None:
    result = onnxperf.check([changed(), changed()], dims={"n": 5})
    assert result
    assert (result.record.first, result.record.second) == ("g", "g #2")
    assert result.record.node is None


@pytest.mark.parametrize(
    ("old", "new", "operator", "output"),
    [
        ("Sqrt(A)", "Neg(A)", "Sqrt", "B"),
        ("Exp(B)", "Neg(B)", "Exp", "Y"),
        ("Abs(X)  B = Sqrt(A)", "Neg(X)  C = Neg(A)  B = Neg(C)", "Abs", "A"),
    ],
)
def test_the_first_node_that_differs_between_two_models_is_named(
    old: str, new: str, operator: str, output: str
) -> None:
    result = onnxperf.check({"old": changed(), "new": changed(TWO_STEPS, old, new)}, dims={"n": 5})
    node = result.record.node
    assert node is not None
    assert (node.operator, node.difference.name) == (operator, output)
    assert result.status == "differs"
    assert result.answer.startswith("old and new differ in Y. The first node that differs is node ")


def test_an_output_that_only_one_model_has_is_a_difference() -> None:
    more = changed(TWO_STEPS, "(float[n, 2] Y)", "(float[n, 2] Y, float[n, 2] B)")
    result = onnxperf.check({"old": changed(), "new": more})
    assert [(each.name, each.reason) for each in result.record.outputs] == [("Y", ""), ("B", "only the second has it")]
    assert result.answer == "old and new differ in B."


def test_models_that_share_no_names_are_compared_without_a_claim_about_nodes() -> None:
    renamed = changed(TWO_STEPS.replace("A", "D").replace("Dbs(", "Abs(").replace("Y", "Z"), "B", "E")
    assert onnxperf.check({"old": changed(), "new": renamed})
    wrong = changed(
        TWO_STEPS.replace("Y", "Z").replace("B", "E").replace("A = Abs(X)", "D = Neg(X)"), "Sqrt(A)", "Neg(D)"
    )
    result = onnxperf.check({"old": changed(), "new": wrong})
    assert result.answer == "old and new differ in Y."
    assert "no node is named" in result.record.notes[-1]
    assert (result.record.walked, result.record.level) == (False, None)


def test_two_models_are_fed_the_same_even_where_their_tables_differ() -> None:
    models = []
    for rows in (2, 4):
        proto = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (int64[n] ids) => (float[n] Y) { Y = Gather(table, ids) }""")
        proto.graph.initializer.append(numpy_helper.from_array(np.arange(rows, dtype=np.float32), "table"))
        models.append(proto)
    assert onnxperf.check(models, dims={"n": 50})


# ---------------------------------------------------------------- why outputs differ

FUSED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n] X, float[n] Z) => (float[n] Y) { one = Constant<value_float=1.0>()  R = Div(one, X)  Y = Mul(R, Z) }"""


def test_an_optimisation_that_changes_the_result_is_found_by_its_level() -> None:
    """1 / X is infinite; onnxruntime computes Z / X in one step, unless R is an output."""
    feeds = {"X": np.full(3, 1e-39, np.float32), "Z": np.full(3, 1e-10, np.float32)}
    result = onnxperf.check(parser.parse_model(FUSED), feeds=feeds, nodes=True)
    record = result.record
    assert (record.equal, record.node, record.walked, record.level) == (False, None, True, "basic")
    assert "an optimisation of onnxruntime changes the result, first at level basic" in result.answer
    assert onnxperf.check(parser.parse_model(FUSED), feeds=feeds, opt_level="disable")


RANDOM = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n] X) => (float[n] Y) { R = RandomNormalLike(X)  Y = Add(X, R) }"""


def noise(x: Any) -> Any:
    return x + np.random.default_rng().standard_normal(x.shape).astype(np.float32)


@pytest.mark.parametrize(
    ("text", "keywords", "name"),
    [
        (RANDOM, {"runtime": "ort,reference"}, "ort"),
        (RANDOM.replace("Add(X, R)", "Abs(X)"), {"against": noise}, "source"),
    ],
)
def test_a_subject_that_differs_from_itself_leaves_the_check_undecided(
    text: str, keywords: dict[str, Any], name: str
) -> None:
    result = onnxperf.check(parser.parse_model(text), dims={"n": 5}, **keywords)
    assert result.answer == (
        f"Undecided: {name} is not deterministic: two calls on the same inputs give different outputs."
    )
    assert (bool(result), result.status) == (False, "failed")


MAKERS = """
import numpy as np

def unseeded():
    scale = np.random.default_rng().uniform(2, 3)
    return lambda x: (x * scale).astype(np.float32)

def wrong():
    return lambda x: x * np.float32(2)
"""


@pytest.mark.parametrize(
    ("function", "said"), [("unseeded", "returns another one at every call; set a seed"), ("wrong", "differ in Y")]
)
def test_a_function_that_makes_another_source_at_every_call_is_recognised(
    tmp_path: Path, function: str, said: str
) -> None:
    (tmp_path / "makers_of_sources.py").write_text(MAKERS, encoding="utf-8")
    model = parser.parse_model(RANDOM.replace("Add(X, R)", "Abs(X)"))
    result = onnxperf.check(model, against=f"{tmp_path}/makers_of_sources.py:{function}", dims={"n": 5})
    assert said in result.answer


def test_the_source_of_a_zoo_model_is_named_by_its_framework(built: Callable[[str, str], list[str]]) -> None:
    built("tiny-linear", "sklearn")
    result = onnxperf.check("zoo:tiny-linear", against="sklearn", dims={"batch": 3})
    assert result.answer == "ort and sklearn agree on 1 output."


def test_a_folder_for_a_node_implies_that_nodes_are_compared(tmp_path: Path) -> None:
    result = onnxperf.check(parser.parse_model(TWO_STEPS), save=tmp_path, rtol=0, atol=0, dims={"n": 200})
    assert result.record.node is not None
    assert result.record.node.saved is not None
