"""Memory steps of one subject alone in its process, probed in sequence and sampled from outside."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import Struct

from onnxperf.errors import BadInput, SubjectError, WorkerLost
from onnxperf.measure.memory import resident_bytes
from onnxperf.measure.messages import CallMany, Hold, Mark, ModelSubject, ProbedStep, ProbeStep, WorkerSpec
from onnxperf.measure.process import Worker
from onnxperf.measure.profiling import shares
from onnxperf.measure.worker.timing import Clock, monotonic_ns
from onnxperf.records.base import Scalar, Status
from onnxperf.records.memory import MemoryStep, MemorySubject, StepName

STEADY_CALLS = 5
_POINTS = range(6, 26)
"""Number of growth points: enough for a line, few enough to be quick."""
_GROWTH_NS = 2_000_000_000
"""Default total time of the calls over which growth is judged."""
_MOST_CALLS = 5000
_INTERVAL_S = 0.005
"""Sampling interval if only the needed memory of a process is measured."""


class MemoryWorker(Worker, Protocol):
    """A worker whose memory can be sampled from outside."""

    def watch(self, look: Callable[[int], None], interval_s: float) -> None:
        """Call `look` with the process id repeatedly while it is busy."""


class MemoryProbe(Struct, frozen=True, kw_only=True):
    """Memory of one subject up to its end or its last step."""

    subject: MemorySubject
    points: tuple[tuple[int, int], ...] = ()
    """Number of calls so far, and the anonymous memory at that point."""
    output_bytes: int | None = None
    """Size of the outputs of a call; the largest if there are several input sizes."""
    interrupted: bool = False


class Curve:
    """Samples of resident memory; of equal consecutive samples, only the first and last are kept."""

    def __init__(self, clock: Clock = monotonic_ns, read: Callable[[int], int] = resident_bytes) -> None:
        self._clock = clock
        self._read = read
        self.started_s, self.start_ns = time.time(), clock()
        self.times_ns: list[int] = []
        self.sizes: list[int] = []

    def look(self, pid: int) -> None:
        """Take a sample."""
        size = self._read(pid)
        if self.sizes[-2:] == [size, size]:
            self.times_ns.pop()
            self.sizes.pop()
        self.times_ns.append(self._clock() - self.start_ns)
        self.sizes.append(size)

    def highest(self, mark: Mark) -> int:
        """The highest sample during a step, including its ends."""
        begin = mark.start_ns - self.start_ns
        end = begin + mark.duration_ns
        within = (size for at, size in zip(self.times_ns, self.sizes, strict=True) if begin <= at <= end)
        return max(*within, mark.before.total_bytes, mark.after.total_bytes)


@dataclass
class _Log:
    """Measurements so far."""

    curve: Curve
    steps: list[MemoryStep] = field(default_factory=list)
    step_ns: list[int] = field(default_factory=list)
    points: list[tuple[int, int]] = field(default_factory=list)
    conditions: dict[str, Scalar] = field(default_factory=dict)
    output_bytes: int | None = None
    interrupted: bool = False
    error: SubjectError | BadInput | None = None

    def add(self, name: StepName, probed: ProbedStep) -> None:
        """Add the mark of a step."""
        self.conditions.update(probed.conditions)
        if (mark := probed.mark) is None:
            return
        if name != "load" and probed.output_bytes is not None:
            self.output_bytes = max(self.output_bytes or 0, probed.output_bytes)
        self.step_ns.append(mark.start_ns - self.curve.start_ns)
        self.steps.append(
            MemoryStep(
                name=name,
                before=mark.before,
                peak_bytes=mark.peak_bytes if mark.peak_bytes is not None else self.curve.highest(mark),
                after=mark.after,
                exact=mark.peak_bytes is not None,
                duration_ns=mark.duration_ns,
            )
        )

    def _status(self) -> Status:
        if isinstance(self.error, SubjectError):
            return self.error.status
        if self.error is not None:
            return "failed"
        return "pending" if self.interrupted else "ok"

    def memory_probe(self, spec: WorkerSpec) -> MemoryProbe:
        """All measurements."""
        subject, error = spec.subjects[0], self.error
        lost = error if isinstance(error, WorkerLost) else None
        record = MemorySubject(
            name=subject.name,
            model=spec.model_label,
            runtime=spec.runtime,
            call=subject.call if isinstance(subject, ModelSubject) else None,
            status=self._status(),
            reason=str(error or ""),
            signal=lost.signal if lost else None,
            stderr=lost.stderr if lost else "",
            sizes=1 + len(spec.more_feeds),
            steps=tuple(self.steps),
            started_s=self.curve.started_s,
            sample_ns=tuple(self.curve.times_ns),
            sample_bytes=tuple(self.curve.sizes),
            step_ns=tuple(self.step_ns),
            conditions=self.conditions,
        )
        return MemoryProbe(
            subject=record, points=tuple(self.points), output_bytes=self.output_bytes, interrupted=self.interrupted
        )


def probe_subject(
    spec: WorkerSpec,
    open_worker: Callable[[WorkerSpec], AbstractContextManager[MemoryWorker]],
    repeat: int | None,
    interval_s: float,
    report: Callable[[float, str], None],
) -> MemoryProbe:
    """Load, then call repeatedly; if something ends it early, the steps so far are returned."""
    log = _Log(Curve())
    try:
        report(0.0, "starting")
        with open_worker(spec) as worker:
            worker.ask(Hold(spec))
            worker.watch(log.curve.look, interval_s)
            _take_steps(worker, log, 1 + len(spec.more_feeds), report)
            _call_often(worker, log, repeat, report)
    except KeyboardInterrupt:
        log.interrupted = True
    except (SubjectError, BadInput) as error:
        log.error = error
    return log.memory_probe(spec)


def needed_bytes(
    spec: WorkerSpec,
    open_worker: Callable[[WorkerSpec], AbstractContextManager[MemoryWorker]],
    report: Callable[[], None] = lambda: None,
) -> tuple[int | None, str]:
    """Peak memory of a fresh process for one call, above its memory before loading the model; or why it is unknown."""
    probe = probe_subject(spec, open_worker, 1, _INTERVAL_S, lambda _done, _text: report())
    if probe.interrupted:
        raise KeyboardInterrupt
    subject = probe.subject
    if subject.status != "ok" or subject.peak_bytes is None:
        return None, subject.reason or "its memory could not be measured"
    return max(subject.peak_bytes - subject.steps[0].before.total_bytes, 0), ""


def _take_steps(worker: MemoryWorker, log: _Log, sizes: int, report: Callable[[float, str], None]) -> None:
    report(0.05, "loading")
    log.add("load", worker.ask(ProbeStep("load")))
    report(0.1, "first call")
    log.add("first call", worker.ask(ProbeStep("first call")))
    report(0.2, "steady calls")
    for calls in range(1, 1 + max(STEADY_CALLS, 2 * sizes)):
        log.add("steady call", worker.ask(ProbeStep("steady call")))
        if sizes > 1:  # with one size, a session settles within these calls, and settling is not growth
            log.points.append((calls, log.steps[-1].before.anonymous_bytes))


def _call_often(worker: MemoryWorker, log: _Log, repeat: int | None, report: Callable[[float, str], None]) -> None:
    """Points of resident memory over many calls."""
    done = sum(step.name != "load" for step in log.steps)
    call_ns = statistics.median(step.duration_ns for step in log.steps[-STEADY_CALLS:])
    total = repeat or min(max(int(_GROWTH_NS / max(call_ns, 1.0)), _POINTS[0]), _MOST_CALLS)
    parts = shares(total, min(total, _POINTS[-1]))
    for number, calls in enumerate(parts):
        report(0.3 + 0.7 * number / len(parts), f"growth over {total} calls")
        called = worker.ask(CallMany(calls))
        done += calls
        log.points.append((done, called.resident.anonymous_bytes))
