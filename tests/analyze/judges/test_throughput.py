"""Items a second, in every kind of case."""

from __future__ import annotations

import pytest

from onnxperf.analyze.answers.sweep import sweep_answer
from onnxperf.analyze.judges.crossover import sweep_models
from onnxperf.analyze.judges.outcome import topic_of
from onnxperf.analyze.judges.throughput import rate, with_rates
from onnxperf.records.base import Status
from onnxperf.records.race import Case, Subject
from onnxperf.records.sweep import rate_unit
from tests.render import examples, sweeps


def timed(status: Status = "ok", time_ns: float | None = 2e6) -> Subject:
    return Subject(name="ort", status=status, time_ns=time_ns)


@pytest.mark.parametrize(
    ("dims", "expected", "unit"),
    [
        ({"batch": 8}, 4000, "items/s"),
        ({"seq": 128, "batch_size": 4}, 2000, "items/s"),
        ({"N": 2, "width": 64}, 1000, "items/s"),
        ({"X.0": 10, "X.1": 3}, 5000, "items/s"),
        ({"seq": 128}, 500, "calls/s"),
        ({}, 500, "calls/s"),
    ],
)
def test_an_item_is_one_of_a_batch_and_a_call_where_there_is_none(
    dims: dict[str, int], expected: float, unit: str
) -> None:
    case = Case(model="m", dims=dims, subjects=(timed(),))
    assert rate(case, timed()) == pytest.approx(expected)
    assert with_rates(case).subjects[0].items_per_s == pytest.approx(expected)
    assert rate_unit([case]) == unit


@pytest.mark.parametrize("subject", [None, timed("differs"), timed("pending"), timed(time_ns=None)])
def test_what_was_not_measured_has_no_throughput(subject: Subject | None) -> None:
    assert rate(Case(model="m", dims={"batch": 8}), subject) is None


def test_a_sweep_has_an_answer_in_one_line() -> None:
    cases = sweeps.line([0.5, 2.0, 2.0]).cases
    assert sweep_answer(sweep_models(cases)) == "torch wins 2 of 3 cases, ort wins 1."
    alone = [Case(model="m", dims={"batch": 1}, subjects=(timed(time_ns=ns),)) for ns in (2e6, 3e6)]
    assert sweep_answer(sweep_models(alone)) == "ort takes 2.00 ms to 3.00 ms."
    assert sweep_answer(sweep_models([Case(model="m", status="failed")])) == "No case could be measured."


def test_a_run_is_about_its_models() -> None:
    cases = (Case(model="a"), Case(model="b"), Case(model="a"))
    assert topic_of(examples.bench(*cases)) == "a, b"
