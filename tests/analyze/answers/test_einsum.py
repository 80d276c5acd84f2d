"""The sentences of einsum searches and rewrites."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.einsum import estimate_answer, partial_answer, race_answer, rewrite_answer
from onnxperf.records.einsum import RewrittenSite
from onnxperf.records.race import Subject
from tests.render import einsum_examples as einsums


def subject(name: str = "rewritten", **changes: Any) -> Subject:
    return Subject(name=name, **{"status": "ok", **changes})


def test_an_estimate_and_an_interrupted_search_say_what_they_rest_on() -> None:
    assert estimate_answer("MatMul", 1.5) == "MatMul is the cheapest by estimate: 1.50 µs per call."
    assert (
        partial_answer("MatMul", "ij,jk", 2e6)
        == "MatMul was the fastest so far for ij,jk: 2.00 ms per call; nothing was raced."
    )


def test_a_race_says_what_won_by_how_much_and_how_far_the_limit_is() -> None:
    case = einsums.race()
    answer = race_answer(case, case.subjects[3], einsums.LIMIT, "ij,jk")
    assert answer == (
        f"{einsums.BEST_GRAPH} is the fastest for ij,jk: 3.76 times as fast as onnxruntime Einsum as written "
        "(95 % interval 3.69 to 3.84), 1.39 times the time of the bare MatMul."
    )
    unjudged = replace(case.subjects[3], speedup=None, median_ns=None)
    assert race_answer(case, unjudged, einsums.LIMIT, "ij,jk") == f"{einsums.BEST_GRAPH} is the fastest for ij,jk."
    first = race_answer(case, case.subjects[0], "no limit", "ij,jk")
    assert first == "onnxruntime Einsum as written is already the fastest graph for ij,jk."


@pytest.mark.parametrize(
    ("outcomes", "rival", "output", "answer"),
    [
        ([], None, "", "m has no Einsum node; nothing was written."),
        (["kept", "skipped"], None, "", "0 of 2 Einsum nodes rewritten; nothing was written."),
        (["rewritten", "skipped"], None, "", "1 of 2 Einsum nodes rewritten; nothing was written."),
        (["rewritten"], subject(), "o.onnx", "1 of 1 Einsum node rewritten; m is not measured; written to o.onnx."),
        (
            ["rewritten"],
            subject(speedup=2.0),
            "o.onnx",
            "1 of 1 Einsum node rewritten; m is 2 times as fast; written to o.onnx.",
        ),
        (
            ["rewritten"],
            subject(speedup=2.0, speedup_low=1.9, speedup_high=2.1),
            "o.onnx",
            "1 of 1 Einsum node rewritten; m is 2 times as fast (95 % interval 1.9 to 2.1); written to o.onnx.",
        ),
    ],
)
def test_a_rewrite_says_what_was_replaced_gained_and_written(
    outcomes: list[Any], rival: Subject | None, output: str, answer: str
) -> None:
    sites = [RewrittenSite(nodes=("n",), equation="ij->ji", outcome=outcome) for outcome in outcomes]
    assert rewrite_answer("m", sites, rival, output) == answer
