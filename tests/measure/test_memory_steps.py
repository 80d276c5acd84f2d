"""The steps of one subject, with a fake worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from onnxperf.errors import BadModel, SubjectError, WorkerLost
from onnxperf.measure.memory_steps import Curve, probe_subject
from onnxperf.measure.messages import CalledMany, FunctionSubject, Mark, ModelSubject, ProbedStep, WorkerSpec
from onnxperf.records import Resident, StepName

MB = 1 << 20
CREW = WorkerSpec(subjects=(ModelSubject(name="ort", call="run"),), threads=1, feeds={}, runtime="ort", model_label="m")


def resident(size: int, files: int = 0) -> Resident:
    return Resident(anonymous_bytes=size, file_bytes=files)


@dataclass
class FakeScale:
    """Needs so much in each step, keeps so much of each call, and fails where it is told to."""

    needs: dict[StepName, int] = field(default_factory=lambda: {"load": 5 * MB, "first call": 9 * MB})
    leak: int = 0
    exact: bool = True
    failing: dict[str, BaseException] = field(default_factory=dict)
    base: int = 100 * MB
    call_ns: int = 1_000_000
    asked: list[str] = field(default_factory=list)
    look: Callable[[int], None] = lambda _pid: None
    closed: bool = False

    def wait_until_ready(self) -> None:
        self._may_fail("ready")

    def hold(self) -> None:
        self._may_fail("hold")

    def watch(self, look: Callable[[int], None], interval_s: float) -> None:
        self.look = look

    def probe(self, step: StepName) -> ProbedStep:
        self._may_fail(step)
        before = resident(self.base)
        self.base += self.leak if step != "load" else 0
        peak = before.total_bytes + self.needs.get(step, 3 * MB) if self.exact else None
        mark = Mark(before, resident(self.base), peak, 0, self.call_ns)
        return ProbedStep(mark, {"threads": 1} if step == "load" else {}, 40)

    def call_many(self, calls: int) -> CalledMany:
        self._may_fail("call_many")
        self.asked.append(f"call_many {calls}")
        self.base += self.leak * calls
        return CalledMany(resident(self.base))

    def close(self) -> None:
        self.closed = True

    def _may_fail(self, step: str) -> None:
        self.asked.append(step)
        error = self.failing.get(step) or self.failing.get(f"{step} {self.asked.count(step)}")
        if error is not None:
            raise error


def probe(scale: FakeScale, repeat: int | None = None, spec: WorkerSpec = CREW):  # type: ignore[no-untyped-def]
    memory_probe = probe_subject(spec, lambda _spec: scale, repeat, 0.001, lambda _text: None)
    assert scale.closed
    return memory_probe


def test_every_step_is_kept_with_its_peak_and_its_increment() -> None:
    memory_probe = probe(FakeScale())
    steps = memory_probe.subject.steps
    assert [step.name for step in steps] == ["load", "first call", *["steady call"] * 5]
    assert [step.increment_bytes // MB for step in steps] == [5, 9, 3, 3, 3, 3, 3]
    assert all(step.exact for step in steps)
    assert len(memory_probe.subject.step_ns) == len(steps)
    assert memory_probe.subject.conditions == {"threads": 1}
    assert memory_probe.output_bytes == 40


@pytest.mark.parametrize(
    ("repeat", "call_ns", "calls", "points"),
    [
        (None, 1_000_000, 2000, 25),
        (None, 1000, 5000, 25),
        (None, 10_000_000_000, 6, 6),
        (100, 1_000_000, 100, 25),
        (5, 1_000_000, 5, 5),
        (30, 1_000_000, 30, 25),
        (49, 1_000_000, 49, 25),
    ],
)
def test_growth_is_followed_over_as_many_calls_as_fit(
    repeat: int | None, call_ns: int, calls: int, points: int
) -> None:
    memory_probe = probe(FakeScale(call_ns=call_ns, leak=1000), repeat)
    assert len(memory_probe.points) == points
    assert memory_probe.points[-1][0] == 6 + calls
    (sooner, small), (later, large) = memory_probe.points[0], memory_probe.points[-1]
    assert (large - small) / (later - sooner) == 1000


def test_several_sizes_are_followed_from_the_first_call_on() -> None:
    spec = WorkerSpec(subjects=CREW.subjects, threads=1, feeds={}, more_feeds=({}, {}), runtime="ort")
    memory_probe = probe(FakeScale(), 10, spec)
    assert [calls for calls, _ in memory_probe.points] == [1, 2, 3, 4, 5, 6, *range(8, 18)]


STEPS_UNTIL = [("ready", 0), ("hold", 0), ("load", 0), ("first call", 1), ("steady call 5", 6), ("call_many", 7)]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SubjectError("oom", "too much"), "oom"),
        (WorkerLost("crashed", "gone", 11, "last words"), "crashed"),
        (BadModel("no such operator"), "failed"),
    ],
)
@pytest.mark.parametrize(("where", "steps"), STEPS_UNTIL)
def test_whatever_ends_a_subject_what_was_weighed_stays(error: Exception, status: str, where: str, steps: int) -> None:
    memory_probe = probe(FakeScale(failing={where: error}))
    assert memory_probe.subject.status == status
    assert memory_probe.subject.reason == str(error)
    assert len(memory_probe.subject.steps) == steps
    assert memory_probe.subject.signal == getattr(error, "signal", None)


def test_after_an_interrupt_what_was_weighed_stays() -> None:
    memory_probe = probe(FakeScale(failing={"call_many": KeyboardInterrupt()}))
    assert memory_probe.interrupted
    assert memory_probe.subject.status == "pending"
    assert len(memory_probe.subject.steps) == 7


def test_a_callable_is_named_and_has_no_call_style() -> None:
    spec = WorkerSpec(subjects=(FunctionSubject(name="skl", function=b""),), threads=1, feeds={})
    subject = probe(FakeScale(), spec=spec).subject
    assert (subject.name, subject.runtime, subject.call, subject.model) == ("skl", "callable", None, None)


def test_where_the_kernel_has_no_mark_the_highest_sample_is_taken_and_says_so() -> None:
    subject = probe(FakeScale(exact=False)).subject
    assert not any(step.exact for step in subject.steps)
    assert all(step.peak_bytes == step.before.total_bytes for step in subject.steps)


def curve_of(sizes: list[int]) -> Curve:
    times = iter(range(100, 10_000, 100))
    values = iter(sizes)
    curve = Curve(clock=lambda: next(times), read=lambda _pid: next(values))
    for _ in sizes:
        curve.look(1)
    return curve


def test_of_equal_samples_the_first_and_the_last_are_kept() -> None:
    curve = curve_of([5, 5, 5, 5, 7, 5, 5])
    assert curve.sizes == [5, 5, 7, 5, 5]
    assert curve.times_ns == [100, 400, 500, 600, 700]


@pytest.mark.parametrize(
    ("start", "duration", "highest"), [(300, 200, 30), (500, 300, 40), (510, 50, 12), (2000, 1, 12)]
)
def test_the_highest_sample_of_a_step_is_one_within_it_or_at_its_ends(start: int, duration: int, highest: int) -> None:
    curve = curve_of([10, 30, 20, 15, 40, 10])  # at 200, 300 … 700 on the clock, the curve having begun at 100
    mark = Mark(resident(11), resident(12), None, start, duration)
    assert curve.highest(mark) == highest
