"""How far outputs are apart, added up call by call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onnxperf.measure.worker.output_errors import OutputComparison
from onnxperf.records.quantize import OutputError


def compared(name: str, *calls: tuple[Any, Any]) -> OutputError:
    comparison = OutputComparison([name])
    for ours, theirs in calls:
        comparison.add([np.asarray(ours)], [np.asarray(theirs)])
    return comparison.errors()[0]


@pytest.mark.parametrize(
    ("ours", "theirs", "relative", "max_abs", "cosine"),
    [
        ([3.0, 4.0], [3.0, 4.0], 0.0, 0.0, 1.0),
        ([3.0, 4.0], [6.0, 8.0], 1.0, 4.0, 1.0),
        ([3.0, 4.0], [4.0, -3.0], np.sqrt(2), 7.0, 0.0),
        ([3.0, 4.0], [-3.0, -4.0], 2.0, 8.0, -1.0),
        ([0.0, 0.0], [0.0, 0.0], 0.0, 0.0, 1.0),
        ([0.0, 0.0], [1.0, 0.0], None, 1.0, None),
        ([1.0, 2.0], [1.0, np.nan], None, None, None),
    ],
    ids=["equal", "doubled", "turned", "opposite", "zeros", "nothing to compare with", "nan"],
)
def test_errors_are_relative_to_the_norm_of_the_first(
    ours: Any, theirs: Any, relative: float | None, max_abs: float | None, cosine: float | None
) -> None:
    error = compared("Y", (ours, theirs))
    assert error.relative == pytest.approx(relative)
    assert error.max_abs == pytest.approx(max_abs)
    assert error.cosine == pytest.approx(cosine)


def test_calls_are_added_up_before_anything_is_divided() -> None:
    error = compared("Y", ([3.0, 0.0], [3.0, 0.0]), ([0.0, 4.0], [0.0, 9.0]))
    assert error.relative == pytest.approx(1.0)
    assert error.max_relative == pytest.approx(5 / 4)


@pytest.mark.parametrize(
    ("name", "ours", "theirs", "top1", "rows"),
    [
        ("logits", [[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [1.0, 2.0]], 0.5, 2),
        ("Y", [[0.25, 0.75]], [[0.1, 0.9]], 1.0, 1),
        ("Y", [[[[0.25]], [[0.75]]]], [[[[0.9]], [[0.1]]]], 0.0, 1),
        ("Y", [[1.0, 2.0]], [[2.0, 1.0]], None, 0),
        ("label", [1, 2, 3], [1, 2, 4], 2 / 3, 3),
        ("indices", [1, 2, 3], [1, 2, 4], None, 0),
        ("scores", [1.0, 2.0], [2.0, 1.0], None, 0),
    ],
    ids=["by name", "probabilities", "axes of one element", "any numbers", "labels", "any integers", "no rows"],
)
def test_classes_are_compared_where_an_output_looks_like_them(
    name: str, ours: Any, theirs: Any, top1: float | None, rows: int
) -> None:
    error = compared(name, (ours, theirs))
    assert error.top1 == pytest.approx(top1)
    assert error.rows == rows
