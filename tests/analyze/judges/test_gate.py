"""Whether a model keeps to its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf import pytest_plugin
from onnxperf.analyze.answers.gate import gate_answer, notes_on
from onnxperf.analyze.judges import gate as judge
from onnxperf.records.gate import Gate, GateControl, GateLimit, GateOutcome
from onnxperf.records.race import Case
from onnxperf.results.bench import BenchResult
from tests.analyze.examples import judged, raced, subject, varying, with_threads
from tests.render import examples

TIME = GateLimit(measure="time", limit=1.03, ratio=1.01, ratio_low=1.0, ratio_high=1.02, outcome="passed")
CONTROL = GateControl(ratio=1.001, ratio_low=0.995, ratio_high=1.007, passed=True)


def race(slower: float = 1.0, control: str = "equivalent", noise: float = 0.01, dims: Any = None, **new: Any) -> Case:
    """A gate's race in which the new model is slower by this factor; the verdict on the control is given."""
    case = raced({"baseline": 1.0, "control": 1.0, "new": slower}, noise, dims=dims or {})
    base, own, other = case.subjects
    return replace(case, subjects=(base, replace(own, verdict=control), replace(other, **new)))


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


# ---------------------------------------------------------------- the judgement of a limit


@pytest.mark.parametrize(
    ("slower", "noise", "outcome"),
    [(1.0, 0.02, "passed"), (1.03, 0.02, "undecided"), (1.1, 0.02, "failed"), (1.0, 0.2, "undecided")],
    ids=["below", "at the limit", "above", "too noisy to tell"],
)
def test_a_limit_is_told_where_the_interval_at_the_limit_excludes_it(
    slower: float, noise: float, outcome: GateOutcome
) -> None:
    case = race(slower, noise=noise)
    (limit,) = judge.limits_in([case], 0.03)
    assert limit.outcome == outcome
    assert limit.ratio == pytest.approx(slower, rel=noise)
    assert ("includes the limit" in limit.reason) == (outcome == "undecided")
    new = [each for each in case.subjects if each.name != "control"]
    assert judge.all_told(new, "baseline", 0.01, max_slowdown=0.03) == (outcome != "undecided")


FEW = "too few rounds or launches"


def threads_without_processors() -> Case:
    case = raced({"baseline": 1.0, "new": 1.0})
    return judged([case.subjects[0], with_threads(case.subjects[1], [0] * 48)])


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        (threads_without_processors(), "other programs constantly took processors from the threads of new"),
        (raced({"baseline": 1.0, "new": 1.2}, rounds=2, launches=1), "2 rounds are too few"),
        (raced({"baseline": 1.0, "new": 1.0}, rounds=12, launches=3), FEW),
    ],
    ids=["a biased race", "no interval", "few rounds near the limit"],
)
def test_what_has_no_verdict_for_a_reason_has_no_side_of_a_limit(case: Case, reason: str) -> None:
    (limit,) = judge.limits_in([case], 0.03)
    assert limit.outcome == "undecided"
    assert limit.reason.startswith(reason)


def test_a_model_whose_calls_vary_fails_by_its_means() -> None:
    """One call in ten takes three times as long; its quickest pieces show nothing of it."""
    (limit,) = judge.limits_in([varying(pieces=1.0, calls=1.2)], 0.05)
    assert limit.outcome == "failed"
    assert limit.ratio == pytest.approx(1.2, rel=0.01)


@pytest.mark.parametrize(
    ("pieces", "calls", "noise", "looks", "outcome"),
    [
        (1.04, 1.058, 0.002, 2, "undecided"),
        (1.0, 1.02, 0.002, 2, "passed"),
        (1.0, 0.96, 0.2, 2, "passed"),
        (1.0, 0.96, 0.2, 1, "undecided"),
        (1.0, 0.98, 0.2, 2, "undecided"),
    ],
    ids=["on two sides", "on one side", "means cannot tell", "nor at an early look", "and probably differ"],
)
def test_readings_have_to_be_on_one_side_of_a_limit(
    pieces: float, calls: float, noise: float, looks: int, outcome: GateOutcome
) -> None:
    """They differ by less than the minimum effect or by chance, so that means do not decide alone."""
    case = varying(pieces, calls=calls, noise=noise, min_effect=0.02)
    new = replace(case.subjects[1], looks=looks, looks_planned=2)
    (limit,) = judge.limits_in([replace(case, subjects=(case.subjects[0], new))], 0.05)
    assert limit.outcome == outcome
    assert limit.reason.startswith("its fastest calls and all of its calls disagree") == (outcome == "undecided")


