"""The statistics on distributions whose truth is known; every seed is fixed, so that nothing flakes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze import statistics as stats

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


def one_group(values: stats.Floats) -> stats.Ints:
    return np.zeros(len(values), dtype=np.int64)


def covered(sample: Sample, launches: int) -> float:
    """Part of the data sets whose 95 % interval holds the truth."""
    hits = 0
    for seed in range(DATA_SETS):
        values = sample(np.random.default_rng(seed))
        groups = np.arange(len(values)) * launches // len(values)
        low, high = stats.interval(stats.bootstrap_medians(values, groups, 1000, seed), 0.05)
        hits += low <= TRUTH <= high
    return hits / DATA_SETS


@pytest.mark.parametrize("launches", [1, 3])
@pytest.mark.parametrize("sample", [normal, heavy_tailed, skewed, autoregressive, few])
def test_an_interval_holds_the_true_median_as_often_as_it_promises(sample: Sample, launches: int) -> None:
    assert covered(sample, launches) >= 0.93


def test_an_interval_narrows_with_the_root_of_the_rounds() -> None:
    rng = np.random.default_rng(0)
    widths = []
    for rounds in (100, 400, 1600):
        values = rng.normal(0, 0.01, rounds)
        low, high = stats.interval(stats.bootstrap_medians(values, one_group(values), 2000, 0), 0.05)
        widths.append(high - low)
    assert widths[0] > widths[1] > widths[2]
    assert 2.5 < widths[0] / widths[2] < 6.5


def test_launches_that_disagree_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 25)
    values = rng.normal(0, 0.001, 100) + np.array([-0.02, -0.01, 0.01, 0.02])[groups]

    def width(groups: stats.Ints) -> float:
        low, high = stats.interval(stats.bootstrap_medians(values, groups, 2000, 0), 0.05)
        return high - low

    assert width(groups) > 0.02
    assert width(groups) > width(np.zeros(100, dtype=np.int64))


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
    groups = np.arange(len(values)) % launches
    draws = stats.bootstrap_medians(values, groups, 50, seed)
    assert draws.shape == (50,)
    assert np.isfinite(draws).all()
    np.testing.assert_array_equal(draws, stats.bootstrap_medians(values, groups, 50, seed))
    np.testing.assert_allclose(stats.bootstrap_medians(values + shift, groups, 50, seed), draws + shift, atol=1e-9)


@given(st.floats(-1, 1), st.integers(1, 60))
def test_equal_values_leave_no_doubt(value: float, rounds: int) -> None:
    values = np.full(rounds, value)
    low, high = stats.interval(stats.bootstrap_medians(values, one_group(values), 200, 0), 0.05)
    assert low == pytest.approx(value) == high


# ---------------------------------------------------------------- levels


@given(st.integers(1, 100))
def test_looks_spend_all_of_alpha_and_more_each_time(looks: int) -> None:
    shares = stats.spend_alpha(looks)
    assert len(shares) == looks
    assert sum(shares) == pytest.approx(stats.ALPHA)
    assert list(shares) == sorted(set(shares))
    assert shares[0] > 0


@pytest.mark.parametrize(
    ("looks", "shares"),
    [(1, (0.05,)), (2, (0.05 / 3, 0.1 / 3)), (3, (0.05 / 6, 0.1 / 6, 0.15 / 6))],
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


# ---------------------------------------------------------------- percentiles


@pytest.mark.parametrize(("quantile", "needed"), [(0.90, 64), (0.99, 662)])
def test_a_percentile_needs_its_calls(quantile: float, needed: int) -> None:
    assert stats.calls_missing(needed - 10, quantile) == 10
    assert stats.calls_missing(needed + 10, quantile) == 0
    assert stats.percentile(range(needed - 1), quantile) is None
    assert stats.percentile(range(needed), quantile) == pytest.approx(quantile * (needed - 1))
    assert stats.percentile([], quantile) is None
