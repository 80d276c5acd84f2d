"""Bisections whose comparisons are whole races on a simulated machine with noise that is known."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.simulation import simulate
from onnxperf.analyze.judges.bisection import outcome_of, raced
from onnxperf.api._bisection.search import search_row
from onnxperf.bisection.base import Question, error_share, most_questions
from onnxperf.bisection.chain import Chain
from onnxperf.measure.race import Progress
from onnxperf.records.bisect import BisectStep
from onnxperf.records.race import Case

SIZE = 12


def bisected(seed: int, cause: int | None, slower: float, time_s: float = 2.0) -> tuple[str, Chain, int]:
    seeds = iter(np.random.default_rng(seed).integers(0, 2**31, 20).tolist())

    def compare(question: Question, _ends: BisectStep | None, _progress: Progress) -> BisectStep:
        changed = cause is not None and question.first < cause <= question.second
        share = error_share(question.purpose, SIZE)
        subjects = simulate(next(seeds), (slower if changed else 0.0,), time_s, alpha_share=share)
        case = Case(model="m", baseline="baseline", subjects=subjects)
        return raced(question.purpose, case, "baseline", "rival 0")

    chain = Chain(SIZE)
    way = search_row(chain, lambda _place, _progress: "", compare, "any", lambda _before, _done, _text: None)
    return outcome_of(way.steps, chain.bad - chain.good - 1), chain, len(way.steps)


@pytest.mark.slow
def test_of_200_bisections_without_a_cause_at_most_5_percent_name_one() -> None:
    outcomes = [bisected(seed, None, 0.0)[0] for seed in range(200)]
    assert sum(outcome in ("found", "range") for outcome in outcomes) <= 10


@pytest.mark.parametrize("cause", [1, 5, 11])
def test_a_slow_release_is_found_in_the_noise(cause: int) -> None:
    outcome, chain, races = bisected(cause, cause, 0.3, time_s=4.0)  # enough for five launches of each
    assert (outcome, chain.bad) == ("found", cause)
    assert races <= most_questions(SIZE)
