"""Which graph of an equation won, and whether a model gains from it."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.analyze.judges.einsum import fastest, outcome_of, speedup_over
from onnxperf.records.race import Case, Subject
from tests.render import einsum_examples as einsums


def subject(name: str = "rewritten", **changes: Any) -> Subject:
    return Subject(name=name, **{"status": "ok", **changes})


@pytest.mark.parametrize(
    ("rival", "outcome", "reason"),
    [
        (subject(verdict="faster"), "rewritten", "the whole model is faster"),
        (subject(verdict="slower"), "kept", "the whole model is slower"),
        (subject(verdict="equivalent"), "kept", "the whole model does not gain from it"),
        (subject(verdict="undecided"), "kept", "whether the whole model gains is undecided"),
        (subject(status="crashed"), "kept", "whether the whole model gains is crashed"),
    ],
)
def test_only_a_faster_model_is_rewritten(rival: Subject, outcome: str, reason: str) -> None:
    assert outcome_of(rival) == (outcome, reason)


def test_the_fastest_is_found_among_those_that_were_measured() -> None:
    subjects = [subject("a", median_ns=3.0), subject("b", median_ns=2.0), subject("c"), subject("other", median_ns=1.0)]
    winner = fastest(subjects, {"a", "b", "c"})
    assert winner is subjects[1]
    assert fastest(subjects, {"c"}) is None


def test_a_speedup_needs_both_times() -> None:
    assert speedup_over(einsums.plan(), "decomposed as written") == pytest.approx(419 / 176)
    assert speedup_over(einsums.plan(), "another") is None
    assert speedup_over(einsums.plan(race=None), "numpy.einsum") is None
    assert speedup_over(einsums.plan(race=Case(model="m")), "numpy.einsum") is None
