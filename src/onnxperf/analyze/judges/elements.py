"""Element-wise comparison of two arrays of one shape, in pieces of a few MB regardless of the array size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from onnxperf.records.check import Difference

PIECE = 1 << 16
"""Elements compared at a time; about ten temporary arrays of this length exist."""
_QUANTISED_BYTES = 2
"""Integers of up to this size may come from a quantized model; larger ones are labels, indices and shapes."""
_BITS: dict[int, Any] = {2: np.int16, 4: np.int32, 8: np.int64}


class _Found(NamedTuple):
    """Comparison of two pieces."""

    wrong: Any
    gap: Any = None
    """Differences of elements: NaN for elements without a numeric difference, None if no element has one."""
    figures: Mapping[str, Any] = MappingProxyType({})


_Finder = Callable[[Any, Any, float, float], _Found]


def pieces(*arrays: Any) -> Iterator[tuple[Any, ...]]:
    """Pieces of arrays of one shape, in C order; a piece is valid until the next one."""
    if arrays[0].size <= PIECE:
        yield tuple(array.ravel() for array in arrays)
        return
    flags: list[Any] = ["external_loop", "buffered", "refs_ok"]
    for each in np.nditer(arrays, flags, order="C", buffersize=PIECE):
        yield each if isinstance(each, tuple) else (each,)


def type_name(array: Any) -> str:
    """Name of an array's element type, regardless of byte order."""
    if array.dtype.kind == "O":
        is_text = array.size == 0 or any(isinstance(each, str | bytes) for each in array.flat)
        return "string" if is_text else "object"
    return "string" if array.dtype.kind in "UST" else str(array.dtype.name)


def is_integer(kind: str) -> bool:
    """Whether a type is compared exactly; by name, because the kind of ml_dtypes' int4 is not specific."""
    return kind.startswith(("int", "uint", "bool"))


def is_float(kind: str) -> bool:
    """Whether a type contains real numbers; by name, because the kind of ml_dtypes' bfloat16 and float8 is not
    specific."""
    return "float" in kind or kind == "longdouble"


def compare_elements(name: str, path: str, first: Any, second: Any, rtol: float, atol: float) -> Difference:
    """Compare arrays of one shape whose types are equal or can represent the same numbers."""
    find, start, parts = _finder(type_name(first), type_name(second)), 0, []
    for x, y in pieces(first, second):
        with np.errstate(all="ignore"):
            found = find(x, y, rtol, atol)
        parts.append(_counted(name, path, first.shape, start, found))
        start += x.size
    return merged(name, parts)


def _finder(ours: str, theirs: str) -> _Finder:
    """How to compare elements of these types; non-numeric types are compared bitwise."""
    if ours in ("string", "object"):
        return _find_texts
    if is_integer(ours) and is_integer(theirs):
        return _find_integers
    if is_integer(ours) or is_integer(theirs):
        return _find_whole
    return _find_floats if is_float(ours) or ours.startswith(("complex", "clongdouble")) else _find_bits


def _find_texts(x: Any, y: Any, _rtol: float, _atol: float) -> _Found:
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    return _Found(np.fromiter((_word(a) != _word(b) for a, b in pairs), bool, x.size))


