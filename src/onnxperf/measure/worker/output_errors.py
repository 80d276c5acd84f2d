"""Output errors of one model relative to another, accumulated over calls."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onnxperf.records.quantize import OutputError

_CLASSES = re.compile(r"logit|prob|class|score|softmax|label", re.IGNORECASE)
"""Names of outputs that represent classes."""


@dataclass
class _Sums:
    """Sums over one output so far."""

    difference: float = 0.0
    """Sum of the squared differences."""
    ours: float = 0.0
    theirs: float = 0.0
    """Sums of the squares of each model's output."""
    product: float = 0.0
    max_abs: float = 0.0
    largest: float = 0.0
    """Largest absolute value in the first model's output."""
    elements: int = 0
    rows: int = 0
    same: int = 0
    """Number of rows with the same class."""


@dataclass
class OutputComparison:
    """Comparison of the outputs of two models over many calls."""

    names: Sequence[str]
    sums: dict[str, _Sums] = field(default_factory=dict)

    def add(self, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
        """Add one call of each model."""
        for name, first, second in zip(self.names, ours, theirs, strict=True):
            if isinstance(first, np.ndarray) and isinstance(second, np.ndarray) and first.shape == second.shape:
                _add(self.sums.setdefault(name, _Sums()), name, first, second)

    def errors(self) -> tuple[OutputError, ...]:
        """Difference of each output; outputs without comparable numbers are omitted."""
        return tuple(_error(name, sums) for name, sums in self.sums.items())


def _add(sums: _Sums, name: str, first: Any, second: Any) -> None:
    if first.dtype.kind in "fV":  # V: bfloat16
        one, other = first.astype(np.float64), second.astype(np.float64)
        difference = other - one
        with np.errstate(all="ignore"):
            sums.difference += float(np.vdot(difference, difference))
            sums.ours += float(np.vdot(one, one))
            sums.theirs += float(np.vdot(other, other))
            sums.product += float(np.vdot(one, other))
        # NaN counts as the largest possible difference
        sums.max_abs = max(sums.max_abs, _largest(difference))
        sums.largest = max(sums.largest, _largest(one))
        sums.elements += one.size
    _add_classes(sums, name, first, second)


def _largest(values: Any) -> float:
    largest = float(np.max(np.abs(values))) if values.size else 0.0
    return math.inf if math.isnan(largest) else largest


def _add_classes(sums: _Sums, name: str, first: Any, second: Any) -> None:
    if first.dtype.kind in "iuOUS" and first.ndim <= 1 and _CLASSES.search(name):  # labels
        sums.rows += first.size
        sums.same += int(np.count_nonzero(first == second))
        return
    rows = [each.reshape(each.shape[0], -1) for each in (first, second)] if _is_table(first) else []
    if rows and (_CLASSES.search(name) or _are_probabilities(rows[0])):
        sums.rows += len(rows[0])
        sums.same += int(np.count_nonzero(np.argmax(rows[0], 1) == np.argmax(rows[1], 1)))


def _is_table(array: Any) -> bool:
    """Whether these are rows of at least two numbers; trailing axes of length 1 are ignored."""
    wide = array.ndim >= 2 and array.shape[1] >= 2 and array.shape[0] >= 1
    return bool(wide and array.dtype.kind == "f" and all(length == 1 for length in array.shape[2:]))


def _are_probabilities(rows: Any) -> bool:
    sums = rows.astype(np.float64).sum(axis=1)
    return bool(np.all(rows >= 0) and np.allclose(sums, 1, atol=1e-3))


def _error(name: str, sums: _Sums) -> OutputError:
    top1 = sums.same / sums.rows if sums.rows else None
    if not sums.elements:
        return OutputError(name=name, top1=top1, rows=sums.rows)
    norm = math.sqrt(sums.ours) * math.sqrt(sums.theirs)
    equal = sums.difference == 0
    return OutputError(
        name=name,
        relative=_finite(0.0 if equal else _ratio(math.sqrt(sums.difference), math.sqrt(sums.ours))),
        max_abs=_finite(sums.max_abs),
        max_relative=_finite(0.0 if equal else _ratio(sums.max_abs, sums.largest)),
        cosine=_cosine(1.0 if equal else _ratio(sums.product, norm)),
        elements=sums.elements,
        top1=top1,
        rows=sums.rows,
    )


def _ratio(value: float, whole: float) -> float:
    return value / whole if whole else math.inf


def _cosine(value: float) -> float | None:
    return max(-1.0, min(1.0, value)) if math.isfinite(value) else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
