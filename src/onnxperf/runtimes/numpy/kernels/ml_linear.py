"""Operators of ai.onnx.ml for numbers: linear models, scaling, selecting and joining columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from onnxperf.records.view import Dims
from onnxperf.runtimes.numpy.base import Array, DType, Kernel, Node, kernel

ML = "ai.onnx.ml"
# Sets, because numpy's float64 compares equal to None.
_FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))
_NUMBERS = _FLOATS | {np.dtype(np.int32), np.dtype(np.int64)}
FOLDED_COLUMNS = 16
"""Up to this many columns, the maximum is computed column by column: numpy reduces short rows slowly."""

Function = Callable[[Array], Array]


def as_floats(dtype: DType | None) -> Any:
    """The type in which a model computes for an input type: the same, or float32 for integers."""
    if dtype is None or dtype not in _NUMBERS:
        return None
    return dtype.type if dtype in _FLOATS else np.float32


def class_labels(node: Node, integers: str) -> Any:
    """The labels of a classifier as an array, or None."""
    if node.get(integers):
        return np.array(node.get(integers), np.int64)
    return np.array(node.get("classlabels_strings"), object) if node.get("classlabels_strings") else None


def declare(node: Node, index: int, dtype: Any, shape: Dims | None) -> None:
    """Tell later nodes what onnx's inference, which skips most of ai.onnx.ml, did not infer."""
    value = node.outputs[index] if index < len(node.outputs) else None
    if value is not None and value.dtype is None:
        value.dtype, value.shape = np.dtype(dtype), value.shape or shape


def shape_of(node: Node) -> Dims | None:
    """Shape of the first input, if known."""
    return None if node.inputs[0] is None else node.inputs[0].shape


def _is_matrix(node: Node) -> bool:
    return node.rank() in (2, None)


def rows_of(node: Node, columns: int) -> Dims:
    """Shape of a result with as many rows as the input."""
    shape = shape_of(node)
    return (shape[0] if shape else None, columns)


def _row_sums(x: Array) -> Any:
    # BLAS sums short rows ten times faster than numpy.
    return x.dot(_ones(x.shape[1], x.dtype))


@cache
def _ones(count: int, dtype: Any) -> Array:
    return np.ones((count, 1), dtype)


def _row_maxima(x: Array) -> Any:
    rows, columns = x.shape
    if rows == 1 and columns:
        return x.item(x.argmax())
    if not 0 < columns <= FOLDED_COLUMNS:
        return x.max(axis=1, keepdims=True)
    top = x[:, :1]
    for column in range(1, columns):
        top = np.maximum(top, x[:, column : column + 1])
    return top


def _logistic_of_opposite(dtype: Any) -> Function:
    """1 / (1 + exp(x)), in place."""
    # exp of larger values overflows; 1 / exp of this one is practically 0.
    limit, one = dtype(88 if dtype is np.float32 else 709), dtype(1)
    minimum, exp, add, reciprocal = np.minimum, np.exp, np.add, np.reciprocal

    def logistic(x: Array) -> Array:
        minimum(x, limit, out=x)
        exp(x, x)
        add(x, one, x)
        return reciprocal(x, x)

    return logistic


def _softmax(x: Array) -> Any:
    y = np.subtract(x, _row_maxima(x))
    np.exp(y, y)
    return np.divide(y, _row_sums(y), y)


def _softmax_zero(x: Array) -> Any:
    """A softmax in which zeros stay zero."""
    top = x.max(axis=1, keepdims=True)
    y = np.where(np.abs(x) > x.dtype.type(1e-7), np.exp(x - top), x * np.exp(-top))
    total = y.sum(axis=1, keepdims=True)
    empty = total == 0
    return np.where(empty, x.dtype.type(0.5), y / np.where(empty, x.dtype.type(1), total))


