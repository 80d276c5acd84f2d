"""The statistics on distributions whose truth is known; every seed is fixed, so that nothing flakes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.judges import statistics as stats
from onnxperf.measure.plan import LOOKS
from onnxperf.records.race import ALPHA

Sample = Callable[[np.random.Generator], stats.Floats]

TRUTH = 0.02
DATA_SETS = 300


def normal(rng: np.random.Generator) -> stats.Floats:
    return rng.normal(TRUTH, 0.01, 60)


def heavy_tailed(rng: np.random.Generator) -> stats.Floats:
    return np.asarray(TRUTH + 0.01 * rng.standard_t(2.5, 60))


def skewed(rng: np.random.Generator) -> stats.Floats:
    return np.asarray(TRUTH + 0.01 * (rng.exponential(1.0, 60) - math.log(2)))


def autoregressive(rng: np.random.Generator) -> stats.Floats:
    noise, value = [], 0.0
    for shock in rng.normal(0, 0.01, 120):
        value = 0.4 * value + shock
        noise.append(value)
    return TRUTH + np.array(noise)


def few(rng: np.random.Generator) -> stats.Floats:
    return rng.normal(TRUTH, 0.01, 20)


SAMPLES = (normal, heavy_tailed, skewed, autoregressive, few)


def in_parts(rounds: int, parts: int) -> stats.Ints:
    """Rounds in so many parts of equal length: launches, or the set-ups of a race."""
    return np.arange(rounds) * parts // rounds


def runs_in(launches: stats.Ints, rounds_per_set_up: int = 5) -> stats.Ints:
    """The runs of a race whose sessions are opened anew after so many rounds, and with every launch."""
    return stats.runs_of(launches * len(launches) + np.arange(len(launches)) // rounds_per_set_up)


def drawn(values: stats.Floats, launches: int = 1, draws: int = 2000, seed: int = 0) -> stats.Floats:
    """The bootstrap of a race with so many launches of equal length."""
    numbers = in_parts(len(values), launches)
    return stats.bootstrap_medians(values, numbers, runs_in(numbers), draws, seed)


def width(draws: stats.Floats) -> float:
    low, high = stats.interval(draws, 0.05)
    return high - low


def covered(sample: Sample, launches: int) -> float:
    """Part of the data sets whose 95 % interval holds the truth."""
    hits = 0
    for seed in range(DATA_SETS):
        values = sample(np.random.default_rng(seed))
        low, high = stats.interval(drawn(values, launches, 1000, seed), 0.05)
        hits += low <= TRUTH <= high
    return hits / DATA_SETS


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("launches", [3, 6])
def test_an_interval_holds_the_true_median_as_often_as_it_promises(sample: Sample, launches: int) -> None:
    assert covered(sample, launches) >= 0.94


@pytest.mark.parametrize("sample", SAMPLES)
def test_one_launch_promises_a_little_too_much_which_is_why_small_claims_need_three(sample: Sample) -> None:
    assert covered(sample, launches=1) >= 0.9


def uneven_launches(rng: np.random.Generator) -> stats.Floats:
    return TRUTH + rng.normal(0, 0.01, 60) + np.repeat(rng.normal(0, 0.01, 6), 10)


def uneven_set_ups(rng: np.random.Generator) -> stats.Floats:
    return TRUTH + rng.normal(0, 0.003, 60) + np.repeat(rng.normal(0, 0.01, 12), 5)


@pytest.mark.parametrize("sample", [uneven_launches, uneven_set_ups])
def test_where_memory_lies_does_not_break_the_promise(sample: Sample) -> None:
    assert covered(sample, launches=6) >= 0.93  # 0.943 and 0.99 of many more data sets


def test_an_interval_narrows_with_the_root_of_the_rounds() -> None:
    rng = np.random.default_rng(0)
    widths = [width(drawn(rng.normal(0, 0.01, rounds))) for rounds in (100, 400, 1600)]
    assert widths[0] > widths[1] > widths[2]
    assert 2.5 < widths[0] / widths[2] < 6.5


def test_launches_that_disagree_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    launches = in_parts(100, 4)
    runs = runs_in(launches)
    values = rng.normal(0, 0.001, 100) + np.array([-0.02, -0.01, 0.01, 0.02])[launches]
    respected = stats.bootstrap_medians(values, launches, runs, 2000, 0)
    ignored = stats.bootstrap_medians(values, np.zeros(100, dtype=np.int64), runs, 2000, 0)
    assert width(respected) > 0.02
    assert width(respected) > 1.5 * width(ignored)


def test_set_ups_that_disagree_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    runs, one_launch = in_parts(100, 20), np.zeros(100, dtype=np.int64)
    values = rng.normal(0, 0.001, 100) + rng.normal(0, 0.01, 20)[runs]
    respected = stats.bootstrap_medians(values, one_launch, runs, 2000, 0)
    ignored = stats.bootstrap_medians(values, one_launch, np.arange(100), 2000, 0)
    assert width(respected) > 1.5 * width(ignored)


@pytest.mark.parametrize(
    ("runs", "launches", "factor"),
    [
        (1, 1, 1.0),
        (2, 1, math.sqrt(2)),
        (4, 1, 2.0),
        (12, 1, math.sqrt(12 / 9)),
        (12, 2, math.sqrt(12 / 9) * math.sqrt(2)),
        (12, 3, math.sqrt(12 / 9) * math.sqrt(3 / 2)),
        (12, 6, math.sqrt(12 / 9) * math.sqrt(6 / 5)),
        (12_000, 6, math.sqrt(6 / 5)),
    ],
)
def test_few_runs_and_few_launches_widen_the_interval_by_hand(runs: int, launches: int, factor: float) -> None:
    assert stats.widening(runs, launches) == pytest.approx(factor, rel=1e-3)


@pytest.mark.parametrize(
    ("set_ups", "runs"),
    [
        ([], []),
        ([7], [0]),
        ([0, 0, 1, 1, 2], [0, 0, 1, 1, 2]),
        ([0, 0, 1, 0, 0], [0, 0, 1, 2, 2]),  # neighbours only: what comes back is another run
        ([3, 3, 3, 3, 3, 3, 3], [0, 0, 0, 0, 0, 1, 1]),  # at most 5 in a short race
        ([0] * 3 + [1] * 6, [0] * 3 + [1] * 5 + [2]),  # a piece starts with its set-up
        ([0] * 64, [run for run in range(8) for _ in range(8)]),  # and at most the root of the rounds in a long one
    ],
)
def test_runs_by_hand(set_ups: list[int], runs: list[int]) -> None:
    numbered = stats.runs_of(np.array(set_ups, dtype=np.int64))
    assert (numbered.tolist(), numbered.dtype) == (runs, np.dtype(np.int64))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=200))
def test_a_run_is_neither_longer_than_it_may_nor_part_of_two_set_ups(set_ups: list[int]) -> None:
    runs = stats.runs_of(np.array(set_ups)).tolist()
    assert runs[0] == 0
    assert all(after - before in (0, 1) for before, after in pairwise(runs))
    assert max(Counter(runs).values()) <= max(5, round(math.sqrt(len(set_ups))))
    assert all(len(set(members)) == 1 for members in group(runs, set_ups).values())


def group(runs: Sequence[int], set_ups: Sequence[int]) -> dict[int, list[int]]:
    members: dict[int, list[int]] = {}
    for run, set_up in zip(runs, set_ups, strict=True):
        members.setdefault(run, []).append(set_up)
    return members


@st.composite
def weighted_values(draw: st.DrawFn) -> tuple[list[float], list[list[int]]]:
    values = draw(st.lists(st.floats(-1, 1) | st.sampled_from([-0.5, 0.0, 0.5]), min_size=1, max_size=12))
    weights = st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values)).filter(any)
    return values, draw(st.lists(weights, min_size=1, max_size=4))


@given(weighted_values())
def test_a_weighted_median_is_the_median_of_values_that_often(case: tuple[list[float], list[list[int]]]) -> None:
    values, weights = np.array(case[0]), np.array(case[1])
    expected = [np.median(np.repeat(values, row)) for row in weights]
    np.testing.assert_allclose(stats.weighted_medians(values, weights), expected, rtol=0, atol=1e-15)


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=40),
    st.integers(1, 4),
    st.integers(0, 1000),
    st.floats(-5, 5),
)
def test_the_bootstrap_depends_on_its_seed_alone_and_moves_with_the_data(
    numbers: list[float], launches: int, seed: int, shift: float
) -> None:
    values = np.array(numbers)
    draws = drawn(values, launches, 50, seed)
    assert draws.shape == (50,)
    assert np.isfinite(draws).all()
    np.testing.assert_array_equal(draws, drawn(values, launches, 50, seed))
    np.testing.assert_allclose(drawn(values + shift, launches, 50, seed), draws + shift, atol=1e-9)


@given(st.floats(-1, 1), st.integers(1, 60), st.integers(1, 6))
def test_equal_values_leave_no_doubt(value: float, rounds: int, launches: int) -> None:
    low, high = stats.interval(drawn(np.full(rounds, value), launches, 200), 0.05)
    assert low == pytest.approx(value) == high


# ---------------------------------------------------------------- levels


@pytest.mark.parametrize("looks", range(1, LOOKS + 1))
def test_looks_spend_all_of_alpha_and_most_of_it_at_the_last(looks: int) -> None:
    *early, last = stats.spend_alpha(looks)
    assert len(early) == looks - 1
    assert sum(early) + last == pytest.approx(ALPHA)
    assert early == [ALPHA / 10] * len(early)
    assert last == pytest.approx(ALPHA * (1 - len(early) / 10))


@pytest.mark.parametrize(
    ("looks", "shares"),
    [(1, (0.05,)), (2, (0.005, 0.045)), (3, (0.005, 0.005, 0.04))],
)
def test_shares_by_hand(looks: int, shares: tuple[float, ...]) -> None:
    assert stats.spend_alpha(looks) == pytest.approx(shares)


@pytest.mark.parametrize(
    ("p_values", "alphas", "levels"),
    [
        ([], [], []),
        ([0.5], [0.05], [0.05]),
        ([0.01, 0.04], [0.05, 0.05], [0.025, 0.05]),
        ([0.04, 0.01], [0.05, 0.05], [0.05, 0.025]),
        ([0.03, 0.04], [0.05, 0.05], [0.025, 0.025]),  # the first fails, so the second is not tested more mildly
        ([0.001, 0.02, 0.03], [0.06, 0.06, 0.06], [0.02, 0.03, 0.06]),
        ([0.001, 0.04, 0.03], [0.06, 0.06, 0.06], [0.02, 0.06, 0.03]),
        ([0.001, 0.05, 0.04], [0.06, 0.06, 0.06], [0.02, 0.03, 0.03]),
        ([0.001, 0.9, 0.8, 0.7], [0.04] * 4, [0.01, 0.04 / 3, 0.04 / 3, 0.04 / 3]),
        ([0.01, 0.01], [0.01, 0.05], [0.01, 0.025]),  # 0.01 of 0.05 comes first
    ],
)
def test_holm_by_hand(p_values: list[float], alphas: list[float], levels: list[float]) -> None:
    assert stats.holm_levels(p_values, alphas) == pytest.approx(levels)


def holm_rejects(p_values: Sequence[float], alpha: float) -> list[bool]:
    """Holm's procedure as textbooks write it."""
    rejected = [False] * len(p_values)
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[index] > alpha / (len(p_values) - rank):
            break
        rejected[index] = True
    return rejected


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=8))
def test_a_p_value_lies_below_its_level_exactly_when_holm_rejects(p_values: list[float]) -> None:
    levels = stats.holm_levels(p_values, [0.05] * len(p_values))
    assert [p <= level for p, level in zip(p_values, levels, strict=True)] == holm_rejects(p_values, 0.05)


