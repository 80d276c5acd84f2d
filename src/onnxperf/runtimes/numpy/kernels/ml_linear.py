"""Operators of ai.onnx.ml on numbers: linear models, scaling, choosing and joining columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import Kernel, Node, kernel

ML = "ai.onnx.ml"
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_NUMBERS = (*_FLOATS, np.dtype(np.int32), np.dtype(np.int64))

Function = Callable[[Any], Any]
# Numpy's stubs do not know `keepdims` by position, which saves time with one row.
_max_of: Any = np.maximum.reduce
_sum_of: Any = np.add.reduce


def as_floats(dtype: np.dtype[Any] | None) -> Any:
    """The type in which a model computes for an input of that type: its own, or float32 for whole numbers."""
    if dtype not in _NUMBERS:
        return None
    return dtype.type if dtype in _FLOATS else np.float32


def class_labels(node: Node, integers: str) -> Any:
    """The labels of a classifier as an array, or None."""
    if node.get(integers):
        return np.array(node.get(integers), np.int64)
    return np.array(node.get("classlabels_strings"), object) if node.get("classlabels_strings") else None


def _logistic(x: Any) -> Any:
    # exp of more than this overflows; 1 / exp of it is as good as 0.
    limit = x.dtype.type(88 if x.dtype == np.float32 else 709)
    y = np.negative(x)
    np.minimum(y, limit, y)
    np.exp(y, y)
    y += 1
    return np.reciprocal(y, y)


def _softmax(x: Any) -> Any:
    y = np.subtract(x, _max_of(x, 1, None, None, True))
    np.exp(y, y)
    y /= _sum_of(y, 1, None, None, True)
    return y


def _softmax_zero(x: Any) -> Any:
    """A softmax in which zeros stay zero."""
    top = x.max(axis=1, keepdims=True)
    y = np.where(np.abs(x) > x.dtype.type(1e-7), np.exp(x - top), x * np.exp(-top))
    total = y.sum(axis=1, keepdims=True)
    empty = total == 0
    return np.where(empty, x.dtype.type(0.5), y / np.where(empty, x.dtype.type(1), total))


def _probit(x: Any) -> Any:
    """The inverse of the normal distribution, by the approximation that the standard implies."""
    y = x * 2 - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log((1 - y) * (1 + y))
        v = 2 / (np.pi * 0.147) + 0.5 * log
        root = np.sqrt(np.sqrt(v * v - log / 0.147) - v)
    return np.where(np.abs(y) == 1, 0, 1.41421356 * np.copysign(root, y)).astype(x.dtype)


_POST_TRANSFORMS: dict[str, Function | None] = {
    "NONE": None,
    "LOGISTIC": _logistic,
    "SOFTMAX": _softmax,
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": _probit,
}


def post_transform(name: str) -> tuple[bool, Function | None]:
    """Whether that transform is known, and its function; None where it changes nothing."""
    return name in _POST_TRANSFORMS, _POST_TRANSFORMS.get(name)


def _affine(node: Node, dtype: Any, rows: int) -> Function | None:
    """x W + b of a linear model; the number of features follows from the coefficients."""
    coefficients = np.array(node.get("coefficients", []), dtype)
    intercepts = np.array(node.get("intercepts") or [0], dtype)
    if not rows or coefficients.size % rows or intercepts.size not in (1, rows):
        return None
    weights = np.ascontiguousarray(coefficients.reshape(rows, -1).T)
    has_intercepts = bool(intercepts.any())
    cast = node.dtype() != dtype

    def affine(x: Any) -> Any:
        y = (x.astype(dtype) if cast else x).dot(weights)
        if has_intercepts:
            y += intercepts
        return y

    return affine


@kernel("LinearRegressor", domain=ML)
def make_linear_regressor(node: Node) -> Kernel | None:
    """x W + b."""
    dtype = as_floats(node.dtype())
    if dtype is None or node.rank() != 2 or node.get("post_transform", "NONE") != "NONE":
        return None
    affine = _affine(node, dtype, node.get("targets", 1))
    return None if affine is None else Kernel(affine, "fresh")


@kernel("LinearClassifier", domain=ML)
def make_linear_classifier(node: Node) -> Kernel | None:
    """Scores x W + b, transformed, and the label of the highest."""
    dtype, labels = as_floats(node.dtype()), class_labels(node, "classlabels_ints")
    known, transform = post_transform(node.get("post_transform", "NONE"))
    if dtype is None or node.rank() != 2 or not known or labels is None or len(labels) < 2:
        return None
    # Two classes may share one vector of coefficients: its score counts against the first class.
    width = (node.inputs[0].shape or (None, None))[1] if node.inputs[0] is not None else None
    size = len(node.get("coefficients", []))
    single = len(labels) == 2 and (size == width or (width is None and len(node.get("intercepts") or []) == 1))
    if width is not None and isinstance(width, int) and size != width * (1 if single else len(labels)):
        return None
    affine = _affine(node, dtype, 1 if single else len(labels))
    if affine is None:
        return None
    signs = np.array([-1, 1], dtype)

    def classify(x: Any) -> Any:
        scores = affine(x)
        if single:
            scores = scores * signs
        if transform is not None:
            scores = transform(scores)
        return labels.take(scores.argmax(1)), scores

    return Kernel(first_of_tuple(node, classify), "fresh")


def first_of_tuple(node: Node, function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel returns a tuple only when more than one output is asked for."""
    return function if node.output_count > 1 else lambda *arrays: function(*arrays)[0]


