"""Searches on a fake machine: the seeded cause is found, in few comparisons, and nothing else is named."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.judges.bisection import outcome_of, raced, side_of
from onnxperf.api._bisection.search import Way, search_parts, search_row
from onnxperf.bisection.base import Question, error_share, most_questions
from onnxperf.bisection.chain import Chain
from onnxperf.bisection.parts import GraphParts
from onnxperf.measure.race import Progress
from onnxperf.records.bisect import BisectStep, Change
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Case, Subject


def measured(question: Question, log_ratio: float, error: float = 0.005) -> BisectStep:
    """What a race would show whose interval reaches so far on both sides."""
    low, high = log_ratio - error, log_ratio + error
    verdict: Verdict = "slower" if low > 0.01 else "faster" if high < -0.01 else "equivalent"
    if low <= 0.01 < high or low < -0.01 <= high:
        verdict = "undecided"
    return BisectStep(
        purpose=question.purpose,
        base=str(question.first),
        candidate=str(question.second),
        side="undecided",
        verdict=verdict,
        ratio=math.exp(log_ratio),
        ratio_low=math.exp(low),
        ratio_high=math.exp(high),
    )


Times = Callable[[int], float]
"""Log of the time of a candidate, by its place."""


def row(times: Times, size: int, broken: frozenset[int] = frozenset(), change: Change = "any") -> tuple[Chain, Way]:
    """Search a row on a machine that has these times and no noise."""

    def compare(question: Question, _ends: BisectStep | None, _progress: Progress) -> BisectStep:
        return measured(question, times(question.second) - times(question.first))

    def problem(place: int, _progress: Progress) -> str:
        return "no wheel" if place in broken else ""

    chain = Chain(size)
    return chain, search_row(chain, problem, compare, change, lambda _before, _done, _text: None)


def at_most(size: int) -> int:
    return int(2 * math.log2(size) + 2)


@given(st.integers(2, 200), st.data(), st.sampled_from([0.05, 1.8, -0.3]))
def test_a_seeded_release_optimiser_or_setting_is_found_in_few_races(size: int, data: st.DataObject, by: float) -> None:
    cause = data.draw(st.integers(1, size - 1))
    chain, way = row(lambda place: by * (place >= cause), size)
    assert outcome_of(way.steps, chain.bad - chain.good - 1) == "found"
    assert (chain.good, chain.bad) == (cause - 1, cause)
    assert len(way.steps) <= at_most(size)
    assert [step.purpose for step in way.steps].count("repeat") == 1


def test_the_largest_of_several_changes_is_found() -> None:
    chain, _ = row(lambda place: 0.02 * (place >= 2) + 1.5 * (place >= 9) - 0.03 * (place >= 12), 16)
    assert chain.bad == 9


@given(st.integers(4, 60), st.data())
def test_releases_that_cannot_run_are_skipped_and_named(size: int, data: st.DataObject) -> None:
    cause = data.draw(st.integers(1, size - 1))
    broken = data.draw(st.frozensets(st.integers(0, size - 1), max_size=size - 2))
    chain, way = row(lambda place: 0.5 * (place >= cause), size, broken)
    assert set(way.problems) <= broken
    usable = [place for place in range(size) if place not in broken]
    if usable[0] < cause <= usable[-1] and len(way.steps) < at_most(size):
        assert chain.good == max(place for place in usable if place < cause)
        assert chain.bad == min(place for place in usable if place >= cause)
        expected = "found" if chain.bad - chain.good == 1 else "range"
        assert outcome_of(way.steps, chain.bad - chain.good - 1) == expected


def test_what_stays_undecided_becomes_a_range() -> None:
    def compare(question: Question, _ends: BisectStep | None, _progress: Progress) -> BisectStep:
        wide = question.second in (3, 4)
        return measured(question, 0.2 * (question.second >= 4), 0.5 if wide and question.purpose == "search" else 0.005)

    chain = Chain(8)
    way = search_row(chain, lambda _place, _progress: "", compare, "any", lambda _before, _done, _text: None)
    assert (chain.good, chain.bad) == (2, 5)
    assert outcome_of(way.steps, chain.bad - chain.good - 1) == "range"


@pytest.mark.parametrize(
    ("change", "by", "outcome", "races"),
    [
        ("any", 0.0, "same", 1),
        ("worse", -0.5, "other way", 1),
        ("better", 0.5, "other way", 1),
        ("worse", 0.5, "found", 5),
        ("better", -0.5, "found", 5),
    ],
)
def test_only_the_change_that_is_asked_for_is_searched(change: Change, by: float, outcome: str, races: int) -> None:
    chain, way = row(lambda place: by * (place >= 5), 8, change=change)
    assert outcome_of(way.steps, chain.bad - chain.good - 1) == outcome
    assert len(way.steps) == races


def test_a_difference_that_is_not_there_again_is_not_named() -> None:
    def compare(question: Question, _ends: BisectStep | None, _progress: Progress) -> BisectStep:
        return measured(question, 0.0 if question.purpose == "repeat" else 0.3 * (question.second >= 3))

    chain = Chain(6)
    way = search_row(chain, lambda _place, _progress: "", compare, "any", lambda _before, _done, _text: None)
    assert outcome_of(way.steps, 0) == "unconfirmed"


def test_two_candidates_are_too_few_when_one_cannot_run() -> None:
    chain, way = row(lambda _place: 0.0, 2, frozenset({1}))
    assert outcome_of(way.steps, chain.bad - chain.good - 1) == "too few"


def test_a_search_that_is_interrupted_keeps_what_it_has() -> None:
    def compare(question: Question, _ends: BisectStep | None, _progress: Progress) -> BisectStep:
        if question.purpose == "search":
            raise KeyboardInterrupt
        return measured(question, 0.5)

    way = search_row(Chain(9), lambda _place, _progress: "", compare, "any", lambda _before, _done, _text: None)
    assert way.interrupted
    assert [step.purpose for step in way.steps] == ["ends"]


@pytest.mark.parametrize("lost", ["a", "b"])
def test_a_race_in_which_one_side_was_lost_is_undecided(lost: str) -> None:
    subjects = [Subject(name=name, status="ok", speedup=1.0, verdict="baseline") for name in "ab" if name != lost]
    case = Case(model="m", baseline=subjects[0].name, subjects=(*subjects, Subject(name=lost, status="crashed")))
    step = raced("ends", case, "a", "b")
    assert side_of(step, "any", None) == "undecided"


# ---------------------------------------------------------------- parts of a graph


def parts(size: int, cause: range) -> tuple[GraphParts, Way]:
    """Search parts on a machine where the nodes of the cause are slow only together."""

    def compare(question: Question, _ends: BisectStep | None, _progress: Progress) -> BisectStep:
        shows = question.first <= cause.start and cause.stop <= question.second
        return measured(question, 0.4 if shows else 0.0)

    search = GraphParts(size)
    return search, search_parts(search, compare, "any", lambda _before, _done, _text: None)


@given(st.integers(1, 500), st.data())
def test_a_seeded_node_is_found_in_few_races(size: int, data: st.DataObject) -> None:
    node = data.draw(st.integers(0, size - 1))
    search, way = parts(size, range(node, node + 1))
    assert (search.start, search.stop) == (node, node + 1)
    assert outcome_of(way.steps, 0) == "found"
    assert len(way.steps) <= at_most(max(size, 2))


@given(st.integers(4, 500), st.data())
def test_a_part_that_takes_several_nodes_is_never_cut(size: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, size - 2))
    stop = data.draw(st.integers(start + 2, min(size, start + 8)))
    search, way = parts(size, range(start, stop))
    assert search.start <= start
    assert stop <= search.stop
    assert outcome_of(way.steps, 0) == "found"
    assert len(way.steps) <= at_most(size)


def test_a_part_across_a_cut_is_made_smaller_at_both_ends() -> None:
    search, _ = parts(256, range(150, 165))
    assert search.stop - search.start < 128


# ---------------------------------------------------------------- noise


@given(st.integers(2, 1000))
def test_all_comparisons_together_have_the_error_probability_of_one_race(size: int) -> None:
    searched = (most_questions(size) - 2) * error_share("search", size)
    assert error_share("ends", size) + searched + error_share("repeat", size) == pytest.approx(1)


def test_without_a_cause_at_most_5_percent_of_bisections_name_one() -> None:
    """Intervals miss the truth as often as those of a race may."""
    rng = np.random.default_rng(0)
    named = 0
    for _ in range(200):
        chain = Chain(12)

        def compare(question: Question, _ends: BisectStep | None, _progress: Progress) -> BisectStep:
            level = 0.05 * error_share(question.purpose, 12)
            return measured(question, rng.normal(0, 0.01), -0.01 * NormalDist().inv_cdf(level / 2))

        way = search_row(chain, lambda _place, _progress: "", compare, "any", lambda _before, _done, _text: None)
        named += outcome_of(way.steps, chain.bad - chain.good - 1) in ("found", "range")
    assert named <= 10
