"""What a record of memory says about itself."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.render.memory import examples as made


@pytest.mark.parametrize(
    ("steps", "needed_mb"),
    [
        (made.steps(300, 60), 300),
        (made.steps(54, 0, load=False), 54),
        (made.steps(300, 60)[:2], None),
        ((), None),
        ((made.step("first call", 700, 710, 600), made.step("steady call", 600, 650, 600)), 0),
    ],
    ids=["kept for the next call", "a callable", "no steady call", "nothing", "memory was given back"],
)
def test_a_need_is_the_steady_peak_above_what_was_there_before_the_first_call(
    steps: Any, needed_mb: int | None
) -> None:
    expected = None if needed_mb is None else needed_mb * made.MB
    assert made.subject(steps=steps).needed_bytes == expected


def test_of_the_steady_calls_the_one_in_the_middle_is_shown() -> None:
    peaks = [941, 939, 940]
    steady = tuple(made.step("steady call", 700, peak, 700) for peak in peaks)
    step = made.subject(steps=steady).step("steady call")
    assert step is steady[2]


def test_of_several_sizes_in_turn_the_largest_call_is_shown() -> None:
    steady = tuple(made.step("steady call", 700, peak, 700) for peak in (701, 940, 702))
    assert replace(made.subject(steps=steady), sizes=2).step("steady call") is steady[1]
    assert replace(made.subject(steps=()), sizes=2).step("steady call") is None
