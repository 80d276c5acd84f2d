"""Ensembles of decision trees, vectorized over trees and rows.

Every node becomes one comparison `x <= threshold`, whatever its original mode: other modes swap the branches, compare
-x, or become chains. A comparison with NaN is false, so missing values also go to branch 0. A leaf needs no test: its
threshold is NaN and both branches are the leaf itself, so all pairs of row and tree take as many steps as the deepest
path has nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from onnxperf.errors import BadModel
from onnxperf.runtimes.numpy.base import Array, Kernel, Node, kernel
from onnxperf.runtimes.numpy.kernels.ml_linear import (
    ML,
    as_floats,
    class_labels,
    declare,
    first_of_tuple,
    post_transform,
    rows_of,
)

CHUNK_PAIRS = 1 << 16
"""Pairs of row and tree that are followed at once; this bounds temporaries, and keeps them in the cache."""
COMPACT_EVERY = 4
"""After this many steps, pairs that have reached a leaf are set aside."""
ONE_BY_ONE_PAIRS = 64
"""Up to this many pairs are followed one by one in Python, which is faster than numpy for so few."""
ONE_BY_ONE_NODES = 500_000
"""A Python copy of larger ensembles would take too much memory."""


Score = Callable[[Array], Array]
_MODES: tuple[str, ...] = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")
_ORDERED: dict[str, tuple[bool, bool]] = {
    "LEQ": (False, True),
    "GT": (False, False),
    "LT": (True, True),
    "GTE": (True, False),
}
"""Whether equal numbers are on the high side, and whether the low side is the true branch."""
_AGGREGATES: tuple[str, ...] = ("AVERAGE", "SUM", "MIN", "MAX")
_POST_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@dataclass
class _Split:
    mode: str
    feature: int
    threshold: Any
    members: list[Any]
    missing_is_true: bool
    branches: tuple[int, int]
    """Names of the nodes for false and true: leaves are -1 - leaf."""


@dataclass
class _Flat:
    """Nodes as comparisons; leaves come first, so the number of a reached node is that of its leaf."""

    dtype: Any
    leaves: int
    features: list[int] = field(default_factory=list)
    thresholds: list[Any] = field(default_factory=list)
    branches: list[tuple[int, int]] = field(default_factory=list)
    negated: bool = False

    def __post_init__(self) -> None:
        for leaf in range(self.leaves):
            self._add(0, np.nan, leaf, leaf)

    def _add(self, feature: int, threshold: Any, otherwise: int, when: int) -> int:
        self.features.append(feature)
        self.thresholds.append(threshold)
        self.branches.append((otherwise, when))
        return len(self.features) - 1

    def _at_most(self, feature: int, bound: Any, otherwise: int, when: int) -> int:
        return self._add(2 * feature, bound, otherwise, when)

    def _at_least(self, feature: int, bound: Any, otherwise: int, when: int) -> int:
        self.negated = True
        return self._add(2 * feature + 1, -bound, otherwise, when)

    def _equal(self, feature: int, value: Any, otherwise: int, when: int) -> int:
        return self._at_most(feature, value, otherwise, self._at_least(feature, value, otherwise, when))

    def split(self, split: _Split, no: int, yes: int) -> int:
        """Add a node whose branches already exist."""
        feature, value = split.feature, self.dtype(split.threshold)
        missing = yes if split.missing_is_true else no
        if split.mode in _ORDERED:
            strict, low_is_true = _ORDERED[split.mode]
            low, high = (yes, no) if low_is_true else (no, yes)
            if missing == low:
                return self._at_least(feature, value if strict else _above(value), low, high)
            return self._at_most(feature, _below(value) if strict else value, high, low)
        if split.mode == "NEQ":
            no, yes = yes, no
        entry = no
        for member in split.members if split.mode == "MEMBER" else [value]:
            entry = self._equal(feature, self.dtype(member), entry, yes)
        return entry if missing == no else self._at_most(feature, self.dtype(np.inf), missing, entry)

    def columns(self) -> list[int]:
        """The column of every node; if -x is never compared, there are only the columns of x."""
        return self.features if self.negated else [feature // 2 for feature in self.features]

    def nested(self, roots: Iterable[int]) -> list[Any]:
        """Trees for Python: a leaf is its number, a node is (column, threshold, otherwise, when)."""
        nodes: list[Any] = list(range(self.leaves))
        rest = zip(self.columns(), self.thresholds, self.branches, strict=True)
        for column, threshold, (otherwise, when) in islice(rest, self.leaves, None):
            nodes.append((column, float(threshold), nodes[otherwise], nodes[when]))
        return [nodes[root] for root in roots]

    def depth(self, roots: Iterable[int]) -> int:
        """Comparisons on the longest path; branches are always added before the node."""
        depths = [0] * self.leaves
        for otherwise, when in self.branches[self.leaves :]:
            depths.append(1 + max(depths[otherwise], depths[when]))
        return max((depths[root] for root in roots), default=0)


def _leaf(node: Any, row: list[float]) -> Any:
    while node.__class__ is tuple:
        column, threshold, otherwise, when = node
        node = when if row[column] <= threshold else otherwise
    return node


def _below(value: Any) -> Any:
    """The largest number below a value: x < value is x <= this; NaN if there is none."""
    return np.nextafter(value, -np.inf, dtype=type(value)) if value != -np.inf else type(value)(np.nan)


def _above(value: Any) -> Any:
    return np.nextafter(value, np.inf, dtype=type(value)) if value != np.inf else type(value)(np.nan)


def _flatten(splits: dict[int, _Split], roots: list[int], leaves: int, dtype: Any) -> tuple[_Flat, list[int]]:
    """Number the nodes so that branches come before the nodes that lead to them."""
    flat = _Flat(dtype, leaves)
    numbers: dict[int, int] = {}

    def number(name: int) -> int | None:
        return -1 - name if name < 0 else numbers.get(name)

    for root in roots:
        stack = [root]
        while stack:
            if len(stack) > 2 * len(splits) + 1:
                raise BadModel("a tree of the ensemble has a cycle")
            name = stack[-1]
            if number(name) is not None:
                stack.pop()
                continue
            no, yes = map(number, splits[name].branches)
            if no is None or yes is None:
                stack += [branch for branch in splits[name].branches if number(branch) is None]
            else:
                numbers[name] = flat.split(splits[name], no, yes)
    return flat, [-1 - root if root < 0 else numbers[root] for root in roots]


def _scorer(flat: _Flat, roots: list[int], weights: Any, reduce: Score) -> Score:
    """The function from rows to the aggregated weights of their leaves."""
    depth, trees, targets, negated = flat.depth(roots), len(roots), weights.shape[1], flat.negated
    # Nodes are addressed by twice their number: the address plus the comparison is then the place of the branch.
    features = np.repeat(np.array(flat.columns(), np.intp), 2)
    thresholds = np.repeat(np.array(flat.thresholds, flat.dtype), 2)
    branches = 2 * np.array(flat.branches, np.intp).reshape(-1)
    starts = 2 * np.array(roots, np.intp)
    rows_at_once = max(1, CHUNK_PAIRS // (trees * max(1, targets // 4)))
    levels, leaves_end = range(1, depth + 1), 2 * flat.leaves
    few = ONE_BY_ONE_PAIRS // trees if len(flat.branches) <= ONE_BY_ONE_NODES else 0
    plain_roots = flat.nested(roots) if few else []

    def follow_few(x: Array) -> Any:
        reached = [_leaf(root, row) for row in x.tolist() for root in plain_roots]
        return weights.take(np.array(reached, np.intp).reshape(-1, trees).T, 0)

    def follow(x: Array) -> Any:
        rows, width = x.shape
        at = np.repeat(starts, rows)
        offsets = np.tile(np.arange(0, rows * width, width), trees)
        reached: Any = None
        places: Any = None
        for level in levels:
            cells = features.take(at)
            cells += offsets
            at = branches.take(at + (x.take(cells) <= thresholds.take(at)))
            if level % COMPACT_EVERY:
                continue
            going = at >= leaves_end
            if 4 * np.count_nonzero(going) > 3 * at.size:
                continue
            if places is None:
                reached, places = at, np.flatnonzero(going)
            else:
                reached[places], places = at, places[going]
            at, offsets = at[going], offsets[going]
        if places is None:
            reached = at
        else:
            reached[places] = at
        return weights.take((reached >> 1).reshape(trees, rows), 0)

    def score(x: Array) -> Array:
        rows = len(x)
        x = np.stack((x, -x), axis=2).reshape(rows, -1) if negated else np.ascontiguousarray(x)
        if rows <= few:
            return reduce(follow_few(x))
        if rows <= rows_at_once:
            return reduce(follow(x))
        return np.concatenate([reduce(follow(x[i : i + rows_at_once])) for i in range(0, rows, rows_at_once)])

    return score


def _reducer(aggregate: str, trees: int, dtype: Any) -> Score:
    """Turns weights by tree, row and target into scores."""
    add, count = np.add.reduce, dtype(trees)
    if aggregate == "AVERAGE":
        return lambda weights: np.divide(add(weights), count)
    return {"SUM": add, "MIN": np.minimum.reduce, "MAX": np.maximum.reduce}[aggregate]


def _leaf_weights(entries: Iterable[Any], leaves: int, targets: int, aggregate: str, dtype: Any) -> Array:
    """One row per leaf, one column per target."""
    limits = np.finfo(dtype)
    start, combine = {"MIN": (limits.max, np.minimum), "MAX": (limits.min, np.maximum)}.get(aggregate, (0, np.add))
    weights = np.full((leaves, targets), start, dtype)
    rows, columns, values = zip(*entries, strict=True)
    combine.at(weights, (np.array(rows), np.array(columns)), np.array(values, dtype))
    return weights


def _numbers(node: Node, name: str) -> Array:
    """An attribute that may be given as floats or as a tensor."""
    tensor = node.get(f"{name}_as_tensor")
    return np.array(node.get(name), np.float32) if tensor is None and node.get(name) else tensor


def _classic_scorer(node: Node, prefix: str, targets: int, aggregate: str) -> tuple[Score, Any] | None:
    """Trees as described by TreeEnsembleRegressor and TreeEnsembleClassifier, and the type of the scores."""
    values, dtype = _numbers(node, "nodes_values"), as_floats(node.dtype())
    if dtype is None or values is None or node.rank() not in (2, None) or not node.get("nodes_treeids"):
        return None
    dtype = np.result_type(dtype, values.dtype).type
    trees, nodes, modes = (node.get(f"nodes_{name}") for name in ("treeids", "nodeids", "modes"))
    no, yes = node.get("nodes_falsenodeids"), node.get("nodes_truenodeids")
    missing = node.get("nodes_missing_value_tracks_true") or [0] * len(nodes)
    leaves: dict[tuple[int, int], int] = {}
    names: dict[tuple[int, int], int] = {}
    roots: dict[int, int] = {}
    for index, (tree, key, mode) in enumerate(zip(trees, nodes, modes, strict=True)):
        if mode == "LEAF":
            leaves[tree, key] = len(leaves)
        names[tree, key] = -1 - leaves[tree, key] if mode == "LEAF" else index
        roots.setdefault(tree, names[tree, key])
    splits = {
        index: _Split(
            mode.removeprefix("BRANCH_"),
            node.get("nodes_featureids")[index],
            values[index],
            [],
            bool(missing[index]),
            (names[trees[index], no[index]], names[trees[index], yes[index]]),
        )
        for index, mode in enumerate(modes)
        if mode != "LEAF"
    }
    owners = zip(node.get(f"{prefix}_treeids"), node.get(f"{prefix}_nodeids"), strict=True)
    weights = zip(owners, node.get(f"{prefix}_ids"), _numbers(node, f"{prefix}_weights"), strict=True)
    entries = [(leaves[owner], target, weight) for owner, target, weight in weights if owner in leaves]
    flat, starts = _flatten(splits, [roots[tree] for tree in sorted(roots)], len(leaves), dtype)
    table = _leaf_weights(entries, len(leaves), targets, aggregate, dtype)
    return _scorer(flat, starts, table, _reducer(aggregate, len(starts), dtype)), dtype


def _in_float32(node: Node, dtype: Any, score: Score) -> Score:
    """A scorer that takes the node's input and returns float32, as these operators must."""
    if node.dtype() == np.float32 == dtype:
        return score
    return lambda x: score(x.astype(dtype, copy=False)).astype(np.float32, copy=False)