@pytest.mark.parametrize(("slower", "outcome"), [(1.6, "failed"), (1.2, "undecided"), (0.6, "passed")])
def test_few_rounds_tell_what_is_far_from_the_limit(slower: float, outcome: GateOutcome) -> None:
    case = raced({"baseline": 1.0, "new": slower}, rounds=12, launches=3)
    (limit,) = judge.limits_in([case], 0.03)
    assert limit.outcome == outcome
    assert ("12 rounds" in limit.reason or FEW in limit.reason) == (outcome == "undecided")


@pytest.mark.parametrize(("launches", "outcome"), [(2, "undecided"), (8, "passed")])
def test_few_launches_do_not_tell_what_is_near_the_limit(launches: int, outcome: GateOutcome) -> None:
    rng = np.random.default_rng(1)
    times = [list(100e3 * np.exp(rng.normal(0, 0.005, 48))) for _ in range(2)]
    names = ("baseline", "new")
    subjects = [subject(name, each, launches, set_ups=8) for name, each in zip(names, times, strict=True)]
    (limit,) = judge.limits_in([judged(subjects)], 0.03)
    assert limit.outcome == outcome


def test_the_limits_of_several_sizes_are_tested_together() -> None:
    """The same data are wider over four sizes than alone, unless the others are clear (Holm)."""
    near, wide, clear = race(1.0, noise=0.042), race(1.03, noise=0.05), race(1.3)
    alone, among_wide, among_clear = (
        judge.limits_in([near, *(replace(others, dims={"n": n}) for n in range(count))], 0.03)[0]
        for others, count in ((near, 0), (wide, 3), (clear, 3))
    )
    assert (alone.outcome, among_wide.outcome, among_clear.outcome) == ("passed", "undecided", "passed")
    assert (among_wide.ratio_high or 0) > (alone.ratio_high or 0)
    assert among_clear.ratio_high == alone.ratio_high


@pytest.mark.parametrize(
    "case",
    [
        *(raced({"baseline": 1.0, "new": slower}) for slower in (1.0, 1.03, 1.1)),
        varying(pieces=1.0, calls=1.2),
        varying(pieces=1.02, calls=1.04, min_effect=0.025),
    ],
    ids=["equal", "at the limit", "slower", "calls that vary", "readings that contradict each other"],
)
def test_bench_and_plug_in_decide_as_a_gate_does(case: Case) -> None:
    (limit,) = judge.limits_in([case], 0.03)
    words = {"passed": "kept", "failed": "exceeded", "undecided": "undecided"}
    result = BenchResult(examples.bench(case))
    assert list(pytest_plugin._kept([case], "3%")) == [{"new": words[limit.outcome]}]
    assert [each.name for each in result.slower_than(0.03)] == (["new"] if limit.outcome == "failed" else [])
    assert bool(list(pytest_plugin._faults(result, "3%"))) == (limit.outcome == "failed")


@pytest.mark.parametrize(
    ("status", "reason", "measure"),
    [("differs", "Y differs", "outputs"), ("crashed", "signal 11", "time"), ("timeout", "", "time")],
)
def test_a_new_model_that_is_broken_fails_whatever_the_control_says(status: Any, reason: str, measure: str) -> None:
    case = race(status=status, reason=reason, control="slower")
    (limit,) = judge.after_controls(judge.limits_in([case], 0.03), [judge.control_in(case)])
    assert (limit.measure, limit.outcome, limit.reason) == (measure, "failed", reason or status)
    assert judge.outcome_of([limit]) == "failed"


def test_a_baseline_that_fails_decides_nothing() -> None:
    case = examples.case(examples.failed("baseline"), examples.failed("control"), examples.subject("new"), dims={})
    (limit,) = judge.limits_in([case], 0.03)
    assert limit.reason == "the baseline failed: X is not contiguous"
    control = judge.control_in(case)
    assert judge.outcome_of([limit]) == "undecided"
    assert gate_answer(record(limit, controls=(control,))) == "CANNOT TELL: the baseline failed: X is not contiguous."


