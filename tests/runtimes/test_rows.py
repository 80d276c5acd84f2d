"""Rows on which converted estimators are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.ensemble import HistGradientBoostingClassifier as Histograms
from sklearn.tree import DecisionTreeClassifier

from onnxperf.frameworks.rows import probing_rows, splits_of

X = np.random.default_rng(0).standard_normal((60, 3)).astype(np.float32)
Y = (X[:, 0] + X[:, 2] > 0).astype(np.int64)


def test_rows_hold_thresholds_and_their_neighbours_extremes_and_zeros() -> None:
    tree = DecisionTreeClassifier(max_depth=1).fit(X, Y)
    column = int(tree.tree_.feature[0])
    at = np.float32(tree.tree_.threshold[0])
    made = probing_rows(tree, {"X": X})[0]["X"]
    assert made.shape == (1000, 3)
    assert made.dtype == np.float32
    values = set(made[:, column].tolist())
    assert {float(at), float(np.nextafter(at, np.float32(9))), float(np.nextafter(at, np.float32(-9)))} <= values
    assert made[-1].tolist() == [0, 0, 0]
    assert {*X.min(axis=0).tolist(), *X.max(axis=0).tolist()} <= set(made[-3:-1].ravel().tolist())
    assert made.max() > X.max()


def test_rows_are_the_same_every_time() -> None:
    tree = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    assert np.array_equal(probing_rows(tree, {"X": X})[0]["X"], probing_rows(tree, {"X": X})[0]["X"])


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3),
        GradientBoostingClassifier(n_estimators=2),
        BaggingClassifier(DecisionTreeClassifier(), n_estimators=4, max_features=2),
        Histograms(max_iter=2, min_samples_leaf=2),
    ],
)
def test_thresholds_are_found_in_every_kind_of_ensemble(model: Any) -> None:
    found = splits_of(model.fit(X, Y))
    assert set(found) <= {0, 1, 2}
    assert {0, 2} <= set(found)
    for column, thresholds in found.items():
        assert X[:, column].min() <= min(thresholds)
        assert max(thresholds) <= X[:, column].max()


def test_texts_and_integers_keep_the_values_of_the_sample() -> None:
    sample = {
        "city": np.array([["Rome"], ["Oslo"]], object),
        "age": np.array([[3], [5]]),
        "x": np.array([[0.5], [2.5]]),
    }
    for made in probing_rows(object(), sample):
        assert {len(array) for array in made.values()} == {1000}
        assert set(made["city"].ravel()) == {"Rome", "Oslo"}
        assert set(made["age"].ravel()) == {3, 5}
        assert made["x"].dtype == np.float64
    assert set(made["x"].ravel()) == {0.5, 2.5}  # the last resort


def test_texts_in_one_row_are_a_column() -> None:
    for made in probing_rows(object(), {"text": np.array(["a b", "c"], object)}):
        assert made["text"].shape == (1000,)
        assert set(made["text"]) == {"a b", "c"}


def test_thresholds_at_infinity_are_left_out() -> None:
    class Tree:
        feature = np.array([0, 1, -2])
        threshold = np.array([np.inf, 0.25, -2.0])

    class Parted:
        tree_ = Tree()

    made = probing_rows(Parted(), {"X": X})[0]["X"]
    assert np.isfinite(made).all()
    assert (made[:, 1] == 0.25).any()


@pytest.mark.parametrize(
    ("sample", "rows"),
    [
        (np.zeros((1000, 2), np.float32), [1001, 1001]),
        (np.zeros((3, 400_000), np.float32), [10, 10]),
        (np.zeros((0, 4), np.float32), []),
        (np.zeros((2, 3, 4), np.float32), []),
        (np.full((4, 2), np.nan, np.float32), [1000, 1000]),
    ],
)
def test_the_number_of_rows_differs_from_that_of_the_sample(sample: Any, rows: list[int]) -> None:
    assert [len(each["X"]) for each in probing_rows(object(), {"X": sample})] == rows
