"""Change points of a series: E-divisive with a t-test instead of permutations, as in Apache Otava."""

# The energy statistic proposes the best split of each of many windows (Matteson and James, 2014), Welch's t-test
# decides it (arXiv 2301.03034 and 2505.06758), weak ones are merged again, and least squares refine their positions.
# Correlated values carry less information than independent ones: the correlation is estimated between the proposed
# changes, and the remaining changes must be significant with the resulting error. Nothing is random: the same runs
# always have the same change points.

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import groupby
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onnxperf.analyze.judges.statistics import Estimate, Floats, Ints
from onnxperf.records.history import FEWEST_POINTS
from onnxperf.records.race import ALPHA

FEWEST = FEWEST_POINTS // 2
"""Minimum number of values on each side of a change."""
_WINDOWS = (50, 200)
"""Window sizes: short windows find short-lived changes, long windows small changes."""
_NEIGHBOURS = 9
"""Number of neighboring values whose median estimates the level."""
_FAR = 3.0
"""Number of deviations from that median to which outliers are clipped."""
_AT_ONCE = 400_000
"""Number of distances computed at a time."""
_TO_DEVIATION = 1.4826
"""Factor from the median absolute deviation to the standard deviation of a normal distribution."""
_MOST_CORRELATED = 0.99
"""Maximum correlation; beyond it, no number of values would be enough."""
_MARGIN = NormalDist().inv_cdf(0.9)
"""Standard errors added to an estimated correlation, since underestimates cause false changes."""
_ESTIMATES = 3
"""Maximum number of correlation estimates; each time, fewer changes remain."""
_LEAST_FREEDOM = 1e-3
"""Minimum degrees of freedom, for values worth no more than one."""


class LevelChange(NamedTuple):
    """A change of the level."""

    place: int
    """Index of the first value after it."""
    before: float
    """Mean of the values since the previous change."""
    after: float
    """Mean of the values up to the next change."""
    difference: Estimate
    """After - before, with an error that accounts for the correlation of the values."""
    p_value: float
    """p-value, corrected for all positions searched."""


class Levels(NamedTuple):
    """Change points of a series."""

    changes: list[LevelChange]
    correlation: float
    """Correlation of consecutive values between the changes."""


def change_points(values: Sequence[float] | Floats, min_change: float = 0.0, several: int = 1) -> list[LevelChange]:
    """The positions where the mean of the values changes by at least `min_change`."""
    return find_levels(values, min_change, several).changes


def find_levels(values: Sequence[float] | Floats, min_change: float = 0.0, several: int = 1) -> Levels:
    """Change points, and the correlation of consecutive values.

    In `several` series without changes, the probability of any false change is at most 5 % in total: every position of
    every window counts as a separate test (Bonferroni).
    """
    series = without_outliers(np.asarray(values, dtype=np.float64))
    windows = list(_windows(len(series)))
    tests = several * sum(end - begin - 2 * FEWEST + 1 for begin, end in windows)
    found: dict[int, float] = {}
    for begin, place, end in _promising(series, windows, tests):
        for place_found, p_value in _splits(series, begin, end, tests, place):
            found[place_found] = min(p_value, found.get(place_found, 1.0))
    places, correlation = _apart(found), correlation_within(series, [])
    test = partial(_change, series, tests=tests, correlation=_cautious(correlation, len(series)))
    for _ in range(_ESTIMATES if places else 0):
        correlation, before = correlation_within(series, places), places
        test = partial(_change, series, tests=tests, correlation=_cautious(correlation, len(series)))
        places = _merged(_refined(series, _merged(places, test, min_change)), test, min_change)
        if places == before:
            break
    return Levels([test(places, each) for each in range(len(places))], correlation)


def correlation_within(series: Floats, places: Sequence[int]) -> float:
    """Correlation of consecutive values between these positions; negative correlation counts as 0.

    Each estimated level hides a part of it, (1 + 3 times itself) / number (Kendall, 1954), which is added back.
    """
    parts = [part - part.mean() for part in np.split(series, places) if len(part)]
    square = sum(float(part @ part) for part in parts)
    count, levels = len(series), len(parts)
    if square == 0:
        return 0.0
    if count <= 3 * levels:
        return _MOST_CORRELATED
    products = sum(float(part[1:] @ part[:-1]) for part in parts)
    seen = products / square * count / (count - levels)
    return min(max(0.0, (count * seen + levels) / (count - 3 * levels)), _MOST_CORRELATED)


