"""Do two results agree, and if not, by how much? The one comparison of outputs that there is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from onnxperf.records.check import Difference

RTOL = 1e-3
ATOL = 1e-5
_TEXTS = "OUS"
"""Kinds of arrays of texts."""
_INTEGERS = ("int", "uint", "bool")
"""How the names of types begin whose values are compared exactly; ml_dtypes' int4 is of no kind of its own."""


def compare_outputs(
    names: Sequence[str], first: Sequence[Any], second: Sequence[Any], rtol: float = RTOL, atol: float = ATOL
) -> tuple[Difference, ...]:
    """Compare outputs one by one; both sides have them in the same order."""
    return tuple(compare(name, a, b, rtol, atol) for name, a, b in zip(names, first, second, strict=True))


def compare(name: str, first: Any, second: Any, rtol: float = RTOL, atol: float = ATOL) -> Difference:
    """Compare two values: tensors, strings, lists of them, dictionaries, or nothing.

    Types and shapes are compared exactly, and so are integers, bools and texts; floats within the tolerances, which
    are the same for both sides. NaN equals NaN, and an infinity one of the same sign.
    """
    parts = []
    for pair in _leaves("", first, second):
        mismatch = pair.mismatch or _unlike(pair.first, pair.second)
        if mismatch:
            parts.append(Difference(name=name, equal=False, reason=f"{pair.path}{mismatch}"))
        else:
            parts.append(_compare_arrays(name, pair, rtol, atol))
    return _merged(name, parts)


class _Pair(NamedTuple):
    """Two arrays at the same place, or how the structures differ there."""

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
            # The values of a map are plain numbers, of whatever type a runtime holds them in.
            values = (_plain(side[key]) for side in (first, second))
            yield from _leaves(f"{path}[{key!r}] ", *values)
    elif isinstance(first, list | tuple):
        for index, (a, b) in enumerate(zip(first, second, strict=True)):
            yield from _leaves(f"{path}[{index}] ", a, b)
    elif first is not None:
        yield _Pair(path, "", np.asarray(first), np.asarray(second))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.ndarray | np.generic) and value.ndim == 0 else value


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


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__


def _unlike(a: Any, b: Any) -> str:
    """How the shapes and types of two arrays differ; empty when they do not."""
    types = type_name(a), type_name(b)
    return ", ".join(
        f"{what} {one} and {other}"
        for what, one, other in (("shapes", a.shape, b.shape), ("types", *types))
        if one != other
    )


def type_name(array: Any) -> str:
    """The name of the type of an array's elements, whatever their byte order."""
    return "string" if array.dtype.kind in _TEXTS else str(array.dtype.name)


def _compare_arrays(name: str, pair: _Pair, rtol: float, atol: float) -> Difference:
    kind = type_name(pair.first)
    if kind == "string":
        texts = (np.array([str(each) for each in side.ravel()], object) for side in (pair.first, pair.second))
        wrong = np.asarray(np.not_equal(*texts), dtype=bool).reshape(pair.first.shape)
        return _counted(name, pair, wrong, None)
    if kind.startswith(_INTEGERS):
        return _compare_integers(name, pair)
    return _compare_floats(name, pair, rtol, atol)


def _compare_integers(name: str, pair: _Pair) -> Difference:
    """Without a detour through floats, which hold no integer above 2**53 for sure."""
    a, b = (side if side.dtype.kind in "iu" else side.astype(np.int64) for side in (pair.first, pair.second))
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    gap = np.maximum(a, b).astype(unsigned) - np.minimum(a, b).astype(unsigned)
    size = np.abs(b.astype(np.float64))
    relative = np.divide(gap, size, out=np.zeros(gap.shape), where=size != 0)
    return _counted(name, pair, gap != 0, gap.astype(np.float64), max_relative=float(relative.max(initial=0.0)))


def _compare_floats(name: str, pair: _Pair, rtol: float, atol: float) -> Difference:
    wide = np.complex128 if pair.first.dtype.kind == "c" else np.float64
    x, y = pair.first.astype(wide), pair.second.astype(wide)
    finite = np.isfinite(x) & np.isfinite(y)
    with np.errstate(all="ignore"):
        gap = np.where(finite, np.abs(x - y), 0.0)
        allowed = atol + rtol * np.maximum(np.abs(x), np.abs(y))
        close = np.where(finite, gap <= allowed, (x == y) | (np.isnan(x) & np.isnan(y)))
        relative = np.where(finite & (y != 0), gap / np.abs(y), 0.0)
    return _counted(
        name,
        pair,
        ~close,
        np.where(finite, gap, np.nan),
        max_relative=float(relative.max(initial=0.0)),
        max_ulp=_ulp(pair.first, pair.second, finite),
        nans=(int(np.isnan(x).sum()), int(np.isnan(y).sum())),
        infinities=(int(np.isinf(x).sum()), int(np.isinf(y).sum())),
    )


def _counted(name: str, pair: _Pair, wrong: Any, gap: Any, **figures: Any) -> Difference:
    """What is wrong, and where it is most; `gap` is NaN where there is no number for it, None where there is none."""
    differing = int(np.count_nonzero(wrong))
    by, at = None, ""
    if differing:
        sizes = np.where(wrong, 0.0 if gap is None else np.nan_to_num(gap, nan=0.0), -1.0)
        place = np.unravel_index(int(sizes.argmax()), wrong.shape)
        at = f"{pair.path}{[int(index) for index in place] if place else ''}".strip()
        by = float(sizes.max()) or None
    return Difference(
        name=name,
        equal=differing == 0,
        elements=wrong.size,
        differing=differing,
        differs_by=by,
        differs_at=at,
        max_absolute=None if gap is None else float(np.nan_to_num(gap, nan=0.0).max(initial=0.0)),
        **figures,
    )


_BITS: dict[int, Any] = {2: np.int16, 4: np.int32, 8: np.int64}


def _ulp(a: Any, b: Any, finite: Any) -> float | None:
    """The distance in steps between neighbouring floats; None for other types."""
    if a.dtype.kind != "f" or a.dtype.itemsize not in _BITS:
        return None
    steps = [_ladder(np.where(finite, each, 0).astype(f"f{a.dtype.itemsize}")) for each in (a, b)]
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
    worst = max(parts, key=lambda part: (part.differs_by or 0.0, part.differing > 0), default=None)
    return Difference(
        name=name,
        equal=all(part.equal for part in parts),
        elements=sum(part.elements for part in parts),
        differing=sum(part.differing for part in parts),
        differs_by=worst.differs_by if worst else None,
        differs_at=worst.differs_at if worst else "",
        max_absolute=_largest([part.max_absolute for part in parts]),
        max_relative=_largest([part.max_relative for part in parts]),
        max_ulp=_largest([part.max_ulp for part in parts]),
        nans=(sum(part.nans[0] for part in parts), sum(part.nans[1] for part in parts)),
        infinities=(sum(part.infinities[0] for part in parts), sum(part.infinities[1] for part in parts)),
        reason="; ".join(part.reason for part in parts if part.reason),
    )


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
