"""How a run ended, and its answers, whatever its record."""

from __future__ import annotations

import pytest
from msgspec import Struct

from onnxperf.analyze.judges.outcome import answers_of, status_of
from onnxperf.records.base import Status
from onnxperf.records.check import Check, Difference
from onnxperf.records.einsum import Rewrite
from onnxperf.records.race import Case
from onnxperf.records.runs import RunComparison
from tests.render import examples


def case_of(status: Status = "ok", *, interrupted: bool = False, answer: str = "") -> Case:
    return Case(model="m", status=status, interrupted=interrupted, answer=answer)


def check(equal: bool) -> Check:
    outputs = (Difference(name="Y", equal=equal),)
    return Check(model="m.onnx", first="ort", second="numpy", rtol=1e-3, atol=1e-5, outputs=outputs)


@pytest.mark.parametrize(
    ("record", "status"),
    [
        (examples.bench(case_of()), "ok"),
        (examples.bench(case_of("skipped"), case_of()), "ok"),
        (examples.bench(case_of(), case_of("oom"), case_of("failed")), "oom"),
        (examples.bench(case_of("oom"), case_of(interrupted=True)), "interrupted"),
        (examples.bench(examples.case(examples.subject(), examples.failed(status="crashed"))), "crashed"),
        (check(True), "ok"),
        (check(False), "differs"),
        (RunComparison(first="a", second="b"), "ok"),
        (Rewrite(model="m", output="", sites=(), race=case_of("oom")), "oom"),
        (Rewrite(model="m", output="", sites=()), "ok"),
    ],
)
def test_a_run_has_the_first_status_that_is_not_ok(record: Struct, status: str) -> None:
    assert status_of(record) == status


@pytest.mark.parametrize(
    ("record", "answers"),
    [
        (examples.bench(case_of(answer="one"), case_of(), case_of(answer="two")), ["one", "two"]),
        (RunComparison(first="a", second="b", answer="faster"), ["faster"]),
        (RunComparison(first="a", second="b"), []),
    ],
)
def test_every_case_has_its_sentence(record: Struct, answers: list[str]) -> None:
    assert answers_of(record) == answers