@kernel("TreeEnsembleRegressor", domain=ML)
def make_tree_ensemble_regressor(node: Node) -> Kernel | None:
    """The aggregated weights of the leaves that a row reaches."""
    aggregate = node.get("aggregate_function", "SUM")
    if aggregate not in _AGGREGATES or node.get("post_transform", "NONE") != "NONE":
        return None
    made = _classic_scorer(node, "target", node.get("n_targets", 1), aggregate)
    if made is None:
        return None
    score, dtype = made
    base = _numbers(node, "base_values")

    def based(x: Array) -> Array:
        y = score(x)
        y += base
        return y

    base = None if base is None else base.astype(dtype)
    declare(node, 0, np.float32, rows_of(node, node.get("n_targets", 1)))
    return Kernel(_in_float32(node, dtype, score if base is None else based), "fresh")


@kernel("TreeEnsembleClassifier", domain=ML)
def make_tree_ensemble_classifier(node: Node) -> Kernel | None:
    """Summed weights by class, transformed, and the label with the highest."""
    labels = class_labels(node, "classlabels_int64s")
    known, transform = post_transform(node.get("post_transform", "NONE"), np.float32)
    if labels is None or not known or (len(labels) == 1 and labels[0] != 1):
        return None
    made = _classic_scorer(node, "class", len(labels), "SUM")
    if made is None:
        return None
    score, dtype = made
    score = _in_float32(node, dtype, score)
    base = _numbers(node, "base_values")
    base = None if base is None else base.astype(np.float32)
    binary = len(set(node.get("class_ids"))) == 1 and len(labels) <= 2
    column = 0 if len(labels) == 1 else node.get("class_ids")[0]
    if len(labels) == 1:
        labels = np.array([0, 1], np.int64)
    # A single score belongs to the second class; the first class gets its complement, or its opposite.
    complement = np.float32(1 if node.get("post_transform", "NONE") in ("NONE", "PROBIT") else 0)

    def classify(x: Array) -> Any:
        scores = score(x)
        if base is not None:
            scores += base
        if binary:
            second, scores = scores[:, column], np.empty((len(scores), 2), np.float32)
            np.subtract(complement, second, scores[:, 0])
            scores[:, 1] = second
        if transform is not None:
            scores = transform(scores)
        return labels.take(scores.argmax(1)), scores

    declare(node, 0, labels.dtype, rows_of(node, len(labels))[:1])
    declare(node, 1, np.float32, rows_of(node, len(labels)))
    return Kernel(first_of_tuple(node, classify), "fresh")


