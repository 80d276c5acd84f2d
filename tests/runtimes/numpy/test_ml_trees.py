"""Ensembles of trees agree with onnx's reference and with onnxruntime, whatever their nodes compare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, numpy_helper
from skl2onnx import to_onnx
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier

from onnxperf.errors import BadModel
from onnxperf.runtimes.numpy.kernels import ml_trees

from .ml_node import ml_model, ort, ours, reference, same

FLOAT, INT, TEXT = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 6)).astype(np.float32)
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
EDGES = np.array([-np.inf, -1, -0.0, 0.0, 0.5, 1, 2, np.inf, np.nan], np.float32)
GRID = np.array([[a, b] for a in EDGES for b in EDGES], np.float32)


def tree_attributes(draw: Any, trees: int, depth: int, weight: str, targets: int) -> dict[str, Any]:
    """Full trees with any comparison in every node; the leaves name any targets."""
    names = [
        "treeids",
        "nodeids",
        "featureids",
        "modes",
        "values",
        "truenodeids",
        "falsenodeids",
        "missing_value_tracks_true",
    ]
    nodes: dict[str, list[Any]] = {name: [] for name in names}
    leaves: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    inner = 2**depth - 1
    for tree in range(trees):
        for number in range(2 * inner + 1):
            leaf = number >= inner
            mode = "LEAF" if leaf else draw(st.sampled_from(MODES))
            value = 0.0 if leaf else float(draw(st.sampled_from(EDGES[1:-2].tolist())))
            feature, missing = draw(st.integers(0, 1)), draw(st.integers(0, 1))
            branches = (0, 0) if leaf else (2 * number + 1, 2 * number + 2)
            row = (tree, number, feature, mode, value, *branches, missing)
            for name, item in zip(names, row, strict=True):
                nodes[name].append(item)
            if leaf:
                target = draw(st.integers(0, targets - 1))
                for name, item in zip(leaves, (tree, number, target, draw(st.integers(-4, 4)) / 4), strict=True):
                    leaves[name].append(item)
    return {f"nodes_{k}": v for k, v in nodes.items()} | {f"{weight}_{k}": v for k, v in leaves.items()}


@given(st.data())
def test_a_regressor_follows_every_kind_of_node_even_to_nan_and_infinity(data: st.DataObject) -> None:
    attributes = tree_attributes(data.draw, data.draw(st.integers(1, 3)), data.draw(st.integers(0, 3)), "target", 2)
    attributes["aggregate_function"] = data.draw(st.sampled_from(["SUM", "AVERAGE", "MIN", "MAX"]))
    if data.draw(st.booleans()):
        attributes["base_values"] = [0.5, -1.0]
    model = ml_model("TreeEnsembleRegressor", GRID, n_targets=2, **attributes)
    wanted = reference(model, GRID)
    same(ours(model, GRID), wanted)
    # Few rows take another way.
    for row in (0, 40, len(GRID) - 1):
        same(ours(model, GRID[row : row + 1]), [wanted[0][row : row + 1]])


@given(st.data())
def test_a_classifier_sums_by_class_and_transforms(data: st.DataObject) -> None:
    classes = data.draw(st.integers(3, 4))
    attributes = tree_attributes(data.draw, 2, 2, "class", classes)
    attributes["class_ids"][:2] = [0, 1]
    attributes["post_transform"] = data.draw(st.sampled_from(["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]))
    model = ml_model(
        "TreeEnsembleClassifier", GRID, [INT, FLOAT], classlabels_int64s=[5, 3, 9, 1][:classes], **attributes
    )
    labels, scores = ours(model, GRID)
    wanted_labels, wanted = reference(model, GRID)
    np.testing.assert_allclose(scores, wanted, 1e-4, 1e-5)
    top = np.sort(wanted, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-4
    np.testing.assert_array_equal(labels[clear], wanted_labels[clear])


def stump(**attributes: Any) -> dict[str, Any]:
    """x <= 0.5 leads to the first weight, anything else to the second."""
    return {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
        "nodes_missing_value_tracks_true": [0, 0, 0],
        **attributes,
    }


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "PROBIT"])
@pytest.mark.parametrize(
    "labels", [{"classlabels_int64s": [1]}, {"classlabels_int64s": [4, 2]}, {"classlabels_strings": ["n", "y"]}]
)
@pytest.mark.parametrize("base", [None, [0.05]])
def test_a_single_score_is_that_of_the_second_of_two_classes(transform: str, labels: Any, base: Any) -> None:
    x = np.array([[0.0], [1.0], [np.nan]], np.float32)
    attributes = stump(class_treeids=[0, 0], class_nodeids=[1, 2], class_ids=[0, 0], class_weights=[0.3, 0.8])
    attributes |= {"post_transform": transform, **labels} | ({"base_values": base} if base else {})
    kinds = [TEXT if "classlabels_strings" in labels else INT, FLOAT]
    model = ml_model("TreeEnsembleClassifier", x, kinds, **attributes)
    same(ours(model, x), reference(model, x))


def test_doubles_are_compared_as_doubles_and_results_are_float32() -> None:
    x = np.nextafter(0.1, [0.0, 1.0, 0.1]).reshape(-1, 1)
    tensors = {
        "nodes_values_as_tensor": numpy_helper.from_array(np.array([0.1, 0, 0])),
        "target_weights_as_tensor": numpy_helper.from_array(np.array([1.0, 2])),
    }
    attributes = stump(target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], **tensors)
    del attributes["nodes_values"]
    model = ml_model("TreeEnsembleRegressor", x, n_targets=1, **attributes)
    (scores,) = ours(model, x)
    assert scores.dtype == np.float32
    assert scores.ravel().tolist() == [1, 2, 1]


def test_whole_numbers_are_compared_as_float32() -> None:
    x = np.array([[0], [1]], np.int64)
    attributes = stump(target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[1.0, 2.0])
    model = ml_model("TreeEnsembleRegressor", x, n_targets=1, **attributes)
    same(ours(model, x), [np.array([[1], [2]], np.float32)])


def test_a_tree_that_leads_back_to_itself_is_refused() -> None:
    attributes = stump(target_treeids=[0], target_nodeids=[2], target_ids=[0], target_weights=[1.0])
    attributes["nodes_truenodeids"] = [0, 0, 0]
    with pytest.raises(BadModel, match="has a cycle"):
        ours(ml_model("TreeEnsembleRegressor", X, n_targets=1, **attributes), X)


def test_sets_of_values_belong_to_their_nodes_in_order() -> None:
    x = np.array([[1.2], [3.4], [0.0], [5.0], [12.0], [np.nan]], np.float32)

    def tensor(values: list[float], kind: Any = np.float32) -> Any:
        return numpy_helper.from_array(np.array(values, kind))

    model = ml_model(
        "TreeEnsemble",
        x,
        version=5,
        n_targets=4,
        aggregate_function=1,
        membership_values=tensor([1.2, 3.7, 8, 9, np.nan, 12, 7, np.nan]),
        nodes_missing_value_tracks_true=[0, 1, 0],
        nodes_splits=tensor([0, 232344, 0]),
        nodes_featureids=[0, 0, 0],
        nodes_modes=tensor([6, 6, 0], np.uint8),
        nodes_truenodeids=[0, 1, 2],
        nodes_falsenodeids=[1, 2, 3],
        nodes_trueleafs=[1, 1, 1],
        nodes_falseleafs=[0, 0, 1],
        leaf_targetids=[0, 1, 2, 3],
        leaf_weights=tensor([1, 10, 1000, 100]),
        tree_roots=[0],
    )
    wanted = [[1, 0, 0, 0], [0, 0, 0, 100], [0, 0, 1000, 0], [0, 0, 0, 100], [0, 10, 0, 0], [0, 10, 0, 0]]
    assert ours(model, x)[0].tolist() == wanted


TWO, TEXTS = (X[:, 0] * X[:, 1] > 0).astype(int), np.array(["a", "bb", "c"])[(X[:, :3]).argmax(axis=1)]
NUMBER = X[:, 0] * X[:, 1] + X[:, 2]
MODELS: dict[str, tuple[Any, Any]] = {
    "forest, two classes": (RandomForestClassifier(20, random_state=0), TWO),
    "forest, three strings": (RandomForestClassifier(20, random_state=0), TEXTS),
    "forest of numbers": (RandomForestRegressor(20, random_state=0), NUMBER),
    "many trees": (ExtraTreesRegressor(100, random_state=0, max_depth=5), NUMBER),
    "one tree": (DecisionTreeClassifier(random_state=0), TEXTS),
    "boosted, two classes": (GradientBoostingClassifier(n_estimators=10), TWO),
    "boosted, three strings": (GradientBoostingClassifier(n_estimators=10), TEXTS),
    "boosted numbers": (GradientBoostingRegressor(n_estimators=10), NUMBER),
}


def fitted(name: str) -> Any:
    """One of the models, fitted only in its test."""
    model, targets = MODELS[name]
    return model.fit(X, targets)


@pytest.mark.parametrize("name", MODELS)
def test_converted_forests_agree_with_onnxruntime_in_any_number_of_rows(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = fitted(name)
    options = {"zipmap": False} if hasattr(source, "classes_") else None
    model = to_onnx(source, X[:1], options=options, target_opset={"": 17, "ai.onnx.ml": 3})
    for node in model.graph.node:
        node.input[:] = ["x" if i == "X" else i for i in node.input]
    model.graph.input[0].name = "x"
    wanted = ort(model, X)
    for rows in (0, 1, 3, 300):
        got = ours(model, X[:rows])
        same(got, [value[:rows] for value in wanted], 1e-3)
    monkeypatch.setattr(ml_trees, "CHUNK_PAIRS", 1000)
    same(ours(model, X), wanted, 1e-3)


def test_rows_may_be_columns_in_memory() -> None:
    model = to_onnx(fitted("forest of numbers"), X[:1], target_opset={"": 17, "ai.onnx.ml": 3})
    model.graph.node[0].input[0] = model.graph.input[0].name = "x"
    same(ours(model, np.asfortranarray(X)), ours(model, X))
