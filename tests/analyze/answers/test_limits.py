"""What limits an answer stands below it: faults and disturbances, not more than a few."""

from __future__ import annotations

from msgspec.structs import replace

from onnxperf.analyze.answers.limits import limits_of
from tests.render import examples

BUSY = "busy machine: other programs used 76 % of the processors meanwhile"


def test_a_quiet_race_has_no_limits() -> None:
    assert limits_of(examples.bench(examples.case(examples.subject("run", 10.0, "baseline")))) == []


def test_faults_and_disturbances_are_limits_and_other_notes_are_not() -> None:
    case = examples.case(examples.subject("run", 10.0, "baseline"), examples.failed("torch", "oom"))
    bench = examples.bench(replace(case, notes=("2 threads", BUSY)))
    found = limits_of(bench)
    assert BUSY in found
    assert any(text.startswith("torch: oom") for text in found)
    assert "2 threads" not in found


def test_of_many_faults_some_are_named_and_the_others_are_counted() -> None:
    subjects = [examples.failed(f"torch {letter}", "oom") for letter in "abcdefghijklmnopqrst"]
    found = limits_of(examples.bench(examples.case(*subjects)))
    assert len(found) == 6
    assert found[-1] == "15 more limitations: see the details below"


def test_the_same_disturbance_of_many_cases_is_one_sentence() -> None:
    cases = [replace(examples.case(), notes=(BUSY.replace("76", str(share)),)) for share in (51, 67, 54)]
    assert limits_of(examples.bench(*cases)) == [BUSY.replace("76 %", "51 to 67 %")]
