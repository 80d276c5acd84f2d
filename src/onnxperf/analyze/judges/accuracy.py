"""The comparison of outputs: whether two results agree, and if not, by how much they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from onnxperf.analyze.judges.elements import compare_elements, is_float, is_integer, merged, type_name
from onnxperf.records.check import Difference

RTOL = 1e-3
ATOL = 1e-5
Form = Literal["exact", "precision", "table"]
"""Allowed differences in form. exact: none (models and runtimes). precision: the precision of floats (framework
models). table: also a vector instead of a column, and another type with the same values, such as labels as float64
(estimators and callables)."""


def compare_outputs(
    names: Sequence[str],
    first: Sequence[Any],
    second: Sequence[Any],
    rtol: float = RTOL,
    atol: float = ATOL,
    form: Form = "exact",
) -> tuple[Difference, ...]:
    """Compare outputs one by one, in the same order on both sides."""
    return tuple(compare(name, a, b, rtol, atol, form) for name, a, b in zip(names, first, second, strict=True))


def compare(
    name: str, first: Any, second: Any, rtol: float = RTOL, atol: float = ATOL, form: Form = "exact"
) -> Difference:
    """Compare two values: tensors, strings, lists of them, dictionaries, or None.

    Types and shapes must match exactly, and so must integers, bools and strings, regardless of the relative tolerance.
    Integers of up to 16 bits, as returned by quantized models, may differ by the absolute tolerance if that is 1 or
    more. Floats are compared within both tolerances, symmetrically. NaN equals NaN, infinities with equal signs are
    equal, and -0.0 equals 0.0.
    """
    parts = []
    for pair in _leaves("", first, second):
        mismatch = pair.mismatch or _unlike(pair.first, pair.second, form)
        if mismatch:
            parts.append(Difference(name=name, equal=False, reason=f"{pair.path}{mismatch}"))
        else:
            parts.append(compare_elements(name, pair.path, pair.first, pair.second, rtol, atol))
    return merged(name, parts)


class _Pair(NamedTuple):
    """Two arrays at the same position, or how the structures differ there."""

    path: str
    mismatch: str
    first: Any = None
    second: Any = None


def _leaves(path: str, first: Any, second: Any) -> Iterator[_Pair]:
    mismatch = _mismatch(first, second)
    if mismatch:
        yield _Pair(path, mismatch)
    elif isinstance(first, dict):
        for key in first:
            # The values of a map are plain numbers, whose type depends on the runtime.
            values = (_plain(side[key]) for side in (first, second))
            yield from _leaves(f"{path}[{_plain(key)!r}] ", *values)
    elif isinstance(first, list | tuple):
        for index, (a, b) in enumerate(zip(first, second, strict=True)):
            yield from _leaves(f"{path}[{index}] ", a, b)
    elif first is not None:
        yield _Pair(path, "", _array(first), _array(second))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray | np.generic) and value.ndim == 0 else value


def _array(value: Any) -> Any:
    """A value as an array; object arrays of Python numbers become numeric arrays."""
    array = np.asarray(value)
    if type_name(array) != "object":
        return array
    try:
        numbers = np.array(array.tolist())
    except (ValueError, OverflowError, TypeError):
        return array
    return numbers if numbers.shape == array.shape and numbers.dtype.kind in "biufc" else array


def _mismatch(first: Any, second: Any) -> str:
    """How the structures of two values differ; empty if they do not."""
    families = (dict, (list, tuple), type(None))
    if any(isinstance(first, family) != isinstance(second, family) for family in families):
        return f"{_kind(first)} against {_kind(second)}"
    if isinstance(first, dict):
        keys = [{(type(key).__name__, key) for key in map(_plain, side)} for side in (first, second)]
        names = [sorted(map(str, side)) for side in (first, second)]
        if keys[0] != keys[1]:
            more = "" if names[0] != names[1] else " of different types"
            return f"keys {names[0]} against {names[1]}{more}"
    if isinstance(first, list | tuple) and len(first) != len(second):
        return f"{len(first)} against {len(second)} items"
    return ""


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__


def _unlike(a: Any, b: Any, form: Form) -> str:
    """How the shapes and types of two arrays differ beyond what their form allows; empty if they do not."""
    types = type_name(a), type_name(b)
    found = [] if a.shape == b.shape else [f"shapes {a.shape} and {b.shape}"]
    found += [] if _may_hold_the_same(*types, form) else [f"types {types[0]} and {types[1]}"]
    return ", ".join(found)


def _may_hold_the_same(ours: str, theirs: str, form: Form) -> bool:
    """Whether elements of these types can be compared; integers are never compared with floats of lower precision."""
    if ours == theirs:
        return True
    if is_float(ours) and is_float(theirs):
        return form != "exact"
    is_whole = [is_integer(each) or each == "float64" for each in (ours, theirs)]
    return form == "table" and all(is_whole)