def _word(value: Any) -> object:
    """Strings unchanged; other values with their type: 1 is neither "1" nor True."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, str) else (type(plain).__name__, repr(plain))


def _find_integers(x: Any, y: Any, _rtol: float, atol: float) -> _Found:
    """Compare integers without converting to floats, which are not exact above 2**53."""
    is_quantised = max(x.dtype.itemsize, y.dtype.itemsize) <= _QUANTISED_BYTES and bool not in (x.dtype, y.dtype)
    a, b = (each if each.dtype.kind in "iu" else each.astype(np.int64) for each in (x, y))
    changed = b.astype(a.dtype)
    unsigned = np.dtype(f"u{a.dtype.itemsize}")
    gap = np.maximum(a, changed).astype(unsigned) - np.minimum(a, changed).astype(unsigned)
    size = np.abs(b.astype(np.float64))
    relative = np.divide(gap, size, out=np.zeros(gap.shape), where=size != 0)
    wrong = (gap > atol if is_quantised else gap != 0) | (changed != b)
    return _Found(wrong, gap.astype(np.float64), {"max_relative": float(relative.max(initial=0.0))})


def _find_whole(x: Any, y: Any, rtol: float, _atol: float) -> _Found:
    """Compare integers with floats: equal only if the float is the same whole number."""
    swapped = not is_integer(type_name(x))
    integers, floats = (y, x) if swapped else (x, y)
    whole = floats.astype(integers.dtype)
    found = _find_integers(*((whole, integers) if swapped else (integers, whole)), rtol, 0.0)
    lost = whole.astype(floats.dtype) != floats
    return found._replace(wrong=found.wrong | lost, gap=np.where(lost, np.nan, found.gap))


def _find_floats(x: Any, y: Any, rtol: float, atol: float) -> _Found:
    narrow = y if y.dtype == x.dtype else y.astype(x.dtype)
    wide = _wide(x.dtype)
    a, b = x.astype(wide), narrow.astype(wide)
    finite = np.isfinite(a) & np.isfinite(b)
    gap = np.where(finite, np.abs(a - b), np.nan)
    allowed = atol + rtol * np.maximum(np.abs(a), np.abs(b))
    close = np.where(finite, (gap <= allowed) | (a == b), _same_parts(a, b))
    relative = np.where(finite & (b != 0), gap / np.abs(b), 0.0)
    figures = {
        "max_relative": float(relative.max(initial=0.0)),
        "max_ulp": _ulp(x, narrow, finite & _away_from_zero(a, b, atol)),
        "nans": (int(np.isnan(a).sum()), int(np.isnan(b).sum())),
        "infinities": (int(np.isinf(a).sum()), int(np.isinf(b).sum())),
    }
    return _Found(~close, gap, figures)


def _wide(dtype: np.dtype[Any]) -> Any:
    """A type with native arithmetic that represents every value of another one."""
    if dtype.kind == "c":
        return np.result_type(dtype, np.complex128)
    return np.longdouble if dtype.kind == "f" and dtype.itemsize > 8 else np.float64


def _same_parts(a: Any, b: Any) -> Any:
    """Whether non-finite numbers are equal: NaN equals NaN, in both parts of a complex number."""
    parts = [(a, b)] if a.dtype.kind == "f" else [(a.real, b.real), (a.imag, b.imag)]
    same = [(p == q) | (np.isnan(p) & np.isnan(q)) for p, q in parts]
    return np.logical_and.reduce(same)


def _find_bits(x: Any, y: Any, _rtol: float, _atol: float) -> _Found:
    a, b = (np.frombuffer(each.tobytes(), np.uint8).reshape(x.size, x.dtype.itemsize) for each in (x, y))
    return _Found((a != b).any(axis=1))


def _away_from_zero(a: Any, b: Any, atol: float) -> Any:
    """Elements with equal signs beyond the absolute tolerance: near zero, floats are too dense for ULPs to be
    meaningful."""
    return (np.minimum(np.abs(a), np.abs(b)) > atol) & ((a.real > 0) == (b.real > 0))


def _ulp(a: Any, b: Any, counted: Any) -> float | None:
    """The largest distance in ULPs; None for other types, or if no element counts."""
    if a.dtype.kind != "f" or a.dtype.itemsize not in _BITS or not counted.any():
        return None
    steps = [_ladder(np.where(counted, each, 0).astype(f"f{a.dtype.itemsize}")) for each in (a, b)]
    return float(np.abs(steps[0] - steps[1]).max(initial=0.0))


def _ladder(values: Any) -> Any:
    """Map floats to integers in the same order."""
    bits = _BITS[values.dtype.itemsize]
    whole = np.ascontiguousarray(values).view(bits)
    # As extended floats, because the distance of two 64-bit numbers may need 65 bits.
    return np.where(whole >= 0, whole, np.iinfo(bits).min - whole).astype(np.longdouble)


def _counted(name: str, path: str, shape: tuple[int, ...], start: int, found: _Found) -> Difference:
    """The differences in a piece that begins at this element, and the position of the largest."""
    differing = int(np.count_nonzero(found.wrong))
    gap = None if found.gap is None else np.nan_to_num(found.gap, nan=0.0, posinf=np.inf)
    by, at = None, ""
    if differing:
        sizes = np.where(found.wrong, 0.0 if gap is None else gap, -1.0)
        place = np.unravel_index(start + int(sizes.argmax()), shape)
        at = f"{path}{[int(index) for index in place] if place else ''}".strip()
        by = float(sizes.max()) or None
    return Difference(
        name=name,
        equal=differing == 0,
        elements=found.wrong.size,
        differing=differing,
        differs_by=by,
        differs_at=at,
        max_absolute=None if gap is None else float(gap.max(initial=0.0)),
        **found.figures,
    )


def merged(name: str, parts: Sequence[Difference]) -> Difference:
    """One difference for a value with several parts."""
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
