"""Where a series changes its level: E-divisive with a t-test in place of permutations, as in Apache Otava."""

# The energy statistic proposes the best split of each of many windows (Matteson and James, 2014), Welch's t-test
# decides it (arXiv 2301.03034 and 2505.06758), what is weak between its neighbours is merged again, and least squares
# place it. Values that resemble the ones before them tell less than independent ones: how much they do is estimated
# between the proposed changes, and what is left must stand up to the error that this gives. Nothing is random: the same
# runs always have the same change points.

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
"""Values on each side of a change."""
_WINDOWS = (50, 200)
"""Values that are looked at together: the short ones find changes that are soon undone, the long ones small changes."""
_NEIGHBOURS = 9
"""Values around one whose median says where its level is."""
_FAR = 3.0
"""Deviations from that median beyond which a value is an outlier, and moved to."""
_AT_ONCE = 400_000
"""Distances that are computed together."""
_TO_DEVIATION = 1.4826
"""From the median of absolute differences to the deviation of a normal distribution."""
_MOST_CORRELATED = 0.99
"""Beyond, no number of values would tell anything."""
_MARGIN = NormalDist().inv_cdf(0.9)
"""Standard errors that are added to an estimated correlation: one that is too low costs false changes."""
_ESTIMATES = 3
"""How often the correlation is estimated at most: each time, fewer changes are left."""
_LEAST_FREEDOM = 1e-3
"""Of values that are worth no more than one."""


class LevelChange(NamedTuple):
    """A place where the level changes."""

    place: int
    """Of the first value after it."""
    before: float
    """Mean of the values since the change before it."""
    after: float
    """Mean of the values up to the change after it."""
    difference: Estimate
    """After - before, with the error that the correlation of the values gives it."""
    p_value: float
    """Adjusted for all places that were searched."""


class Levels(NamedTuple):
    """What a series says."""

    changes: list[LevelChange]
    correlation: float
    """Of a value with the one before it, between the changes."""


def change_points(values: Sequence[float] | Floats, min_change: float = 0.0, several: int = 1) -> list[LevelChange]:
    """The places where the mean of the values changes by at least `min_change`."""
    return find_levels(values, min_change, several).changes


def find_levels(values: Sequence[float] | Floats, min_change: float = 0.0, several: int = 1) -> Levels:
    """The same, and how much the values resemble their neighbours.

    In series that never change, the probability of one or more is at most 5 %, in all `several` of them together: every
    window of each and every place in it counts as a test of its own (Bonferroni).
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
    """How much a value resembles the one before it, between these places; those that avoid each other do not.

    Each level that is estimated hides a part of it, (1 + 3 times itself) / number (Kendall, 1954), which is given back.
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
    """The same with its error, which is that of Fisher's transformation."""
    return min(math.tanh(math.atanh(correlation) + _MARGIN / math.sqrt(max(count, 1))), _MOST_CORRELATED)


def without_outliers(series: Floats) -> Floats:
    """The values, each at most three deviations from the median of its neighbours: a lonely one moves no mean."""
    half = _NEIGHBOURS // 2
    if len(series) < _NEIGHBOURS:
        return series
    padded = np.concatenate([series[half - 1 :: -1], series, series[: -half - 1 : -1]])
    around = np.median(np.lib.stride_tricks.sliding_window_view(padded, _NEIGHBOURS), axis=1)
    off = series - around
    reach = _FAR * _TO_DEVIATION * float(np.median(np.abs(off)))
    return np.asarray(around + np.clip(off, -reach, reach), dtype=np.float64)


