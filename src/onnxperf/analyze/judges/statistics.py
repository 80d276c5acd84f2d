"""Statistics of noisy timings, whose independent units are launches or set-ups."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onnxperf.records.race import ALPHA, P90_CALLS, P99_CALLS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CALLS_NEEDED = {0.90: P90_CALLS, 0.99: P99_CALLS}
_FEWEST_TO_TRIM = 8
"""Minimum number of values for trimming; with fewer, the rest would underestimate the spread."""
_FEWEST_LAUNCHES = 3
"""Minimum number of launches for an interval: two say nothing about the spread."""
_MOST_MATCHED = 16
"""Number of fastest times of each side to match: all pairs of pairs are compared."""
_ALIKE = 0.01
"""Relative difference within which times agree."""
_HASTE = 20.0
"""Weight of fast times: a time slower by a tenth has 15 % of the weight."""
_ABOUT_AS_SLOW = 0.05
"""Difference in slowness that is ignored; larger differences are not explained by a lucky fastest time."""
_EARLY_SHARE = 0.3
"""Share of the error probability for all interim analyses before the last, which catch clear results early."""


def spend_alpha(looks: int) -> tuple[float, ...]:
    """The share of the 5 % available to each planned analysis.

    The shares add up to ALPHA, so ALPHA holds regardless of the dependence between analyses (union bound).
    """
    early = [_EARLY_SHARE * ALPHA / (looks - 1)] * (looks - 1) if looks > 1 else []
    return (*early, ALPHA - sum(early))


class Estimate(NamedTuple):
    """A value, its standard error, and the degrees of freedom of that error."""

    value: float
    error: float
    freedom: int

    @property
    def p_value(self) -> float:
        """Two-sided p-value for a true value of zero."""
        if self.error == 0:
            return 1.0 if self.value == 0 else 0.0
        return student_p(abs(self.value) / self.error, self.freedom)

    def interval(self, alpha: float) -> tuple[float, float]:
        """Confidence interval at level 1 - alpha."""
        reach = student_quantile(alpha, self.freedom) * self.error
        return self.value - reach, self.value + reach

    def beyond(self, least: float) -> float:
        """p-value for a true value at most `least` away from zero."""
        return Estimate(max(abs(self.value) - least, 0.0), self.error, self.freedom).p_value

    def wider(self, other: Estimate) -> Estimate:
        """The estimate with the wider interval."""
        return max(self, other, key=lambda each: student_quantile(ALPHA, each.freedom) * each.error)

    def minus(self, other: Estimate) -> Estimate:
        """The difference of two independent estimates (Welch and Satterthwaite)."""
        ours, theirs = self.error**2, other.error**2
        parts = ours**2 / self.freedom + theirs**2 / other.freedom
        freedom = int((ours + theirs) ** 2 / parts) if parts else min(self.freedom, other.freedom)
        return Estimate(self.value - other.value, math.sqrt(ours + theirs), freedom)


def trimmed_mean(values: Floats) -> Estimate:
    """The mean of independent values without a fifth of them at each end, with Yuen's error.

    Occasionally a process has a bad memory layout, or is disturbed throughout, and its value is far off. With one such
    value in sixteen, Student's interval of the plain mean is several times wider.
    """
    count = len(values)
    cut = count // 5 if count >= _FEWEST_TO_TRIM else 0
    kept = count - 2 * cut
    ordered = np.sort(values)
    winsorized = np.clip(values, ordered[cut], ordered[count - cut - 1])
    error = math.sqrt((count - 1) * float(winsorized.var(ddof=1)) / (kept * (kept - 1)))
    return Estimate(float(ordered[cut : count - cut].mean()), error, kept - 1)


def matching_shift(ours: Floats, theirs: Floats, quickest: tuple[float, float]) -> float:
    """The log of the ratio theirs / ours at which most times agree with each other, with more weight on fast ones.

    The slowness of a time is relative to the `quickest` time that each side ever reached. Since all launches share
    these two references, times of similar slowness are weighted by the mean of both, which is insensitive to a wrong
    reference.

    A processor of a shared host is fast for a while, then slower by 10 to 40 % for a while. Minima would compare a fast
    phase of one side with a slow phase of the other whenever one side had no fast phase, and medians depend on the
    number of each. Here slow times match slow ones, and fast times match fast ones.
    """
    one, other = (np.sort(np.log(times))[:_MOST_MATCHED] for times in (ours, theirs))
    shifts = np.subtract.outer(other, one).ravel()
    slow, slow_other = one - math.log(quickest[0]), other - math.log(quickest[1])
    unlike = np.maximum(np.abs(np.subtract.outer(slow_other, slow)) - _ABOUT_AS_SLOW, 0.0)
    weights = np.exp(-_HASTE * (np.add.outer(slow_other, slow) / 2 + unlike).ravel())
    nearness: Floats = np.exp(-0.5 * (np.subtract.outer(shifts, shifts) / _ALIKE) ** 2)
    votes = nearness[np.argmax(nearness @ weights)] * weights
    return float(votes @ shifts / votes.sum())


def by_unit(summary: Callable[[Floats], object], values: Floats, units: Ints) -> Floats:
    """One summary value per unit; units are numbered from 0."""
    return np.array([summary(values[units == unit]) for unit in range(int(units.max()) + 1)], dtype=np.float64)


def ratio_of_spreads(values: Floats, units: Ints, of_units: Floats) -> float:
    """Variation of values within units relative to that between units (medians of both).

    `of_units` contains the summary value of each unit.
    """
    within = np.median(np.abs(values - by_unit(np.median, values, units)[units]))
    between = np.median(np.abs(of_units - np.median(of_units)))
    return float(within / between) if between > 0 else math.inf


def student_p(t: float, freedom: int) -> float:
    """The two-sided p-value of Student's t with integer degrees of freedom, from its finite series."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    is_odd = freedom % 2 == 1
    term = total = cosine if is_odd else 1.0
    for index in range(3 if is_odd else 2, freedom - 1, 2):
        term *= cosine**2 * (index - 1) / index
        total += term
    inside = sine * total if freedom > 1 else 0.0
    if is_odd:
        inside = 2 / math.pi * (angle + inside)
    return max(0.0, 1.0 - inside)


