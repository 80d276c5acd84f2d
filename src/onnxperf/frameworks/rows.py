"""Rows to compare a converted estimator with its source: mixed, at thresholds of trees, at extremes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from onnxperf.runtimes.base import Array

ROWS = 1000
_ELEMENTS = 4_000_000
"""Tables with many columns get fewer rows."""

Column = tuple[str, int]
"""Name of an input, and the position of a column in it."""
Splits = Mapping[int, Sequence[float]]
"""Thresholds by column number."""


def probing_rows(estimator: object, sample: Mapping[str, Array], seed: int = 0) -> list[dict[str, Array]]:
    """Tables derived from a sample, the most demanding first; each has a different number of rows than the sample."""
    first = next(iter(sample.values()))
    is_table = all(array.ndim in (1, 2) and len(array) == len(first) for array in sample.values())
    if not is_table or not first.size:
        return []
    random = np.random.default_rng(seed)
    width = sum(map(_width, sample.values()))
    rows = max(min(ROWS, _ELEMENTS // width), 2)
    mixed = _mixed(sample, rows + (rows == len(first)), random)
    return [_with_edges(mixed, sample, splits_of(estimator), random), mixed]


def _mixed(sample: Mapping[str, Array], rows: int, random: np.random.Generator) -> dict[str, Array]:
    """Rows of the sample, followed by rows that combine values from different rows."""
    length = len(next(iter(sample.values())))
    whole = np.resize(random.permutation(length), min(length, rows // 2))
    made = {}
    for name, array in sample.items():
        table = array.reshape(length, -1)
        places = random.integers(0, length, (rows - len(whole), table.shape[1]))
        below = np.take_along_axis(table, places, axis=0)
        made[name] = np.concatenate([table[whole], below]).reshape(rows, *array.shape[1:])
    return made


def _with_edges(
    mixed: Mapping[str, Array], sample: Mapping[str, Array], splits: Splits, random: np.random.Generator
) -> dict[str, Array]:
    """The last half of the rows: at thresholds and their neighbors, between and beyond extremes, and zeros."""
    made = {name: array.copy() for name, array in mixed.items()}
    rows = len(next(iter(made.values())))
    split, spread = rows // 2, 3 * rows // 4
    for index, (name, place) in enumerate(_columns(sample)):
        if made[name].dtype.kind != "f":
            continue  # only the sample's values are known to be valid
        column = made[name].reshape(rows, -1)[:, place]
        known = sample[name].reshape(len(sample[name]), -1)[:, place]
        known = known[np.isfinite(known)]
        near = _neighbours(splits.get(index, ()), column.dtype)
        if near.size:
            chosen = random.choice(near, spread - split)
            column[split:spread] = np.where(random.random(spread - split) < 0.5, chosen, column[split:spread])
        if known.size:
            low, high = known.min(), known.max()
            reach = (high - low) / 2
            column[spread:] = random.uniform(low - reach, high + reach, rows - spread)
            column[-3:-1] = low, high
        column[-1] = 0
    return made


def _columns(sample: Mapping[str, Array]) -> list[Column]:
    """All columns in the order in which an estimator numbers them."""
    return [(name, place) for name, array in sample.items() for place in range(_width(array))]


def _width(array: Array) -> int:
    return array.size // len(array)


def _neighbours(thresholds: Sequence[float], dtype: np.dtype[Any]) -> Array:
    at = np.unique(np.asarray(thresholds, np.float64).astype(dtype))
    at = at[np.isfinite(at)]  # histograms separate missing values from all others at infinity
    infinity = dtype.type(np.inf)
    return np.concatenate([np.nextafter(at, -infinity), at, np.nextafter(at, infinity)])


def splits_of(estimator: object) -> Splits:
    """The split points of an estimator's trees, if it takes the columns unchanged."""
    found: dict[int, list[float]] = defaultdict(list)
    for feature, threshold in _splits(estimator):
        found[feature].append(threshold)
    return found


def _splits(estimator: Any) -> Iterator[tuple[int, float]]:
    tree = getattr(estimator, "tree_", None)
    if tree is not None:
        inner = tree.feature >= 0
        yield from zip(tree.feature[inner].tolist(), tree.threshold[inner].tolist(), strict=True)
    for predictor in np.ravel(getattr(estimator, "_predictors", [])):  # histograms
        nodes = predictor.nodes[predictor.nodes["is_leaf"] == 0]
        yield from zip(nodes["feature_idx"].tolist(), nodes["num_threshold"].tolist(), strict=True)
    members = list(np.ravel(getattr(estimator, "estimators_", [])))
    parts = getattr(estimator, "estimators_features_", [None] * len(members))
    for member, features in zip(members, parts, strict=True):
        for feature, threshold in _splits(member):
            yield (feature if features is None else int(features[feature])), threshold
