"""What counts of instructions say beside the times."""

from __future__ import annotations

import pytest

from onnxperf.analyze.answers.instructions import about_counts, note_on_counts, note_on_uncounted
from onnxperf.analyze.judges.instructions import verdict_of, with_counts_compared
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import CountVerdict, Subject


def counted(name: str, instructions: float | None, verdict: Verdict | None = None) -> Subject:
    conditions = {"instruction_set": "AVX2"} if instructions else {}
    return Subject(name=name, status="ok", verdict=verdict, instructions=instructions, conditions=dict(conditions))


def said(*rivals: Subject, base: float | None = 1000.0) -> str:
    subjects = with_counts_compared([counted("run", base, "baseline"), *rivals], "run")
    return about_counts(subjects, "run", 0.01)


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [(0.5, "fewer"), (0.994, "fewer"), (0.996, "equal"), (1.0, "equal"), (1.004, "equal"), (1.006, "more")],
)
def test_half_a_percent_is_equal(ratio: float, verdict: CountVerdict) -> None:
    assert verdict_of(ratio) == verdict


def test_only_what_was_counted_is_compared() -> None:
    base, counted_one, other = with_counts_compared(
        [counted("run", 1000.0), counted("run-c", 810.0), counted("f", None)], "run"
    )
    assert (base.instruction_ratio, base.instruction_verdict) == (1.0, "baseline")
    assert (counted_one.instruction_ratio, counted_one.instruction_verdict) == (0.81, "fewer")
    assert (other.instruction_ratio, other.instruction_verdict) == (None, None)


@pytest.mark.parametrize(
    ("instructions", "verdict", "meaning"),
    [
        (810.0, "faster", "both agree"),
        (1200.0, "slower", "both agree"),
        (1001.0, "equivalent", "both agree"),
        (1008.0, "equivalent", "both agree"),
        (1200.0, "equivalent", "the times are equal all the same"),
        (1200.0, "faster", "time and instructions disagree, as it is faster with more of them"),
        (810.0, "slower", "time and instructions disagree, as it is slower with fewer of them"),
        (1001.0, "slower", "the difference in time does not come from the number of instructions"),
        (810.0, "undecided", "the time is undecided"),
    ],
)
def test_a_sentence_says_whether_both_agree(instructions: float, verdict: Verdict, meaning: str) -> None:
    text = said(counted("run-c", instructions, verdict))
    assert text.startswith("By instructions, run-c needs ")
    assert text.endswith(f"× those of run (one count each): {meaning}.")


@pytest.mark.parametrize(
    ("rivals", "text"),
    [
        ([], "A call of run takes 1 k instructions (one count)."),
        ([counted("f", None, "slower")], "A call of run takes 1 k instructions (one count)."),
        (
            [counted("a", 500.0, "faster"), counted("b", 400.0, "faster")],
            "By instructions, a needs 0.50× and b needs 0.40× those of run (one count each): both agree.",
        ),
        (
            [counted(name, 500.0, "faster") for name in "abcd"],
            "By instructions and by time, both agree on 4 subjects against run.",
        ),
    ],
)
def test_several_subjects_are_one_sentence_for_each_meaning(rivals: list[Subject], text: str) -> None:
    assert said(*rivals) == text


def test_without_a_count_of_the_baseline_nothing_is_said() -> None:
    assert said(counted("run-c", 810.0, "faster"), base=None) == ""


@pytest.mark.parametrize(
    ("extensions", "ending"),
    [
        (("avx2",), "with AVX2"),
        (("avx2", "avx512f"), "with AVX2, as Valgrind does not support AVX-512: this processor runs other code"),
    ],
)
def test_a_note_names_the_instruction_set(extensions: tuple[str, ...], ending: str) -> None:
    (note,) = note_on_counts([counted("run", 5.0), counted("f", None)], extensions)
    assert note == f"instructions counted with 1 thread, without spinning, {ending}"
    assert note_on_counts([counted("f", None)], extensions) == ()


def test_a_note_names_what_could_not_be_counted() -> None:
    assert note_on_uncounted({"run": "no answer"}) == ("instructions of run not counted: no answer",)