@kernel("Scaler", domain=ML)
def make_scaler(node: Node) -> Kernel | None:
    """(x - offset) * scale, in float32."""
    if node.dtype() not in _NUMBERS or node.dtype() == np.float64:
        return None
    offset, scale = (
        np.array(node.get(name) or [default], np.float32) for name, default in (("offset", 0), ("scale", 1))
    )

    def scaled(x: Any) -> Any:
        y = np.subtract(x, offset, dtype=np.float32)
        y *= scale
        return y

    return Kernel(scaled, "fresh")


@kernel("Normalizer", domain=ML)
def make_normalizer(node: Node) -> Kernel | None:
    """Rows divided by their norm; rows of zeros stay."""
    dtype = node.dtype()
    if dtype not in _FLOATS or node.rank() != 2:
        return None
    reduce = {"MAX": _max_of, "L1": _sum_of, "L2": _sum_of}.get(node.get("norm", "MAX"))
    if reduce is None:
        return None
    tiny = dtype.type(1e-30)
    squared = node.get("norm") == "L2"
    magnitude = np.square if squared else np.abs

    def normalized(x: Any) -> Any:
        norm = reduce(magnitude(x), 1, None, None, True)
        if squared:
            np.sqrt(norm, norm)
        return np.divide(x, np.maximum(norm, tiny, norm))

    return Kernel(normalized, "fresh")


@kernel("Binarizer", domain=ML)
def make_binarizer(node: Node) -> Kernel | None:
    """1 above the threshold, else 0."""
    dtype = node.dtype()
    if dtype not in _NUMBERS:
        return None
    threshold = node.get("threshold", 0.0)
    bound = dtype.type(threshold) if dtype in _FLOATS else threshold
    return Kernel(lambda x: np.greater(x, bound).astype(dtype), "fresh")


@kernel("Imputer", domain=ML)
def make_imputer(node: Node) -> Kernel | None:
    """One value replaced, per column."""
    dtype = node.dtype()
    if dtype not in _NUMBERS or node.rank() != 2:
        return None
    names = ("imputed_value_floats", "replaced_value_float")
    if dtype not in _FLOATS:
        names = ("imputed_value_int64s", "replaced_value_int64")
    if not node.get(names[0]):
        return None
    values, replaced = np.array(node.get(names[0]), dtype), dtype.type(node.get(names[1], 0))
    if dtype in _FLOATS and np.isnan(replaced):
        return Kernel(lambda x: np.where(np.isnan(x), values, x), "fresh")
    return Kernel(lambda x: np.where(x == replaced, values, x), "fresh")


@kernel("ArrayFeatureExtractor", domain=ML)
def make_array_feature_extractor(node: Node) -> Kernel | None:
    """Columns by number; a vector becomes a row."""
    rank = node.rank()
    if not rank:
        return None
    indices = node.constant(1)
    if rank == 1:
        return Kernel(lambda x, columns: x.take(columns.reshape(1, -1)), "fresh")
    if indices is None:
        return Kernel(lambda x, columns: x.take(columns.reshape(-1), -1), "fresh")
    columns = indices.reshape(-1)
    return Kernel(lambda x: x.take(columns, -1), "fresh", uses=(0,))


@kernel("FeatureVectorizer", domain=ML)
def make_feature_vectorizer(node: Node) -> Kernel | None:
    """Columns side by side, cut or filled with zeros to the given widths."""
    widths = node.get("inputdimensions", [])
    kinds = {node.dtype(i) for i in range(len(node.inputs))}
    if kinds != {np.dtype(np.float32)} or len(widths) != len(node.inputs):
        return None

    def fit(x: Any, width: int) -> Any:
        x = x.reshape(-1, 1) if x.ndim == 1 else x
        missing = width - x.shape[1]
        return np.pad(x, ((0, 0), (0, missing))) if missing > 0 else x[:, :width]

    return Kernel(lambda *inputs: np.concatenate(list(map(fit, inputs, widths)), 1), "fresh")
