"""Operators of ai.onnx.ml for labels and categories, which may be strings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import Array, Kernel, Node, kernel
from onnxperf.runtimes.numpy.kernels.ml_linear import ML, Function

LOOKUP_LIMIT = 64
"""Up to this many numbers are looked up one by one, which is faster than a vectorized search."""


def _is_nan(key: Any) -> bool:
    return isinstance(key, float) and math.isnan(key)


def _lookup(table: Mapping[Any, Any], default: Any, dtype: Any) -> Function:
    """One value per key; strings one by one, many numbers by a search in sorted keys."""
    get = table.get
    nan = next((value for key, value in table.items() if _is_nan(key)), None)
    numeric = all(isinstance(key, int | float) for key in table)

    def one_by_one(x: Array) -> Array:
        return np.array([get(key, default) for key in x.reshape(-1).tolist()], dtype).reshape(x.shape)

    if not numeric or not table:
        return one_by_one
    pairs = sorted((key, value) for key, value in table.items() if not _is_nan(key))
    keys, values = np.array([key for key, _ in pairs]), np.array([value for _, value in pairs], dtype)
    fill = np.array(default, dtype)

    def find(x: Array) -> Array:
        if (nan is None and x.size <= LOOKUP_LIMIT) or not len(keys):
            return one_by_one(x)
        places = np.minimum(keys.searchsorted(x), len(keys) - 1)
        y = np.where(keys.take(places) == x, values.take(places), fill)
        return y if nan is None else np.where(np.isnan(x), np.array(nan, dtype), y)

    return find


_ENCODER_TYPES: dict[str, tuple[Any, str, Any]] = {
    "floats": (np.float32, "default_float", -0.0),
    "int64s": (np.int64, "default_int64", -1),
    "strings": (object, "default_string", "_Unused"),
}


@kernel("LabelEncoder", domain=ML)
def make_first_label_encoder(node: Node) -> Kernel | None:
    """Strings to their positions in a list, or back."""
    return _between_strings_and_numbers(node, node.get("classes_strings", []), None)


@kernel("CategoryMapper", domain=ML)
def make_category_mapper(node: Node) -> Kernel | None:
    """Strings to numbers, or back."""
    return _between_strings_and_numbers(node, node.get("cats_strings", []), node.get("cats_int64s", []))


def _between_strings_and_numbers(node: Node, strings: list[str], numbers: list[int] | None) -> Kernel | None:
    numbers = list(range(len(strings))) if numbers is None else numbers
    if node.kind() == "O":
        table = dict(zip(strings, numbers, strict=True))
        return Kernel(_lookup(table, node.get("default_int64", -1), np.int64), "fresh")
    if node.kind() == "i":
        names = dict(zip(numbers, strings, strict=True))
        return Kernel(_lookup(names, node.get("default_string", "_Unused"), object), "fresh")
    return None


@kernel("LabelEncoder", domain=ML, since=2)
def make_label_encoder(node: Node) -> Kernel | None:
    """One value per key, for every pair of types."""
    keys, _ = _encoder_side(node, "keys")
    values, value_type = _encoder_side(node, "values")
    if keys is None or values is None or len(keys) != len(values) or node.kind() == "":
        return None
    if node.get("values_tensor") is not None:
        given = node.get("default_tensor")
        default = _plain(given.reshape(-1))[0] if given is not None else _default_of(value_type)
    else:
        _, name, fallback = next(entry for entry in _ENCODER_TYPES.values() if entry[0] is value_type)
        default = node.get(name, fallback)
    return Kernel(_lookup(dict(zip(keys, values, strict=True)), default, value_type), "fresh")


def _default_of(dtype: Any) -> Any:
    return "_Unused" if dtype is object else (-1 if np.dtype(dtype).kind in "iu" else -0.0)


def _encoder_side(node: Node, side: str) -> tuple[list[Any] | None, Any]:
    """Keys or values as plain Python values, rounded to their type as the data will be, together with that type."""
    for name, (dtype, _, _) in _ENCODER_TYPES.items():
        if node.get(f"{side}_{name}"):
            return np.array(node.get(f"{side}_{name}"), dtype).tolist(), dtype
    tensor = node.get(f"{side}_tensor")
    if tensor is None:
        return None, None
    text = tensor.dtype.kind in "OUS"
    return _plain(tensor.reshape(-1)), object if text else tensor.dtype.type


def _plain(values: Any) -> list[Any]:
    return [value.decode() if isinstance(value, bytes) else value for value in values.tolist()]


@kernel("OneHotEncoder", domain=ML)
def make_one_hot_encoder(node: Node) -> Kernel | None:
    """One column per category."""
    strings = node.kind() == "O"
    categories = node.get("cats_strings" if strings else "cats_int64s")
    if not categories or node.kind() not in ("O", "f", "i") or len(set(categories)) != len(categories):
        return None
    known = np.array(categories, object if strings else np.int64)
    must_exist = not node.get("zeros", 1)

    def encode(x: Array) -> Any:
        hits = x[..., None] == known
        if must_exist and not hits.any(axis=-1).all():
            unknown = x[~hits.any(axis=-1)].reshape(-1)[0]
            raise ValueError(f"OneHotEncoder: {unknown!r} is not one of the {len(known)} categories")
        return hits.astype(np.float32)

    return Kernel(encode, "fresh")


@kernel("ZipMap", domain=ML)
def make_zip_map(node: Node) -> Kernel | None:
    """One dict of scores by label per row."""
    keys = node.get("classlabels_int64s") or node.get("classlabels_strings")
    if not keys:
        return None
    count = len(keys)

    def zip_map(x: Array) -> Any:
        if x.ndim == 1:
            x = x[None]
        if x.shape[1] != count:
            raise ValueError(f"ZipMap has {count} labels for {x.shape[1]} columns")
        return [dict(zip(keys, row, strict=True)) for row in x]

    return Kernel(zip_map, "fresh")