def _windows(count: int) -> Iterator[tuple[int, int]]:
    """Half of each window is in the next one; a series shorter than the longest is also looked at as a whole."""
    widths = [width for width in _WINDOWS if width < count]
    if 2 * FEWEST <= count <= max(_WINDOWS):
        widths.append(count)
    for width in widths:
        yield from ((start, start + width) for start in range(0, count - width, width // 2))
        yield count - width, count


def _first_splits(series: Floats, windows: Sequence[tuple[int, int]]) -> list[int]:
    """The best split of every window; many of one width at once."""
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
    """Windows with their best splits, without those whose split a test of all at once finds far from significant."""
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
    # Normal in place of Student's, and a margin for what rounding costs differences of sums.
    least = 0.9 * NormalDist().inv_cdf(1 - ALPHA / tests / 2)
    kept = (means[1] - means[0]) ** 2 >= least**2 * (variances[0] + variances[1])
    return list(zip(begins[kept].tolist(), places[kept].tolist(), ends[kept].tolist(), strict=True))


def _splits(series: Floats, begin: int, end: int, tests: int, place: int) -> Iterator[tuple[int, float]]:
    """Where a window is split, then each of its parts, as long as the test finds them different."""
    p_value = _p_value(_mean(series[place:end]).minus(_mean(series[begin:place])), tests)
    if p_value > ALPHA:
        return
    yield place, p_value
    for first, last in ((begin, place), (place, end)):
        if last - first >= 2 * FEWEST:
            inner = first + int(best_splits(series[None, first:last])[0])
            yield from _splits(series, first, last, tests, inner)


def best_splits(windows: Floats) -> Ints:
    """Where the energy distance of both sides, weighted by their sizes, is largest in each row."""
    count = windows.shape[1]
    centred = windows - windows.mean(axis=1, keepdims=True)
    largest = np.abs(centred).max(axis=1, keepdims=True)
    scaled = np.divide(centred, largest, out=np.zeros_like(centred), where=largest > 0).astype(np.float32)
    distances = scaled[:, :, None] - scaled[:, None, :]  # single precision: only a proposal, in half the time
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
    """Of places too close for a segment between them, the one that is surest."""
    kept: list[int] = []
    taken: set[int] = set()
    for place in sorted(found, key=lambda each: (found[each], each)):
        if place not in taken:
            kept.append(place)
            taken.update(range(place - FEWEST + 1, place + FEWEST))
    return sorted(kept)


def _merged(places: Sequence[int], test: Callable[[Sequence[int], int], LevelChange], min_change: float) -> list[int]:
    """The places without those that separate segments which are alike, the weakest first."""
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
    """Whether it is too weak to be called one, and what is weaker than others."""
    size = abs(change.difference.value)
    return change.p_value > ALPHA or size < min_change, change.p_value, -size


def _refined(series: Floats, places: Sequence[int]) -> list[int]:
    """Each place anew, where two means fit best between the places beside it: the energy is less exact near ends."""
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
    """From the place before one to the place after it."""
    begin = places[index - 1] if index else 0
    return begin, places[index + 1] if index + 1 < len(places) else len(series)


def _change(series: Floats, places: Sequence[int], index: int, tests: int, correlation: float) -> LevelChange:
    begin, end = _segment(series, places, index)
    before, after = (_mean(part, correlation) for part in (series[begin : places[index]], series[places[index] : end]))
    difference = after.minus(before)
    return LevelChange(places[index], before.value, after.value, difference, _p_value(difference, tests))


def _p_value(difference: Estimate, tests: int) -> float:
    """That of Welch's test, times the number of tests."""
    if difference.error > 0:
        least = math.erfc(abs(difference.value) / difference.error / math.sqrt(2))
        if least * tests > ALPHA:  # Student's is larger still, and takes longer to compute
            return min(1.0, least * tests)
    return min(1.0, difference.p_value * tests)


def _mean(values: Floats, correlation: float = 0.0) -> Estimate:
    """By hand: numpy's own functions take longer than the sums of a window."""
    count = len(values)
    mean = float(values.sum()) / count
    off = values - mean
    freedom = max(effective_count(count, correlation) - 1, _LEAST_FREEDOM)
    return Estimate(mean, math.sqrt(float(off @ off) / count / freedom), max(1, int(freedom)))


def effective_count(count: int, correlation: float) -> float:
    """How many independent values have a mean that varies as much: each resembles the one before it (AR(1))."""
    if correlation == 0:
        return count
    apart = 1 - correlation
    inflation = (1 + correlation) / apart - 2 * correlation * (1 - correlation**count) / (count * apart**2)
    return count / inflation
