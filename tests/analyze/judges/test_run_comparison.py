"""Two runs through a subject that both share."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.run_comparison import NOT_SHARED
from onnxperf.analyze.judges.comparison import compare
from onnxperf.analyze.judges.run_comparison import compare_runs
from onnxperf.records.race import YARDSTICK, Bench, Case, Subject
from onnxperf.records.runs import ComparedSubject, RunComparison
from onnxperf.wording.verdicts import verdict_word
from tests.analyze.examples import subject
from tests.render.examples import machine

MODELS = {"ref.onnx": "f00", "old.onnx": "0ld", "new.onnx": "e33"}


def racer(name: str, median_ns: float, seed: int, rounds: int = 60, **fields: Any) -> Subject:
    times = median_ns * np.exp(np.random.default_rng(seed).normal(0, 0.003, rounds))
    known = {"model": name, "runtime": "ort", "call": "run", "conditions": {"threads": 2, "onnxruntime": "1.31.1"}}
    return subject(name, list(times), **{**known, **fields})


def run_of(*subjects: Subject, baseline: str | None = None, **fields: Any) -> Bench:
    """One case, judged as a race judges it."""
    judged = compare(subjects, baseline or subjects[0].name, 0.01)
    known = {"model": "m", "fingerprint": MODELS, "dims": {"batch": 8}, "shapes": {"X": (8, 10)}}
    case = Case(**{**known, **fields}, baseline=baseline or subjects[0].name, subjects=judged)
    return Bench(machine=machine(), command="onnxperf bench", cases=(case,))


def compared(first: Bench, second: Bench) -> RunComparison:
    return compare_runs(("lonuki", "bafido"), first, second)


def row(comparison: RunComparison, name: str) -> ComparedSubject:
    (found,) = [row for row in comparison.rows if row.first == name]
    return found


FIRST = run_of(racer("ref.onnx", 10_000, 1), racer("old.onnx", 12_000, 2))


@pytest.mark.parametrize(
    ("drift", "speedup", "verdict"),
    [(1.0, 1.2, "faster"), (1.3, 1.2, "faster"), (0.7, 0.8, "slower"), (1.3, 1.0, "equivalent")],
)
def test_the_yardstick_takes_away_what_changed_for_all(drift: float, speedup: float, verdict: str) -> None:
    second = run_of(racer("ref.onnx", 10_000 * drift, 3), racer("new.onnx", 12_000 * drift / speedup, 4))
    comparison = compared(FIRST, second)
    found = row(comparison, "old.onnx")
    assert (found.second, found.yardstick, found.verdict) == ("new.onnx", "ref.onnx", verdict)
    assert found.speedup_low is not None
    assert found.speedup_high is not None
    assert found.speedup_low < speedup < found.speedup_high
    assert row(comparison, "ref.onnx").verdict == "baseline"
    assert f" is {verdict_word(verdict)} in run " in comparison.answer
    assert "yardstick ref.onnx" in comparison.answer
    (factor,) = re.findall(r"yardstick: ref.onnx, .* it took (\S+)× as long", "\n".join(comparison.notes))
    assert float(factor) == pytest.approx(drift, rel=0.01)
    assert any("machine was in another state" in note for note in comparison.notes) == (drift != 1.0)


@pytest.mark.parametrize("rounds", [6, 60])
@pytest.mark.parametrize("baseline", ["ref.onnx", "old.onnx"])
def test_times_beside_the_yardsticks_have_the_ratio_that_the_speedup_says(rounds: int, baseline: str) -> None:
    first, second = (
        run_of(
            racer("ref.onnx", 10_000, seed, rounds),
            racer("old.onnx", 12_000 * slower, seed + 1, rounds),
            racer("other", 9_000, seed + 2, rounds),
            baseline=chosen,
        )
        for seed, slower, chosen in ((1, 1.0, "ref.onnx"), (5, 1.1, baseline))
    )
    comparison = compared(first, second)
    ref, old = row(comparison, "ref.onnx"), row(comparison, "old.onnx")
    of_times = [(each.first_ns or 0) / (each.second_ns or 1) for each in (old, ref)]
    assert old.speedup == pytest.approx(of_times[0] / of_times[1])


def test_the_interval_is_wider_than_that_of_either_run() -> None:
    second = run_of(racer("ref.onnx", 10_000, 3), racer("old.onnx", 11_000, 4, model="old.onnx"))
    found = row(compared(FIRST, second), "old.onnx")
    assert found.speedup_low is not None
    assert found.speedup_high is not None
    for bench in (FIRST, second):
        other = bench.cases[0].subjects[1]
        assert other.speedup_low is not None
        assert other.speedup_high is not None
        assert found.speedup_high / found.speedup_low > other.speedup_high / other.speedup_low


def test_calls_that_vary_in_a_run_flatter_nobody() -> None:
    """In the second run its quickest calls are faster by a tenth, and the mean of all is what it was."""
    racers = (racer("ref.onnx", 10_000, 3), racer("old.onnx", 12_000, 4))
    first, second = (
        run_of(*(with_pieces(each, part) for each, part in zip(racers, parts, strict=True)))
        for parts in ((0.98, 0.98), (0.98, 0.88))
    )
    found = row(compared(first, second), "old.onnx")
    assert found.verdict == "equivalent"
    assert found.speedup == pytest.approx(1.0, rel=0.005)


def with_pieces(racer: Subject, part: float) -> Subject:
    """Its quickest pieces take so much of the usual time."""
    blocks = tuple(replace(block, quickest_ns=part * block.per_call_ns) for block in racer.blocks)
    return replace(racer, blocks=blocks)


def test_equal_runs_are_seldom_called_different() -> None:
    verdicts = []
    for seed in range(40):
        first = run_of(racer("ref.onnx", 10_000, 4 * seed), racer("old.onnx", 12_000, 4 * seed + 1))
        second = run_of(racer("ref.onnx", 10_000, 4 * seed + 2), racer("old.onnx", 12_000, 4 * seed + 3))
        verdicts.append(row(compared(first, second), "old.onnx").verdict)
    assert set(verdicts) <= {"equivalent", "undecided"}
    assert verdicts.count("equivalent") > 30


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"runtime": "numpy"}, "runtime"),
        ({"call": "run-c"}, "call"),
        ({"model": "new.onnx"}, "model"),
        ({"model": None}, "code, which has no fingerprint"),
        ({"input_bytes": 7}, "size of its inputs"),
        ({"conditions": {"threads": 1, "onnxruntime": "1.31.1"}}, "threads"),
        ({"conditions": {"threads": 2, "onnxruntime": "1.32.0"}}, "onnxruntime"),
        ({"conditions": {"threads": 2}}, "onnxruntime"),
    ],
)
def test_a_subject_that_differs_in_anything_is_no_yardstick(fields: dict[str, Any], why: str) -> None:
    second = run_of(racer("ref.onnx", 10_000, 3, **fields), racer("new.onnx", 9_000, 4))
    comparison = compared(FIRST, second)
    assert comparison.answer == f"{NOT_SHARED}."
    assert {row.verdict for row in comparison.rows} == {None}
    assert row(comparison, "ref.onnx").second_ns is not None  # times stand side by side all the same
    assert any(why in note and "ref.onnx" in note for note in comparison.notes)


@pytest.mark.parametrize("change", [{"cpu": "Other"}, {"cores": 64}, {"python": "3.99"}])
def test_another_machine_or_python_is_no_ground_for_a_verdict(change: dict[str, Any]) -> None:
    second = replace(FIRST, machine=machine(**change))
    assert compared(FIRST, second).answer == f"{NOT_SHARED}."


def test_other_shapes_of_the_inputs_are_no_ground_for_a_verdict() -> None:
    second = run_of(*FIRST.cases[0].subjects, shapes={"X": (10, 8)})
    assert compared(FIRST, second).answer == f"{NOT_SHARED}."


def test_few_rounds_or_launches_leave_it_undecided() -> None:
    few = run_of(racer("ref.onnx", 10_000, 3, rounds=10), racer("old.onnx", 6_000, 4, rounds=10))
    found = row(compared(FIRST, few), "old.onnx")
    assert (found.verdict, found.reason) == ("undecided", "10 rounds are too few: use `time=1`")
    twice = {"launches": 2, "set_ups": 12}
    once = run_of(racer("ref.onnx", 10_000, 3, **twice), racer("old.onnx", 11_700, 4, **twice))
    fewest = run_of(racer("ref.onnx", 10_000, 3, rounds=1), racer("old.onnx", 6_000, 4, rounds=1))
    assert row(compared(FIRST, fewest), "old.onnx").reason.startswith("1 round is too few")
    assert "needs 3 launches" in row(compared(FIRST, once), "old.onnx").reason


def test_cases_meet_by_their_dimensions() -> None:
    def sweep(*batches: int) -> Bench:
        return replace(FIRST, cases=tuple(replace(FIRST.cases[0], dims={"batch": batch}) for batch in batches))

    comparison = compared(sweep(1, 2, 4), sweep(4, 8, 1))
    assert [row.dims["batch"] for row in comparison.rows] == [1, 1, 4, 4]
    assert any(note.startswith("left out: 2 cases without a counterpart") for note in comparison.notes)


def test_a_subject_that_was_not_measured_has_a_reason() -> None:
    failed = Subject(name="old.onnx", status="failed", reason="no", model="old.onnx", runtime="ort", call="run")
    found = row(compared(FIRST, run_of(racer("ref.onnx", 10_000, 3), failed)), "old.onnx")
    assert (found.verdict, found.second_ns, found.reason) == (
        None,
        None,
        "never measured in the same round as the yardstick",
    )


def test_runs_without_a_common_subject_are_an_empty_table() -> None:
    second = run_of(racer("a", 1000, 1, runtime="numpy"), racer("b", 1000, 2, runtime="numpy"))
    comparison = compared(FIRST, second)
    assert (comparison.rows, comparison.answer) == ((), f"{NOT_SHARED}.")


def test_runs_that_share_nothing_but_the_yardstick_say_so() -> None:
    alone = run_of(racer("ref.onnx", 10_000, 5))
    assert compared(alone, alone).answer == "Only the yardstick is shared."


def test_variants_that_are_the_same_meet_whatever_they_are_called() -> None:
    one, two = (dict[str, Any]({"model": "ref.onnx", "conditions": {"threads": threads}}) for threads in (1, 2))
    first = run_of(racer("threads=1", 10_000, 1, **one), racer("threads=2", 12_000, 2, **two))
    second = run_of(racer("mem_pattern=on", 10_000, 3, **one), racer("lean", 9_000, 4, model="ref.onnx"))
    comparison = compared(first, second)
    assert (row(comparison, "threads=1").second, row(comparison, "threads=1").verdict) == ("mem_pattern=on", "baseline")
    assert (row(comparison, "threads=2").second, row(comparison, "threads=2").verdict) == ("lean", "faster")


def by_yardstick(bench: Bench, time_ns: float, seed: int) -> Bench:
    (case,) = bench.cases
    return replace(bench, cases=(replace(case, yardstick=racer(YARDSTICK, time_ns, seed)),))


@pytest.mark.parametrize(
    ("drift", "speedup", "verdict"), [(1.0, 1.2, "faster"), (1.3, 1.2, "faster"), (0.8, 0.8, "slower")]
)
def test_runs_that_share_no_subject_are_compared_by_the_fixed_model(drift: float, speedup: float, verdict: str) -> None:
    first = by_yardstick(run_of(racer("old.onnx", 12_000, 2)), 50_000, 5)
    second = by_yardstick(run_of(racer("new.onnx", 12_000 * drift / speedup, 4)), 50_000 * drift, 6)
    comparison = compared(first, second)
    (found,) = comparison.rows
    assert (found.yardstick, found.verdict) == (YARDSTICK, verdict)
    assert (found.speedup_low or 0) < speedup < (found.speedup_high or 0)
    (factor,) = re.findall(r"it took (\S+)× as long in the second run", "\n".join(comparison.notes))
    assert float(factor) == pytest.approx(drift, rel=0.02)
    assert f"by the yardstick {YARDSTICK}" in comparison.answer


def test_a_small_change_is_left_to_a_race_of_both() -> None:
    first = by_yardstick(run_of(racer("old.onnx", 12_000, 2)), 50_000, 5)
    second = by_yardstick(run_of(racer("new.onnx", 12_100, 4)), 50_000, 6)
    (found,) = compared(first, second).rows
    assert (found.verdict, "race both in one bench" in found.reason) == ("undecided", True)


def test_the_fixed_model_says_nothing_about_another_processor() -> None:
    first = by_yardstick(run_of(racer("old.onnx", 12_000, 2)), 50_000, 5)
    second = by_yardstick(run_of(racer("new.onnx", 12_000, 4)), 50_000, 6)
    (found,) = compared(first, replace(second, machine=machine(cpu="another"))).rows
    assert (found.verdict, found.reason) == (None, NOT_SHARED)