@cache
def student_quantile(alpha: float, freedom: int) -> float:
    """The two-sided quantile of Student's distribution for probability alpha (by bisection)."""
    low, high = 0.0, 1.0
    while student_p(high, freedom) > alpha:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_p(middle, freedom) > alpha else (low, middle)
    return high


def holm_levels(p_values: Sequence[float], alphas: Sequence[float]) -> list[float]:
    """The level at which Holm's procedure tests each hypothesis, so that an interval at that level matches its verdict.

    Hypotheses may have different alphas (races end at different analyses), so they are ordered by p / alpha. After the
    first that is not rejected, the divisor stays the same.
    """
    count = len(p_values)
    levels = [0.0] * count
    divisor, failed = count, False
    for index in sorted(range(count), key=lambda i: p_values[i] / alphas[i]):
        levels[index] = alphas[index] / divisor
        failed = failed or p_values[index] > levels[index]
        if not failed:
            divisor -= 1
    return levels


def mean_of(values: Floats) -> Estimate:
    """The plain mean of independent values, with Student's error."""
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)), len(values) - 1)


class Percentile(NamedTuple):
    """A percentile of single calls, with its 95 % interval if there are enough launches."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


def percentile(by_launch: Sequence[Floats], quantile: float) -> Percentile:
    """A percentile of the calls of all launches; empty if there are too few calls.

    Its interval is Woodruff's over launches, based on the share of calls below the percentile in each launch, because
    calls of one launch are not independent. A mean of the launches' own percentiles would be biased.
    """
    values = np.concatenate(by_launch) if by_launch else np.empty(0)
    if len(values) < _CALLS_NEEDED.get(quantile, 1):
        return Percentile()
    value = float(np.quantile(values, quantile))
    if len(by_launch) < _FEWEST_LAUNCHES:
        return Percentile(value)
    shares = mean_of(np.array([np.mean(calls <= value) for calls in by_launch]))
    reach = student_quantile(ALPHA, shares.freedom) * shares.error
    low, high = np.quantile(values, np.clip([quantile - reach, quantile + reach], 0.0, 1.0))
    return Percentile(value, min(float(low), value), max(float(high), value))
