"""Many rows of an estimator, compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onnxperf.analyze.judges.tables import compare_tables
from onnxperf.records.options import Tolerances

LARGE = [1000.0, 0.0]


@pytest.mark.parametrize(
    ("ours", "theirs", "equal", "noted"),
    [
        ([1000.0, 0.0], LARGE, True, False),
        ([1000.0, 0.0005], LARGE, True, True),  # a millionth of the largest
        ([1000.0, 0.002], LARGE, False, False),
        ([1.0, 0.0005], [1.0, 0.0], False, False),
        ([1000, 1], [1000, 0], False, False),  # labels have nothing to lose
        ([10**7, 1], [1e7, 0.0], False, False),  # labels as floats neither
        (["a", "b"], ["a", "c"], False, False),
        ([1000.0], LARGE, False, False),
    ],
)
def test_only_what_float32_loses_is_forgiven_and_noted(ours: Any, theirs: Any, equal: bool, noted: bool) -> None:
    (found,), notes = compare_tables(["y"], [np.array(ours)], [np.array(theirs)], Tolerances())
    assert found.equal is equal
    assert notes == (
        ["y: 1 of 2 values near 0 differs by up to 0.0005, which float32 cannot represent when values reach 1000"]
        if noted
        else []
    )
