"""The pace of calls with pauses, as it is given."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.api._shared.requests import parse
from onnxperf.errors import BadOption
from onnxperf.options.functions import CASE


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (None, None),
        (0.05, 0.05),
        (2, 2.0),
        ("50ms", 0.05),
        ("0.05s", 0.05),
        (" 0.05 ", 0.05),
        ("1.5 s", 1.5),
        ("500us", 0.0005),
        ("500µs", 0.0005),
    ],
)
def test_a_pace_is_seconds_or_a_text_with_a_unit(given: object, seconds: float | None) -> None:
    found = parse({"every": given}, CASE).race.every
    assert found == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"every": "5x"}, r"^`every=5x`: expected a time such as 50ms or 0\.05s$"),
        ({"every": "\u0665ms"}, "expected a time such as 50ms"),
        ({"every": "-1ms"}, "expected a time such as 50ms"),
        ({"every": -1.0}, "expected a time such as 50ms"),
        ({"every": "0s"}, "expected a time such as 50ms"),
        ({"every": [1]}, "every"),
        ({"every": 0.05, "split": True}, "leave out `split`"),
        ({"every": 100}, r"a block of calls takes 400 s, and `timeout=300` ends it; expected a shorter time"),
        ({"every": 1, "calls_per_block": 20, "timeout": 20}, "a block of calls takes 21 s"),
    ],
)
def test_a_pace_that_cannot_be_is_refused(keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        parse(keywords, CASE)