def _cautious(correlation: float, count: int) -> float:
    """The correlation plus a margin of error from Fisher's transformation."""
    return min(math.tanh(math.atanh(correlation) + _MARGIN / math.sqrt(max(count, 1))), _MOST_CORRELATED)


def without_outliers(series: Floats) -> Floats:
    """The values, clipped to three deviations from the median of their neighbors, so that single outliers move no
    mean."""
    half = _NEIGHBOURS // 2
    if len(series) < _NEIGHBOURS:
        return series
    padded = np.concatenate([series[half - 1 :: -1], series, series[: -half - 1 : -1]])
    around = np.median(np.lib.stride_tricks.sliding_window_view(padded, _NEIGHBOURS), axis=1)
    off = series - around
    reach = _FAR * _TO_DEVIATION * float(np.median(np.abs(off)))
    return np.asarray(around + np.clip(off, -reach, reach), dtype=np.float64)


def _windows(count: int) -> Iterator[tuple[int, int]]:
    """Windows that overlap by half; a series shorter than the longest window is also searched as a whole."""
    widths = [width for width in _WINDOWS if width < count]
    if 2 * FEWEST <= count <= max(_WINDOWS):
        widths.append(count)
    for width in widths:
        yield from ((start, start + width) for start in range(0, count - width, width // 2))
        yield count - width, count


def _first_splits(series: Floats, windows: Sequence[tuple[int, int]]) -> list[int]:
    """The best split of every window, computed for many windows of one width at once."""
    places: list[int] = []
    for width, several in groupby(windows, key=lambda each: each[1] - each[0]):
        begins = [begin for begin, _ in several]
        step = max(1, _AT_ONCE // width**2)
        for first in range(0, len(begins), step):
            some = begins[first : first + step]
            best = best_splits(np.stack([series[begin : begin + width] for begin in some]))
            places += [begin + int(place) for begin, place in zip(some, best, strict=True)]
    return places


def _promising(series: Floats, windows: Sequence[tuple[int, int]], tests: int) -> list[tuple[int, int, int]]:
    """Windows with their best splits, without those whose split is clearly insignificant in a vectorized test."""
    if not windows:
        return []
    begins, ends = np.array(windows).T
    places = np.array(_first_splits(series, windows))
    centred = series - series.mean()
    sums, squares = (np.concatenate([[0.0], np.cumsum(values)]) for values in (centred, centred**2))
    means, variances = [], []
    for first, last in ((begins, places), (places, ends)):
        number = last - first
        mean = (sums[last] - sums[first]) / number
        means.append(mean)
        variances.append(((squares[last] - squares[first]) / number - mean**2) / (number - 1))
    # Normal instead of Student's distribution, with a margin for rounding errors in differences of sums.
    least = 0.9 * NormalDist().inv_cdf(1 - ALPHA / tests / 2)
    kept = (means[1] - means[0]) ** 2 >= least**2 * (variances[0] + variances[1])
    return list(zip(begins[kept].tolist(), places[kept].tolist(), ends[kept].tolist(), strict=True))


def _splits(series: Floats, begin: int, end: int, tests: int, place: int) -> Iterator[tuple[int, float]]:
    """Positions where a window, and recursively its parts, are split, as long as the test finds them different."""
    p_value = _p_value(_mean(series[place:end]).minus(_mean(series[begin:place])), tests)
    if p_value > ALPHA:
        return
    yield place, p_value
    for first, last in ((begin, place), (place, end)):
        if last - first >= 2 * FEWEST:
            inner = first + int(best_splits(series[None, first:last])[0])
            yield from _splits(series, first, last, tests, inner)


def best_splits(windows: Floats) -> Ints:
    """The position in each row at which the size-weighted energy distance of both sides is largest."""
    count = windows.shape[1]
    centred = windows - windows.mean(axis=1, keepdims=True)
    largest = np.abs(centred).max(axis=1, keepdims=True)
    scaled = np.divide(centred, largest, out=np.zeros_like(centred), where=largest > 0).astype(np.float32)
    distances = scaled[:, :, None] - scaled[:, None, :]  # single precision: enough for a proposal, in half the time
    np.abs(distances, out=distances)
    to_all = np.cumsum(distances @ np.ones(count, np.float32), axis=1, dtype=np.float64)
    before = np.einsum("wij,ij->wi", distances, _lower(count))
    left = 2 * np.cumsum(before, axis=1, dtype=np.float64)[:, :-1]
    across = to_all[:, :-1] - left
    right = to_all[:, -1:] - 2 * across - left
    first = np.arange(1, count)
    second = count - first
    energy = 2 * across / (first * second) - left / first**2 - right / second**2
    weighted = energy * first * second / count
    return np.asarray(FEWEST + np.argmax(weighted[:, FEWEST - 1 : count - FEWEST], axis=1), dtype=np.int64)


@lru_cache(maxsize=8)
def _lower(count: int) -> npt.NDArray[np.float32]:
    """Ones at and below the diagonal."""
    return np.tril(np.ones((count, count), np.float32))


def _apart(found: dict[int, float]) -> list[int]:
    """Positions without those too close to a more certain one."""
    kept: list[int] = []
    taken: set[int] = set()
    for place in sorted(found, key=lambda each: (found[each], each)):
        if place not in taken:
            kept.append(place)
            taken.update(range(place - FEWEST + 1, place + FEWEST))
    return sorted(kept)


def _merged(places: Sequence[int], test: Callable[[Sequence[int], int], LevelChange], min_change: float) -> list[int]:
    """The positions after merging similar segments, weakest changes first."""
    left = list(places)
    weak = [_weakness(test(left, index), min_change) for index in range(len(left))]
    while weak:
        weakest = max(range(len(left)), key=weak.__getitem__)
        if not weak[weakest][0]:
            break
        del left[weakest], weak[weakest]
        for index in range(max(0, weakest - 1), min(len(left), weakest + 1)):
            weak[index] = _weakness(test(left, index), min_change)
    return left


def _weakness(change: LevelChange, min_change: float) -> tuple[bool, float, float]:
    """Whether a change is too weak to count, and a sort key for weakness."""
    size = abs(change.difference.value)
    return change.p_value > ALPHA or size < min_change, change.p_value, -size


def _refined(series: Floats, places: Sequence[int]) -> list[int]:
    """Refine each position to the best fit of two means between its neighbors: the energy is less exact near ends."""
    refined = list(places)
    for index in range(len(refined)):
        begin, end = _segment(series, refined, index)
        refined[index] = begin + _least_squares(series[begin:end])
    return refined


def _least_squares(values: Floats) -> int:
    count = len(values)
    first = np.arange(1, count)
    sums = np.cumsum(values - values.mean())[:-1]
    explained = sums**2 / (first * (count - first))
    return FEWEST + int(np.argmax(explained[FEWEST - 1 : count - FEWEST]))


def _segment(series: Floats, places: Sequence[int], index: int) -> tuple[int, int]:
    """From the previous position to the next one."""
    begin = places[index - 1] if index else 0
    return begin, places[index + 1] if index + 1 < len(places) else len(series)


def _change(series: Floats, places: Sequence[int], index: int, tests: int, correlation: float) -> LevelChange:
    begin, end = _segment(series, places, index)
    before, after = (_mean(part, correlation) for part in (series[begin : places[index]], series[places[index] : end]))
    difference = after.minus(before)
    return LevelChange(places[index], before.value, after.value, difference, _p_value(difference, tests))


def _p_value(difference: Estimate, tests: int) -> float:
    """p-value of Welch's test, multiplied by the number of tests."""
    if difference.error > 0:
        least = math.erfc(abs(difference.value) / difference.error / math.sqrt(2))
        if least * tests > ALPHA:  # Student's p-value is even larger, and takes longer to compute
            return min(1.0, least * tests)
    return min(1.0, difference.p_value * tests)


def _mean(values: Floats, correlation: float = 0.0) -> Estimate:
    """Mean and error, computed directly because numpy's functions are slower for small windows."""
    count = len(values)
    mean = float(values.sum()) / count
    off = values - mean
    freedom = max(effective_count(count, correlation) - 1, _LEAST_FREEDOM)
    return Estimate(mean, math.sqrt(float(off @ off) / count / freedom), max(1, int(freedom)))


def effective_count(count: int, correlation: float) -> float:
    """Number of independent values whose mean varies as much as that of these correlated values (AR(1))."""
    if correlation == 0:
        return count
    apart = 1 - correlation
    inflation = (1 + correlation) / apart - 2 * correlation * (1 - correlation**count) / (count * apart**2)
    return count / inflation
