"""The sentences of checks, conversions and einsum searches."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.analyze.answers.check import check_answer, difference_text
from onnxperf.analyze.answers.convert import conversion_answer
from onnxperf.analyze.answers.einsum import estimate_answer, partial_answer, race_answer, rewrite_answer
from onnxperf.analyze.judges.einsum import fastest, outcome_of, speedup_over
from onnxperf.records.check import Check, Difference, NodeDifference
from onnxperf.records.convert import Conversion
from onnxperf.records.einsum import RewrittenSite
from onnxperf.records.race import Case, Subject
from tests.render import einsum_examples as einsums

RIGHT, WRONG = Difference(name="Y", equal=True), Difference(name="Z", equal=False, elements=3, differing=2)


def check(*outputs: Difference, node: NodeDifference | None = None) -> Check:
    return Check(model="m", first="ort", second="numpy", rtol=0, atol=0, outputs=outputs, node=node)


def conversion(*checks: Check, output: str = "") -> Conversion:
    return Conversion(
        model="m",
        framework="torch",
        versions={},
        opset=20,
        inputs=(),
        outputs=(),
        nodes=1,
        size_bytes=4,
        checks=checks,
        output=output,
    )


def subject(name: str = "rewritten", **changes: Any) -> Subject:
    return Subject(name=name, **{"status": "ok", **changes})


NODE = NodeDifference(index=3, name="n", operator="Exp", inputs=(), difference=WRONG)


@pytest.mark.parametrize(
    ("record", "answer"),
    [
        (check(RIGHT), "ort and numpy agree on 1 output."),
        (check(RIGHT, RIGHT), "ort and numpy agree on 2 outputs."),
        (check(RIGHT, WRONG), "ort and numpy differ in Z."),
        (
            check(WRONG, node=NODE),
            "ort and numpy differ in Z. The first node that differs is node 3 (Exp 'n'), in its output 'Z'.",
        ),
    ],
)
def test_a_check_says_whether_both_sides_agree(record: Check, answer: str) -> None:
    assert check_answer(record) == answer


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"elements": 3000, "differing": 2000, "max_absolute": 0.12345},
            "2,000 of 3,000 elements differ, by up to 0.123",
        ),
        ({"elements": 1, "differing": 1}, "1 of 1 element differs"),
        ({"reason": "3 against 4 items"}, "3 against 4 items"),
    ],
)
def test_a_difference_is_a_number_of_elements_or_a_reason(changes: dict[str, Any], text: str) -> None:
    assert difference_text(Difference(name="Y", equal=False, **changes)) == f"output Y: {text}"


@pytest.mark.parametrize(
    ("record", "answer"),
    [
        (conversion(), "The model was not compared with its source."),
        (conversion(output="m.onnx"), "The model was not compared with its source. Written to m.onnx."),
        (
            conversion(check(RIGHT), check(RIGHT), output="m.onnx"),
            "The model agrees with its source on 1 output, with 2 sizes (largest difference 0). Written to m.onnx.",
        ),
        (conversion(check(RIGHT, WRONG)), "The model differs from its source in Z. Nothing was written."),
        (conversion(check(WRONG), output="m.onnx"), "The model differs from its source in Z. Written to m.onnx."),
    ],
)
def test_a_conversion_says_whether_it_agrees_and_where_it_is(record: Conversion, answer: str) -> None:
    assert conversion_answer(record) == answer


# ---------------------------------------------------------------- einsum


def test_an_estimate_and_an_interrupted_search_say_what_they_rest_on() -> None:
    assert estimate_answer("MatMul", 1.5) == "MatMul is the cheapest by estimate: 1.50 µs per call."
    assert (
        partial_answer("MatMul", "ij,jk", 2e6)
        == "MatMul was the fastest so far for ij,jk: 2.00 ms per call; nothing was raced."
    )


def test_a_race_says_who_won_by_how_much_and_how_far_the_limit_is() -> None:
    case = einsums.race()
    answer = race_answer(case, case.subjects[3], einsums.LIMIT, "ij,jk")
    assert answer == (
        f"{einsums.BEST_GRAPH} is the fastest for ij,jk: 3.76 times as fast as onnxruntime Einsum as written "
        "(95 % interval 3.69 to 3.84), 1.39 times the time of the bare MatMul."
    )
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
