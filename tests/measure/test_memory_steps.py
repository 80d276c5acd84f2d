"""The steps of one subject, with a fake worker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from onnxperf.errors import BadModel, SubjectError, WorkerLost
from onnxperf.measure.memory_steps import Curve, MemoryProbe, needed_bytes, probe_subject
from onnxperf.measure.messages import (
    CalledMany,
    CallMany,
    FunctionSubject,
    Mark,
    ModelSubject,
    ProbedStep,
    ProbeStep,
    WorkerSpec,
)
from onnxperf.records.memory import Resident, StepName
from tests.measure.fakes import Answers, FakeMachine, FakeWorker, Trouble, raising

MB = 1 << 20
SPEC = WorkerSpec(subjects=(ModelSubject(name="ort", call="run"),), threads=1, feeds={}, runtime="ort", model_label="m")


def resident(size: int, files: int = 0) -> Resident:
    return Resident(anonymous_bytes=size, file_bytes=files)


@dataclass
class FakeMemory:
    """A subject that needs so much in each step and keeps so much of each call."""

    needs: dict[StepName, int] = field(default_factory=lambda: {"load": 5 * MB, "first call": 9 * MB})
    leak: int = 0
    exact: bool = True
    base: int = 100 * MB
    call_ns: int = 1_000_000
    outputs: list[int | None] = field(default_factory=lambda: [40])
    calls: int = 0
    troubles: dict[tuple[str, str, int], Trouble] = field(default_factory=dict)

    def probe_step(self, _worker: FakeWorker, request: ProbeStep) -> ProbedStep:
        before = resident(self.base)
        self.base += self.leak if request.step != "load" else 0
        peak = before.total_bytes + self.needs.get(request.step, 3 * MB) if self.exact else None
        mark = Mark(before, resident(self.base), peak, 0, self.call_ns)
        output = 0 if request.step == "load" else self.outputs[self.calls % len(self.outputs)]
        self.calls += request.step != "load"
        return ProbedStep(mark, {"threads": 1} if request.step == "load" else {}, output)

    def call_many(self, _worker: FakeWorker, request: CallMany) -> CalledMany:
        self.base += self.leak * request.calls
        return CalledMany(resident(self.base))


def probe(
    memory: FakeMemory,
    repeat: int | None = None,
    spec: WorkerSpec = SPEC,
    report: Callable[[float, str], None] = lambda _done, _text: None,
) -> MemoryProbe:
    answers: Answers = {ProbeStep: memory.probe_step, CallMany: memory.call_many}
    machine = FakeMachine(troubles=memory.troubles, answers=answers)
    memory_probe = probe_subject(spec, machine.open_worker, repeat, 0.001, report)
    assert machine.all_closed
    return memory_probe


def test_every_step_is_kept_with_its_peak_and_its_increment() -> None:
    memory_probe = probe(FakeMemory())
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
    memory_probe = probe(FakeMemory(call_ns=call_ns, leak=1000), repeat)
    assert len(memory_probe.points) == points
    assert memory_probe.points[-1][0] == 6 + calls
    (sooner, small), (later, large) = memory_probe.points[0], memory_probe.points[-1]
    assert (large - small) / (later - sooner) == 1000


@pytest.mark.parametrize(
    ("outputs", "kept"),
    [([10, 90, 30, 10, 90, 30], 90), ([10, None, 30], 30), ([None], None), ([0], 0)],
    ids=["the largest of three sizes", "one is not known", "none is known", "nothing returned"],
)
def test_the_outputs_of_several_sizes_are_those_of_the_largest(outputs: list[int | None], kept: int | None) -> None:
    assert probe(FakeMemory(outputs=outputs)).output_bytes == kept


def test_several_sizes_are_followed_from_the_first_call_on() -> None:
    spec = WorkerSpec(subjects=SPEC.subjects, threads=1, feeds={}, more_feeds=({}, {}), runtime="ort")
    memory_probe = probe(FakeMemory(), 10, spec)
    assert [calls for calls, _ in memory_probe.points] == [1, 2, 3, 4, 5, 6, *range(8, 18)]


STEPS_UNTIL = [
    (("ready", "ort", 0), 0),
    (("hold", "ort", 0), 0),
    (("probe_step", "load", 0), 0),
    (("probe_step", "first call", 0), 1),
    (("probe_step", "steady call", 4), 6),
    (("call_many", "ort", 0), 7),
]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SubjectError("oom", "too much"), "oom"),
        (WorkerLost("crashed", "gone", 11, "last words"), "crashed"),
        (BadModel("no such operator"), "failed"),
    ],
)
@pytest.mark.parametrize(("where", "steps"), STEPS_UNTIL)
def test_whatever_ends_a_subject_what_was_measured_stays(
    error: Exception, status: str, where: tuple[str, str, int], steps: int
) -> None:
    memory_probe = probe(FakeMemory(troubles={where: raising(error)}))
    assert memory_probe.subject.status == status
    assert memory_probe.subject.reason == str(error)
    assert len(memory_probe.subject.steps) == steps
    assert memory_probe.subject.signal == getattr(error, "signal", None)


def test_after_an_interrupt_what_was_measured_stays() -> None:
    memory_probe = probe(FakeMemory(troubles={("call_many", "ort", 0): raising(KeyboardInterrupt())}))
    assert memory_probe.interrupted
    assert memory_probe.subject.status == "pending"
    assert len(memory_probe.subject.steps) == 7


def test_a_callable_is_named_and_has_no_call_style() -> None:
    spec = WorkerSpec(subjects=(FunctionSubject(name="skl", function=b""),), threads=1, feeds={})
    subject = probe(FakeMemory(), spec=spec).subject
    assert (subject.name, subject.runtime, subject.call, subject.model) == ("skl", "callable", None, None)


def test_where_the_kernel_has_no_mark_the_highest_sample_is_taken_and_marked_inexact() -> None:
    subject = probe(FakeMemory(exact=False)).subject
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


def test_what_is_done_grows_from_nothing_to_nearly_all() -> None:
    reports: list[float] = []
    probe(FakeMemory(), repeat=8, report=lambda done, _text: reports.append(done))
    assert reports[0] == 0
    assert reports == sorted(reports)
    assert 0.85 < reports[-1] < 1


@pytest.mark.parametrize(
    ("trouble", "expected"),
    [(None, (9 * MB, "")), (SubjectError("oom", "too much"), (None, "too much"))],
    ids=["measured", "lost"],
)
def test_what_a_fresh_process_needs_is_its_peak_above_its_start(
    trouble: SubjectError | None, expected: tuple[int | None, str]
) -> None:
    troubles: dict[tuple[str, str, int], Trouble] = {}
    if trouble is not None:
        troubles["probe_step", "first call", 0] = raising(trouble)
    memory = FakeMemory(troubles=troubles)
    machine = FakeMachine(troubles=troubles, answers={ProbeStep: memory.probe_step, CallMany: memory.call_many})
    assert needed_bytes(SPEC, machine.open_worker) == expected


def test_ctrl_c_while_memory_is_needed_ends_everything() -> None:
    memory = FakeMemory(troubles={("call_many", "ort", 0): raising(KeyboardInterrupt())})
    answers: Answers = {ProbeStep: memory.probe_step, CallMany: memory.call_many}
    with pytest.raises(KeyboardInterrupt):
        needed_bytes(SPEC, FakeMachine(troubles=memory.troubles, answers=answers).open_worker)