def test_an_undecided_limit_does_not_repeat_the_reason_of_another_question() -> None:
    case = race(1.0, noise=0.06)
    assert (case.subjects[2].verdict, case.subjects[2].reason) == ("undecided", "`time=1` would probably decide")
    (limit,), (kept,) = judge.limits_in([case], 0.01), judge.limits_in([case], 0.1)
    assert (limit.outcome, limit.reason) == ("undecided", "the interval includes the limit: a longer `time` narrows it")
    assert (kept.outcome, kept.reason) == ("passed", "")


def test_a_case_that_could_not_be_run_says_why() -> None:
    case = Case(model="m", dims={"batch": 0}, status="failed", answer="batch is 0")
    (limit,) = judge.limits_in([case], 0.03)
    assert (limit.outcome, limit.reason) == ("undecided", "batch is 0")


@pytest.mark.parametrize("verdict", ["faster", "slower"])
@pytest.mark.parametrize(("other", "outcome"), [(1.2, "failed"), (1.0, "undecided")])
def test_a_control_that_is_called_different_leaves_only_its_own_case_undecided(
    verdict: str, other: float, outcome: GateOutcome
) -> None:
    cases = [race(1.2, control=verdict, dims={"batch": 1}), race(other, dims={"batch": 8})]
    controls = [judge.control_in(case) for case in cases]
    assert [each.passed for each in controls] == [False, True]
    limits = judge.after_controls(judge.limits_in(cases, 0.03), controls)
    assert [each.outcome for each in limits] == ["undecided", "failed" if other > 1.03 else "passed"]
    assert limits[0].reason == f"the control failed: a difference was claimed between equal models ({verdict})"
    assert judge.outcome_of(limits) == outcome


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
    limit = judge.memory_limit(Case(model="m"), {"baseline": base, "new": new}, 0.05)
    assert limit.outcome == outcome
    kept = (limit.baseline_values, limit.new_values)
    assert kept == ((tuple(base), tuple(new)) if base else ((), ()))


def test_instructions_have_the_same_limit_as_time() -> None:
    case = race(instructions=1060.0, instruction_ratio=1.06)
    base, *others = case.subjects
    limits = judge.limits_in([replace(case, subjects=(replace(base, instructions=1000.0), *others))], 0.03)
    assert [(each.measure, each.outcome) for each in limits] == [("time", "passed"), ("instructions", "failed")]


def record(*limits: GateLimit, controls: tuple[GateControl, ...] = (CONTROL,), **changes: Any) -> Gate:
    limits = tuple(judge.after_controls(limits, controls))
    outcome = judge.outcome_of(limits)
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
            "PASS: new takes 1.01× as long as old (95 % CI 1.00–1.02); the limit is 1.03×.\n"
            "Control, the baseline against itself: 1.00× (95 % CI 0.99–1.01).",
        ),
        (
            record(TIME, SLOW),
            "FAIL: new takes 1.06× as long as old for batch=8 (95 % CI 1.05–1.07); the limit is 1.03×.",
        ),
        (record(WIDE, undecided_as="passed"), "CANNOT TELL, which counts as PASS: new takes 1.02×"),
        (
            record(TIME, controls=(GateControl(reason="a difference was claimed between equal models (slower)"),)),
            "CANNOT TELL: the control failed: a difference was claimed between equal models (slower). "
            "The times of this case are discarded.",
        ),
        (
            record(GateLimit(measure="outputs", outcome="failed", reason="Y differs by 0.5")),
            "FAIL: Y differs by 0.5.",
        ),
        (Gate(model="new", baseline="old", interrupted=True), "CANNOT TELL: the gate was interrupted."),
    ],
    ids=["passed", "failed", "undecided", "control", "outputs", "interrupted"],
)
def test_the_answer_names_what_decided(gate: Gate, words: str) -> None:
    assert gate_answer(gate).startswith(words)


def test_what_to_do_about_an_undecided_limit_is_a_note() -> None:
    assert notes_on(record(WIDE)) == ["use --time 60"]


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
