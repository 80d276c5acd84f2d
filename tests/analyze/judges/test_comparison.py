"""From blocks to times, speedups and verdicts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.simulation import simulate
from onnxperf.analyze.judges.comparison import (
    baseline_of,
    compare,
    rounds_to_units,
    settled,
    verdict_of,
)
from onnxperf.analyze.judges.pairing import paired, reading_of
from onnxperf.analyze.judges.reasons import MIN_LAUNCHES
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import MIN_ROUNDS, Subject
from tests.analyze.examples import blocks_of, subject, with_threads

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
    assert verdict_of(estimate, (low, high), min_effect, launches) == verdict


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
def test_verdicts_at_the_limits(estimate: float, low: float, high: float, verdict: Verdict) -> None:
    assert verdict_of(estimate, (low, high), 0.01, ENOUGH) == verdict


@given(st.floats(-0.2, 0.2), st.floats(0, 0.2), st.floats(0, 0.2), st.floats(0.001, 0.1), st.integers(1, 5))
def test_a_verdict_mirrors_when_the_sides_are_swapped(
    estimate: float, below: float, above: float, min_effect: float, launches: int
) -> None:
    low, high = estimate - below, estimate + above
    mirror = {"faster": "slower", "slower": "faster"}
    word = verdict_of(estimate, (low, high), min_effect, launches)
    assert verdict_of(-estimate, (-high, -low), min_effect, launches) == mirror.get(word, word)


# ---------------------------------------------------------------- few rounds


@pytest.mark.parametrize(
    ("speedups", "launches", "verdict", "interval"),
    [
        ([11.0] * 13, 2, "faster", (11.0, 11.0)),  # an 11-fold difference needs no 20 rounds
        ([0.09, 0.091, 0.089] * 4, 2, "slower", (0.08911, 0.09090)),
        ([1.3] * 6, 2, "faster", (1.3, 1.3)),
        ([1300.0, 1400.0, 1340.0], 2, "faster", (1227.05, 1476.57)),  # 42 us against 56 ms
        ([1.3, 1.6, 1.9], 2, "undecided", (0.9861, 2.5348)),  # three agree by chance too often
        ([50.0], 1, "undecided", None),
        ([50.0] * 2, 2, "undecided", None),
        ([1.2] * 19, 2, "undecided", (1.2, 1.2)),  # where its memory lies moves a process too
        ([1.3, 1.2] * 9, 2, "undecided", (1.2090, 1.2903)),  # most are beyond 25 %, but the interval is not
        ([0.5, 2.0] * 6, 2, "undecided", (0.4683, 2.1356)),
        ([11.0] * 13, 1, "faster", None),  # one set-up shows nothing of its own spread
        ([11.0] * 40, 1, "faster", None),
        ([1.1] * 40, 1, "undecided", None),
    ],
)
def test_few_rounds_decide_a_large_difference_and_no_small_one(
    speedups: list[float], launches: int, verdict: Verdict, interval: tuple[float, float] | None
) -> None:
    base = subject("a", [1e6] * len(speedups), launches)
    result = judged(subject("b", [1e6 / each for each in speedups], launches), base)
    assert result.verdict == verdict
    assert bool(result.reason) == (verdict == "undecided")
    expected = (None, None) if interval is None else pytest.approx(interval, rel=1e-3)
    assert (result.speedup_low, result.speedup_high) == expected


@pytest.mark.parametrize(("rivals", "verdict"), [(1, "faster"), (2, "undecided")])
def test_several_comparisons_share_the_chance_of_an_error(rivals: int, verdict: Verdict) -> None:
    base = subject("a", [1e6] * 3)
    rounds = [1e6 / speedup for speedup in (1.4, 1.5, 1.6)]
    judged = compare([base, *(subject(f"r{n}", rounds) for n in range(rivals))], "a", 0.01)
    assert {rival.verdict for rival in judged[1:]} == {verdict}


def test_a_minimum_effect_above_a_large_difference_is_required_of_few_rounds_too() -> None:
    base, rival = subject("a", [1e6] * 10), subject("b", [1e6 / 1.4] * 10)
    assert [judged(rival, base, effect).verdict for effect in (0.01, 0.5)] == ["faster", "undecided"]


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [3, 6, 9, 13, 19])
def test_few_rounds_of_equal_subjects_raise_few_false_alarms(rounds: int) -> None:
    """Each launch and set-up with a speed of its own, and noise with heavy tails: far more than was ever measured."""
    rng = np.random.default_rng(rounds)
    alarms = 0
    for _ in range(2000):
        layouts = np.repeat(rng.normal(0, 0.1, (2, 2)), math.ceil(rounds / 2), axis=1)[:, :rounds]
        times = 1e6 * np.exp(layouts + 0.1 * rng.standard_t(3, (2, rounds)))
        base, rival = (subject(name, row.tolist(), launches=2) for name, row in zip("ab", times, strict=True))
        alarms += judged(rival, base).verdict in ("faster", "slower")
    assert alarms <= 0.05 * 2000


# ---------------------------------------------------------------- why not


def spread_out(name: str, times_ns: list[float], seconds: float, launches: int = 6) -> Subject:
    """A subject whose rounds lie so many seconds apart."""
    made = subject(name, times_ns, launches)
    blocks = tuple(replace(block, start_ns=round(block.round * seconds * 1e9)) for block in made.blocks)
    return replace(made, blocks=blocks)


@pytest.mark.parametrize(
    ("rounds", "seconds", "launches", "noise", "reason"),
    [
        (1, 9.0, 1, 0.0, "1 round is too few: use a longer `time`"),  # one round shows no pace
        (2, 2.25, 1, 0.0, "2 rounds are too few: use `time=45`"),
        (13, 2.25, 2, 0.0, "13 rounds decide only differences above 25 %: use `time=45`"),
        (60, 0.1, 1, 0.0, "all rounds ran in 1 session, too few to estimate their variation: use `time=12`"),
        (60, 0.1, 4, 0.0, "all rounds ran in 4 sessions, too few to estimate their variation: use `time=12`"),
        (60, 0.1, 6, 0.025, "`time=72` would probably decide"),
        (
            60,
            9.0,
            6,
            0.08,
            "this machine is too noisy now for such a small difference; "
            "close other programs or set a larger `min_effect`",
        ),
    ],
)
def test_an_undecided_comparison_has_the_right_reason(
    rounds: int, seconds: float, launches: int, noise: float, reason: str
) -> None:
    base, rival = (
        spread_out(name, noisy(10_000, seed, rounds, noise), seconds, launches) for seed, name in enumerate("ab")
    )
    result = judged(rival, base)
    assert (result.verdict, result.reason) == ("undecided", reason)


def test_rounds_that_differ_much_are_the_reason_themselves() -> None:
    base, rival = (spread_out(name, noisy(10_000, seed, 60, 1.5), 10.0) for seed, name in enumerate("ab"))
    result = judged(rival, base)
    assert result.verdict == "undecided"
    assert result.reason == "the rounds differ too much; close other programs and repeat"


# ---------------------------------------------------------------- runs kept before


# ---------------------------------------------------------------- comparisons


def test_speedup_is_baseline_time_over_own_time() -> None:
    base, rival = compare([subject("a", noisy(10_000, 1)), subject("b", noisy(5_000, 2))], "a", 0.01)
    assert rival.speedup == pytest.approx(2.0, rel=0.01)
    assert rival.verdict == "faster"
    assert (base.speedup, base.verdict, base.speedup_low) == (1.0, "baseline", None)


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
    assert (result.status, result.reason, result.verdict) == ("crashed", "killed by SIGSEGV", "faster")
    assert result.speedup == pytest.approx(2.0, rel=0.01)


def test_equal_blocks_are_equivalent() -> None:
    times = noisy(10_000, 1, rounds=MIN_ROUNDS)
    assert judged(subject("b", times), subject("a", times)).verdict == "equivalent"


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
    base = subject("a", noisy(10_000, 1, noise=0.0001), launches, set_ups=6)
    rival = subject("b", noisy(10_000 / speedup, 2, noise=0.0001), launches, set_ups=6)
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
        moving = subject("moving", uneven, launches=1, set_ups=set_ups)
        still = subject("still", steady, launches=1)
        return interval_width(still, moving) if side == "baseline" else interval_width(moving, still)

    # Cut at the set-ups (every 5 rounds), or at every round as if all were independent.
    assert width(12) > 1.5 * width(60)


def test_set_ups_of_different_launches_are_different_ones() -> None:
    times = noisy(10_000, 1)
    again = Subject(name="b", status="ok", blocks=blocks_of(times, launches=3, set_ups=6))
    assert [block.set_up for block in again.blocks[::10]] == [0, 1, 0, 1, 0, 1]
    pairs = paired(again, Subject(name="a", status="ok", blocks=blocks_of(times, launches=1)))
    assert pairs.units.tolist() == [set_up for set_up in range(6) for _ in range(10)]
    assert (pairs.evidence.launches, pairs.evidence.unit, pairs.evidence.units) == (3, "set-up", 6)


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


@pytest.mark.parametrize(
    ("launches", "set_ups", "rounds", "unit", "units"),
    [
        (16, 16, 64, "launch", 16),
        (5, 60, 60, "launch", 5),  # rather than set-ups of one process, which share more
        (4, 12, 60, "set-up", 12),
        (1, 5, 20, "set-up", 5),
        (2, 2, 8, "round", 8),
        (4, 4, 60, "round", 60),  # their range: so few set-ups show nothing of their spread
        (1, 1, 60, None, None),
    ],
)
def test_an_interval_rests_on_launches_or_where_they_are_few_on_set_ups(
    launches: int, set_ups: int, rounds: int, unit: str | None, units: int | None
) -> None:
    base, rival = (subject(name, noisy(10_000, 1, rounds), launches, set_ups=set_ups) for name in "ab")
    result = judged(rival, base)
    assert (result.unit, result.units) == (unit, units)


def test_the_speedup_is_the_trimmed_mean_of_the_medians_of_launches() -> None:
    launches = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 90.0]  # one of eight is cut at each end
    times = [10_000 / ratio * noise for ratio in launches for noise in (1.0, 1.0, 0.5, 7.0, 1.0)]
    result = judged(subject("b", times, launches=8), subject("a", [10_000.0] * 40, launches=8))
    assert result.speedup == pytest.approx(math.exp(np.mean(np.log(launches[1:-1]))))


def with_quickest(made: Subject, quickest_ns: list[float]) -> Subject:
    """A subject whose blocks were timed in pieces."""
    times = zip(made.blocks, quickest_ns, strict=True)
    return replace(made, blocks=tuple(replace(block, quickest_ns=quickest) for block, quickest in times))


def disturbed(name: str, time_ns: float, seed: int) -> Subject:
    """Most blocks are slowed down by others, by half of their time at most; one piece in each launch is left alone."""
    rng = np.random.default_rng(seed)
    blocks = time_ns * (1 + rng.uniform(0, 0.5, 96))
    quickest = np.where(np.arange(96) % 6 == seed % 6, time_ns * (1 + rng.uniform(0, 0.002, 96)), blocks)
    return with_quickest(subject(name, blocks.tolist(), launches=16), quickest.tolist())


@pytest.mark.parametrize(("speedup", "verdict"), [(1.0, "equivalent"), (1.02, "faster"), (0.98, "slower")])
def test_what_is_left_alone_decides_where_most_blocks_are_disturbed(speedup: float, verdict: Verdict) -> None:
    base, rival = disturbed("a", 10_000, 1), disturbed("b", 10_000 / speedup, 2)
    result = judged(rival, base)
    assert result.verdict == verdict
    assert result.speedup == pytest.approx(speedup, rel=0.002)
    whole = [replace(each, blocks=tuple(replace(b, quickest_ns=None) for b in each.blocks)) for each in (base, rival)]
    assert judged(whole[1], whole[0]).verdict == "undecided"


def test_blocks_without_pieces_on_either_side_are_compared_as_a_whole() -> None:
    base = subject("a", noisy(10_000, 1), launches=12)
    rival = with_quickest(subject("b", noisy(5_000, 2), launches=12), [1_000.0] * 60)
    assert judged(rival, base).speedup == pytest.approx(2.0, rel=0.01)


def test_means_decide_where_the_calls_of_a_subject_vary_by_themselves() -> None:
    base = with_quickest(subject("a", noisy(10_000, 1), launches=12), noisy(10_000, 3))
    rival = with_quickest(subject("b", noisy(11_000, 2), launches=12), noisy(8_000, 4))
    first, result = compare([base, rival], "a", 0.01)
    assert (result.verdict, result.varies) == ("slower", True)
    assert result.speedup == pytest.approx(10 / 11, rel=0.01)
    assert (first.time_ns or 0) / (result.time_ns or 1) == pytest.approx(result.speedup)


def test_no_verdict_where_means_say_something_else_but_not_clearly() -> None:
    slow = [1.0, 1.1] * 30  # every other launch
    base = with_quickest(subject("a", noisy(10_000, 1), launches=12), noisy(10_000, 3))
    rival = with_quickest(subject("b", [9_500 * each for each in slow], launches=12), noisy(9_500, 4))
    assert judged(rival, base, 0.06).verdict in ("undecided", "equivalent")


def test_equal_subjects_whose_calls_vary_alike_are_compared_by_their_quickest() -> None:
    base, rival = (
        with_quickest(subject(name, noisy(12_000, seed, noise=0.05), launches=12), noisy(10_000, seed + 5))
        for seed, name in enumerate("ab")
    )
    assert (judged(rival, base).varies, judged(rival, base).verdict) == (False, "equivalent")


@pytest.mark.parametrize(
    ("slow", "side", "verdict"),
    [(0, "b", "equivalent"), (1, "b", "undecided"), (2, "b", "undecided"), (2, "a", "equivalent")],
)
def test_a_subject_with_slow_launches_is_not_equal_to_one_without(slow: int, side: str, verdict: Verdict) -> None:
    """The trimmed mean leaves them out; those of the baseline flatter nobody."""
    times = {
        name: [each * (1.2 if name == side and number < 5 * slow else 1.0) for number, each in enumerate(noisy(1e4, 1))]
        for name in "ab"
    }
    base, rival = (subject(name, times[name], launches=12) for name in "ab")
    result = judged(rival, base)
    assert (result.verdict, result.slow_launches) == (verdict, slow if side == "b" else 0)
    if verdict == "undecided":
        assert result.reason.startswith(f"it was slower by more than 8 % in {slow} of 12 launches")


def test_few_calls_cannot_show_rare_slow_ones() -> None:
    times = noisy(5e7, 1, 75)
    base, rival = (with_quickest(subject(name, times, 25, calls=1), times) for name in "ab")
    result = judged(rival, base)
    assert (result.verdict, result.reason) == ("equivalent", "slow calls rarer than 1 in 25 go undetected")


@pytest.mark.parametrize(
    ("free", "verdict"),
    [
        ([1] * 60, "slower"),
        ([0, 0, 0, 0, 1] * 12, "slower"),  # every launch was free for a while
        ([0] * 30 + [1] * 30, "slower"),
        ([0] * 50 + [1] * 10, "undecided"),  # two launches are too few
        ([0] * 60, "undecided"),
    ],
)
def test_threads_that_were_never_left_alone_give_no_sized_verdict(free: list[int], verdict: Verdict) -> None:
    base = subject("a", noisy(10_000, 1), launches=12)
    result = judged(with_threads(subject("b", noisy(30_000, 2), launches=12), free), base)
    assert result.verdict == verdict
    if verdict == "undecided":
        assert (result.speedup_low, result.speedup_high, result.unit) == (None, None, None)
        assert "constantly took processors from the threads of b" in result.reason
        assert "`threads=1`" in result.reason


def test_one_thread_is_slowed_down_as_its_rival_is() -> None:
    base = subject("a", noisy(10_000, 1), launches=12)
    blocked = with_threads(subject("b", noisy(30_000, 2), launches=12), [0] * 60)
    assert judged(replace(blocked, conditions={"threads": 1}), base).verdict == "slower"


def test_few_processes_show_their_own_spread() -> None:
    """Set-ups of one process agree with each other, and say nothing about the next process."""
    of_processes = [1.00, 1.02, 1.04]
    base = subject("a", noisy(10_000, 1), launches=3, set_ups=12)
    times = [10_000 * of_processes[each.launch] for each in base.blocks]
    result = judged(subject("b", times, launches=3, set_ups=12), base)
    assert (result.verdict, result.unit) == ("undecided", "set-up")
    assert (result.speedup_low or 0) < 0.94
    assert (result.speedup_high or 0) > 1.02


def test_runs_are_compared_alike_when_one_is_older_than_pieces() -> None:
    new = with_quickest(subject("a", [10.0] * 30), [5.0] * 30)
    assert reading_of([new]) is not reading_of([new, subject("b", [10.0] * 30)])
    assert reading_of([]) is reading_of([new])


def test_times_are_those_that_were_measured_whatever_the_comparison_finds() -> None:
    drift = [1.0, 1.0, 2.0, 3.0]
    base, rival = subject("a", [100 * each for each in drift]), subject("b", [10.0, 20.0, 120.0, 30.0])
    assert judged(rival, base).mean_ns == compare([rival], "b", 0.01)[0].mean_ns == 45.0


def test_a_block_shorter_than_the_clock_can_tell_lasted_a_nanosecond() -> None:
    result = compare([subject("a", [0.0, 1.0, 3.0], calls=1)], "a", 0.01)[0]
    assert (result.min_ns, result.median_ns, result.max_ns) == (1, 1, 3)


def test_single_calls_and_blocks_are_two_groups_of_times() -> None:
    result = compare([subject("a", [10.0, 20.0, 60.0], call_ns=tuple(range(1001)))], "a", 0.01)[0]
    assert (result.min_ns, result.median_ns, result.max_ns) == (0, 500, 1000)
    assert (result.p90_ns, result.p99_ns) == pytest.approx((900, 990))
    assert (result.mean_ns, result.deviation_ns) == pytest.approx((30.0, math.sqrt((400 + 100 + 900) / 2)))


def test_without_single_calls_all_their_times_come_from_blocks() -> None:
    result = compare([subject("a", [10.0, 20.0, 60.0])], "a", 0.01)[0]
    assert (result.min_ns, result.median_ns, result.max_ns, result.p90_ns) == (10, 20, 60, None)


def test_the_mean_weighs_every_call_alike() -> None:
    blocks = (*blocks_of([10.0] * 3, calls=100), *blocks_of([40.0] * 3, calls=200, first_round=3))
    assert compare([Subject(name="a", status="ok", blocks=blocks)], "a", 0.01)[0].mean_ns == 30.0


@pytest.mark.parametrize(
    ("rounds", "set_ups", "has_interval"), [(1, 1, False), (60, 2, False), (6, 3, True), (60, 12, True)]
)
def test_the_interval_of_the_mean_needs_three_set_ups(rounds: int, set_ups: int, has_interval: bool) -> None:
    result = compare([subject("a", noisy(100, 1, rounds, 0.05), set_ups, set_ups=set_ups)], "a", 0.01)[0]
    assert (result.mean_low_ns is not None) == (result.mean_high_ns is not None) == has_interval
    assert (result.deviation_ns is not None) == (rounds > 1)
    if has_interval:
        assert result.mean_ns is not None
        assert (result.mean_low_ns or 0) < result.mean_ns < (result.mean_high_ns or 0)


def test_the_interval_of_the_mean_holds_the_truth_as_often_as_it_says() -> None:
    inside = 0
    for seed in range(200):
        made = compare([subject("a", noisy(1e6, seed, 60, 0.05), 6, set_ups=12)], "a", 0.01)[0]
        truth = 1e6 * math.exp(0.05**2 / 2)
        inside += (made.mean_low_ns or 0) <= truth <= (made.mean_high_ns or 0)
    assert 0.90 * 200 <= inside <= 0.99 * 200


TIMES = st.lists(st.tuples(st.floats(10, 1e7), st.floats(10, 1e7)), min_size=2, max_size=40)


@given(TIMES)
def test_swapping_baseline_and_subject_inverts_the_speedup(times: list[tuple[float, float]]) -> None:
    a, b = (subject(name, column) for name, column in zip("ab", zip(*times, strict=True), strict=True))
    there = compare([a, b], "a", 0.01)[1]
    back = compare([a, b], "b", 0.01)[0]
    assert there.speedup is not None
    assert back.speedup is not None
    assert there.speedup * back.speedup == pytest.approx(1.0)
    mirror = {"faster": "slower", "slower": "faster"}
    assert back.verdict == mirror.get(str(there.verdict), there.verdict)


@given(TIMES)
def test_an_interval_surrounds_its_speedup_and_agrees_with_its_verdict(times: list[tuple[float, float]]) -> None:
    a, b = (subject(name, column) for name, column in zip("ab", zip(*times, strict=True), strict=True))
    result = judged(b, a)
    assert (result.speedup_low is None) == (result.speedup_high is None) == (len(times) < 3)
    if result.speedup_low is None or result.speedup_high is None or result.speedup is None:
        assert result.verdict == "undecided"
        return
    assert 0 < result.speedup_low <= result.speedup_high
    assert {"faster": result.speedup_low > 1, "slower": result.speedup_high < 1}.get(str(result.verdict), True)


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
        # eleven times as fast, and no interval yet
        ([subject("a", [11e6] * 13, 1), subject("b", [1e6] * 13, 1)], False),
        ([subject("a", [11e6] * 13, 2), subject("b", [1e6] * 13, 2)], True),
        # a subject that is lost keeps nothing waiting
        ([subject("a", noisy(10_000, 1)), subject("b", noisy(9_000, 2)[:5], status="crashed")], True),
        ([subject("a", noisy(10_000, 1)), subject("b", status="failed")], True),
        ([subject("a", status="failed"), subject("b", status="crashed")], True),
        ([subject("a", noisy(10_000, 1))], True),
        ([subject("a", noisy(10_000, 1, noise=0.3))], False),
        # known to 0.6 %, and still perhaps more or less than 1 %
        ([subject("a", noisy(10_000, 1, noise=0.008)), subject("b", noisy(10_000 / 1.008, 2, noise=0.008))], False),
        # clearly faster, and known to 13 %, where 10 % are requested
        ([subject("a", noisy(10_000, 1, noise=0.2)), subject("b", noisy(5_000, 2, noise=0.2))], False),
        ([subject("a", noisy(10_000, 1, noise=0.13)), subject("b", noisy(5_000, 2, noise=0.13))], True),
        # a subject alone is known to 1 %, at its last look rather than at the first of two
        ([subject("a", noisy(10_000, 1, noise=0.035))], True),
        ([subject("a", noisy(10_000, 1, noise=0.035), looks=1, looks_planned=2)], False),
        ([subject("a", noisy(10_000, 1, noise=0.035), looks=2, looks_planned=2)], True),
        ([subject("a", noisy(10_000, 1, noise=0.05))], False),
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
    ("within", "between", "ratio"), [(0.02, 0.01, 1.7), (0.01, 0.01, 0.95), (0.0, 0.01, 0.0), (0.01, 0.0, 3.6)]
)
def test_how_much_rounds_differ_is_compared_with_how_much_launches_do(
    within: float, between: float, ratio: float
) -> None:
    rng = np.random.default_rng(0)
    logs = np.repeat(rng.normal(0, between, 300), 20) + rng.normal(0, within, 6000)
    base, rival = subject("a", [1e6] * 6000, launches=300), subject("b", (1e6 * np.exp(logs)).tolist(), launches=300)
    found = rounds_to_units([base, rival, subject("c", status="failed")], None)
    assert found is not None
    assert found == pytest.approx(ratio, rel=0.15)


def test_launches_without_any_difference_leave_all_of_it_to_rounds() -> None:
    base, rival = subject("a", [1e6] * 24), subject("b", [1e6, 2e6, 1e6, 1e6] * 6)
    assert rounds_to_units([base, rival], None) == math.inf


@pytest.mark.parametrize("subjects", [[], [subject("a", [1.0] * 20)], [subject("a"), subject("b")]])
def test_without_a_pair_that_ratio_is_not_known(subjects: list[Subject]) -> None:
    assert rounds_to_units(subjects, None) is None


# ---------------------------------------------------------------- the whole rule, on simulated noise


@pytest.mark.slow
def test_equal_subjects_raise_few_false_alarms_through_the_real_stopping_rule() -> None:
    verdicts = [simulate(seed, (0.0,), time_s=9.0)[1].verdict for seed in range(300)]
    assert sum(verdict in ("faster", "slower") for verdict in verdicts) <= 15


@pytest.mark.slow
def test_a_slowdown_of_three_percent_is_found() -> None:
    verdicts = [simulate(seed, (0.03,), time_s=6.0)[1].verdict for seed in range(60)]
    assert "faster" not in verdicts
    assert verdicts.count("slower") >= 57
