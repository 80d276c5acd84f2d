"""Gates whose baseline is a record: made runs, whose yardsticks and models are as fast as a table says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from onnxperf.analyze.judges.gate_record import RecordedRun, RecordedSide, recorded_limits, recorded_notes, sides_of
from onnxperf.analyze.judges.pairing import ALL_CALLS
from onnxperf.analyze.judges.yardstick import BETWEEN_RUNS, change_of, log_time, weakness
from onnxperf.errors import BadOption
from onnxperf.records.gate import GateLimit, GateOutcome
from onnxperf.records.race import YARDSTICK, Case, Measurement, Subject
from tests.analyze.examples import subject
from tests.render.examples import machine

CONDITIONS = {"threads": 1, "onnxruntime": "1.31.1"}


def timed(name: str, time_ns: float, seed: int, sd: float = 0.002, **fields: Any) -> Subject:
    """Six launches of six blocks."""
    times = time_ns * np.exp(np.random.default_rng(seed).normal(0, sd, 36))
    known = {"model": name, "runtime": "ort", "call": "run", "conditions": CONDITIONS}
    return subject(name, list(times), **{**known, **fields})


def yardstick(time_ns: float, seed: int) -> Measurement:
    return timed(YARDSTICK, time_ns, seed)


def case_of(*subjects: Subject, by: Measurement | None, **fields: Any) -> Case:
    known = {"model": "m", "dims": {"batch": 8}, "shapes": {"X": (8, 10)}, "yardstick": by}
    return Case(**{**known, **fields}, subjects=subjects)


def run_of(*cases: Case, **fields: Any) -> RecordedRun:
    return RecordedRun(**{"name": "base.json", "machine": machine(), "cases": cases, **fields})


OLD = case_of(timed("old", 100e3, 1), by=yardstick(50e3, 2))


def judged(new: Case, old: Case = OLD, run: RecordedRun | None = None, **now: Any) -> GateLimit:
    side = RecordedSide(run=run or run_of(old), case=old, subject=old.subjects[0])
    return recorded_limits([new], [side], machine(**now), 0.05)[0]


def now(time_ns: float = 100e3, yard_ns: float = 50e3, seed: int = 10, **fields: Any) -> Case:
    return case_of(timed("new", time_ns, seed, **fields), by=yardstick(yard_ns, seed + 1))


@pytest.mark.parametrize(
    ("time_ns", "yard_ns", "outcome", "ratio"),
    [
        (100e3, 50e3, "passed", 1.0),
        (130e3, 65e3, "passed", 1.0),
        (110e3, 50e3, "failed", 1.1),
        (110e3, 55e3, "passed", 1.0),
        (100e3, 44e3, "failed", 50 / 44),
        (105e3, 50e3, "undecided", 1.05),
        (80e3, 50e3, "passed", 0.8),
    ],
)
def test_times_are_divided_by_the_yardstick_of_their_own_run(
    time_ns: float, yard_ns: float, outcome: GateOutcome, ratio: float
) -> None:
    limit = judged(now(time_ns, yard_ns))
    assert limit.outcome == outcome
    assert limit.ratio == pytest.approx(ratio, rel=0.01)
    assert ("the interval includes the limit" in limit.reason) == (outcome == "undecided")


def test_the_interval_has_the_noise_of_both_runs_and_what_lies_between_them() -> None:
    limit, noisy = judged(now()), judged(now(sd=0.05))
    assert limit.ratio_low is not None
    assert limit.ratio_high is not None
    assert limit.ratio_high / limit.ratio_low > np.exp(2 * 1.96 * BETWEEN_RUNS)
    assert (noisy.ratio_high or 0) / (noisy.ratio_low or 1) > limit.ratio_high / limit.ratio_low


@pytest.mark.parametrize(
    ("new", "changes", "reason"),
    [
        (now(), {"cpu": "another"}, "another processor"),
        (now(), {"cores": 64}, "another processor"),
        (now(), {"python": "3.14.1"}, "with Python 3.11.9, but this is 3.14.1"),
        (now(conditions={**CONDITIONS, "threads": 8}), {}, "other conditions: threads 1 then, 8 now"),
        (replace(now(), shapes={"X": (9, 10)}), {}, "other names or shapes"),
        (replace(now(), yardstick=None), {}, "the yardstick could not be measured now"),
        (now(200e3, 100e3), {}, "the yardstick took 2.0"),
        (replace(now(), dims={"batch": 1}), {}, "other dimensions: batch=8"),
        (Case(model="m", answer="no such file"), {}, "no such file"),
    ],
    ids=["processor", "cores", "Python", "threads", "shapes", "no yardstick", "drift", "dimensions", "nothing"],
)
def test_what_cannot_be_compared_is_undecided_with_a_reason(new: Case, changes: dict[str, Any], reason: str) -> None:
    limit = judged(new, **changes)
    assert (limit.outcome, limit.ratio) == ("undecided", None)
    assert reason in limit.reason


@pytest.mark.parametrize(
    ("old", "run", "reason"),
    [
        (replace(OLD, yardstick=None), {}, "has no yardstick to compare by: measure its model again"),
        (OLD, {"machine": None}, "an unknown processor"),
        (case_of(replace(OLD.subjects[0], blocks=OLD.subjects[0].blocks[:6]), by=OLD.yardstick), {}, "base.json rests"),
        (case_of(Subject(name="old", status="crashed", reason="signal 9"), by=None), {}, "not measured: signal 9"),
    ],
    ids=["no yardstick", "no machine", "short", "crashed"],
)
def test_a_record_that_does_not_suffice_says_what_to_do(old: Case, run: dict[str, Any], reason: str) -> None:
    limit = judged(now(), old, run_of(old, **run))
    assert limit.outcome == "undecided"
    assert reason in limit.reason


def test_a_patch_of_python_does_not_matter_and_another_onnxruntime_is_noted() -> None:
    other = now(conditions={**CONDITIONS, "onnxruntime": "1.32.0"})
    assert judged(other, python="3.11.2").outcome == "passed"
    side = RecordedSide(run=run_of(OLD), case=OLD, subject=OLD.subjects[0])
    notes = recorded_notes([other], [side])
    assert any("onnxruntime was 1.31.1 then and is 1.32.0 now" in note for note in notes)
    assert any(note.startswith("the yardstick took 1.0") for note in notes)
    assert any("outputs were not compared" in note for note in notes)


def test_a_new_model_that_does_not_run_fails_whatever_was_recorded() -> None:
    broken = case_of(Subject(name="new", status="crashed", reason="signal 11"), by=None)
    limit = judged(broken, cpu="another")
    assert (limit.outcome, limit.reason) == ("failed", "signal 11")


def test_instructions_need_no_yardstick() -> None:
    old = case_of(timed("old", 100e3, 1, instructions=1000.0), by=None)
    new = case_of(timed("new", 100e3, 3, instructions=1100.0), by=None)
    side = RecordedSide(run=run_of(old), case=old, subject=old.subjects[0])
    time, instructions = recorded_limits([new], [side], machine(), 0.05)
    assert (time.outcome, instructions.outcome, instructions.ratio) == ("undecided", "failed", 1.1)


def test_equal_models_seldom_fail_and_seldom_differ() -> None:
    outcomes = [judged(now(100e3, 50e3, seed=100 + 2 * seed)).outcome for seed in range(60)]
    assert outcomes.count("failed") == 0
    assert outcomes.count("passed") > 50


def test_sizes_share_the_error_probability_of_one() -> None:
    """Over several sizes an interval is wider, but for what is clear."""
    sizes = (1, 8, 32)
    old = [replace(OLD, dims={"batch": size}) for size in sizes]
    sides = [RecordedSide(run=run_of(*old), case=each, subject=each.subjects[0]) for each in old]
    new = [
        replace(now(time_ns), dims={"batch": size}) for time_ns, size in zip((130e3, 104e3, 105e3), sizes, strict=True)
    ]
    (clear, near, nearest), (alone,) = (recorded_limits(each, sides, machine(), 0.05) for each in (new, new[2:]))
    assert (clear.outcome, near.outcome, nearest.outcome) == ("failed", "undecided", "undecided")
    assert (alone.ratio_low or 0) > (nearest.ratio_low or 0)


def test_a_model_whose_calls_vary_does_not_pass_by_its_quickest_calls() -> None:
    """The quickest pieces are those of the record, and the blocks take a fifth longer."""
    side = RecordedSide(run=run_of(OLD), case=with_pieces(OLD), subject=with_pieces(OLD).subjects[0])
    steady, varying = with_pieces(now()), with_pieces(now(), slow_calls=1.2)
    limits = recorded_limits([steady, replace(varying, dims={"batch": 8})], [side], machine(), 0.05)
    assert [each.outcome for each in limits] == ["passed", "undecided"]
    assert "on different sides of the limit" in limits[1].reason


def with_pieces(case: Case, slow_calls: float = 1.0) -> Case:
    """Blocks whose quickest piece took what they took, and all of their calls so much more."""

    def pieces(each: Any, more: float) -> Any:
        blocks = tuple(
            replace(block, quickest_ns=block.per_call_ns, duration_ns=int(more * block.duration_ns))
            for block in each.blocks
        )
        return replace(each, blocks=blocks)

    subjects = tuple(pieces(each, slow_calls) for each in case.subjects)
    return replace(case, subjects=subjects, yardstick=pieces(case.yardstick, 1.0))


# ---------------------------------------------------------------- which subject


def record(*names: str, call: str = "run", **fields: Any) -> RecordedRun:
    return run_of(case_of(*(timed(name, 100e3, 1, call=call) for name in names), by=None), **fields)


@pytest.mark.parametrize(
    ("run", "wanted", "chosen"),
    [
        (record("anything"), None, "anything"),
        (record("other", "model"), None, "model"),
        (record("other", "model"), "other", "other"),
        (record("baseline", "control", "new", is_gate=True), None, "new"),
        (record("baseline", "control", "new", is_gate=True), "baseline", "baseline"),
    ],
    ids=["the only one", "the same name", "by hand", "of a gate", "of a gate by hand"],
)
def test_the_subject_of_a_record_is_found(run: RecordedRun, wanted: str | None, chosen: str) -> None:
    (side,) = sides_of(run, "run", "model", wanted)
    assert side.subject.name == chosen


@pytest.mark.parametrize(
    ("run", "wanted", "reason"),
    [
        (record("one", "two"), None, "2 subjects of base.json called onnxruntime by run; .* one and two"),
        (record("one", call="io-binding"), None, "0 subjects of base.json called onnxruntime by run"),
        (record("one"), "three", "three"),
        (run_of(), None, "no measured subject"),
    ],
)
def test_a_subject_that_is_not_clear_has_to_be_named(run: RecordedRun, wanted: str | None, reason: str) -> None:
    with pytest.raises(BadOption, match=reason):
        sides_of(run, "run", "model", wanted)


def test_every_size_has_a_subject_of_its_own() -> None:
    cases = [case_of(timed("m", 1e5, 1), by=None, dims={"batch": size}) for size in (1, 8)]
    sides = sides_of(run_of(*cases), "run", "m", None)
    assert [side.case.dims["batch"] for side in sides] == [1, 8]


# ---------------------------------------------------------------- times


def test_launches_that_were_disturbed_do_not_move_a_time() -> None:
    times = 100e3 * np.exp(np.random.default_rng(0).normal(0, 0.001, 36))
    disturbed = times.copy()
    disturbed[-12:] *= 1.4
    quiet, busy = (log_time(subject("m", list(each)), ALL_CALLS) for each in (times, disturbed))
    assert quiet is not None
    assert busy is not None
    assert busy.value == pytest.approx(quiet.value, abs=0.002)


def test_several_threads_on_a_busy_machine_are_not_compared() -> None:
    times = [100e3] * 6 + [180e3] * 30
    assert weakness(subject("m", times, conditions={"threads": 1})) == ""
    assert "several threads" in weakness(subject("m", times, conditions={"threads": 2}))
    assert change_of(subject("m", times, conditions={"threads": 2}), OLD.subjects[0], OLD, OLD) is None


def test_quickest_pieces_count_only_where_all_have_them() -> None:
    pieces = replace(OLD.subjects[0], blocks=tuple(replace(each, quickest_ns=80e3) for each in OLD.subjects[0].blocks))
    change = change_of(pieces, OLD.subjects[0], OLD, OLD)
    assert change is not None
    assert change.ratio == pytest.approx(1.0, rel=0.01)