def _probit(x: Array) -> Array:
    """The inverse of the normal distribution, by the approximation that the standard implies."""
    y = x * 2 - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log((1 - y) * (1 + y))
        v = 2 / (np.pi * 0.147) + 0.5 * log
        root = np.sqrt(np.sqrt(v * v - log / 0.147) - v)
    return np.where(np.abs(y) == 1, 0, 1.41421356 * np.copysign(root, y)).astype(x.dtype)


_POST_TRANSFORMS: dict[str, Function | None] = {
    "NONE": None,
    "SOFTMAX": _softmax,
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": _probit,
}


def post_transform(name: str, dtype: Any) -> tuple[bool, Function | None]:
    """Whether that transform is known, and its function; None if it changes nothing."""
    if name == "LOGISTIC":
        logistic = _logistic_of_opposite(dtype)
        return True, lambda x: logistic(np.negative(x))
    return name in _POST_TRANSFORMS, _POST_TRANSFORMS.get(name)


def _affine(node: Node, dtype: Any, rows: int, signs: Any = 1) -> Function | None:
    """x W + b of a linear model, with these signs; the number of features follows from the coefficients."""
    coefficients = np.array(node.get("coefficients", []), dtype)
    intercepts = np.array(node.get("intercepts") or [0], dtype)
    if not rows or coefficients.size % rows or intercepts.size not in (1, rows):
        return None
    intercepts = intercepts * np.asarray(signs, dtype)
    weights = np.ascontiguousarray(coefficients.reshape(rows, -1).T * np.asarray(signs, dtype))
    has_intercepts = bool(intercepts.any())

    def affine(x: Array) -> Any:
        y = x.dot(weights)
        return np.add(y, intercepts, y) if has_intercepts else y

    if node.dtype() == dtype:
        return affine
    return lambda x: affine(x.astype(dtype))


@kernel("LinearRegressor", domain=ML)
def make_linear_regressor(node: Node) -> Kernel | None:
    """x W + b."""
    dtype = as_floats(node.dtype())
    if dtype is None or not _is_matrix(node) or node.get("post_transform", "NONE") != "NONE":
        return None
    affine = _affine(node, dtype, node.get("targets", 1))
    if affine is None:
        return None
    declare(node, 0, dtype, rows_of(node, node.get("targets", 1)))
    return Kernel(affine, "fresh")


@kernel("LinearClassifier", domain=ML)
def make_linear_classifier(node: Node) -> Kernel | None:
    """Scores x W + b, transformed, and the label with the highest."""
    dtype, labels = as_floats(node.dtype()), class_labels(node, "classlabels_ints")
    name = node.get("post_transform", "NONE")
    known, transform = post_transform(name, dtype or np.float32)
    if dtype is None or not _is_matrix(node) or not known or labels is None or len(labels) < 2:
        return None
    shape, size = shape_of(node), len(node.get("coefficients", []))
    width = shape[1] if shape is not None and isinstance(shape[1], int) else None
    # Two classes may share one vector of coefficients: its score counts against the first class.
    single = len(labels) == 2 and (size == width if width else len(node.get("intercepts") or []) == 1)
    if width is not None and size != width * (1 if single else len(labels)):
        return None
    if width is None and len(labels) == 2 and not node.get("intercepts"):
        return None
    signs = np.array([-1, 1] if single else [1] * len(labels), dtype)
    if name == "LOGISTIC":
        signs, transform = -signs, _logistic_of_opposite(dtype)
    affine = _affine(node, dtype, 1 if single else len(labels), signs)
    if affine is None:
        return None

    def classify(x: Array) -> Any:
        scores = affine(x)
        if transform is not None:
            scores = transform(scores)
        return labels.take(scores.argmax(1)), scores

    declare(node, 0, labels.dtype, rows_of(node, len(labels))[:1])
    declare(node, 1, dtype, rows_of(node, len(labels)))
    return Kernel(first_of_tuple(node, classify), "fresh")


