"""Pure statistics of paired, noisy, autocorrelated timings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALPHA = 0.05
_BOUND = {0.90: 64, 0.99: 662}
"""Calls that a percentile needs at least (MLPerf LoadGen's arithmetic)."""


def spend_alpha(looks: int) -> tuple[float, ...]:
    """The share of the 5 % that each planned look may use up: little at first, most at the end.

    The shares add up to ALPHA, so the promise holds whatever the dependence between looks (union bound).
    """
    total = looks * (looks + 1) / 2
    return tuple(ALPHA * look / total for look in range(1, looks + 1))


def bootstrap_medians(values: Floats, groups: Ints, draws: int, seed: int) -> Floats:
    """Medians of resampled data: groups (launches) are drawn first, then runs of neighbouring values within them.

    Neighbours stay together because noise lasts longer than a round. Few runs know little of their own spread, so the
    draws are widened as Student's distribution would: false alarms of short races fall from 7 to 4 % (fidelity.py).
    """
    _, sizes = np.unique(groups, return_counts=True)
    values = values[np.argsort(groups, kind="stable")]
    offsets = np.cumsum(sizes) - sizes
    per_group = math.ceil(len(values) / len(sizes))
    run = max(1, round(math.sqrt(per_group)))
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(sizes), size=(draws, len(sizes)))
    size, offset = sizes[chosen][..., None], offsets[chosen][..., None]
    begin = np.floor(rng.random((draws, len(sizes), math.ceil(per_group / run))) * size).astype(np.int64)
    index = (begin[..., None] + np.arange(run)).reshape(draws, len(sizes), -1)[..., :per_group] % size + offset
    medians = np.median(values[index].reshape(draws, -1), axis=1)
    center, independent = np.median(values), len(values) / run
    return np.asarray(center + (medians - center) * math.sqrt(independent / max(independent - 3, 1)), dtype=np.float64)


def two_sided_p(draws: Floats) -> float:
    """How often the bootstrap crosses zero, as a two-sided p-value; never 0, as the draws are finite."""
    below, above = np.count_nonzero(draws <= 0), np.count_nonzero(draws >= 0)
    return min(1.0, 2 * (min(below, above) + 1) / (len(draws) + 1))


def interval(draws: Floats, alpha: float) -> tuple[float, float]:
    """The central 1 - alpha of the draws."""
    low, high = np.quantile(draws, [alpha / 2, 1 - alpha / 2])
    return float(low), float(high)


def holm_levels(p_values: Sequence[float], alphas: Sequence[float]) -> list[float]:
    """The level at which Holm's procedure tests each hypothesis, so that an interval of that level tells its verdict.

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


def draws_needed(comparisons: int, alpha: float) -> int:
    """Enough draws that the smallest p-value lies well below the smallest level."""
    return max(4000, math.ceil(20 * comparisons / alpha))


def percentile(values: Sequence[int], quantile: float) -> float | None:
    """A percentile of single calls, or None when there are too few of them."""
    return float(np.quantile(values, quantile)) if calls_missing(len(values), quantile) == 0 else None


def calls_missing(calls: int, quantile: float) -> int:
    """How many calls a percentile still needs."""
    return max(0, _BOUND[quantile] - calls)
