"""Why a comparison is undecided, by hand."""

from __future__ import annotations

import math

import pytest

from onnxperf.analyze.judges.reasons import Evidence, beyond, weaker, what_is_missing

NOISY = "this machine is too noisy now for such a small difference; close other programs or set a larger `min_effect`"
APART = "the rounds differ too much; close other programs and repeat"
LAUNCHES = "a claim below 5 % needs 3 launches, not 2: use a longer `time`"
BAND = math.log1p(0.01)


@pytest.mark.parametrize(
    ("evidence", "bounds", "reason"),
    [
        (Evidence(2, 2, 2, 1.0), (-0.1, 0.1), "2 rounds are too few: use `time=20`"),
        (
            Evidence(6, 2, 2, 5.0),
            (-0.1, 0.1),
            "6 rounds decide only differences above 25 %: use `time=20`",
        ),
        (Evidence(10, 2, 2, 9.0), None, "10 rounds are too few: use `time=20`"),
        (Evidence(2, 1, 1, 0.001), None, "2 rounds are too few: use `time=1`"),
        (Evidence(20, 3, 5, 19.0), (-0.002, 0.012), "`time=38` would probably decide"),  # at least twice as long
        (Evidence(20, 3, 5, 300.0), (-0.002, 0.012), "`time=600` would probably decide"),
        (Evidence(20, 3, 5, 300.1), (-0.002, 0.012), NOISY),
        (Evidence(20, 3, 5, 6.0), (0.002, 0.012), "`time=12` would probably decide"),  # below the minimum effect
        (Evidence(20, 2, 5, 6.0), (0.002, 0.012), LAUNCHES),
        (Evidence(20, 2, 5, 6.0), (-0.012, -0.002), LAUNCHES),
        (Evidence(20, 2, 5, 6.0), (-0.002, 0.002), LAUNCHES),
        # more launches are requested only where they would lead to a claim
        (Evidence(20, 2, 5, 1.0), (-0.02, 0.005), "`time=7` would probably decide"),
        (Evidence(20, 2, 5, 1.0), (-0.005, 0.02), "`time=7` would probably decide"),
        (Evidence(20, 2, 5, 1.0), (-BAND, 0.005), "`time=3` would probably decide"),
        (Evidence(20, 2, 5, 1.0), (-0.005, BAND), "`time=3` would probably decide"),
        (Evidence(20, 2, 5, 1.0), (0.0, 0.02), "`time=5` would probably decide"),
        (Evidence(20, 2, 5, 1.0), (-0.02, 0.0), "`time=5` would probably decide"),
        (
            Evidence(20, 4, 4, 6.0),
            (-0.1, 0.1),
            "all rounds ran in 4 sessions, too few to estimate their variation: use `time=12`",
        ),
        (Evidence(60, 3, 9, 100.0), (-0.1, 0.1), NOISY),
        (Evidence(60, 3, 9, 100.0), (-0.1, 0.2), APART),
    ],
)
def test_what_is_missing_by_hand(evidence: Evidence, bounds: tuple[float, float] | None, reason: str) -> None:
    assert what_is_missing(evidence, bounds, 0.01) == reason


def test_without_a_minimum_effect_no_time_would_do() -> None:
    assert what_is_missing(Evidence(20, 3, 5, 1.0), (-0.01, 0.01), 0.0) == NOISY


def test_a_comparison_of_comparisons_rests_on_the_weaker_one() -> None:
    assert weaker(Evidence(20, 3, 6, 5.0), Evidence(30, 2, 4, 9.0)) == Evidence(20, 2, 4, 9.0)


@pytest.mark.parametrize(
    ("evidence", "unit", "units", "carries"),
    [
        (Evidence(20, 5, 5, 1.0), "launch", 5, True),
        (Evidence(19, 5, 5, 1.0), "launch", 5, False),
        (Evidence(20, 4, 5, 1.0), "set-up", 5, True),
        (Evidence(20, 4, 4, 1.0), "set-up", 4, False),
        (Evidence(100, 16, 99, 1.0), "launch", 16, True),
    ],
)
def test_a_small_difference_needs_twenty_rounds_in_five_units(
    evidence: Evidence, unit: str, units: int, carries: bool
) -> None:
    assert (evidence.unit, evidence.units, evidence.carries_estimate) == (unit, units, carries)


@pytest.mark.parametrize(
    ("reason", "used_s", "expected"),
    [
        ("2 rounds are too few: use `time=20`", 5.0, "2 rounds are too few: use `time=20`"),
        ("10 rounds are too few: use `time=5`", 5.0, "10 rounds are too few: use `time=10`"),
        ("10 rounds are too few: use `time=4`", 5.5, "10 rounds are too few: use `time=11`"),
        ("`time=38` would probably decide", 60.0, "`time=120` would probably decide"),
        (NOISY, 60.0, NOISY),
    ],
)
def test_no_time_is_proposed_that_a_race_already_had(reason: str, used_s: float, expected: str) -> None:
    assert beyond(reason, used_s) == expected
