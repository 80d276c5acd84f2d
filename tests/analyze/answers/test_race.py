"""The sentence below the table."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.race import about_parts, answer, cast_text, notes_on_parts
from onnxperf.records.race import Case, Split, Subject
from tests.analyze.examples import subject


def base(median_ns: float = 12_345.0, name: str = "run") -> Subject:
    return replace(subject(name, [median_ns] * 25), median_ns=median_ns, speedup=1.0, verdict="baseline")


def rival(name: str, verdict: Any, speedup: float, low: float | None = None, high: float | None = None) -> Subject:
    low, high = low or 0.99 * speedup, high or 1.01 * speedup
    return Subject(name=name, status="ok", verdict=verdict, speedup=speedup, speedup_low=low, speedup_high=high)


@pytest.mark.parametrize(
    ("median_ns", "time"),
    [
        (5.0, "5 ns"),
        (12_345.0, "12.3 µs"),
        (1_234_567.0, "1.23 ms"),
        (2.5e9, "2.5 s"),
        (1e3, "1 µs"),
        (1e6, "1 ms"),
        (999_700.0, "1 ms"),
    ],
)
def test_a_subject_alone_has_a_time(median_ns: float, time: str) -> None:
    assert answer([base(median_ns)], "run", 0.01, 6) == f"run takes {time} per call (median of 25 blocks)."


@pytest.mark.parametrize(
    ("subjects", "baseline"),
    [
        ([], None),
        ([subject("run", status="failed")], None),
        ([subject("run", status="failed")], "run"),
        ([subject("run", status="crashed"), subject("skl", status="oom")], None),
    ],
)
def test_when_nothing_was_measured_the_answer_is_that(subjects: list[Subject], baseline: str | None) -> None:
    assert answer(subjects, baseline, 0.01, 6) == "No subject could be measured."


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (
            rival("run-c", "faster", 1.3, 1.25, 1.35),
            "run-c is 1.3 times as fast as run (95 % interval 1.25 to 1.35).",
        ),
        (
            rival("run-c", "faster", 1.05, 1.04, 1.06),
            "run-c is 5 % faster than run (95 % interval 4 % to 6 %).",
        ),
        (
            rival("skl", "slower", 0.96, 0.95, 0.97),
            "skl is 4.2 % slower than run (95 % interval 3.1 % to 5.3 %).",
        ),
        (
            rival("skl", "slower", 0.1, 0.09, 0.11),
            "skl is slower: it takes 10 times as long as run (95 % interval 9.09 to 11.1).",
        ),
        (
            rival("run-c", "faster", 1.05, 1.01, 2.0),
            "run-c is 5 % faster than run (95 % interval 1 % to 100 %).",
        ),
        (
            rival("numpy", "faster", 1234.5, 998.0, 12345.0),
            "numpy is 1234 times as fast as run (95 % interval 998 to 12345).",
        ),
        (rival("run-c", "equivalent", 1.001), "run-c and run are equally fast: they differ by less than 1 %."),
        (
            rival("lr=0.01", "equivalent", 1.001),
            "lr=0.01 and run are equally fast: they differ by less than 1 %.",
        ),
        (
            rival("run-c", "undecided", 1.01, 0.99, 1.03),
            "Undecided: the speedup of run-c over run lies between 0.990 and 1.030; `time=96` would probably decide.",
        ),
        (
            rival("run-c", "undecided", 1.1, 0.6, 1.9),
            "Undecided: the speedup of run-c over run lies between 0.600 and 1.900; this machine is too noisy now for "
            "so small a difference; close other programs or set a larger `min_effect`.",
        ),
        (subject("skl", status="failed"), "run takes 12.3 µs per call (median of 25 blocks)."),
    ],
)
def test_two_subjects_are_compared(other: Subject, sentence: str) -> None:
    assert answer([base(), other], "run", 0.01, 6) == sentence


FASTEST = "b is the fastest: 2 times as fast as run (95 % interval 1.98 to 2.02)."


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        ([rival("a", "slower", 0.5), rival("b", "faster", 2.0)], FASTEST),
        ([rival("a", "faster", 1.5), rival("b", "faster", 2.0)], FASTEST),
        ([rival("a", "faster", 1.99), rival("b", "faster", 2.0)], f"{FASTEST} a may be as fast."),
        ([rival("a", "undecided", 1.0), rival("b", "faster", 2.0)], f"{FASTEST} Undecided: a."),
        ([rival("a", "slower", 0.5), rival("b", "slower", 0.4)], "None is measurably faster than run."),
        (
            [rival("a", "equivalent", 1.0), rival("b", "equivalent", 1.0), rival("c", "undecided", 1.0)],
            "None is measurably faster than run. a, b differ from it by less than 1 %. Undecided: c.",
        ),
        ([rival("b", "faster", 2.0), subject("c", status="crashed"), rival("a", "slower", 0.5)], FASTEST),
    ],
)
def test_many_subjects_have_a_winner_or_none(others: list[Subject], sentence: str) -> None:
    assert answer([base(), *others], "run", 0.01, 6) == sentence


def test_the_baseline_need_not_come_first() -> None:
    sentence = answer([rival("b", "faster", 2.0), base()], "run", 0.01, 6)
    assert sentence.startswith("b is 2 times as fast as run")


# ---------------------------------------------------------------- what calls are made of


def divided(name: str, prepare: float, compute: float, fetch: float, **changes: Any) -> Subject:
    split = Split(prepare_ns=prepare, compute_ns=compute, fetch_ns=fetch, calls=10)
    return Subject(**{"name": name, "model": "lin", "median_ns": split.total_ns, "split": split, **changes})


CAST = "X is cast from float64 to float32"


@pytest.mark.parametrize(
    ("subjects", "sentence"),
    [
        ([], ""),
        ([Subject(name="run", median_ns=100.0)], ""),
        ([divided("run", 10, 80, 10)], ""),
        ([divided("run", 33, 60, 7)], f"33 % of the time of run goes into preparing inputs: {CAST}."),
        ([divided("run", 24, 70, 6)], ""),
        ([divided("run", 20, 15, 65)], "65 % of the time of run goes into fetching outputs."),
        ([divided("run", 24, 20, 56, median_ns=79.0)], ""),
        ([divided("run", 50, 40, 10, median_ns=None)], ""),
        ([divided("torch", 50, 40, 10, model=None)], "50 % of the time of torch goes into preparing inputs."),
        (
            [divided("run", 33, 60, 7), divided("run-c", 41, 50, 9), divided("io-binding", 5, 90, 5)],
            f"33 to 41 % of the time of run and run-c goes into preparing inputs: {CAST}.",
        ),
        (
            [divided("a", 33, 60, 7), divided("b", 33, 60, 7), divided("c", 0, 60, 40)],
            f"33 % of the time of a and b goes into preparing inputs: {CAST}. "
            "40 % of the time of c goes into fetching outputs.",
        ),
        ([divided("run", 0, 0, 0)], ""),
    ],
)
def test_who_spends_much_beside_computing_is_told_with_the_cause(subjects: list[Subject], sentence: str) -> None:
    assert about_parts(subjects, {"lin": CAST}) == sentence


@pytest.mark.parametrize(
    ("types", "text"),
    [
        ({}, ""),
        ({"X": ("float64", "float32")}, CAST),
        (
            {"X": ("float64", "float32"), "ids": ("int32", "int64"), "Z": ("float64", "float32")},
            "X and Z are cast from float64 to float32, ids is cast from int32 to int64",
        ),
    ],
)
def test_casts_are_told_by_their_types(types: dict[str, tuple[str, str]], text: str) -> None:
    assert cast_text(types) == text


@pytest.mark.parametrize(
    ("parts", "changes", "note"),
    [
        ((200, 700, 200), {}, ""),
        ((200, 900, 200), {}, "run: its parts add up to 1.30 µs, and a call takes 1.00 µs: they are not shares of it"),
        (
            (200, 900, 200),
            {"call": "ort-values"},
            "run: its 1.00 µs are on tensors made once; a caller with arrays pays for preparing and fetching on top",
        ),
        (None, {"name": "\x1b"}, "\\x1b: a callable is only timed as a whole"),
        (None, {"median_ns": None}, ""),
    ],
)
def test_parts_that_are_not_the_time_of_a_call_have_a_note(
    parts: tuple[float, float, float] | None, changes: dict[str, Any], note: str
) -> None:
    split = None if parts is None else Split(prepare_ns=parts[0], compute_ns=parts[1], fetch_ns=parts[2], calls=9)
    divided = Subject(name="other", median_ns=3.0, split=Split(prepare_ns=1, compute_ns=1, fetch_ns=1, calls=9))
    noted = Subject(**{"name": "run", "median_ns": 1000.0, "split": split, **changes})
    assert notes_on_parts(Case(model="m", subjects=(noted, divided))) == ([note] if note else [])


def test_without_divided_calls_there_is_no_note_on_parts() -> None:
    assert notes_on_parts(Case(model="m", subjects=(Subject(name="run", median_ns=1.0),))) == []
