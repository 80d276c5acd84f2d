"""Linear models, scaling and encoding of ai.onnx.ml agree with onnx's reference and with onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from skl2onnx import to_onnx
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, Normalizer, StandardScaler
from sklearn.svm import SVR

from onnxperf.errors import SubjectError
from onnxperf.runtimes.numpy.session import NumpySession

from .ml_node import ml_model, ort, ours, reference, same

FLOAT, INT, TEXT = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4)).astype(np.float32)
HOLES = np.where(X > 0.5, np.float32(np.nan), X)
NUMBERS = np.array([[1, 2, 7], [3, 1, 2]], np.int64)
WORDS = np.array([["a", "b", "?"], ["b", "a", "a"]], object)

ON_NUMBERS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "one target": ("LinearRegressor", X, {"coefficients": [1.0, -2, 3, 0.5], "intercepts": [0.25]}),
    "two targets": ("LinearRegressor", X, {"coefficients": [1.0] * 8, "intercepts": [0.25, 2], "targets": 2}),
    "scaler": ("Scaler", X, {"offset": [1.0, 2, 3, 4], "scale": [0.5, 1, 2, 3]}),
    "scaler with one factor": ("Scaler", X, {"offset": [1.0], "scale": [0.5]}),
    "binarizer": ("Binarizer", X, {"threshold": 0.25}),
    "imputer of NaN": (
        "Imputer",
        HOLES,
        {"imputed_value_floats": [1.0, 2, 3, 4], "replaced_value_float": float("nan")},
    ),
    "imputer of a number": ("Imputer", X.round(), {"imputed_value_floats": [9.0], "replaced_value_float": 1.0}),
    "imputer of whole numbers": ("Imputer", NUMBERS, {"imputed_value_int64s": [9], "replaced_value_int64": 2}),
    "support vectors": (
        "SVMRegressor",
        X,
        {
            "coefficients": [1.0, -2],
            "support_vectors": [0.5, 1, 2, 3, -1, 0, 1, 2],
            "n_supports": 2,
            "rho": [0.5],
            "kernel_type": "RBF",
            "kernel_params": [0.3, 0.0, 3.0],
        },
    ),
    "no support vectors": ("SVMRegressor", X, {"coefficients": [1.0, -2, 0, 1], "rho": [0.5], "n_supports": 0}),
}


@pytest.mark.parametrize("case", ON_NUMBERS)
def test_operators_on_numbers_are_those_of_the_reference(case: str) -> None:
    operator, x, attributes = ON_NUMBERS[case]
    kind = INT if x.dtype == np.int64 else FLOAT
    model = ml_model(operator, x, [kind], version=1, **attributes)
    same(ours(model, x), reference(model, x))


@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer_divides_rows_and_leaves_zeros(norm: str, rows: int) -> None:
    x = X[:rows].copy()
    x[0] = 0
    model = ml_model("Normalizer", x, [FLOAT], version=1, norm=norm)
    same(ours(model, x), reference(model, x))


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("one_class", [0, 1])
def test_every_kernel_of_support_vectors(kernel: str, one_class: int) -> None:
    model = ml_model(
        "SVMRegressor",
        X,
        coefficients=[1.0, -2],
        support_vectors=[0.5, 1, 2, 3, -1, 0, 1, 2],
        n_supports=2,
        rho=[0.5],
        kernel_type=kernel,
        kernel_params=[0.3, 0.1, 3.0],
        one_class=one_class,
    )
    same(ours(model, X), reference(model, X))


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"])
@pytest.mark.parametrize("classes", [2, 3, 20])
@pytest.mark.parametrize("rows", [1, 40])
def test_a_linear_classifier_transforms_its_scores(transform: str, classes: int, rows: int) -> None:
    weights = RNG.uniform(0.01, 0.1, 4 * classes).tolist()
    x = np.abs(X[:rows]) + np.float32(0.01)
    x /= x.sum(axis=1, keepdims=True)
    model = ml_model(
        "LinearClassifier",
        x,
        [INT, FLOAT],
        coefficients=weights,
        intercepts=[0.1] * classes,
        classlabels_ints=list(range(10, 10 + classes)),
        post_transform=transform,
    )
    same(ours(model, x), reference(model, x), 1e-3)


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_two_classes_may_share_their_coefficients(transform: str) -> None:
    attributes: dict[str, Any] = {"coefficients": [1.0, -2, 3, 0.5], "intercepts": [0.1], "post_transform": transform}
    model = ml_model("LinearClassifier", X, [TEXT, FLOAT], classlabels_strings=["no", "yes"], **attributes)
    same(ours(model, X), reference(model, X))


def test_extreme_scores_neither_overflow_nor_warn() -> None:
    x = np.array([[1000.0], [-1000.0]], np.float32)
    attributes: dict[str, Any] = {"coefficients": [1.0, -1], "intercepts": [0.0, 0], "classlabels_ints": [0, 1]}
    for transform in ("LOGISTIC", "SOFTMAX"):
        model = ml_model("LinearClassifier", x, [INT, FLOAT], post_transform=transform, **attributes)
        with np.errstate(all="raise", under="ignore"):
            labels, scores = ours(model, x)
        assert labels.tolist() == [0, 1]
        np.testing.assert_allclose(scores, [[1, 0], [0, 1]], atol=1e-30)


SIDES: dict[str, tuple[int, Any, list[Any], list[Any]]] = {
    "int64s": (INT, NUMBERS, [1, 2, 3], [30, 20, 10]),
    "strings": (TEXT, WORDS, ["a", "b", "c"], ["x", "yy", ""]),
    "floats": (FLOAT, NUMBERS.astype(np.float32) / 10, [0.1, 0.2, 0.3], [1.5, 2.5, 0.0]),
}


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("values", SIDES)
@pytest.mark.parametrize("keys", SIDES)
def test_label_encoders_map_every_pair_of_types(keys: str, values: str, large: bool) -> None:
    x = np.tile(SIDES[keys][1], (50, 1)) if large else SIDES[keys][1]
    default = {"int64s": ("default_int64", 42), "strings": ("default_string", "?"), "floats": ("default_float", 0.5)}
    attributes: dict[str, Any] = {f"keys_{keys}": SIDES[keys][2], f"values_{values}": SIDES[values][3]}
    attributes |= dict([default[values]])
    model = ml_model("LabelEncoder", x, [SIDES[values][0]], version=2, **attributes)
    same(ours(model, x), ort(model, x))


def test_a_label_encoder_finds_nan() -> None:
    x = np.array([1.0, np.nan, 7.0], np.float32)
    attributes = {"keys_floats": [1.0, float("nan")], "values_int64s": [5, 6], "default_int64": -3}
    assert ours(ml_model("LabelEncoder", x, [INT], version=2, **attributes), x)[0].tolist() == [5, 6, -3]


def test_categories_are_mapped_both_ways() -> None:
    attributes = {"cats_strings": ["a", "b"], "cats_int64s": [1, 2], "default_int64": -5, "default_string": "none"}
    for x, kind in ((WORDS, INT), (NUMBERS, TEXT)):
        model = ml_model("CategoryMapper", x, [kind], version=1, **attributes)
        same(ours(model, x), ort(model, x))


@pytest.mark.parametrize(
    ("x", "name", "known"), [(NUMBERS, "cats_int64s", [1, 2]), (WORDS, "cats_strings", ["a", "b"])]
)
def test_one_hot_encoders_leave_unknown_categories_empty_or_refuse_them(x: Any, name: str, known: list[Any]) -> None:
    model = ml_model("OneHotEncoder", x, [FLOAT], version=1, zeros=1, **{name: known})
    same(ours(model, x), reference(model, x))
    strict = ml_model("OneHotEncoder", x, [FLOAT], version=1, zeros=0, **{name: known})
    with pytest.raises(SubjectError, match="not one of the 2 categories"):
        ours(strict, x)


@pytest.mark.parametrize("keys", [{"classlabels_int64s": [3, 1]}, {"classlabels_strings": ["no", "yes"]}])
def test_zip_map_makes_a_dict_of_float32_per_row(keys: dict[str, list[Any]]) -> None:
    x = X[:3, :2].copy()
    model = ml_model("ZipMap", x, [FLOAT], version=1, **keys)
    model.graph.output[0].ClearField("type")
    (rows,) = NumpySession(model).bind("run", {"x": x}, {})()
    labels = next(iter(keys.values()))
    assert rows == [dict(zip(labels, row, strict=True)) for row in x]
    assert all(type(value) is np.float32 for row in rows for value in row.values())


def test_zip_map_refuses_another_number_of_columns() -> None:
    model = ml_model("ZipMap", X, [FLOAT], version=1, classlabels_int64s=[1, 2])
    with pytest.raises(SubjectError, match="2 labels for 4 columns"):
        NumpySession(model).bind("run", {"x": X}, {})()


def test_features_are_extracted_and_joined() -> None:
    nodes = [
        helper.make_node("ArrayFeatureExtractor", ["x", "i"], ["a"], domain="ai.onnx.ml"),
        helper.make_node("FeatureVectorizer", ["x", "a"], ["y"], domain="ai.onnx.ml", inputdimensions=[3, 4]),
    ]
    graph = helper.make_graph(
        nodes,
        "features",
        [helper.make_tensor_value_info("x", FLOAT, ["n", 4])],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in "ya"],
        [helper.make_tensor("i", INT, [2], [3, 0])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    same(ours(model, X), reference(model, X))


TWO, THREE = (X[:, 0] > 0).astype(int), np.array(["a", "bb", "c"])[np.arange(40) % 3]
MODELS: dict[str, Any] = {
    "logistic, two classes": LogisticRegression().fit(X, TWO),
    "logistic, three strings": LogisticRegression().fit(X, THREE),
    "sgd": SGDClassifier(random_state=0).fit(X, TWO),
    "sgd, log loss": SGDClassifier(loss="log_loss", random_state=0).fit(X, THREE),
    "scaled": make_pipeline(StandardScaler(), Normalizer(), LogisticRegression()).fit(X, THREE),
    "binarized": make_pipeline(Binarizer(), LogisticRegression()).fit(X, TWO),
    "linear": LinearRegression().fit(X, X[:, 1]),
    "svr": SVR().fit(X, X[:, 1]),
}


@pytest.mark.parametrize("zipmap", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_converted_models_agree_with_onnxruntime(name: str, zipmap: bool) -> None:
    options = {"zipmap": zipmap} if hasattr(MODELS[name], "classes_") else None
    model = to_onnx(MODELS[name], X[:1], options=options, target_opset={"": 17, "ai.onnx.ml": 3})
    for node in model.graph.node:
        node.input[:] = ["x" if name == "X" else name for name in node.input]
    model.graph.input[0].name = "x"
    for rows in (1, 40):
        feeds = {"x": X[:rows]}
        session = NumpySession(model)
        assert not [operator for operator in session.fallbacks if operator.startswith("ai.onnx.ml")]
        same(list(session.bind("run", feeds, {})()), ort(model, X[:rows]), 1e-3)
