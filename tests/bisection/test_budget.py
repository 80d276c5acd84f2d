"""The time of a bisection: shares of comparisons, what five launches need, and when the search has to end."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.api._bisection.budget import BisectBudget
from onnxperf.api._bisection.search import search_parts, search_row
from onnxperf.bisection.base import Question
from onnxperf.bisection.chain import Chain
from onnxperf.bisection.parts import GraphParts
from onnxperf.measure.race import Progress
from onnxperf.records.bisect import BisectStep, Purpose

TOO_SHORT = "the time was too short for five launches of both sides: increase `time`"
ENDED_EARLY = "the search ended early for lack of time: increase `time`"


@pytest.mark.parametrize(
    ("purpose", "width", "per_halving", "time_s"),
    [
        ("ends", 8, 1.0, 179.0),  # four of eight shares, without the start
        ("search", 8, 1.0, 89.0),
        ("search", 2, 1.0, 179.0),
        ("search", 1, 1.0, 179.0),
        ("repeat", 1, 1.0, 359.0),
        ("search", 256, 1.5, 360 / 13 - 1),
    ],
)
def test_a_race_has_its_share_of_the_time_that_is_left(
    purpose: Purpose, width: int, per_halving: float, time_s: float
) -> None:
    budget = BisectBudget(360.0, 0.0, lambda: 0.0, per_halving)
    assert budget.has_time_for(purpose, width)
    assert budget.race_s(1.0, 0.0) == pytest.approx(time_s)
    assert budget.notes == []


@pytest.mark.parametrize(
    ("now_s", "opening_s", "call_s", "time_s", "notes"),
    [
        (0.0, 0.5, 0.0, 14.5, []),
        (0.0, 5.0, 0.0, 1.2 * (4 * 5 + 0.54), []),
        (0.0, 0.5, 0.2, 1.2 * (4 * 0.5 + 20 * 2 * 2.3 * 0.2), []),
        (50.0, 5.0, 0.0, 5.0, [TOO_SHORT]),
        (70.0, 0.5, 0.0, 1.0, [ENDED_EARLY, TOO_SHORT]),
    ],
    ids=["a share", "costly sessions", "slow calls", "not enough for five launches", "no time left"],
)
def test_a_race_has_what_five_launches_need_as_long_as_there_is_time(
    now_s: float, opening_s: float, call_s: float, time_s: float, notes: list[str]
) -> None:
    budget = BisectBudget(60.0, 0.0, lambda: now_s)
    budget.has_time_for("search", 8)
    assert budget.race_s(opening_s, call_s) == pytest.approx(time_s)
    assert budget.notes == notes


def test_time_is_kept_for_the_profiles_of_both_sides() -> None:
    budget = BisectBudget(100.0, 0.0, lambda: 0.0, profiles=True)
    budget.began(1.0, 0.0)
    assert budget.has_time_for("repeat", 1)
    assert budget.race_s(1.0, 0.0) == pytest.approx(100 - 8 - 1)
    assert budget.has_time_to_profile()
    late = BisectBudget(100.0, 0.0, lambda: 95.0, profiles=True)
    late.began(1.0, 0.0)
    assert not late.has_time_to_profile()


def test_building_environments_does_not_count() -> None:
    budget = BisectBudget(60.0, 0.0, lambda: 100.0)
    budget.leave_out(90.0)
    assert budget.left_s == pytest.approx(50.0)


class SlowComparisons:
    """Comparisons of a row whose change is at one place, each of which takes so long."""

    def __init__(self, seconds: float, change_at: int) -> None:
        self.now, self.seconds, self.change_at = 0.0, seconds, change_at

    def compare(self, question: Question, _ends: BisectStep | None, _progress: Progress) -> BisectStep:
        self.now += self.seconds
        return BisectStep(
            purpose=question.purpose,
            base=str(question.first),
            candidate=str(question.second),
            side="undecided",
            differs="other outputs" if question.first < self.change_at <= question.second else "",
        )


def quiet(*_args: Any) -> None:
    """Show nothing."""


@pytest.mark.parametrize(
    ("total_s", "purposes", "notes"),
    [
        (1000.0, ["ends", "search", "search", "search", "repeat"], []),
        (35.0, ["ends", "search", "repeat"], [ENDED_EARLY]),
        (5.0, ["ends", "repeat"], [ENDED_EARLY]),
    ],
    ids=["enough", "for one search", "for none"],
)
def test_where_time_is_short_the_last_comparison_comes_at_once_and_a_range_is_left(
    total_s: float, purposes: list[Purpose], notes: list[str]
) -> None:
    machine, chain = SlowComparisons(10.0, 3), Chain(9)
    budget = BisectBudget(total_s, 0.0, lambda: machine.now)
    budget.began(0.0, 10.0)
    way = search_row(chain, lambda _place, _progress: "", machine.compare, "any", quiet, budget.has_time_for)
    assert [step.purpose for step in way.steps] == purposes
    assert chain.good < 3 <= chain.bad
    assert way.steps[-1].side == "bad"
    assert budget.notes == notes


def test_parts_of_a_graph_end_in_the_same_way() -> None:
    machine, parts = SlowComparisons(10.0, 3), GraphParts(9)
    budget = BisectBudget(25.0, 0.0, lambda: machine.now)
    budget.began(0.0, 10.0)
    way = search_parts(parts, machine.compare, "any", quiet, budget.has_time_for)
    assert [step.purpose for step in way.steps] == ["ends", "repeat"]
    assert (parts.start, parts.stop) == (0, 9)
