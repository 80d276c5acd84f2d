"""Whether a model keeps to its limits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.answers.gate import gate_answer, notes_on
from onnxperf.analyze.judges import gate as judge
from onnxperf.records.gate import Gate, GateControl, GateLimit, GateOutcome
from onnxperf.records.race import Case
from tests.render import examples

TIME = GateLimit(measure="time", limit=1.03, ratio=1.01, ratio_low=1.0, ratio_high=1.02, outcome="passed")
CONTROL = GateControl(ratio=1.001, ratio_low=0.995, ratio_high=1.007, passed=True)


def race(new: tuple[float, float] = (0.98, 1.0), control: str = "equivalent", **changes: Any) -> Case:
    """Speedups of the new model, and the verdict on the control."""
    subjects = (
        examples.subject("baseline", 8000.0),
        examples.subject("control", 8000.0, control, speedup=1.0, speedup_low=0.99, speedup_high=1.01),  # type: ignore[arg-type]
        examples.subject(
            "new", 8100.0, "undecided", speedup=sum(new) / 2, speedup_low=new[0], speedup_high=new[1], **changes
        ),
    )
    return examples.case(*subjects, baseline="baseline", dims={})


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.99, 1.02, "passed"),
        (0.99, 1.03, "passed"),
        (0.9, 0.95, "passed"),
        (1.02, 1.04, "undecided"),
        (1.031, 1.04, "failed"),
        (None, None, "undecided"),
    ],
)
def test_an_interval_passes_below_the_limit_and_fails_above_it(
    low: float | None, high: float | None, outcome: GateOutcome
) -> None:
    assert judge.side_of(low, high, 1.03) == outcome


@given(st.floats(0.5, 2.0), st.floats(0.5, 2.0), st.floats(0.0, 1.0))
def test_what_passes_a_limit_passes_every_larger_one(one: float, other: float, more: float) -> None:
    low, high = sorted((one, other))
    order = ("failed", "undecided", "passed")
    assert order.index(judge.side_of(low, high, 1.0 + more)) >= order.index(judge.side_of(low, high, 1.0))


def test_a_speedup_becomes_a_ratio_of_times() -> None:
    (limit,) = judge.limits_in(race((0.94, 0.95)), 0.03)
    assert limit.ratio_low == pytest.approx(1 / 0.95)
    assert limit.ratio_high == pytest.approx(1 / 0.94)
    assert limit.outcome == "failed"


@pytest.mark.parametrize(
    ("status", "reason", "measure"),
    [("differs", "Y differs", "outputs"), ("crashed", "signal 11", "time"), ("timeout", "", "time")],
)
def test_a_new_model_that_is_broken_fails_whatever_the_control_says(status: Any, reason: str, measure: str) -> None:
    case = race(status=status, reason=reason, control="slower")
    (limit,) = judge.limits_in(case, 0.03)
    assert (limit.measure, limit.outcome, limit.reason) == (measure, "failed", reason or status)
    assert judge.outcome_of([limit], [judge.control_in(case)]) == "failed"


def test_a_baseline_that_fails_decides_nothing() -> None:
    case = examples.case(examples.failed("baseline"), examples.failed("control"), examples.subject("new"), dims={})
    (limit,) = judge.limits_in(case, 0.03)
    assert limit.reason == "the baseline failed: X is not contiguous"
    control = judge.control_in(case)
    assert judge.outcome_of([limit], [control]) == "undecided"
    assert (
        gate_answer(record(limit, controls=(control,))) == "new is undecided: the baseline failed: X is not contiguous."
    )


def test_an_undecided_limit_does_not_repeat_the_reason_of_another_question() -> None:
    (limit,) = judge.limits_in(race((0.96, 0.99), reason="use --time 60 for 1 %"), 0.03)
    assert (limit.outcome, limit.reason) == ("undecided", "the interval includes the limit: a longer `time` narrows it")
    (kept,) = judge.limits_in(race((0.98, 0.99), reason="use --time 60 for 1 %"), 0.03)
    assert (kept.outcome, kept.reason) == ("passed", "")


def test_a_case_that_could_not_be_run_says_why() -> None:
    case = Case(model="m", dims={"batch": 0}, status="failed", answer="batch is 0")
    (limit,) = judge.limits_in(case, 0.03)
    assert (limit.outcome, limit.reason) == ("undecided", "batch is 0")


@pytest.mark.parametrize("verdict", ["faster", "slower"])
def test_a_control_that_is_called_different_leaves_nothing_decided(verdict: str) -> None:
    case = race((0.9, 0.91), control=verdict)
    control = judge.control_in(case)
    assert not control.passed
    assert judge.outcome_of(judge.limits_in(case, 0.03), [control]) == "undecided"


@pytest.mark.parametrize(
    ("base", "new", "outcome"),
    [
        ([100, 101, 102], [103, 104, 104], "passed"),
        ([100, 101, 102], [109, 110, 111], "failed"),
        ([100, 110], [104, 112], "undecided"),
        ([], [100], "undecided"),
    ],
)
def test_memory_is_decided_where_all_processes_agree(base: list[int], new: list[int], outcome: GateOutcome) -> None:
    limit = judge.memory_limit(race(), {"baseline": base, "new": new}, 0.05)
    assert limit.outcome == outcome


def test_instructions_have_the_same_limit_as_time() -> None:
    case = race(instructions=1060.0, instruction_ratio=1.06)
    subjects = [examples.subject("baseline", 8000.0, instructions=1000.0), *case.subjects[1:]]
    case = examples.case(*subjects, baseline="baseline", dims={})
    limits = judge.limits_in(case, 0.03)
    assert [(each.measure, each.outcome) for each in limits] == [("time", "passed"), ("instructions", "failed")]


def record(*limits: GateLimit, controls: tuple[GateControl, ...] = (CONTROL,), **changes: Any) -> Gate:
    outcome = judge.outcome_of(limits, controls)
    return Gate(
        **({"model": "new", "baseline": "old", "limits": limits, "controls": controls, "outcome": outcome} | changes)
    )


SLOW = GateLimit(
    measure="time", limit=1.03, ratio=1.06, ratio_low=1.05, ratio_high=1.07, outcome="failed", dims={"batch": 8}
)
WIDE = GateLimit(measure="time", limit=1.03, ratio=1.02, ratio_low=0.99, ratio_high=1.05, reason="use --time 60")


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        (
            record(TIME),
            "new passes: it takes 1.010 times as long as old (1.000 to 1.020), and the limit is 1.03. "
            "The control, the baseline against itself, gave 1.001 (0.995 to 1.007).",
        ),
        (
            record(TIME, SLOW),
            "new fails: it takes 1.060 times as long as old (1.050 to 1.070) for batch=8, and the limit is 1.03.",
        ),
        (record(WIDE, undecided_as="passed"), "new is undecided, which counts as passed: it takes 1.020 times"),
        (
            record(TIME, controls=(GateControl(reason="equal models were called different (slower)"),)),
            "new is undecided: the control failed: equal models were called different (slower). "
            "Nothing that was measured counts.",
        ),
        (
            record(GateLimit(measure="outputs", outcome="failed", reason="Y differs by 0.5")),
            "new fails: Y differs by 0.5.",
        ),
        (Gate(model="new", baseline="old", interrupted=True), "Nothing is decided: the gate was interrupted."),
    ],
    ids=["passed", "failed", "undecided", "control", "outputs", "interrupted"],
)
def test_the_answer_names_what_decided(gate: Gate, words: str) -> None:
    assert gate_answer(gate).startswith(words)


def test_what_to_do_about_an_undecided_limit_is_a_note() -> None:
    assert notes_on(record(WIDE)) == ["use --time 60"]


def test_times_that_contradict_their_ratio_are_explained() -> None:
    times = GateLimit(
        measure="time", limit=1.03, ratio=1.06, ratio_low=1.05, ratio_high=1.07, baseline=123e3, new=121e3
    )
    (note,) = notes_on(record(times))
    assert note.startswith("the times of new and baseline have the ratio 0.984: they include disturbances")
    assert notes_on(record(msgspec.structs.replace(times, new=130e3))) == []
    (other,) = notes_on(record(times, recorded=True))
    assert other.endswith("the ratio above is that of undisturbed times by the yardstick")


@pytest.mark.parametrize(
    ("gate", "final"),
    [
        (record(TIME), "passed"),
        (record(SLOW, undecided_as="passed"), "failed"),
        (record(WIDE), "undecided"),
        (record(WIDE, undecided_as="failed"), "failed"),
    ],
)
def test_only_an_undecided_gate_may_count_as_something_else(gate: Gate, final: GateOutcome) -> None:
    assert judge.final_outcome(gate) == final
