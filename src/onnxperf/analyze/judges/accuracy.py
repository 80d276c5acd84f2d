"""Do two results agree, and if not, by how much?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from onnxperf.records.check import Difference

RTOL = 1e-3
ATOL = 1e-5


def compare_outputs(
    names: Sequence[str], first: Sequence[Any], second: Sequence[Any], rtol: float = RTOL, atol: float = ATOL
) -> tuple[Difference, ...]:
    """Compare outputs one by one; both sides have them in the same order."""
    return tuple(compare(name, a, b, rtol, atol) for name, a, b in zip(names, first, second, strict=True))


def compare(name: str, first: Any, second: Any, rtol: float = RTOL, atol: float = ATOL) -> Difference:
    """Compare two values: tensors, strings, lists of them, dictionaries, or nothing."""
    parts = []
    for path, a, b in _leaves("", first, second):
        if isinstance(b, str):
            parts.append(Difference(name=name, equal=False, reason=f"{path}{b}".strip()))
        else:
            parts.append(_compare_arrays(name, path, np.asarray(a), np.asarray(b), rtol, atol))
    return _merged(name, parts)


def _leaves(path: str, first: Any, second: Any) -> Iterator[tuple[str, Any, Any]]:
    """Pairs of arrays at the same place; a text instead of the second where the structures differ."""
    if _is_table(first) != _is_table(second):
        first, second = _as_table(first), _as_table(second)
    mismatch = _mismatch(first, second)
    if mismatch:
        yield path, None, mismatch
    elif isinstance(first, dict):
        for key in first:
            yield from _leaves(f"{path}[{key!r}] ", first[key], second[key])
    elif isinstance(first, list | tuple):
        for index, (a, b) in enumerate(zip(first, second, strict=True)):
            yield from _leaves(f"{path}[{index}] ", a, b)
    elif first is not None:
        yield path, first, second


def _mismatch(first: Any, second: Any) -> str:
    """How the structures of two values differ; empty when they do not."""
    families = (dict, (list, tuple), type(None))
    if any(isinstance(first, family) != isinstance(second, family) for family in families):
        return f"{_kind(first)} against {_kind(second)}"
    if isinstance(first, dict) and set(first) != set(second):
        return f"keys {sorted(map(str, first))} against {sorted(map(str, second))}"
    if isinstance(first, list | tuple) and len(first) != len(second):
        return f"{len(first)} against {len(second)} items"
    return ""


def _is_table(value: Any) -> bool:
    """What ZipMap returns: a dictionary per row."""
    return isinstance(value, list) and len(value) > 0 and all(isinstance(row, dict) for row in value)


def _as_table(value: Any) -> Any:
    """Rows of probabilities in the order of the classes, as scikit-learn has them."""
    return np.array([[float(row[key]) for key in row] for row in value]) if _is_table(value) else np.asarray(value)


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__


def _compare_arrays(name: str, path: str, a: Any, b: Any, rtol: float, atol: float) -> Difference:
    if a.shape != b.shape:
        if a.size != b.size or a.squeeze().shape != b.squeeze().shape:
            return Difference(name=name, equal=False, reason=f"{path}shapes {a.shape} and {b.shape}".strip())
        a, b = a.squeeze(), b.squeeze()  # a column against a vector: the numbers decide
    if a.dtype.kind in "OUS" or b.dtype.kind in "OUS":
        differing = int(np.count_nonzero(a.astype(str) != b.astype(str)))
        return Difference(name=name, equal=differing == 0, elements=a.size, differing=differing)
    return _compare_numbers(name, a, b, rtol, atol)


def _compare_numbers(name: str, a: Any, b: Any, rtol: float, atol: float) -> Difference:
    wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
    x, y = a.astype(wide), b.astype(wide)
    finite = np.isfinite(x) & np.isfinite(y)
    with np.errstate(all="ignore"):
        gap = np.where(finite, np.abs(x - y), 0.0)
        close = np.where(finite, gap <= atol + rtol * np.abs(y), (x == y) | (np.isnan(x) & np.isnan(y)))
        relative = np.where(finite & (y != 0), gap / np.abs(y), 0.0)
    differing = int(a.size - np.count_nonzero(close))
    return Difference(
        name=name,
        equal=differing == 0,
        elements=a.size,
        differing=differing,
        max_absolute=float(gap.max(initial=0.0)),
        max_relative=float(relative.max(initial=0.0)),
        max_ulp=_ulp(a, b, finite),
        nans=(int(np.isnan(x).sum()), int(np.isnan(y).sum())),
        infinities=(int(np.isinf(x).sum()), int(np.isinf(y).sum())),
    )


_BITS: dict[int, Any] = {2: np.int16, 4: np.int32, 8: np.int64}


def _ulp(a: Any, b: Any, finite: Any) -> float | None:
    """The distance in steps between neighbouring floats; None for other types, or for two different ones."""
    if a.dtype != b.dtype or a.dtype.kind != "f" or a.dtype.itemsize not in _BITS:
        return None
    steps = [_ladder(np.where(finite, each, 0).astype(a.dtype)) for each in (a, b)]
    return float(np.abs(steps[0] - steps[1]).max(initial=0.0))


def _ladder(values: Any) -> Any:
    """Floats as numbers that count up in the order of the floats."""
    bits = _BITS[values.dtype.itemsize]
    whole = np.ascontiguousarray(values).view(bits)
    # As extended floats: the distance of two 64-bit numbers may need 65 bits.
    return np.where(whole >= 0, whole, np.iinfo(bits).min - whole).astype(np.longdouble)


def _merged(name: str, parts: Sequence[Difference]) -> Difference:
    """One line for a value that has several parts."""
    if len(parts) == 1:
        return parts[0]
    return Difference(
        name=name,
        equal=all(part.equal for part in parts),
        elements=sum(part.elements for part in parts),
        differing=sum(part.differing for part in parts),
        max_absolute=_largest([part.max_absolute for part in parts]),
        max_relative=_largest([part.max_relative for part in parts]),
        max_ulp=_largest([part.max_ulp for part in parts]),
        nans=(sum(part.nans[0] for part in parts), sum(part.nans[1] for part in parts)),
        infinities=(sum(part.infinities[0] for part in parts), sum(part.infinities[1] for part in parts)),
        reason="; ".join(part.reason for part in parts if part.reason),
    )


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
