"""The sentences of einsum searches and rewrites."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.analyze.answers.einsum import (
    einsum_reason,
    estimate_answer,
    partial_answer,
    race_answer,
    rewrite_answer,
)
from onnxperf.records.comparison import Verdict
from onnxperf.records.einsum import RewrittenSite
from onnxperf.records.race import Case, Subject
from tests.render import einsum_examples as einsums


def subject(name: str = "rewritten", **changes: Any) -> Subject:
    return Subject(name=name, **{"status": "ok", "runtime": "ort", "time_ns": 1.0, **changes})


def race(*rivals: Subject, **changes: Any) -> Case:
    base = subject("base", verdict="baseline", speedup=1.0)
    return Case(model="m", **{"baseline": "base", "subjects": (base, *rivals), **changes})


def by(name: str, verdict: Verdict | None, speedup: float, width: float = 0.1, **changes: Any) -> Subject:
    ends = {"speedup_low": speedup - width, "speedup_high": speedup + width}
    return subject(name, **{"verdict": verdict, "speedup": speedup, **ends, **changes})


def test_an_estimate_and_an_interrupted_search_say_what_they_rest_on() -> None:
    assert estimate_answer("MatMul", 1.5) == "MatMul is the cheapest by estimate: 1.50 µs per call."
    assert partial_answer("MatMul", "ij,jk", 2e6) == (
        "MatMul had the lowest time so far in the search for ij,jk: 2.00 ms per call; "
        "nothing was raced, so nothing is decided."
    )


def test_a_race_says_what_won_by_how_much_and_how_far_the_limit_is() -> None:
    assert race_answer(einsums.race(), einsums.LIMIT, "ij,jk") == (
        f"{einsums.BEST_GRAPH} is the fastest graph for ij,jk: 3.76× as fast as onnxruntime Einsum as written "
        "(95 % CI 3.69–3.84); it takes 1.39× as long as the bare MatMul."
    )


NO_ENDS: dict[str, Any] = {"speedup_low": None, "speedup_high": None}


@pytest.mark.parametrize(
    ("case", "answer"),
    [
        (
            race(by("a", "faster", 2.0)),
            "a is the fastest graph for E: 2.00× as fast as base (95 % CI 1.90–2.10).",
        ),
        (
            race(by("a", "faster", 2.0, unit="launch", units=9)),
            "a is the fastest graph for E: 2.00× as fast as base (95 % CI 1.90–2.10).",
        ),
        (race(by("a", "faster", 2.0, **NO_ENDS)), "a is the fastest graph for E: 2.00× as fast as base."),
        (
            race(by("a", "faster", 2.0), by("b", "faster", 1.95), by("c", "slower", 0.5)),
            "For E, a is 2.00× as fast as base (95 % CI 1.90–2.10); 1 other graph may be as fast.",
        ),
        (
            race(by("a", "faster", 2.0), by("b", "undecided", 1.5, 0.6), by("c", "faster", 1.95)),
            "For E, a is 2.00× as fast as base (95 % CI 1.90–2.10); 2 other graphs may be as fast.",
        ),
        (
            race(by("a", "faster", 2.0), by("torch", "faster", 3.0, runtime="callable")),
            "a is the fastest graph for E: 2.00× as fast as base (95 % CI 1.90–2.10). torch is faster still.",
        ),
        (
            race(
                by("a", "slower", 0.5),
                by("np", "faster", 3.0, runtime="callable"),
                by("oe", "faster", 3.0, runtime="callable"),
            ),
            "base is already the fastest graph for E. np and oe are faster still.",
        ),
        (race(), "base is the only graph for E that was raced."),
        (
            race(by("a", "equivalent", 1.0), by("b", "slower", 0.5)),
            "No graph for E is measurably faster than base; 1 graph differs from it by less than 1 %.",
        ),
        (
            race(by("a", "equivalent", 1.0), by("b", "equivalent", 1.0), min_effect=0.02),
            "No graph for E is measurably faster than base; 2 graphs differ from it by less than 2 %.",
        ),
        (
            race(by("a", "undecided", 1.2, 0.4)),
            "No graph for E is measurably faster than base; 1 graph is undecided, a (speedup 1.20×, 95 % CI "
            "0.80–1.60). base is used, and nothing is saved for later calls.",
        ),
        (
            race(by("a", "undecided", 1.1), by("b", "undecided", 11.0, reason="2 rounds are too few", **NO_ENDS)),
            "No graph for E is measurably faster than base; 2 graphs are undecided, among them b (speedup 11.0×, "
            "2 rounds are too few). base is used, and nothing is saved for later calls.",
        ),
        (
            race(baseline="gone", subjects=(subject("a", verdict="undecided"),)),
            "No graph for E is measurably the fastest; 1 graph is undecided, a (not compared). "
            "a is used, and nothing is saved for later calls.",
        ),
        (race(subjects=()), "No graph for E could be measured."),
        (
            race(subject("a")),
            "No graph for E is measurably faster than base; 1 graph is undecided, a (not compared). "
            "base is used, and nothing is saved for later calls.",
        ),
    ],
)
def test_a_race_claims_what_its_verdicts_say(case: Case, answer: str) -> None:
    assert race_answer(case, "no limit", "E") == answer


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"searched": False}, "onnxruntime's Einsum is the cheapest by estimate"),
        ({}, "by itself, no graph is proven faster than onnxruntime's Einsum in its best order"),
    ],
)
def test_an_einsum_stays_for_a_reason_that_was_found(changes: dict[str, Any], reason: str) -> None:
    assert einsum_reason(einsums.plan(**changes)) == reason


SLOW: dict[str, Any] = {"speedup": 0.749, "speedup_low": 0.7, "speedup_high": 0.8}


@pytest.mark.parametrize(
    ("outcomes", "rival", "answer"),
    [
        ([], None, "m has no Einsum node; nothing was written."),
        (
            ["kept", "skipped"],
            None,
            "Nothing was written: no replacement keeps the outputs and makes the whole model measurably faster.",
        ),
        (["skipped", "skipped"], None, "Nothing was written: none of 2 Einsum nodes could be tried."),
        (
            ["rewritten", "kept"],
            subject(verdict="slower", **SLOW),
            "Nothing was written: with 1 of 2 Einsum nodes replaced, the whole model is slower (speedup 0.75×, "
            "95 % CI 0.70–0.80).",
        ),
        (
            ["rewritten"],
            subject(verdict="undecided", speedup=1.2, reason="2 rounds are too few"),
            "Nothing was written: with 1 of 1 Einsum node replaced, a gain of the whole model is undecided "
            "(speedup 1.20×): 2 rounds are too few.",
        ),
        (
            ["rewritten"],
            subject(status="crashed"),
            "Nothing was written: with 1 of 1 Einsum node replaced, a gain of the whole model is crashed.",
        ),
        (
            ["rewritten"],
            subject(verdict="faster", speedup=2.0),
            "1 of 1 Einsum node rewritten; m is 2.00× as fast; written to o.onnx.",
        ),
        (
            ["rewritten"],
            subject(verdict="faster", speedup=2.0, speedup_low=1.9, speedup_high=2.1),
            "1 of 1 Einsum node rewritten; m is 2.00× as fast (95 % CI 1.90–2.10); written to o.onnx.",
        ),
    ],
)
def test_a_rewrite_says_what_was_replaced_gained_and_written_or_why_nothing_was(
    outcomes: list[Any], rival: Subject | None, answer: str
) -> None:
    sites = [RewrittenSite(nodes=("n",), equation="ij->ji", outcome=outcome) for outcome in outcomes]
    assert rewrite_answer("m", sites, rival, "o.onnx") == answer


def test_an_interrupted_rewrite_writes_nothing_whatever_its_race_says() -> None:
    sites = [RewrittenSite(nodes=("n",), equation="ij->ji", outcome="rewritten")]
    answer = rewrite_answer("m", sites, subject(verdict="faster", speedup=2.0), "o.onnx", interrupted=True)
    assert answer == "Nothing was written: the rewriting was interrupted."