@given(st.lists(st.floats(-4, 4), min_size=1, max_size=6), st.integers(0, 1000))
def test_an_interval_at_its_level_excludes_zero_exactly_when_holm_rejects(shifts: list[float], seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 4000
    draws = [rng.normal(shift, 1, count) for shift in shifts]
    p_values = [stats.two_sided_p(each) for each in draws]
    levels = stats.holm_levels(p_values, [0.05] * len(shifts))
    for draw, p, level, rejected in zip(draws, p_values, levels, holm_rejects(p_values, 0.05), strict=True):
        low, high = stats.interval(draw, level)
        excludes_zero = low > 0 or high < 0
        if rejected:
            assert excludes_zero
        elif p > level + 4 / count:  # p counts one draw more than there are: it never calls an event impossible
            assert not excludes_zero


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=50))
def test_a_p_value_lies_between_zero_and_one_and_has_no_side(numbers: list[float]) -> None:
    draws = np.array(numbers)
    p = stats.two_sided_p(draws)
    assert 0 < p <= 1
    assert stats.two_sided_p(-draws) == p


@pytest.mark.parametrize(
    ("draws", "p"),
    [([1.0] * 99, 0.02), ([-1.0] * 99, 0.02), ([0.0] * 99, 1.0), ([1.0] * 95 + [-1.0] * 4, 0.1), ([1.0, -1.0], 1.0)],
)
def test_p_values_by_hand(draws: list[float], p: float) -> None:
    assert stats.two_sided_p(np.array(draws)) == pytest.approx(p)