@kernel("TreeEnsemble", domain=ML, since=5)
def make_tree_ensemble(node: Node) -> Kernel | None:
    """Trees with separate leaves, and sets of values."""
    dtype = node.dtype()
    if dtype is None or dtype.type is not as_floats(dtype) or node.rank() not in (2, None):
        return None
    _, transform = post_transform(_POST_TRANSFORMS[node.get("post_transform", 0)], dtype.type)
    aggregate = _AGGREGATES[node.get("aggregate_function", 1)]
    modes = [_MODES[mode] for mode in node.get("nodes_modes").tolist()]
    missing = node.get("nodes_missing_value_tracks_true") or [0] * len(modes)
    members = _member_sets(node.get("membership_values"))
    branches = [
        [-1 - branch if leaf else branch for branch, leaf in zip(node.get(f"nodes_{side}nodeids"), leaves, strict=True)]
        for side, leaves in (("false", node.get("nodes_falseleafs")), ("true", node.get("nodes_trueleafs")))
    ]
    splits = {
        index: _Split(
            mode,
            node.get("nodes_featureids")[index],
            node.get("nodes_splits")[index],
            next(members, []) if mode == "MEMBER" else [],
            bool(missing[index]) or mode == "NEQ",
            (branches[0][index], branches[1][index]),
        )
        for index, mode in enumerate(modes)
    }
    # A tree that is a single leaf is written as a node with that leaf on both sides.
    flat, starts = _flatten(splits, node.get("tree_roots"), len(node.get("leaf_targetids")), dtype.type)
    entries = zip(range(flat.leaves), node.get("leaf_targetids"), node.get("leaf_weights").tolist(), strict=True)
    table = _leaf_weights(entries, flat.leaves, node.get("n_targets", 1), aggregate, dtype.type)
    score = _scorer(flat, starts, table, _reducer(aggregate, len(starts), dtype.type))
    return Kernel(score if transform is None else lambda x: transform(score(x)), "fresh")


def _member_sets(values: Any) -> Iterator[list[Any]]:
    """Sets in the order of their nodes, each terminated by NaN."""
    members: list[Any] = []
    for value in [] if values is None else values.reshape(-1):
        if np.isnan(value):
            yield members
            members = []
        else:
            members.append(value)
