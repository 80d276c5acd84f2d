"""What calls with pauses cost, in words."""

from __future__ import annotations

import pytest

from onnxperf.analyze.answers.pace import about_cpu, notes_on_pace
from onnxperf.analyze.judges.comparison import compare
from onnxperf.records.race import Block, Subject

EVERY_NS = 50_000_000


def paced(name: str, cpu_ns: int | None, period_ns: int = EVERY_NS, status: str = "ok") -> Subject:
    blocks = tuple(
        Block(
            round=number,
            position=0,
            launch=0,
            calls=3,
            start_ns=number,
            duration_ns=3_000_000,
            cpu_ns=cpu_ns and 3 * cpu_ns,
            span_ns=3 * period_ns,
        )
        for number in range(4)
    )
    subject = Subject(name=name, blocks=blocks, status=status, conditions={"every_s": 0.05})  # type: ignore[arg-type]
    return compare([subject], name, 0.01)[0]


@pytest.mark.parametrize(
    ("subjects", "sentence"),
    [
        ([paced("run", 570_000)], "570 µs (run)."),
        ([paced("on", 14_870_000), paced("off", 570_000)], "570 µs (off) and 14.9 ms (on)."),
        ([paced(str(n), n * 1_000_000) for n in range(1, 7)], "from 1 ms (1) to 6 ms (6)."),
        ([paced("on", 14_870_000), paced("off", 570_000, status="crashed")], "14.9 ms (on)."),
    ],
)
def test_the_answer_has_the_cpu_time_of_calls_with_pauses(subjects: list[Subject], sentence: str) -> None:
    assert about_cpu(subjects) == f"CPU time per call, pauses included: {sentence}"


def test_what_was_measured_is_a_note() -> None:
    subjects = [paced("on", 9), paced("off", 9, round(1.04 * EVERY_NS))]  # sleeping is not exact
    assert notes_on_pace(subjects) == ("calls start every 50 ms, after idling; CPU includes the pauses",)


def test_a_pace_that_was_not_held_is_a_note_that_names_who_and_how_far() -> None:
    subjects = [paced("quick", 9), paced("slow", 9, 73_000_000)]
    *_, late = notes_on_pace(subjects)
    assert late == "the pace was not reached, because calls or the sleep between them take longer: slow (every 73 ms)"


@pytest.mark.parametrize("subjects", [[], [Subject(name="run", status="failed", conditions={"every_s": 0.05})]])
def test_where_nothing_was_measured_nothing_is_said(subjects: list[Subject]) -> None:
    assert (about_cpu(subjects), notes_on_pace(subjects)) == ("", ())


def test_without_pauses_the_table_has_the_cpu_time_and_the_answer_does_not() -> None:
    block = Block(round=0, position=0, launch=0, calls=4, start_ns=0, duration_ns=400, cpu_ns=800)
    (subject,) = compare([Subject(name="run", blocks=(block,), status="ok")], "run", 0.01)
    assert subject.cpu_ns == 200
    assert (about_cpu([subject]), notes_on_pace([subject])) == ("", ())


def test_blocks_without_cpu_time_leave_it_unknown() -> None:
    assert paced("old", None).cpu_ns is None
