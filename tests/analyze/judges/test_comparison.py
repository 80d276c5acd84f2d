"""From blocks to times, speedups and verdicts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.simulation import simulate
from onnxperf.analyze.judges import comparison
from onnxperf.analyze.judges.comparison import MIN_LAUNCHES, baseline_of, compare, settled, verdict_of
from onnxperf.records.race import MIN_ROUNDS, Subject, Verdict
from tests.analyze.examples import blocks_of, subject

ENOUGH = 3
SMALL = math.log1p(0.05)


def noisy(median_ns: float, seed: int, rounds: int = 60, noise: float = 0.002) -> list[float]:
    factors = np.exp(np.random.default_rng(seed).normal(0, noise, rounds))
    return [median_ns * float(factor) for factor in factors]


def judged(rival: Subject, base: Subject, min_effect: float = 0.01) -> Subject:
    return compare([base, rival], base.name, min_effect)[1]


# ---------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("estimate", "low", "high", "min_effect", "launches", "verdict"),
    [
        (0.06, 0.05, 0.07, 0.01, ENOUGH, "faster"),
        (0.06, 0.05, 0.07, 0.01, 1, "faster"),
        (-0.06, -0.07, -0.05, 0.01, 1, "slower"),
        (0.06, 0.001, 0.1, 0.01, 1, "faster"),  # all that counts is 0 and the estimate
        (0.06, 0.0, 0.1, 0.01, 1, "undecided"),
        (0.06, -0.01, 0.1, 0.01, 1, "undecided"),
        (SMALL, 0.04, 0.06, 0.01, 1, "faster"),  # exactly 5 % is not below 5 %
        (SMALL - 1e-9, 0.04, 0.06, 0.01, ENOUGH - 1, "undecided"),
        (SMALL - 1e-9, 0.04, 0.06, 0.01, ENOUGH, "faster"),
        (-0.03, -0.04, -0.02, 0.01, ENOUGH - 1, "undecided"),
        (-0.03, -0.04, -0.02, 0.01, ENOUGH, "slower"),
        (0.0, -0.005, 0.005, 0.01, ENOUGH, "equivalent"),
        (0.0, -0.005, 0.005, 0.01, ENOUGH - 1, "undecided"),  # "they differ by less than 1 %" is a small claim
        (0.0, -0.005, 0.005, 0.05, 1, "equivalent"),  # and "by less than 5 %" is not
        (0.0, -0.005, 0.02, 0.01, ENOUGH, "undecided"),
        (0.004, 0.003, 0.005, 0.01, ENOUGH, "equivalent"),  # a difference that does not matter
        (0.008, 0.002, 0.012, 0.01, ENOUGH, "undecided"),  # there, but perhaps too small to matter
        (0.004, 0.003, 0.005, 0.001, ENOUGH, "faster"),
        (0.004, 0.003, 0.005, 0.001, ENOUGH - 1, "undecided"),
        (-0.004, -0.005, -0.003, 0.001, 1, "undecided"),
        (0.0, -0.0005, 0.0005, 0.001, ENOUGH, "equivalent"),
        (0.0, -0.0005, 0.0005, 0.001, 2, "undecided"),
        (0.06, 0.05, 0.07, 0.001, 1, "faster"),  # a large claim needs one launch only
    ],
)
def test_verdicts(estimate: float, low: float, high: float, min_effect: float, launches: int, verdict: Verdict) -> None:
    word, reason = verdict_of(estimate, (low, high), min_effect, MIN_ROUNDS, launches)
    assert word == verdict
    assert not reason or word == "undecided"


BAND = math.log1p(0.01)


@pytest.mark.parametrize(
    ("estimate", "low", "high", "verdict"),
    [
        (0.0, -BAND, 0.005, "undecided"),  # an interval that touches the band is not inside
        (0.0, -0.005, BAND, "undecided"),
        (BAND, 0.005, 0.02, "faster"),
        (-BAND, -0.02, -0.005, "slower"),
        (0.004, -0.01, 0.02, "undecided"),
    ],
)
def test_verdicts_at_the_limits_lack_nothing_but_clarity(
    estimate: float, low: float, high: float, verdict: Verdict
) -> None:
    assert verdict_of(estimate, (low, high), 0.01, MIN_ROUNDS, ENOUGH) == (verdict, "")
    if verdict == "undecided":  # more launches are requested only where they would lead to a claim
        assert verdict_of(estimate, (low, high), 0.01, MIN_ROUNDS, 1) == (verdict, "")


@pytest.mark.parametrize(
    ("rounds", "launches", "reason"),
    [
        (MIN_ROUNDS - 1, ENOUGH, "only 19 rounds; a verdict needs 20"),
        (1, 1, "only 1 round; a verdict needs 20"),
        (MIN_ROUNDS, 2, "a claim below 5 % needs 3 launches, not 2; give it more `time`"),
    ],
)
def test_an_undecided_verdict_says_what_is_missing(rounds: int, launches: int, reason: str) -> None:
    assert verdict_of(0.004, (0.003, 0.005), 0.001, rounds, launches) == ("undecided", reason)


@given(st.floats(-0.2, 0.2), st.floats(0, 0.2), st.floats(0, 0.2), st.floats(0.001, 0.1), st.integers(1, 40))
def test_a_verdict_mirrors_when_the_sides_are_swapped(
    estimate: float, below: float, above: float, min_effect: float, rounds: int
) -> None:
    low, high = estimate - below, estimate + above
    mirror = {"faster": "slower", "slower": "faster"}
    word, reason = verdict_of(estimate, (low, high), min_effect, rounds, 3)
    other, same_reason = verdict_of(-estimate, (-high, -low), min_effect, rounds, 3)
    assert other == mirror.get(word, word)
    assert reason == same_reason


# ---------------------------------------------------------------- comparisons


def test_speedup_is_baseline_time_over_own_time() -> None:
    base, rival = compare([subject("a", noisy(10_000, 1)), subject("b", noisy(5_000, 2))], "a", 0.01)
    assert rival.speedup == pytest.approx(2.0, rel=0.01)
    assert rival.verdict == "faster"
    assert (base.speedup, base.verdict, base.speedup_low) == (1.0, "baseline", None)


@pytest.mark.parametrize("factor", [0.5, 0.9, 0.97, 1.0, 1.03, 2.0, 100.0])
def test_the_ratio_of_the_medians_is_the_speedup(factor: float) -> None:
    base, rival = compare([subject("a", noisy(10_000, 1)), subject("b", noisy(10_000 / factor, 2))], "a", 0.01)
    assert base.median_ns is not None
    assert rival.median_ns is not None
    assert rival.speedup is not None
    assert rival.speedup_low is not None
    assert rival.speedup_high is not None
    assert base.median_ns / rival.median_ns == pytest.approx(rival.speedup, rel=1e-12)
    assert rival.speedup_low <= rival.speedup <= rival.speedup_high


def test_drift_that_both_share_cancels() -> None:
    drift = np.exp(np.cumsum(np.random.default_rng(0).normal(0, 0.2, 60)))
    base = subject("a", [10_000 * d * j for d, j in zip(drift, noisy(1, 1), strict=True)])
    rival = subject("b", [11_000 * d * j for d, j in zip(drift, noisy(1, 2), strict=True)])
    result = judged(rival, base)
    assert result.speedup == pytest.approx(1 / 1.1, rel=0.003)
    assert result.verdict == "slower"


def test_only_rounds_that_both_took_part_in_are_compared() -> None:
    base = Subject(name="a", status="ok", blocks=blocks_of([10_000] * 30) + blocks_of([90_000] * 30, first_round=30))
    rival = Subject(name="b", status="ok", blocks=blocks_of([5_000] * 30))
    assert judged(rival, base).speedup == pytest.approx(2.0)


def test_subjects_that_share_no_round_with_the_baseline_get_times_and_no_verdict() -> None:
    base = Subject(name="a", status="ok", blocks=blocks_of([10_000] * 30))
    rival = Subject(name="b", status="ok", blocks=blocks_of([5_000] * 30, first_round=30))
    result = judged(rival, base)
    assert (result.median_ns, result.speedup, result.verdict) == (5_000, None, None)


def test_blocks_of_different_lengths_are_compared_per_call() -> None:
    base, rival = subject("a", [10_000.0] * 30, calls=1000), subject("b", [10_000.0] * 30, calls=10)
    assert judged(rival, base).speedup == pytest.approx(1.0)


@pytest.mark.parametrize("status", ["failed", "timeout", "oom", "crashed", "skipped"])
def test_a_subject_without_blocks_keeps_its_status_and_gets_no_times(status: str) -> None:
    rival = subject("b", status=status, reason="why")
    assert judged(rival, subject("a", noisy(10_000, 1))) == rival


def test_a_subject_that_was_lost_on_its_way_keeps_status_and_reason_and_what_it_measured() -> None:
    rival = subject("b", noisy(5_000, 2)[:10], status="crashed", reason="killed by SIGSEGV")
    result = judged(rival, subject("a", noisy(10_000, 1)))
    assert (result.status, result.reason, result.verdict) == ("crashed", "killed by SIGSEGV", "undecided")
    assert result.speedup == pytest.approx(2.0, rel=0.01)


def test_equal_blocks_are_equivalent() -> None:
    times = noisy(10_000, 1, rounds=MIN_ROUNDS)
    assert judged(subject("b", times), subject("a", times)).verdict == "equivalent"


def test_too_few_rounds_leave_equal_blocks_undecided_with_a_reason() -> None:
    times = noisy(10_000, 1, rounds=MIN_ROUNDS - 1)
    result = judged(subject("b", times), subject("a", times))
    assert (result.verdict, result.reason) == ("undecided", "only 19 rounds; a verdict needs 20")


@pytest.mark.parametrize(
    ("speedup", "launches", "verdict"),
    [
        (1.004, 1, "undecided"),
        (1.004, MIN_LAUNCHES - 1, "undecided"),
        (1.004, MIN_LAUNCHES, "faster"),
        (1.04, MIN_LAUNCHES - 1, "undecided"),
        (1.04, MIN_LAUNCHES, "faster"),
        (1.06, 1, "faster"),
    ],
)
def test_a_claim_below_five_percent_needs_three_launches(speedup: float, launches: int, verdict: Verdict) -> None:
    base = subject("a", noisy(10_000, 1, noise=0.0001), launches)
    rival = subject("b", noisy(10_000 / speedup, 2, noise=0.0001), launches)
    assert judged(rival, base, min_effect=0.002).verdict == verdict


def interval_width(rival: Subject, base: Subject) -> float:
    result = judged(rival, base)
    assert result.speedup_high is not None
    assert result.speedup_low is not None
    return math.log(result.speedup_high / result.speedup_low)


@pytest.mark.parametrize("side", ["baseline", "rival"])
def test_set_ups_that_disagree_widen_the_interval(side: str) -> None:
    """Each set-up of one of the two is faster or slower; five rounds of it are no five witnesses."""
    layouts = np.repeat(np.random.default_rng(3).normal(0, 0.01, 12), 5)
    steady, uneven = noisy(10_000, 1), [10_000 * math.exp(layout) for layout in layouts]

    def width(set_ups: int) -> float:
        moving = subject("moving", uneven, set_ups=set_ups)
        still = subject("still", steady)
        return interval_width(still, moving) if side == "baseline" else interval_width(moving, still)

    # Cut at the set-ups (every 5 rounds), or at every round as if all were independent.
    assert width(12) > 1.5 * width(60)


def test_set_ups_of_different_launches_are_different_ones() -> None:
    times = noisy(10_000, 1)
    again = Subject(name="b", status="ok", blocks=blocks_of(times, launches=3, set_ups=6))
    assert [block.set_up for block in again.blocks[::10]] == [0, 1, 0, 1, 0, 1]
    pairs = comparison.paired(again, Subject(name="a", status="ok", blocks=blocks_of(times, launches=1)))
    # 10 rounds of a set-up are longer than a run may be (the root of 60), so each becomes two.
    assert pairs.runs.tolist() == [run for run in range(12) for _ in range((8, 2)[run % 2])]
    assert pairs.launches.tolist() == [launch for launch in range(3) for _ in range(20)]


def test_an_early_look_and_many_rivals_widen_the_interval() -> None:
    base = subject("a", noisy(10_000, 1, noise=0.02))

    def width(rivals: int, looks_planned: int) -> float:
        crowd = [subject(f"r{n}", noisy(10_000, n + 2, noise=0.02), looks_planned=looks_planned) for n in range(rivals)]
        first = compare([base, *crowd], "a", 0.01)[1]
        assert first.speedup_high is not None
        assert first.speedup_low is not None
        return math.log(first.speedup_high / first.speedup_low)

    assert width(1, 1) < width(1, 3)
    assert width(1, 1) < width(6, 1)


def test_an_early_look_of_several_claims_less_than_the_last_one() -> None:
    base = subject("a", noisy(10_000, 1, noise=0.02))
    first, last = (subject("b", noisy(10_000, 2, noise=0.02), looks=look, looks_planned=3) for look in (1, 3))
    assert interval_width(first, base) > interval_width(last, base)


def test_few_rounds_of_several_set_ups_need_not_all_lie_in_the_interval() -> None:
    base, rival = subject("a", [10_000.0] * 19), subject("b", [5_000.0] * 18 + [1_000.0])
    result = judged(rival, base)
    assert (result.speedup_low, result.speedup_high) == pytest.approx((2.0, 2.0))


def test_an_interval_depends_on_the_seed_alone() -> None:
    subjects = [subject("a", noisy(10_000, 1, noise=0.1)), subject("b", noisy(5_000, 2, noise=0.1))]
    first, again, other = (compare(subjects, "a", 0.01, seed)[1].speedup_low for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_mean_and_deviation_are_as_far_from_the_median_as_they_were_measured() -> None:
    times = np.array([10.0, 20.0, 60.0, 10.0])
    drift = np.array([1.0, 1.0, 2.0, 3.0])
    measured = times * drift
    result = judged(subject("b", measured.tolist()), subject("a", (100 * drift).tolist()))
    assert result.median_ns is not None
    assert result.mean_ns == pytest.approx(result.median_ns * measured.mean() / np.median(measured))
    assert result.deviation_ns == pytest.approx(result.median_ns * measured.std() / np.median(measured))


def test_a_block_shorter_than_the_clock_can_tell_lasted_a_nanosecond() -> None:
    result = compare([subject("a", [0.0, 1.0, 3.0], calls=1)], "a", 0.01)[0]
    assert (result.min_ns, result.median_ns, result.max_ns) == (1, 1, 3)


def test_percentiles_come_from_single_calls() -> None:
    result = compare([subject("a", [10.0], call_ns=tuple(range(1001)))], "a", 0.01)[0]
    assert (result.p90_ns, result.p99_ns) == pytest.approx((900, 990))


def test_times_are_summed_up_per_call() -> None:
    result = compare([subject("a", [10.0, 20.0, 60.0], call_ns=tuple(range(64)))], "a", 0.01)[0]
    assert (result.mean_ns, result.median_ns, result.min_ns, result.max_ns) == (30.0, 20.0, 10.0, 60.0)
    assert result.deviation_ns == pytest.approx(math.sqrt((400 + 100 + 900) / 3))
    assert result.p90_ns == pytest.approx(56.7)
    assert result.p99_ns is None


TIMES = st.lists(st.tuples(st.floats(10, 1e7), st.floats(10, 1e7)), min_size=2, max_size=40)


@given(TIMES, st.integers(0, 100))
def test_swapping_baseline_and_subject_inverts_the_speedup(times: list[tuple[float, float]], seed: int) -> None:
    a, b = (subject(name, column) for name, column in zip("ab", zip(*times, strict=True), strict=True))
    there = compare([a, b], "a", 0.01, seed)[1]
    back = compare([a, b], "b", 0.01, seed)[0]
    assert there.speedup is not None
    assert back.speedup is not None
    assert there.speedup * back.speedup == pytest.approx(1.0)
    mirror = {"faster": "slower", "slower": "faster"}
    if there.verdict == "equivalent" or back.verdict == "equivalent":
        assert there.verdict == back.verdict
    else:
        assert (
            back.verdict in (mirror.get(str(there.verdict), there.verdict), "undecided") or there.verdict == "undecided"
        )


@given(TIMES)
def test_an_interval_surrounds_its_speedup(times: list[tuple[float, float]]) -> None:
    a, b = (subject(name, column) for name, column in zip("ab", zip(*times, strict=True), strict=True))
    result = judged(b, a)
    assert result.speedup_low is not None
    assert result.speedup_high is not None
    assert 0 < result.speedup_low <= result.speedup_high


@pytest.mark.parametrize(("rounds", "low", "high"), [(2, 1.0, 2.0), (5, 1.0, 2.0)])
def test_an_interval_of_a_single_set_up_reaches_over_all_its_rounds(rounds: int, low: float, high: float) -> None:
    base = subject("a", [10_000.0] * rounds, launches=1)
    rival = subject("b", [10_000.0, *[5_000.0] * (rounds - 1)], launches=1)
    result = judged(rival, base)
    assert (result.speedup_low, result.speedup_high) == pytest.approx((low, high))


# ---------------------------------------------------------------- baselines


@pytest.mark.parametrize(
    ("measured", "wanted", "baseline"),
    [
        ("abc", None, "a"),
        ("abc", "b", "b"),
        ("bc", None, "b"),
        ("ac", "b", "a"),
        ("", "b", None),
        ("", None, None),
    ],
)
def test_the_baseline_is_the_one_asked_for_or_the_first_that_was_measured(
    measured: str, wanted: str | None, baseline: str | None
) -> None:
    subjects = [subject(name, [1.0] if name in measured else []) for name in "abc"]
    assert baseline_of(subjects, wanted) == baseline


def test_a_race_without_subjects_has_no_baseline() -> None:
    assert baseline_of([], None) is None
    assert compare([], None, 0.01) == ()


def test_without_any_baseline_subjects_stay_as_they_are() -> None:
    subjects = [subject("a", status="failed"), subject("b", status="failed")]
    assert compare(subjects, None, 0.01) == tuple(subjects)


# ---------------------------------------------------------------- when to stop


@pytest.mark.parametrize(
    ("subjects", "expected"),
    [
        ([subject("a", noisy(10_000, 1)), subject("b", noisy(5_000, 2))], True),
        ([subject("a", noisy(10_000, 1)), subject("b", noisy(10_000, 2))], True),
        ([subject("a", noisy(10_000, 1, noise=0.1)), subject("b", noisy(10_000, 2, noise=0.1))], False),
        # clearly faster, but by how much?
        ([subject("a", noisy(10_000, 1, noise=0.5)), subject("b", noisy(1_000, 2, noise=0.5))], False),
        # one of two rivals is open
        (
            [
                subject("a", noisy(10_000, 1)),
                subject("b", noisy(5_000, 2)),
                subject("c", noisy(10_000, 3, noise=0.2)),
            ],
            False,
        ),
        # a subject that is lost keeps nothing waiting
        ([subject("a", noisy(10_000, 1)), subject("b", noisy(9_000, 2)[:5], status="crashed")], True),
        ([subject("a", noisy(10_000, 1)), subject("b", status="failed")], True),
        ([subject("a", status="failed"), subject("b", status="crashed")], True),
        ([subject("a", noisy(10_000, 1))], True),
        ([subject("a", noisy(10_000, 1, noise=0.3))], False),
        # known to 0.6 %, and still perhaps more or less than 1 %
        ([subject("a", noisy(10_000, 1, noise=0.005)), subject("b", noisy(10_000 / 1.008, 2, noise=0.005))], False),
        # clearly faster, and known to 13 %, where 10 % are requested
        ([subject("a", noisy(10_000, 1, noise=0.1)), subject("b", noisy(5_000, 2, noise=0.1))], False),
        ([subject("a", noisy(10_000, 1, noise=0.07)), subject("b", noisy(5_000, 2, noise=0.07))], True),
        # a subject alone is known to 1 %, at its last look rather than at the first of three
        ([subject("a", noisy(10_000, 1, noise=0.0235))], True),
        ([subject("a", noisy(10_000, 1, noise=0.0235), looks=1, looks_planned=3)], False),
        ([subject("a", noisy(10_000, 1, noise=0.0235), looks=3, looks_planned=3)], True),
        ([subject("a", noisy(10_000, 1, noise=0.03))], False),
    ],
)
def test_a_race_is_settled_when_nothing_is_left_to_find_out(subjects: list[Subject], expected: bool) -> None:
    assert settled(subjects, "a", 0.01) is expected


def test_a_race_is_settled_against_its_own_baseline() -> None:
    moving = np.random.default_rng(5).normal(0, 0.048, 60)
    times = (10_000 * np.exp(moving), np.full(60, 5_000.0), 2_500 * np.exp(-moving))
    subjects = [subject(name, each.tolist()) for name, each in zip("abc", times, strict=True)]
    assert settled(subjects, "b", 0.01)
    assert not settled(subjects, "a", 0.01)  # c moves against a, and is known half as well


@pytest.mark.parametrize(
    "subjects",
    [
        [subject("a", noisy(10_000, 1, noise=0.08)), subject("b", noisy(5_000, 2, noise=0.08))],
        [subject("a", noisy(10_000, 1, noise=0.0243))],
    ],
    ids=["a pair", "alone"],
)
def test_where_it_is_close_the_seed_alone_decides_whether_a_race_is_settled(subjects: list[Subject]) -> None:
    first, again = ([settled(subjects, "a", 0.01, seed) for seed in range(20)] for _ in range(2))
    assert first == again
    assert set(first) == {True, False}


# ---------------------------------------------------------------- the whole rule, on simulated noise


@pytest.mark.slow
def test_equal_subjects_raise_few_false_alarms_through_the_real_stopping_rule() -> None:
    verdicts = [simulate(seed, (0.0,), time_s=3.0)[1].verdict for seed in range(150)]
    assert sum(verdict in ("faster", "slower") for verdict in verdicts) <= 6


@pytest.mark.slow
def test_a_slowdown_of_three_percent_is_found() -> None:
    verdicts = [simulate(seed, (0.03,), time_s=6.0)[1].verdict for seed in range(60)]
    assert "faster" not in verdicts
    assert verdicts.count("slower") >= 57
