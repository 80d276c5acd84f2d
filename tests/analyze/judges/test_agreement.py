"""Outputs of a model and of its source are matched and compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onnxperf.analyze.judges.agreement import Outputs, disagreement, matched
from onnxperf.errors import BadOption
from onnxperf.records.options import Tolerances

ONE, TWO = np.ones(3), np.full(3, 2.0)
MODEL: Outputs = (["pooled", "sequence"], [ONE, TWO])


@pytest.mark.parametrize(
    ("source", "match", "expected"),
    [
        ((["sequence", "pooled"], [TWO, ONE]), {}, ""),  # by name
        (([], [ONE, TWO]), {}, ""),  # by order
        (([], [ONE]), {}, ""),  # as far as both go
        ((["a", "b"], [TWO, ONE]), {"pooled": "b", "sequence": "a"}, ""),
        (([], [TWO, ONE]), {"pooled": 1}, ""),
        (([], [ONE + 1, TWO]), {}, "output pooled: 3 of 3 elements differ, by up to 1"),
        (([], [np.ones((3, 1)), TWO]), {}, ""),  # a column against a vector
        (([], [np.ones(4), TWO]), {}, "output pooled: shapes (3,) and (4,)"),
    ],
)
def test_outputs_are_matched_by_name_else_by_order_or_as_given(
    source: Outputs, match: dict[str, Any], expected: str
) -> None:
    assert disagreement(MODEL, source, Tolerances(match=match)) == expected


@pytest.mark.parametrize("match", [{"nothing": 0}, {"pooled": 7}, {"pooled": "other"}])
def test_a_match_that_names_nothing_is_refused(match: dict[str, Any]) -> None:
    with pytest.raises(BadOption, match="`match`"):
        matched(MODEL, ([], [ONE, TWO]), match)
