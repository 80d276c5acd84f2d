"""The statistics on distributions whose truth is known; every seed is fixed, so that nothing flakes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st

from onnxperf.analyze.judges import statistics as stats
from onnxperf.records.race import ALPHA

Sample = Callable[[np.random.Generator, int], stats.Floats]

TRUTH = 0.02
DATA_SETS = 2000
VALUES = st.lists(st.floats(-1, 1), min_size=5, max_size=40)


def normal(rng: np.random.Generator, units: int) -> stats.Floats:
    return rng.normal(TRUTH, 0.01, units)


def heavy_tailed(rng: np.random.Generator, units: int) -> stats.Floats:
    return np.asarray(TRUTH + 0.01 * rng.standard_t(2.5, units))


def with_outliers(rng: np.random.Generator, units: int) -> stats.Floats:
    """One launch in eight lies badly in memory, on one side or the other."""
    return rng.normal(TRUTH, np.where(rng.random(units) < 1 / 8, 0.1, 0.01))


def of_two_skewed_sides(rng: np.random.Generator, units: int) -> stats.Floats:
    """A ratio of two times, each of which is rarely far above its usual value."""
    one, other = rng.exponential(0.01, (2, units))
    return np.asarray(TRUTH + one - other)


SAMPLES = (normal, heavy_tailed, with_outliers, of_two_skewed_sides)


@pytest.mark.parametrize("units", [5, 8, 16, 32])
@pytest.mark.parametrize("sample", SAMPLES)
def test_an_interval_holds_the_truth_as_often_as_it_promises(sample: Sample, units: int) -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(DATA_SETS):
        low, high = stats.trimmed_mean(sample(rng, units)).interval(0.05)
        hits += low <= TRUTH <= high
    assert 0.94 <= hits / DATA_SETS <= 0.99


def test_one_value_far_off_hardly_widens_the_interval() -> None:
    values = np.random.default_rng(0).normal(0, 0.01, 16)
    spoilt = np.append(values[:-1], 5.0)
    plain, robust = (stats.trimmed_mean(each).error for each in (values, spoilt))
    assert robust < 2 * plain
    assert spoilt.std(ddof=1) / 4 > 50 * plain


@given(VALUES, st.floats(-5, 5))
def test_a_trimmed_mean_lies_among_its_values_and_moves_with_them(numbers: list[float], shift: float) -> None:
    values = np.array(numbers)
    estimate, moved = stats.trimmed_mean(values), stats.trimmed_mean(values + shift)
    assert values.min() - 1e-12 <= estimate.value <= values.max() + 1e-12
    assert moved.value == pytest.approx(estimate.value + shift, abs=1e-9)
    assert moved.error == pytest.approx(estimate.error, abs=1e-9)
    cut = len(values) // 5 if len(values) >= 8 else 0
    assert estimate.freedom == len(values) - 2 * cut - 1


@given(VALUES)
def test_the_order_of_values_does_not_matter(numbers: list[float]) -> None:
    assert stats.trimmed_mean(np.array(numbers)) == pytest.approx(stats.trimmed_mean(np.array(numbers[::-1])))


@pytest.mark.parametrize("units", [5, 7])
def test_few_values_are_judged_as_student_does(units: int) -> None:
    values = np.random.default_rng(1).normal(0.3, 1, units)
    expected = scipy.stats.ttest_1samp(values, 0.0)
    estimate = stats.trimmed_mean(values)
    assert estimate.p_value == pytest.approx(expected.pvalue)
    assert estimate.interval(0.05) == pytest.approx(tuple(expected.confidence_interval(0.95)))


@pytest.mark.parametrize("units", [8, 16, 23, 40])
def test_more_values_are_judged_as_yuen_does(units: int) -> None:
    values = np.random.default_rng(1).standard_t(3, units)
    cut = units // 5
    winsorized = scipy.stats.mstats.winsorize(values, (cut / units, cut / units))
    error = np.std(winsorized, ddof=1) / ((1 - 2 * cut / units) * math.sqrt(units))
    estimate = stats.trimmed_mean(values)
    assert estimate.value == pytest.approx(scipy.stats.trim_mean(values, cut / units))
    # Yuen divides by h (h - 1), which is a little more careful than by (1 - 2 g / n) squared times n.
    assert error <= estimate.error <= 1.2 * error


@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 20), st.floats(0.1, 10.0))
def test_a_shift_moves_with_the_times_and_turns_round_with_the_sides(
    seed: int, ours: int, theirs: int, factor: float
) -> None:
    rng = np.random.default_rng(seed)  # random times, so that no two shifts have as many votes
    one, other = rng.uniform(1.0, 1.6, ours), rng.uniform(1.0, 1.6, theirs)
    shift = stats.matching_shift(one, other, (1.0, 1.0))
    assert abs(shift) <= math.log(1.6)
    assert stats.matching_shift(one, factor * other, (1.0, factor)) == pytest.approx(math.log(factor) + shift, abs=1e-6)
    assert stats.matching_shift(other, one, (1.0, 1.0)) == pytest.approx(-shift, abs=1e-6)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ([100, 100.1, 126, 131], [102, 102.1, 128.5, 133.6]),  # both sides met a quick while
        ([100, 100.1, 124, 125, 126, 127], [126.5, 127.5, 128.5, 129.5]),  # only one of them did
        ([100, 119, 133, 147], [102, 111, 140, 158]),  # of each side one block was left alone
    ],
)
def test_quick_times_are_matched_with_quick_ones_and_slow_with_slow(ours: list[float], theirs: list[float]) -> None:
    shift = stats.matching_shift(np.array(ours), np.array(theirs), (100.0, 102.0))
    assert shift == pytest.approx(math.log(1.02), abs=0.002)


def test_one_number_for_the_values_of_each_unit() -> None:
    values, units = np.array([1.0, 9.0, 2.0, 3.0, 30.0, 4.0]), np.array([0, 1, 0, 0, 1, 2])
    assert stats.by_unit(np.median, values, units).tolist() == [2.0, 19.5, 4.0]
    assert stats.by_unit(np.min, values, units).tolist() == [1.0, 9.0, 4.0]


# ---------------------------------------------------------------- Student


@given(st.floats(0, 50), st.integers(1, 300))
def test_p_values_are_those_of_students_distribution(t: float, freedom: int) -> None:
    assert stats.student_p(t, freedom) == pytest.approx(2 * scipy.stats.t.sf(t, freedom), rel=1e-6, abs=1e-12)


@given(st.floats(1e-6, 1), st.integers(1, 300))
def test_quantiles_are_those_of_students_distribution(alpha: float, freedom: int) -> None:
    expected = float(scipy.stats.t.isf(alpha / 2, freedom))
    assert stats.student_quantile(alpha, freedom) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(st.floats(-1, 1), st.floats(0, 1), st.integers(1, 50), st.floats(0.001, 0.2))
def test_an_interval_excludes_zero_exactly_when_the_p_value_is_below_its_level(
    value: float, error: float, freedom: int, alpha: float
) -> None:
    estimate = stats.Estimate(value, error, freedom)
    assume(abs(estimate.p_value - alpha) > 1e-9)
    low, high = estimate.interval(alpha)
    assert (low > 0 or high < 0) == (estimate.p_value < alpha)


def test_equal_values_leave_no_doubt() -> None:
    assert stats.trimmed_mean(np.full(9, 0.5)).interval(0.05) == (0.5, 0.5)
    assert stats.Estimate(0.0, 0.0, 3).p_value == 1.0
    assert stats.Estimate(0.1, 0.0, 3).p_value == 0.0


def test_a_difference_of_estimates_is_judged_as_welch_does() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(0, 1, 6), rng.normal(0.5, 3, 7)
    expected = scipy.stats.ttest_ind(one, other, equal_var=False)
    difference = stats.trimmed_mean(one).minus(stats.trimmed_mean(other))
    assert difference.value / difference.error == pytest.approx(expected.statistic)
    assert difference.freedom == int(expected.df)
    exact = stats.Estimate(1.0, 0.0, 4)
    assert exact.minus(stats.Estimate(0.25, 0.0, 9)) == stats.Estimate(0.75, 0.0, 4)


# ---------------------------------------------------------------- levels


@pytest.mark.parametrize(("looks", "shares"), [(1, (0.05,)), (2, (0.015, 0.035)), (3, (0.0075, 0.0075, 0.035))])
def test_looks_spend_all_of_alpha_and_most_of_it_at_the_last(looks: int, shares: tuple[float, ...]) -> None:
    assert stats.spend_alpha(looks) == pytest.approx(shares)
    assert sum(stats.spend_alpha(looks)) == pytest.approx(ALPHA)


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


# ---------------------------------------------------------------- percentiles


@pytest.mark.parametrize(("quantile", "needed"), [(0.90, 64), (0.99, 662)])
def test_a_percentile_needs_its_calls(quantile: float, needed: int) -> None:
    assert stats.percentile([np.arange(needed - 1.0)], quantile).value is None
    assert stats.percentile([np.arange(float(needed))], quantile).value == pytest.approx(quantile * (needed - 1))
    assert stats.percentile([], quantile).value is None


def test_the_interval_of_a_percentile_needs_launches_and_surrounds_it() -> None:
    launches = [np.random.default_rng(seed).exponential(1.0, 1000) for seed in range(6)]
    found = stats.percentile(launches, 0.99)
    assert (found.low or 0) < (found.value or 0) < (found.high or 0) < 2 * (found.value or 0)
    assert stats.percentile(launches[:2], 0.99).low is None


def test_the_interval_of_a_percentile_holds_the_truth_as_often_as_it_says() -> None:
    truth, inside = -math.log(0.01), 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        found = stats.percentile([random.exponential(1.0, 500) for _ in range(8)], 0.99)
        inside += (found.low or 0) <= truth <= (found.high or 0)
    assert inside >= 180
