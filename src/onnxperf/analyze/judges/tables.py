"""Whether a converted estimator agrees with its source on many rows, within float32 precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.answers.convert import rounded_text
from onnxperf.analyze.judges.agreement import Outputs, differences
from onnxperf.analyze.judges.elements import pieces
from onnxperf.records.check import Difference
from onnxperf.records.options import Tolerances

_OF_LARGEST = 1e-3
"""Factor on the relative tolerance for sums of large terms near zero: 1e-6 of the largest value."""


def compare_tables(
    names: Sequence[str], ours: Sequence[Any], theirs: Sequence[Any], tolerances: Tolerances
) -> tuple[tuple[Difference, ...], list[str]]:
    """Compare outputs one by one; notes list those whose differences are within float32 rounding."""
    found, notes = [], []
    for name, a, b in zip(names, ours, theirs, strict=True):
        pair: tuple[Outputs, Outputs] = ([name], [a]), ([], [b])
        (difference,) = differences(*pair, tolerances, "table")
        if not difference.equal and not difference.reason:
            largest = _largest(b)
            rounding = _OF_LARGEST * tolerances.rtol * largest
            (again,) = differences(*pair, replace(tolerances, atol=max(tolerances.atol, rounding)), "table")
            if again.equal:
                notes.append(rounded_text(difference, largest))
                difference = again
        found.append(difference)
    return tuple(found), notes


def _largest(values: Any) -> float:
    """The largest finite float; 0 for labels, which are not rounded."""
    array = np.asarray(values)
    if array.dtype.kind != "f":
        return 0.0
    return max(float(np.abs(piece[np.isfinite(piece)]).max(initial=0.0)) for (piece,) in pieces(array))
