"""The answer of a race."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.race import (
    about_parts,
    answer,
    before_the_race,
    cast_text,
    notes_on_parts,
    notes_on_readings,
)
from onnxperf.records.race import Case, Split, Subject
from tests.analyze.examples import blocks_of, subject


def base(median_ns: float = 12_345.0, name: str = "run") -> Subject:
    return replace(subject(name, [median_ns] * 25), time_ns=median_ns, speedup=1.0, verdict="baseline")


def rival(
    name: str, verdict: Any, speedup: float, low: float | None = None, high: float | None = None, **fields: Any
) -> Subject:
    ends = {"speedup_low": low or 0.99 * speedup, "speedup_high": high or 1.01 * speedup}
    return Subject(name=name, verdict=verdict, speedup=speedup, **{"status": "ok", **ends, **fields})


def without_interval(name: str, verdict: Any, speedup: float, **fields: Any) -> Subject:
    return rival(name, verdict, speedup, speedup_low=None, speedup_high=None, **fields)


@pytest.mark.parametrize(
    ("median_ns", "time"),
    [
        (5.0, "5.00 ns"),
        (12_345.0, "12.3 µs"),
        (1_234_567.0, "1.23 ms"),
        (2.5e9, "2.50 s"),
        (1e3, "1.00 µs"),
        (1e6, "1.00 ms"),
        (999_700.0, "1.00 ms"),
    ],
)
def test_a_subject_alone_has_a_time(median_ns: float, time: str) -> None:
    assert answer([base(median_ns)], "run", 0.01) == f"run takes {time} per call."


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
    assert answer(subjects, baseline, 0.01) == "No subject could be measured."


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (
            rival("run-c", "faster", 1.3, 1.25, 1.35),
            "run-c is 1.30× as fast as run (95 % CI 1.25–1.35).",
        ),
        (
            rival("run-c", "faster", 1.05, 1.04, 1.06),
            "run-c is 5 % faster than run (95 % CI 4–6 %).",
        ),
        (
            rival("skl", "slower", 0.96, 0.95, 0.97),
            "skl is 4.2 % slower than run (95 % CI 3.1–5.3 %).",
        ),
        (
            rival("skl", "slower", 0.1, 0.09, 0.11),
            "skl takes 10.0× as long as run (95 % CI 9.09–11.1).",
        ),
        (
            rival("run-c", "faster", 1.05, 1.01, 2.0),
            "run-c is 5 % faster than run (95 % CI 1–100 %).",
        ),
        (
            rival("numpy", "faster", 1234.5, 998.0, 12345.0),
            "numpy is 1234× as fast as run (95 % CI 998–12345).",
        ),
        (rival("run-c", "equivalent", 1.001), "run-c is as fast as run: they differ by less than 1 %."),
        (
            rival("lr=0.01", "equivalent", 1.001),
            "lr=0.01 is as fast as run: they differ by less than 1 %.",
        ),
        (
            rival("run-c", "undecided", 1.01, 0.99, 1.03, reason="`time=96` would probably decide"),
            "Undecided if run-c is faster than run (95 % CI 0.99–1.03): `time=96` would probably decide.",
        ),
        (
            without_interval("tf", "undecided", 50.0, reason="2 rounds are too few: use `time=45`"),
            "Undecided if tf is faster than run: 2 rounds are too few: use `time=45`.",
        ),
        (
            without_interval("tf", "faster", 11.0, blocks=blocks_of([1.0] * 7, launches=1)),
            "tf is 11.0× as fast as run (no interval: 7 rounds in one process).",
        ),
        (
            rival("new", "faster", 2.0, status="differs"),
            "run takes 12.3 µs per call. Not compared in speed, as outputs differ: new.",
        ),
        (
            rival("new", "faster", 2.0, status="crashed", blocks=blocks_of([1.0] * 7)),
            "run takes 12.3 µs per call. Not compared in speed, as not measured to the end: new.",
        ),
        (subject("skl", status="failed"), "run takes 12.3 µs per call."),
    ],
)
def test_two_subjects_are_compared(other: Subject, sentence: str) -> None:
    assert answer([base(), other], "run", 0.01) == sentence


TWICE = "2.00× as fast as run (95 % CI 1.98–2.02)"
FASTEST = f"b is fastest: {TWICE}."
FEW: dict[str, Any] = {"reason": "2 rounds are too few: use `time=45`"}


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        ([rival("a", "slower", 0.5), rival("b", "faster", 2.0)], FASTEST),
        ([rival("a", "faster", 1.5), rival("b", "faster", 2.0)], FASTEST),
        ([rival("a", "faster", 1.99), rival("b", "faster", 2.0)], f"b is {TWICE}; a may be as fast."),
        (
            [rival("a", "undecided", 1.0, **FEW), rival("b", "faster", 2.0)],
            f"{FASTEST} Undecided: a (2 rounds are too few: use `time=45`).",
        ),
        (  # what has no interval may be anything
            [without_interval("a", "undecided", 1.0, **FEW), rival("b", "faster", 2.0)],
            f"b is {TWICE}; a may be as fast. Undecided: a (2 rounds are too few: use `time=45`).",
        ),
        (
            [rival("b", "slower", 0.4), rival("a", "slower", 0.5)],
            "run is fastest: a, the next, takes 2.00× as long as run (95 % CI 1.98–2.02).",
        ),
        (
            [rival("a", "slower", 0.5), rival("b", "equivalent", 1.0)],
            "a is slower than run. b differs from run by less than 1 %.",
        ),
        (
            [rival("a", "slower", 0.5), rival("b", "equivalent", 1.0), rival("c", "slower", 0.4)],
            "a and c are slower than run. b differs from run by less than 1 %.",
        ),
        (
            [without_interval(name, "undecided", 11.0, **FEW) for name in "ab"],
            "Undecided: a, b (2 rounds are too few: use `time=45`).",
        ),
        (
            [
                rival("a", "equivalent", 1.0),
                rival("b", "equivalent", 1.0),
                rival("c", "undecided", 1.0, reason="noisy"),
            ],
            "a and b differ from run by less than 1 %. Undecided: c (noisy).",
        ),
        (  # reasons that differ in numbers are one, with the longest time
            [
                rival(name, "undecided", 1.0, reason=f"`time={time}` would probably decide")
                for name, time in ("a7", "b9")
            ],
            "Undecided: a, b (`time=9` would probably decide).",
        ),
        ([rival("b", "faster", 2.0), subject("c", status="crashed"), rival("a", "slower", 0.5)], FASTEST),
        (
            [rival("b", "faster", 2.0), rival("a", "slower", 0.5), rival("new", "faster", 9.0, status="differs")],
            f"{FASTEST} Not compared in speed, as outputs differ: new.",
        ),
        (
            [without_interval("b", "faster", 2.0, blocks=blocks_of([1.0] * 7)), rival("a", "equivalent", 1.0)],
            "b is fastest: 2.00× as fast as run (no interval: 7 rounds in one process). "
            "a differs from run by less than 1 %.",
        ),
    ],
)
def test_many_subjects_have_a_winner_or_none(others: list[Subject], sentence: str) -> None:
    assert answer([base(), *others], "run", 0.01) == sentence


def test_the_baseline_need_not_come_first() -> None:
    sentence = answer([rival("b", "faster", 2.0), base()], "run", 0.01)
    assert sentence.startswith("b is 2.00× as fast as run")


def test_nothing_is_compared_with_a_baseline_that_computes_something_else() -> None:
    assert answer([replace(base(), status="differs"), rival("b", "faster", 2.0)], "run", 0.01) == (
        "run takes 12.3 µs per call. Not compared in speed, as outputs differ: run."
    )


# ---------------------------------------------------------------- before the race, and beside its table


@pytest.mark.parametrize(
    ("rounds", "seconds", "text"),
    [
        (2, 4.0, "2 rounds: too few for a verdict; 20 take about 45 s"),
        (5, 4.0, "5 rounds: too few for a verdict; 20 take about 45 s"),
        (6, 4.0, "6 rounds: enough only for a large difference; 20 take about 45 s"),
        (20, 15.0, ""),
        (20, 45.0, "about 45 s in all"),
    ],
)
def test_what_a_race_cannot_show_or_how_long_it_takes_is_known_before(rounds: int, seconds: float, text: str) -> None:
    assert before_the_race(rounds, 6, seconds, 45.0) == text


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({}, ""),
        ({"varies": True}, "calls vary: compared by means: b"),
        ({"unsteady": True}, "unsteady, as its own time differs from the one that its speedup gives: b"),
        ({"slow_launches": 1, "units": 16}, ""),
        ({"slow_launches": 3, "units": 16}, "some launches were slower as a whole by more than 8 %: b (3 of 16)"),
    ],
)
def test_rows_that_are_not_as_simple_as_they_look_have_a_note(changes: dict[str, Any], note: str) -> None:
    case = Case(model="m", baseline="run", subjects=(base(), replace(rival("b", "faster", 2.0), **changes)))
    assert notes_on_readings(case) == ([note] if note else [])


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
            [divided("run", 100, 0, 0), divided("run-c", 65, 30, 5)],
            f"65 to 100 % of the time of run and run-c goes into preparing inputs: {CAST}.",
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
        ((200, 900, 200), {}, "run: its parts add up to 1.30 µs, but a call takes 1.00 µs: they are not shares of it"),
        (
            (200, 900, 200),
            {"call": "ort-values"},
            "run: its 1.00 µs are on tensors made once; a caller with arrays also pays for preparing and fetching",
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