@given(st.integers(1, 200), st.sampled_from([alpha for looks in (1, 2, 3) for alpha in stats.spend_alpha(looks)]))
def test_there_are_draws_enough_to_reject_at_the_smallest_level(comparisons: int, alpha: float) -> None:
    count = stats.draws_needed(comparisons, alpha)
    assert 2 / (count + 1) < alpha / comparisons


def test_several_intervals_are_those_of_their_levels_from_as_many_draws_as_these_need() -> None:
    alphas = [0.05, 0.005]
    wanted: list[int] = []

    def draw(number: int) -> list[stats.Floats]:
        wanted.append(number)
        return [np.linspace(-1, shift, 1001) for shift in (3.0, 1.0)]

    draws = draw(stats.draws_needed(2, 0.005))
    levels = stats.holm_levels([stats.two_sided_p(each) for each in draws], alphas)
    assert stats.holm_intervals(alphas, draw) == [stats.interval(*each) for each in zip(draws, levels, strict=True)]
    assert wanted[0] == wanted[1]
    assert stats.holm_intervals([], lambda _: []) == []


@pytest.mark.parametrize(("comparisons", "alpha", "count"), [(1, 0.05, 4000), (20, 0.05, 8000), (1, 0.001, 20_000)])
def test_draws_by_hand(comparisons: int, alpha: float, count: int) -> None:
    assert stats.draws_needed(comparisons, alpha) == count


# ---------------------------------------------------------------- percentiles


@pytest.mark.parametrize(("quantile", "needed"), [(0.90, 64), (0.99, 662)])
def test_a_percentile_needs_its_calls(quantile: float, needed: int) -> None:
    assert stats.percentile(range(needed - 1), quantile) is None
    assert stats.percentile(range(needed), quantile) == pytest.approx(quantile * (needed - 1))
    assert stats.percentile([], quantile) is None
