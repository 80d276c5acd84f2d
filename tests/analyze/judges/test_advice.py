"""What trials gave: gains in time, CPU time and memory, trades, and nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from onnxperf.analyze.judges.advice import (
    TIME_SHARE,
    Attempt,
    best_of,
    best_rewrite,
    gain_of,
    is_beyond_share,
    judged_trials,
    ranked,
    to_repeat,
    with_repeat,
)
from onnxperf.analyze.judges.comparison import compare
from onnxperf.records.advice import Advice, Goal, Hazard, Trial, Tried
from onnxperf.records.race import Block, Case, Subject

LAUNCHES = 10
ROUNDS = 4


def subject(name: str, call_ns: float, cpu_ns: float, **fields: Any) -> Subject:
    """A subject of ten launches whose blocks differ by half a percent."""
    noise = np.random.default_rng(sum(map(ord, name))).normal(1, 0.005, LAUNCHES * ROUNDS)
    blocks = tuple(
        Block(
            round=number,
            position=0,
            launch=number // ROUNDS,
            calls=100,
            start_ns=number * 10**9,
            duration_ns=round(100 * call_ns * each),
            quickest_ns=call_ns * each,
            cpu_ns=round(100 * cpu_ns * each),
        )
        for number, each in enumerate(noise)
    )
    return Subject(**{"name": name, "status": "ok", "looks": 1, "looks_planned": 1, "blocks": blocks, **fields})


def tried_of(goal: Goal, other: Subject, needs: dict[str, list[int]] | None = None) -> Tried:
    subjects = compare([subject("defaults", 1e5, 2e5), other], "defaults", 0.01, TIME_SHARE)
    hazard, trial = Hazard(kind="k", title="t", evidence="e", remedy="r", goal=goal), Trial(name=other.name)
    case = Case(model="m", baseline="defaults", subjects=subjects)
    return judged_trials([Attempt(hazard, trial, other.name)], case, needs or {})[0]


LESS = {"defaults": [100, 101, 102, 103, 104], "x": [50, 51, 52, 53, 54]}
MIXED = {"defaults": [100, 101, 102, 103, 104], "x": [50, 51, 52, 53, 100]}


@pytest.mark.parametrize(
    ("goal", "call_ns", "cpu_ns", "needs", "outcome"),
    [
        ("time", 0.8e5, 2e5, {}, "gain"),
        ("time", 1e5, 1e5, {}, "none"),
        ("time", 1.3e5, 1e5, {}, "none"),
        ("cpu", 1e5, 1e5, {}, "gain"),
        ("cpu", 1.3e5, 1e5, {}, "trade"),
        ("cpu", 1e5, 1.98e5, {}, "none"),
        ("cpu", 0.8e5, 2e5, {}, "gain"),
        ("memory", 1e5, 2e5, LESS, "gain"),
        ("memory", 1.3e5, 2e5, LESS, "trade"),
        ("memory", 1e5, 2e5, MIXED, "none"),
        ("memory", 1e5, 2e5, {}, "none"),
    ],
)
def test_a_gain_is_in_time_or_in_what_the_hazard_costs(
    goal: Goal, call_ns: float, cpu_ns: float, needs: dict[str, list[int]], outcome: str
) -> None:
    assert tried_of(goal, subject("x", call_ns, cpu_ns), needs).outcome == outcome


def test_a_trial_whose_outputs_differ_is_no_gain_however_fast_it_is() -> None:
    tried = tried_of("time", subject("x", 0.5e5, 1e5, status="differs", reason="output Y differs"))
    assert tried.outcome == "untried"
    assert tried.verdict == "faster"


def test_cpu_time_is_judged_only_where_that_is_the_goal() -> None:
    of_cpu, of_time = (tried_of(goal, subject("x", 1e5, 1e5)) for goal in ("cpu", "time"))
    assert of_cpu.cpu_low is not None
    assert of_cpu.cpu_high is not None
    assert of_cpu.cpu_low < 0.5 < of_cpu.cpu_high < 0.52
    assert of_time.cpu_ratio == pytest.approx(0.5, rel=0.01)
    assert of_time.cpu_high is None


def test_what_is_too_short_for_a_verdict_and_slower_in_all_launches_is_no_gain() -> None:
    slower = replace(NOISY, speedup=0.98, speedup_low=0.97, speedup_high=0.99)
    assert [_outcome_of(each) for each in (NOISY, slower)] == ["undecided", "none"]


NOISY = Subject(name="x", status="ok", speedup=1.01, speedup_low=0.97, speedup_high=1.05, verdict="undecided")


def _outcome_of(other: Subject) -> str:
    own, trial = Hazard(kind="k", title="t", evidence="e", remedy="r"), Trial(name="x")
    base = Subject(name="defaults", status="ok", speedup=1.0, verdict="baseline")
    case = Case(model="m", baseline="defaults", subjects=(base, other))
    return judged_trials([Attempt(own, trial, "x")], case, {})[0].outcome


@pytest.mark.slow
def test_trials_that_change_nothing_seldom_help_by_chance() -> None:
    random = np.random.default_rng(7)
    goals: tuple[Goal, ...] = ("time", "time", "time", "time", "time", "cpu", "memory", "memory")
    false = sum(_any_gain(random, goals) for _ in range(200))
    assert false <= 10


def _any_gain(random: np.random.Generator, goals: tuple[Goal, ...]) -> bool:
    """Whether one of several trials on a noisy machine, all equal to the defaults, counts as a gain."""
    names = ["defaults", *(f"t{number}" for number in range(len(goals)))]
    measured = [_noisy(name, random) for name in names]
    case = Case(model="m", baseline="defaults", subjects=compare(measured, "defaults", 0.01, TIME_SHARE))
    needs = {name: [round(each) for each in random.normal(1e8, 1e7, 5)] for name in names}
    attempts = [
        Attempt(Hazard(kind=name, title="", evidence="", remedy="", goal=goal), Trial(name=name), name)
        for name, goal in zip(names[1:], goals, strict=True)
    ]
    return any(each.outcome in ("gain", "trade") for each in judged_trials(attempts, case, needs))


def _noisy(name: str, random: np.random.Generator) -> Subject:
    """Launches differ by 4 %, rounds by 1 %."""
    of_launches, of_cpu = random.normal(1, 0.04, LAUNCHES), random.normal(1, 0.1, LAUNCHES)
    whole = subject(name, 1e5, 2e5)
    blocks = []
    for block in whole.blocks:
        time = of_launches[block.launch] * random.normal(1, 0.01)
        blocks.append(
            replace(
                block,
                duration_ns=round(block.duration_ns * time),
                quickest_ns=(block.quickest_ns or 0.0) * time,
                cpu_ns=round((block.cpu_ns or 0) * time * of_cpu[block.launch]),
            )
        )
    return replace(whole, blocks=tuple(blocks))


def test_a_trial_that_did_not_race_says_why() -> None:
    hazard, trial = Hazard(kind="k", title="t", evidence="e", remedy="r"), Trial(name="x")
    refused = judged_trials([Attempt(hazard, trial, "", "nothing to rewrite"), Attempt(hazard, trial, "")], None, {})
    assert [(each.status, each.outcome) for each in refused] == [("failed", "untried"), ("pending", "untried")]


def hazard(kind: str, goal: Goal = "time") -> Hazard:
    return Hazard(kind=kind, title=kind, evidence="", remedy="", goal=goal, trials=(Trial(name=kind),))


def tried(kind: str, outcome: Any, speedup: float, **fields: Any) -> Tried:
    own: dict[str, Any] = {"verdict": "faster" if speedup > 1.01 else "equivalent", **fields}
    return Tried(hazard=kind, trial=Trial(name=kind), status="ok", speedup=speedup, outcome=outcome, **own)


def test_hazards_are_ranked_by_their_measured_gain_and_time_comes_first() -> None:
    hazards = [
        replace(hazard("fact"), trials=()),
        hazard("none"),
        hazard("arena", "memory"),
        hazard("small"),
        hazard("spin", "cpu"),
        hazard("large"),
    ]
    found = [
        tried("none", "none", 1.0),
        tried("arena", "gain", 1.0, memory_ratio=0.25),
        tried("small", "gain", 1.1),
        tried("spin", "trade", 0.8, verdict="slower", cpu_ratio=0.1),
        tried("large", "gain", 1.5),
    ]
    record = ranked(Advice(model="m", hazards=tuple(hazards), tried=tuple(found)))
    assert [each.kind for each in record.hazards] == ["large", "small", "arena", "spin", "none", "fact"]
    assert [each.hazard for each in record.tried] == ["large", "small", "arena", "spin", "none"]


def test_the_best_trial_of_a_hazard_counts() -> None:
    own = hazard("k")
    own = replace(own, trials=(Trial(name="a"), Trial(name="b"), Trial(name="c")))
    found = [
        replace(tried("k", "none", 1.0), trial=Trial(name="a")),
        replace(tried("k", "gain", 1.1), trial=Trial(name="b")),
        replace(tried("k", "gain", 1.2), trial=Trial(name="c")),
    ]
    best = best_of(own, found)
    assert best is found[2]
    assert gain_of(found[2], "time") == 1.2
    assert best_of(hazard("other"), found) is None


# ---------------------------------------------------------------- gains that are too large


@pytest.mark.parametrize(
    ("share", "speedup", "low", "verdict", "beyond"),
    [
        (0.01, 1.16, 1.12, "faster", True),
        (0.01, 1.16, 1.005, "faster", False),
        (0.2, 1.16, 1.12, "faster", False),
        (0.2, 1.30, None, "faster", True),
        (0.01, 1.16, 0.99, "undecided", False),
        (0.01, 0.80, 0.78, "slower", False),
        (None, 5.00, 4.90, "faster", False),
        (1.0, 50.0, 49.0, "faster", False),
    ],
    ids=[
        "more than all of it",
        "its interval reaches what is possible",
        "possible",
        "without an interval",
        "not proven",
        "slower",
        "no share is known",
        "all of the time",
    ],
)
def test_a_gain_is_limited_by_the_share_of_the_time(
    share: float | None, speedup: float, low: float | None, verdict: Any, beyond: bool
) -> None:
    found = tried("k", "gain", speedup, speedup_low=low, verdict=verdict)
    assert is_beyond_share(found, share) == beyond


SHARED = Attempt(replace(hazard("a"), share=0.01), Trial(name="x", rewrite="r"), "x")
OTHERS = Attempt(replace(hazard("b"), share=None), Trial(name="x", rewrite="r"), "x")


def raced(speedup: float | None, low: float | None, verdict: Any, status: Any = "ok") -> Case:
    subject = Subject(name="x", status=status, speedup=speedup, speedup_low=low, speedup_high=speedup, verdict=verdict)
    base = Subject(name="defaults", status="ok", speedup=1.0, verdict="baseline")
    return Case(model="m", baseline="defaults", subjects=(base, subject))


@pytest.mark.parametrize(
    ("repeat", "outcomes", "speedup"),
    [
        (raced(1.15, 1.11, "faster"), ["unexplained", "gain"], 1.15),
        (raced(1.015, 1.009, "faster"), ["gain", "gain"], 1.015),
        (raced(1.0, 0.995, "equivalent"), ["none", "none"], 1.0),
        (raced(1.02, 0.9, "undecided"), ["undecided", "undecided"], 1.02),
        (raced(None, None, None, "crashed"), ["untried", "untried"], None),
        (raced(None, None, None), ["undecided", "undecided"], 1.16),
        (None, ["undecided", "undecided"], 1.16),
    ],
    ids=["again", "smaller", "gone", "undecided", "crashed", "interrupted", "not raced"],
)
def test_only_the_second_race_counts_for_a_gain_that_is_too_large(
    repeat: Case | None, outcomes: list[str], speedup: float | None
) -> None:
    attempts = [SHARED, OTHERS]
    first = judged_trials(attempts, raced(1.16, 1.12, "faster"), {})
    assert to_repeat(attempts, first) == ["x"]
    found = with_repeat(attempts, first, repeat)
    assert [each.outcome for each in found] == outcomes
    assert {each.speedup for each in found} == {speedup}
    assert (best_rewrite(found) is not None) == ("gain" in outcomes)


def test_the_cpu_time_of_a_doubted_gain_is_that_of_the_second_race_too() -> None:
    attempts = [Attempt(replace(hazard("a", "cpu"), share=0.01), Trial(name="x"), "x")]
    first, second = (
        Case(model="m", baseline="defaults", subjects=compare(each, "defaults", 0.01, TIME_SHARE))
        for each in (
            [subject("defaults", 1e5, 2e5), subject("x", 0.5e5, 1e5)],
            [subject("defaults", 1e5, 2e5), subject("x", 1e5, 2e5)],
        )
    )
    tried_first = judged_trials(attempts, first, {})
    assert tried_first[0].cpu_ratio == pytest.approx(0.5, rel=0.01)
    (found,) = with_repeat(attempts, tried_first, second)
    assert found.outcome == "none"
    assert found.cpu_low is not None
    assert found.cpu_ratio == pytest.approx(1.0, rel=0.01)


def test_gains_of_hazards_without_a_share_are_left_alone() -> None:
    first = judged_trials([OTHERS], raced(1.16, 1.12, "faster"), {})
    assert to_repeat([OTHERS], first) == []
    assert with_repeat([OTHERS], first, None) == first
