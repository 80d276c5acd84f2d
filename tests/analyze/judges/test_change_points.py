"""Where a series changes its level."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.judges.change_points import (
    FEWEST,
    best_splits,
    change_points,
    correlation_within,
    effective_count,
    find_levels,
    without_outliers,
)

SERIES = st.lists(st.floats(-1e6, 1e6), max_size=120)


def made(*levels: tuple[int, float], deviation: float = 0.02, seed: int = 3) -> list[float]:
    """So many values of each level."""
    rng = random.Random(seed)
    return [level + rng.gauss(0, deviation) for number, level in levels for _ in range(number)]


def resembling(rng: np.random.Generator, count: int, by: float, deviation: float = 0.02) -> np.ndarray:
    """Values that are correlated with the ones before them."""
    values = rng.normal(0, deviation * math.sqrt(1 - by**2), count)
    values[0] = rng.normal(0, deviation)
    for place in range(1, count):
        values[place] += by * values[place - 1]
    return values


def places(values: list[float], min_change: float = 0.0) -> list[int]:
    return [each.place for each in change_points(values, min_change)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([1.0], [], id="one value"),
        pytest.param([1.0] * 3 + [2.0] * 4, [], id="seven values"),
        pytest.param([1.0] * 4 + [2.0] * 4, [4], id="eight values"),
        pytest.param([1.0] * 300, [], id="constant"),
        pytest.param(made((200, 0.0)), [], id="noise only"),
        pytest.param(made((100, 0.0), (100, 0.1)), [100], id="up"),
        pytest.param(made((60, 0.1), (140, 0.0)), [60], id="down"),
        pytest.param(made((70, 0.0), (60, 0.1), (70, 0.0)), [70, 130], id="up and down again"),
        pytest.param(made((50, 0.0), (50, 0.1), (50, 0.2)), [50, 100], id="up twice"),
        pytest.param(made((10, 0.0), (190, 0.2)), [10], id="near the beginning"),
        pytest.param(made((190, 0.0), (10, 0.2)), [190], id="near the end"),
        pytest.param(made((700, 0.0), (15, 0.2), (700, 0.0)), [700, 715], id="soon undone, in a long series"),
        pytest.param([*made((50, 0.0)), 5.0, *made((50, 0.0), seed=4)], [], id="one outlier"),
        pytest.param([*made((50, 0.0)), 5.0, *made((50, 0.2), seed=4)], [51], id="an outlier before a step"),
    ],
)
def test_a_change_is_found_where_it_happened(values: list[float], expected: list[int]) -> None:
    found = places(values)
    assert len(found) == len(expected)
    assert all(abs(place - wanted) <= 1 for place, wanted in zip(found, expected, strict=True))


def test_a_change_tells_the_means_of_both_sides() -> None:
    (change,) = change_points(made((100, 1.0), (100, 1.5)))
    assert change.before == pytest.approx(1.0, abs=0.01)
    assert change.after == pytest.approx(1.5, abs=0.01)
    assert change.p_value < 1e-6


def test_a_change_below_the_least_one_is_none() -> None:
    values = made((100, 0.0), (100, 0.05))
    assert places(values, 0.02) == places(values) != []
    assert places(values, 0.08) == []


def test_more_series_ask_for_more_evidence() -> None:
    values = made((30, 0.0), (30, 0.04), seed=8)
    p_values = [change_points(values, several=several)[0].p_value for several in (1, 2)]
    assert p_values[1] == pytest.approx(2 * p_values[0])
    assert change_points(values, several=10**9) == []


@given(SERIES, st.floats(0, 10))
def test_whatever_the_values_are_places_are_in_order_and_apart(values: list[float], min_change: float) -> None:
    found = change_points(values, min_change)
    ends = [0, *(each.place for each in found), len(values)]
    assert not found or all(after - before >= FEWEST for before, after in pairwise(ends))
    assert all(0 <= each.p_value <= 0.05 and abs(each.after - each.before) >= min_change for each in found)
    assert change_points(values, min_change) == found


STEPS = st.builds(
    lambda first, second, step, seed: made((first, 0.0), (second, step), seed=seed),
    *(st.integers(FEWEST, 150), st.integers(FEWEST, 150), st.floats(-0.3, 0.3), st.integers(0, 99)),
)


@given(STEPS, st.sampled_from([2.0**-40, 0.5, 4.0, 2.0**30]))
def test_the_unit_of_the_values_moves_no_change(values: list[float], unit: float) -> None:
    assert places([unit * each for each in values]) == places(values)


@given(STEPS)
def test_values_in_reverse_have_a_clear_change_at_the_same_place(values: list[float]) -> None:
    clear = [each for each in change_points(values) if abs(each.after - each.before) > 0.15]
    backward = {len(values) - place for place in places(values[::-1])}
    assert all(any(abs(each.place - other) <= 1 for other in backward) for each in clear)


def test_many_windows_at_once_are_split_as_each_alone() -> None:
    windows = np.random.default_rng(1).normal(size=(7, 30))
    assert list(best_splits(windows)) == [int(best_splits(row[None])[0]) for row in windows]


def test_the_best_split_has_the_largest_energy() -> None:
    row = np.random.default_rng(2).normal(size=20)
    row[13:] += 2

    def mean_distance(some: np.ndarray, others: np.ndarray) -> float:
        return float(np.abs(some[:, None] - others[None, :]).mean())

    def energy(place: int) -> float:
        first, second = row[:place], row[place:]
        distance = 2 * mean_distance(first, second) - mean_distance(first, first) - mean_distance(second, second)
        return distance * len(first) * len(second) / len(row)

    wanted = max(range(FEWEST, len(row) - FEWEST + 1), key=energy)
    assert best_splits(row[None])[0] == wanted


def test_only_lonely_values_are_moved() -> None:
    values = np.asarray(made((30, 0.0), (30, 1.0)))
    values[10] = 9.0
    moved = without_outliers(values)
    assert abs(moved[10]) < 0.2
    assert np.abs(moved - values)[np.arange(60) != 10].max() < 0.1


def test_in_simulated_histories_most_steps_are_found_and_hardly_any_without_one() -> None:
    rng = np.random.default_rng(17)
    near = false = 0
    for _ in range(40):
        values = rng.normal(0, 0.02, 200)
        false += bool(change_points(list(values), 0.01))
        place = int(rng.integers(10, 190))
        values[place:] += math.log(1.05)
        near += any(abs(each.place - place) <= 2 for each in change_points(list(values), 0.01))
    assert near >= 36
    assert false <= 2


@pytest.mark.parametrize("by", [0.3, 0.6, 0.8])
def test_values_that_resemble_their_neighbors_are_hardly_ever_a_change(by: float) -> None:
    rng = np.random.default_rng(18)
    assert sum(bool(change_points(resembling(rng, 50, by), 0.01)) for _ in range(60)) <= 3


def test_a_clear_change_among_values_that_resemble_each_other_is_found() -> None:
    rng, near = np.random.default_rng(19), 0
    for _ in range(40):
        values = resembling(rng, 50, 0.3, 0.01)
        values[25:] += math.log(1.05)
        near += any(abs(each.place - 25) <= 2 for each in change_points(values, 0.01))
    assert near >= 36


@pytest.mark.parametrize("by", [0.0, 0.3, 0.8, 0.99])
@pytest.mark.parametrize("count", [1, 4, 50])
def test_the_effective_number_is_that_of_independent_values_with_the_same_error(count: int, by: float) -> None:
    distances = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    variance_of_mean = float((by**distances).mean())
    assert effective_count(count, by) == pytest.approx(1 / variance_of_mean)


def test_the_correlation_is_that_between_the_changes() -> None:
    values = resembling(np.random.default_rng(20), 4000, 0.6)
    assert correlation_within(values, []) == pytest.approx(0.6, abs=0.05)
    values[2000:] += 1.0
    assert correlation_within(values, [2000]) == pytest.approx(0.6, abs=0.05)
    assert correlation_within(values, []) > 0.95
    found = find_levels(values)
    assert [each.place for each in found.changes] == [2000]
    assert found.correlation == pytest.approx(0.6, abs=0.05)


def test_an_interval_is_wider_where_values_resemble_each_other() -> None:
    rng = np.random.default_rng(21)
    widths = []
    for by in (0.0, 0.5, 0.8):
        values = resembling(rng, 400, by)
        values[200:] += 0.5
        (change,) = change_points(values)
        low, high = change.difference.interval(0.05)
        assert low < 0.5 < high
        widths.append(high - low)
    assert widths[0] < widths[1] / 1.3 < widths[2] / 1.3**2