def first_of_tuple(node: Node, function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel returns a tuple only if more than one output is requested."""
    return function if node.output_count > 1 else lambda *arrays: function(*arrays)[0]


@kernel("Scaler", domain=ML)
def make_scaler(node: Node) -> Kernel | None:
    """(x - offset) * scale, in float32."""
    if node.dtype() not in _NUMBERS or node.dtype() == np.float64:
        return None
    offset, scale = (
        np.array(node.get(name) or [default], np.float32) for name, default in (("offset", 0), ("scale", 1))
    )

    def scaled(x: Array) -> Array:
        y = np.subtract(x, offset, dtype=np.float32)
        y *= scale
        return y

    declare(node, 0, np.float32, shape_of(node))
    return Kernel(scaled, "fresh")


@kernel("Normalizer", domain=ML)
def make_normalizer(node: Node) -> Kernel | None:
    """Rows divided by their norm; rows of zeros stay."""
    dtype = node.dtype()
    if dtype is None or dtype not in _FLOATS or not _is_matrix(node) or node.get("norm", "MAX") not in _NORMS:
        return None
    magnitude, reduce, root = _NORMS[node.get("norm", "MAX")]
    tiny = dtype.type(1e-30)

    def normalized(x: Array) -> Any:
        norm = reduce(magnitude(x))
        return np.divide(x, np.maximum(np.sqrt(norm) if root else norm, tiny))

    declare(node, 0, dtype, shape_of(node))
    return Kernel(normalized, "fresh")


_NORMS: dict[str, tuple[Function, Function, bool]] = {
    "MAX": (np.abs, _row_maxima, False),
    "L1": (np.abs, _row_sums, False),
    "L2": (np.square, _row_sums, True),
}


@kernel("Binarizer", domain=ML)
def make_binarizer(node: Node) -> Kernel | None:
    """1 above the threshold, else 0."""
    dtype = node.dtype()
    if dtype is None or dtype not in _NUMBERS:
        return None
    declare(node, 0, dtype, shape_of(node))
    threshold = node.get("threshold", 0.0)
    bound = dtype.type(threshold) if dtype in _FLOATS else threshold
    return Kernel(lambda x: np.greater(x, bound).astype(dtype), "fresh")


@kernel("Imputer", domain=ML)
def make_imputer(node: Node) -> Kernel | None:
    """One value replaced, per column."""
    dtype = node.dtype()
    if dtype is None or dtype not in _NUMBERS or not _is_matrix(node):
        return None
    names = ("imputed_value_floats", "replaced_value_float")
    if dtype not in _FLOATS:
        names = ("imputed_value_int64s", "replaced_value_int64")
    if not node.get(names[0]):
        return None
    declare(node, 0, dtype, shape_of(node))
    values, replaced = np.array(node.get(names[0]), dtype), dtype.type(node.get(names[1], 0))
    if dtype in _FLOATS and np.isnan(replaced):
        return Kernel(lambda x: np.where(np.isnan(x), values, x), "fresh")
    return Kernel(lambda x: np.where(x == replaced, values, x), "fresh")


@kernel("ArrayFeatureExtractor", domain=ML)
def make_array_feature_extractor(node: Node) -> Kernel | None:
    """Columns by index; a vector becomes a row."""
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
    """Columns side by side, cut or zero-padded to the given widths."""
    widths = node.get("inputdimensions", [])
    kinds = {node.dtype(i) for i in range(len(node.inputs))}
    if kinds != {np.dtype(np.float32)} or len(widths) != len(node.inputs):
        return None

    def fit(x: Array, width: int) -> Array:
        x = x.reshape(-1, 1) if x.ndim == 1 else x
        missing = width - x.shape[1]
        return np.pad(x, ((0, 0), (0, missing))) if missing > 0 else x[:, :width]

    declare(node, 0, np.float32, rows_of(node, sum(widths)))
    return Kernel(lambda *inputs: np.concatenate(list(map(fit, inputs, widths)), 1), "fresh")
