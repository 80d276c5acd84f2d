"""Pure statistics of paired, noisy, autocorrelated timings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from onnxperf.records.race import ALPHA, P90_CALLS, P99_CALLS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CHUNK = 4_000_000
"""Weights that are held at a time: long races have tens of thousands of rounds."""
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306)
_CALLS_NEEDED = {0.90: P90_CALLS, 0.99: P99_CALLS}


def spend_alpha(looks: int) -> tuple[float, ...]:
    """The share of the 5 % that each planned look may use up: a tenth at early ones, which are for large differences.

    The shares add up to ALPHA, so that ALPHA holds whatever the dependence between looks (union bound).
    """
    early = [ALPHA / 10] * (looks - 1)
    return (*early, ALPHA - sum(early))


def bootstrap_medians(values: Floats, launches: Ints, runs: Ints, draws: int, seed: int) -> Floats:
    """Medians of resampled data: launches are drawn first, then runs of neighbouring values within them.

    A run stays together because its values share a memory layout and the conditions of a moment. Few runs and
    few launches show little of their own spread, so the draws are widened.
    """
    rng = np.random.default_rng(seed)
    run_names, run_of = np.unique(runs, return_inverse=True)
    launch_of = np.array([launches[run_of == run][0] for run in range(len(run_names))])
    launch_names = np.unique(launch_of)
    times_drawn = rng.multinomial(len(launch_names), np.full(len(launch_names), 1 / len(launch_names)), size=draws)
    weights = np.zeros((draws, len(run_names)), dtype=np.int64)
    for index, launch in enumerate(launch_names):
        members = np.flatnonzero(launch_of == launch)
        chances = np.full(len(members), 1 / len(members))
        weights[:, members] = rng.multinomial(times_drawn[:, index] * len(members), chances)
    rows = max(1, _CHUNK // len(values))
    medians = np.concatenate(
        [weighted_medians(values, weights[start : start + rows, run_of]) for start in range(0, draws, rows)]
    )
    center = np.median(values)
    return np.asarray(center + (medians - center) * widening(len(run_names), len(launch_names)), dtype=np.float64)


def runs_of(set_ups: Ints) -> Ints:
    """Number the runs of neighbouring rounds: a set-up each, cut into pieces where it is long."""
    longest = max(5, round(math.sqrt(len(set_ups))))
    runs, run, length = np.zeros(len(set_ups), dtype=np.int64), 0, 0
    for index in range(1, len(set_ups)):
        length += 1
        if set_ups[index] != set_ups[index - 1] or length == longest:
            run, length = run + 1, 0
        runs[index] = run
    return runs


def weighted_medians(values: Floats, weights: Ints) -> Floats:
    """The median of `values` for each row of whole-number weights."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[:, order], axis=1)
    middle = reached[:, -1:]
    lower = np.argmax(2 * reached >= middle, axis=1)
    upper = np.argmax(2 * reached > middle, axis=1)
    ordered = values[order]
    return np.asarray((ordered[lower] + ordered[upper]) / 2, dtype=np.float64)


def widening(runs: int, launches: int) -> float:
    """As Student's distribution for the runs; drawing from n launches shows only (n - 1) / n of their variance."""
    return math.sqrt(runs / max(runs - 3, 1)) * math.sqrt(launches / max(launches - 1, 1))


def two_sided_p(draws: Floats) -> float:
    """How often the bootstrap crosses zero, as a two-sided p-value; never 0, as the draws are finite."""
    below, above = np.count_nonzero(draws <= 0), np.count_nonzero(draws >= 0)
    return min(1.0, 2 * (min(below, above) + 1) / (len(draws) + 1))


def sign_test(values: Floats, least: float) -> float:
    """The two-sided p-value of values that all lie beyond `least` on one side of zero; 1 where they do not."""
    agree = bool(values.size) and (bool(np.all(values > least)) or bool(np.all(values < -least)))
    return 2.0 ** (1 - len(values)) if agree else 1.0


def range_of(values: Floats, alpha: float) -> tuple[float, float] | None:
    """From the lowest to the highest, an exact interval of their median; None where they are too few for its level."""
    return (float(values.min()), float(values.max())) if 2.0 ** (1 - len(values)) <= alpha else None


def student_reach(means: Floats) -> float:
    """Half of the 95 % interval of the mean of independent means."""
    return student_quantile(len(means) - 1) * float(means.std(ddof=1)) / math.sqrt(len(means))


def student_quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's distribution: by table where it is steep, else by Cornish and Fisher."""
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    z = NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def interval(draws: Floats, alpha: float) -> tuple[float, float]:
    """The central 1 - alpha of the draws."""
    low, high = np.quantile(draws, [alpha / 2, 1 - alpha / 2])
    return float(low), float(high)


def holm_levels(p_values: Sequence[float], alphas: Sequence[float]) -> list[float]:
    """The level at which Holm's procedure tests each hypothesis, so that an interval of that level shows its verdict.

    Each hypothesis may have a level of its own (races end at different looks): they are ordered by p / alpha. The
    first that is not rejected keeps all later ones at its own divisor.
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


def holm_intervals(alphas: Sequence[float], draw: Callable[[int], Sequence[Floats]]) -> list[tuple[float, float]]:
    """An interval for each of several comparisons, so that many of them raise no more false alarms than one.

    `draw` makes that many draws of each.
    """
    draws = draw(draws_needed(max(len(alphas), 1), min(alphas, default=ALPHA)))
    levels = holm_levels([two_sided_p(each) for each in draws], alphas)
    return [interval(*each) for each in zip(draws, levels, strict=True)]


def draws_needed(comparisons: int, alpha: float) -> int:
    """Enough draws that the smallest p-value lies well below the smallest level."""
    return max(4000, math.ceil(20 * comparisons / alpha))


def percentile(values: Sequence[int], quantile: float) -> float | None:
    """A percentile of single calls, or None when there are too few of them."""
    return float(np.quantile(values, quantile)) if len(values) >= _CALLS_NEEDED[quantile] else None
