"""What launches say about choices, and what the confirming race decides."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec.structs import replace

from onnxperf.analyze.judges.comparison import compare
from onnxperf.analyze.judges.tuning import (
    Confirmation,
    Sample,
    confirmed,
    confirmed_bytes,
    earns_its_place,
    enough_by,
    in_sequence,
    largest_error,
    outcome_of,
    row_of,
    samples_of,
)
from onnxperf.records.comparison import Comparison, Verdict
from onnxperf.records.race import Block, Case, Measurement
from onnxperf.records.tune import DEFAULTS, NO_TIME, Goal, TuneChoice, TuneOutcome, TuneRow

CHOICE = TuneChoice(name="a", knobs=("a",))


def measured(name: str, time_ns: float, cpu_ns: float, launches: int = 1, rounds: int = 4) -> Measurement:
    """Equal blocks, a hair apart, as no machine has them."""
    blocks = [
        Block(
            round=launch * rounds + number,
            position=0,
            launch=launch,
            calls=1,
            start_ns=launch * rounds + number,
            duration_ns=int(time_ns + number),
            quickest_ns=time_ns + number,
            cpu_ns=int(cpu_ns + number),
        )
        for launch in range(launches)
        for number in range(rounds)
    ]
    times = tuple(int(time_ns) for _ in range(9))
    return Measurement(name=name, status="ok", blocks=tuple(blocks), call_ns=times, looks=1, looks_planned=1)


def case_of(*subjects: Measurement) -> Case:
    return Case(model="m", baseline=DEFAULTS, subjects=compare(subjects, DEFAULTS, 0.01))


SLOW_AND_LEAN = (measured(DEFAULTS, 100_000, 400_000), measured("a", 200_000, 100_000))


@pytest.mark.parametrize(("goal", "speedup", "amount"), [("latency", 0.5, 200_000), ("cpu", 4.0, 100_000)])
def test_a_launch_is_read_by_the_goal(goal: Goal, speedup: float, amount: float) -> None:
    samples = samples_of(case_of(*SLOW_AND_LEAN), goal)
    assert samples["a"].speedup == pytest.approx(speedup, rel=0.001)
    assert samples["a"].amount == pytest.approx(amount, rel=0.001)
    assert samples["a"].reason == ""
    assert samples[DEFAULTS].speedup == pytest.approx(1.0)


def test_a_choice_that_was_not_measured_has_its_status_and_reason_only() -> None:
    failed = Measurement(name="a", status="failed", reason="it cannot be loaded")
    assert samples_of(case_of(SLOW_AND_LEAN[0], failed), "latency")["a"] == Sample("failed", "it cannot be loaded")


def test_launches_of_a_resumed_run_count_with_new_ones() -> None:
    before = row_of(CHOICE, "alone", [Sample("ok", "", 1.1, 90.0), Sample("ok", "", 1.2, 80.0)])
    row = row_of(CHOICE, "longer", [Sample("ok", "", 1.3, 70.0)], before)
    assert row.launch_speedups == (1.1, 1.2, 1.3)
    assert row.speedup == pytest.approx((1.1 * 1.2 * 1.3) ** (1 / 3))
    assert row.speedup_low is not None
    assert row.speedup_high is not None
    assert row.speedup_low < 1.2 < row.speedup_high
    assert (row.stage, row.status, row.amount) == ("longer", "ok", 70.0)


def test_one_launch_has_no_interval() -> None:
    row = row_of(CHOICE, "alone", [Sample("ok", "", 1.1, 90.0)])
    assert (row.speedup, row.speedup_low, row.speedup_high) == (1.1, None, None)


@pytest.mark.parametrize(("approximate", "status"), [(True, "ok"), (False, "differs")])
def test_outputs_may_differ_only_where_that_is_meant(approximate: bool, status: str) -> None:
    choice = replace(CHOICE, approximate=approximate)
    assert row_of(choice, "alone", [Sample("differs", "output Y", 1.1, 90.0)]).status == status


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        ([[1.0, -2.0]], [[1.0, -2.0]], 0.0),
        ([[1.0, -2.0]], [[1.1, -2.0]], 0.05),
        ([[0.0, 0.0]], [[0.0, 0.5]], 0.5),
        ([[1, 2], [4.0, 8.0]], [[1, 2], [4.0, 10.0]], 0.25),
        ([[1.0]], [[math.nan]], None),
        ([[1.0, 2.0]], [[1.0]], None),
        ([["a"]], [["b"]], None),
        ([[]], [[]], 0.0),
    ],
)
def test_the_error_is_the_largest_difference_compared_with_the_largest_value(
    first: list[object], second: list[object], error: float | None
) -> None:
    found = largest_error([np.array(each) for each in first], [np.array(each) for each in second])
    assert found == (None if error is None else pytest.approx(error))


# ---------------------------------------------------------------- parts of a combination

STEADY = (1.0, 1.001, 0.999, 1.0, 1.001, 0.999, 1.0, 1.0)
"""Launches of a combination without one of its parts."""


@pytest.mark.parametrize(
    ("gains", "earns", "earns_on_demand"),
    [
        ([1.03] * 8, True, True),
        ([1.008] * 8, True, False),  # half of what matters is enough, unless it asks something of the caller
        ([1.002] * 8, False, False),
        ([1.0] * 8, False, False),
        ([0.97] * 8, False, False),
        ([1.06, 0.95, 1.06, 0.95, 1.06, 0.95, 1.06, 1.0], False, False),  # launches that disagree prove nothing
        ([1.03] * 7 + [0.5], True, True),  # one that lies far off is trimmed
    ],
)
def test_a_part_earns_its_place_if_the_combination_is_worse_without_it(
    gains: list[float], earns: bool, earns_on_demand: bool
) -> None:
    whole = [gain * other for gain, other in zip(gains, STEADY, strict=True)]
    assert earns_its_place(whole, STEADY, 0.01, is_demanding=False) is earns
    assert earns_its_place(whole, STEADY, 0.01, is_demanding=True) is earns_on_demand


# ---------------------------------------------------------------- the end

FULL, REDUCED = (TuneChoice(name=name, knobs=tuple(name)) for name in ("ab", "a"))


@pytest.mark.parametrize(
    ("full", "reduced", "ratio", "winner", "verdict"),
    [
        ("faster", "faster", 1.0, REDUCED, "faster"),
        ("faster", "faster", 0.993, REDUCED, "faster"),  # worse by less than what matters
        ("faster", "faster", 0.97, FULL, "faster"),
        ("faster", "undecided", 1.0, FULL, "faster"),
        ("undecided", "faster", 1.0, FULL, "undecided"),  # the sequence ends at the first that is not proven
    ],
)
def test_what_changes_less_wins_if_both_are_proven_and_it_is_not_worse(
    full: Verdict, reduced: Verdict, ratio: float, winner: TuneChoice, verdict: Verdict
) -> None:
    found = {
        (DEFAULTS, "ab"): Comparison(ratio=1.2, verdict=full),
        (DEFAULTS, "a"): Comparison(ratio=1.2 * ratio, verdict=reduced),
        ("ab", "a"): Comparison(ratio=ratio, verdict="undecided"),
    }
    choice, own = in_sequence([FULL, REDUCED], lambda base, name: found[base, name], 0.01)
    assert (choice, own.verdict) == (winner, verdict)


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [("latency", "slower"), ("cpu", "faster")],
)
def test_the_confirming_race_is_judged_by_the_goal(goal: Goal, verdict: str) -> None:
    pair = measured(DEFAULTS, 100_000, 400_000, launches=6), measured("a", 200_000, 100_000, launches=6)
    found = confirmed(case_of(*pair), goal, 0.01, [CHOICE]).found
    assert found.verdict == verdict
    assert found.ratio == pytest.approx({"latency": 0.5, "cpu": 4.0}[goal], rel=0.001)
    assert found.before == pytest.approx({"latency": 100_000, "cpu": 400_000}[goal], rel=0.001)
    assert enough_by(goal, DEFAULTS, 0.01)(pair)


def test_the_race_shows_the_intervals_of_the_sequence() -> None:
    trio = [measured(name, time_ns, 1, launches=6) for name, time_ns in ((DEFAULTS, 1e5), ("ab", 5e4), ("a", 5.01e4))]
    choice, found, case = confirmed(case_of(*trio), "latency", 0.01, [FULL, REDUCED])
    assert choice is REDUCED
    assert case is not None
    shown = {each.name: each for each in case.subjects}["a"]
    assert (shown.speedup, shown.speedup_low, shown.speedup_high) == (found.ratio, found.low, found.high)


@pytest.mark.parametrize(("call_ns", "verdict"), [(100_000, "undecided"), (90_000_000, "faster")])
def test_one_launch_of_short_calls_decides_nothing(call_ns: float, verdict: str) -> None:
    pair = measured(DEFAULTS, call_ns, 1, rounds=12), measured("a", call_ns / 2, 1, rounds=12)
    found = confirmed(case_of(*pair), "latency", 0.01, [CHOICE]).found
    assert found.verdict == verdict
    assert ("too few launches" in found.reason) is (verdict == "undecided")


def test_a_choice_that_differs_or_fails_in_the_confirming_race_is_not_confirmed() -> None:
    pair = measured(DEFAULTS, 100_000, 1, launches=6), measured("a", 50_000, 1, launches=6)
    case = case_of(*pair)
    differing = replace(case, subjects=(case.subjects[0], replace(case.subjects[1], status="differs", reason="Y")))
    assert confirmed(case, "latency", 0.01, [CHOICE]).found.verdict == "faster"
    assert confirmed(differing, "latency", 0.01, [CHOICE]).found.verdict == "undecided"


def test_memory_is_less_where_all_processes_need_less() -> None:
    less = confirmed_bytes([100, 101, 102], [50, 51, 52], 0.01)
    assert (less.verdict, less.before, less.after) == ("faster", 101, 51)
    assert less.ratio == pytest.approx(101 / 51)
    assert confirmed_bytes([100, 110, 120], [105, 115, 125], 0.01).verdict == "undecided"
    assert confirmed_bytes([50, 51, 52], [100, 101, 102], 0.01).verdict == "slower"


ROWS = [TuneRow(choice=replace(CHOICE, name=name), status="ok") for name in "abc"]
LATE = [replace(row, status="skipped", reason=f"{NO_TIME} to try it") for row in ROWS]
UNABLE = replace(ROWS[0], status="skipped", reason="this call style cannot have these inputs")


@pytest.mark.parametrize(
    ("verdict", "ratio", "interrupted", "rows", "outcome"),
    [
        (None, None, False, ROWS, "defaults"),
        (None, None, True, ROWS, "unconfirmed"),
        (None, None, False, [], "defaults"),  # there was nothing to try
        (None, None, False, LATE, "unanswered"),
        (None, None, False, [*ROWS[:1], *LATE[:2]], "unanswered"),
        (None, None, False, [*ROWS[:2], *LATE[:2]], "defaults"),
        (None, None, False, [UNABLE], "defaults"),
        ("faster", 1.2, False, ROWS, "tuned"),
        ("faster", 1.2, False, [*ROWS[:1], *LATE], "tuned"),
        ("faster", 1.2, True, ROWS, "tuned"),
        ("undecided", 1.2, False, ROWS, "defaults"),
        ("undecided", 1.2, False, [*ROWS[:1], *LATE], "unanswered"),
        ("undecided", None, False, ROWS, "unanswered"),  # there was no time for the race
        ("equivalent", 1.0, False, ROWS, "defaults"),
        ("slower", 0.9, False, ROWS, "defaults"),
        ("undecided", 1.2, True, ROWS, "unconfirmed"),
    ],
)
def test_only_a_race_that_says_faster_makes_a_winner_and_the_defaults_win_only_if_half_of_the_candidates_were_tried(
    verdict: Verdict | None, ratio: float | None, interrupted: bool, rows: list[TuneRow], outcome: TuneOutcome
) -> None:
    found = Confirmation(CHOICE, Comparison(ratio=ratio, verdict=verdict)) if verdict is not None else None
    assert outcome_of(found, interrupted, rows) == outcome
