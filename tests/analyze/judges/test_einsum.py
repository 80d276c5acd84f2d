"""Which graph of an equation the verdicts call for, and whether a model gains from it."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.analyze.judges.einsum import (
    chosen_in,
    is_decided,
    is_faster,
    is_gain,
    numpy_wins,
    outcome_of,
    reason_of,
    sites_written,
    time_ratio,
    winner_in,
)
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Case, Subject
from tests.render import einsum_examples as einsums

LIMIT = "the limit"


def subject(name: str = "rewritten", **changes: Any) -> Subject:
    return Subject(name=name, **{"status": "ok", "runtime": "ort", "time_ns": 1.0, **changes})


def race(*verdicts: tuple[Verdict | None, float | None], more: tuple[Subject, ...] = ()) -> Case:
    """A baseline and graphs called a, b, ... with these verdicts and speedups."""
    rivals = [subject(name, verdict=verdict, speedup=by) for name, (verdict, by) in zip("abcd", verdicts, strict=False)]
    base = subject("base", verdict="baseline", speedup=1.0)
    return Case(model="m", baseline="base", subjects=(base, *rivals, *more))


@pytest.mark.parametrize(
    ("case", "winner", "chosen"),
    [
        (race(("faster", 1.5), ("faster", 3.0), ("slower", 0.5)), "b", "b"),
        (race(("faster", 1.5), ("undecided", 9.0)), "a", "a"),
        (race(("slower", 0.5), ("equivalent", 1.001)), "base", "base"),
        (race(("undecided", 1.2)), None, "base"),
        (race(("slower", 0.5), ("undecided", 0.99)), None, "base"),
        (race((None, None)), None, "base"),
        (race(), "base", "base"),
        (race(more=(subject(LIMIT, verdict="faster", speedup=9.0),)), "base", "base"),
        (race(more=(subject("numpy.einsum", runtime="callable", verdict="faster", speedup=9.0),)), "base", "base"),
        (race(more=(subject("lost", status="crashed", verdict="faster", speedup=9.0),)), "base", "base"),
        (Case(model="m", baseline="gone", subjects=(subject("a", verdict="undecided"),)), None, "a"),
        (Case(model="m", baseline="base", subjects=(subject("base", time_ns=None),)), None, None),
        (Case(model="m"), None, None),
    ],
)
def test_a_winner_has_a_verdict_and_without_one_the_baseline_is_chosen(
    case: Case, winner: str | None, chosen: str | None
) -> None:
    found = [winner_in(case, LIMIT), chosen_in(case, LIMIT)]
    assert [each.name if each is not None else None for each in found] == [winner, chosen]
    assert is_decided(einsums.plan(race=case, limit=LIMIT)) == (winner is not None)


def test_a_plan_that_was_not_raced_needs_no_decision() -> None:
    assert is_decided(einsums.plan(race=None))


@pytest.mark.parametrize(
    ("own", "other", "proven"),
    [
        ({"verdict": "faster"}, {"verdict": "baseline"}, True),
        ({"verdict": "faster"}, {"verdict": "slower"}, True),
        ({"verdict": "faster", "speedup_low": 2.0}, {"verdict": "faster", "speedup_high": 1.9}, True),
        ({"verdict": "faster", "speedup_low": 2.0}, {"verdict": "undecided", "speedup_high": 1.9}, True),
        ({"verdict": "faster", "speedup_low": 2.0}, {"verdict": "faster", "speedup_high": 2.1}, False),
        ({"verdict": "faster", "speedup_low": 2.0}, {"verdict": "faster"}, False),
        ({"verdict": "faster"}, {"verdict": "equivalent", "speedup_high": 1.01}, False),
        ({"verdict": "undecided", "speedup_low": 2.0}, {"verdict": "slower", "speedup_high": 0.5}, False),
        ({"verdict": "baseline"}, {"verdict": "slower"}, True),
        ({"verdict": "baseline"}, {"verdict": "equivalent"}, False),
    ],
)
def test_one_is_faster_than_another_by_verdicts_or_intervals_that_do_not_meet(
    own: dict[str, Any], other: dict[str, Any], proven: bool
) -> None:
    assert is_faster(subject("a", **own), subject("b", **other)) == proven


def test_a_ratio_of_times_needs_both_speedups() -> None:
    case = einsums.race()
    assert time_ratio(case, "decomposed as written", einsums.BEST_GRAPH) == pytest.approx(419 / 176)
    assert time_ratio(case, "another", einsums.BEST_GRAPH) is None
    assert time_ratio(case, einsums.BEST_GRAPH, None) is None
    assert time_ratio(None, "numpy.einsum", einsums.BEST_GRAPH) is None


def with_numpy(speedup: float | None, *graphs: tuple[Verdict | None, float | None]) -> Case:
    return race(*graphs, more=(subject("numpy.einsum", runtime="callable", verdict="undecided", speedup=speedup),))


@pytest.mark.parametrize(
    ("changes", "terms", "wins"),
    [
        ({"race": with_numpy(1.1)}, 10**9, True),
        ({"race": with_numpy(0.9)}, 1, False),
        ({"race": with_numpy(1.5, ("faster", 1.4))}, 1, True),
        ({"race": with_numpy(1.5, ("faster", 1.6))}, 1, False),
        ({"race": with_numpy(1.5, ("undecided", 1.6))}, 1, True),
        ({"race": with_numpy(None)}, 1, False),
        ({"race": race()}, 1, False),
        ({"race": Case(model="m")}, 1, False),
        ({"race": None}, 1000, True),
        ({"race": None}, 10_000, False),
        ({"race": None, "shapes": ((2,), (2,), (2,))}, 1000, False),
        ({"race": None, "shapes": ((2,), (2,), (2,))}, 100, True),
        ({"race": None, "runtime": "numpy"}, 1, False),
    ],
)
def test_numpy_wins_by_its_race_with_the_chosen_graph_or_where_there_are_few_terms(
    changes: dict[str, Any], terms: int, wins: bool
) -> None:
    assert numpy_wins(einsums.plan(**changes), terms) == wins


@pytest.mark.parametrize(
    ("rival", "outcome", "reason"),
    [
        (subject(verdict="faster"), "rewritten", "the whole model is faster"),
        (subject(verdict="slower"), "kept", "the whole model is slower"),
        (subject(verdict="equivalent"), "kept", "the whole model does not gain from it"),
        (subject(verdict="undecided"), "kept", "a gain of the whole model is undecided"),
        (
            subject(verdict="undecided", reason="2 rounds are too few"),
            "kept",
            "a gain of the whole model is undecided: 2 rounds are too few",
        ),
        (subject(status="crashed"), "kept", "a gain of the whole model is crashed"),
    ],
)
def test_only_a_faster_model_is_rewritten(rival: Subject, outcome: str, reason: str) -> None:
    assert (outcome_of(rival)[0], reason_of(rival)) == (outcome, reason)
    assert is_gain(rival) == (outcome == "rewritten")


def test_a_model_that_crashed_after_some_rounds_is_no_gain() -> None:
    assert not is_gain(subject(status="crashed", verdict="faster"))
    assert not is_gain(None)


@pytest.mark.parametrize(
    ("rival", "interrupted", "outcomes", "why"),
    [
        (subject(verdict="faster"), False, ["rewritten", "kept", "skipped"], "the whole model is faster"),
        (
            subject(verdict="slower"),
            False,
            ["kept", "kept", "skipped"],
            "not in the final one: the whole model is slower",
        ),
        (subject(verdict="faster"), True, ["kept", "kept", "skipped"], "not in the final one: it was interrupted"),
        (None, True, ["kept", "kept", "skipped"], "not in the final one: it was interrupted"),
    ],
)
def test_where_no_model_is_written_no_site_is_rewritten(
    rival: Subject | None, interrupted: bool, outcomes: list[str], why: str
) -> None:
    tried = einsums.rewrite().sites
    sites = sites_written(tried, rival, interrupted)
    assert [site.outcome for site in sites] == outcomes
    assert sites[0].reason.endswith(why)
    assert sites[1:] == tried[1:]
