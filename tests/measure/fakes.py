"""A clock that only moves when time is spent, and workers on the real interface that spend it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

from onnxperf.errors import WorkerLost
from onnxperf.measure import messages as ms
from onnxperf.measure.messages import FunctionSubject, ModelSubject, R, Reply, Request, WorkerSpec
from onnxperf.measure.packing import pack_value

Trouble = Callable[[], None]
"""What happens instead of an answer; usually it raises."""
CPU_FACTOR = 2
"""CPU time of a call, compared with its time."""
Answers = dict[type[Request[Any]], Callable[["FakeWorker", Any], Reply]]


def raising(error: BaseException) -> Callable[[], NoReturn]:
    def trouble() -> NoReturn:
        raise error

    return trouble


def lost(status: str = "crashed") -> Callable[[], NoReturn]:
    return raising(WorkerLost(status, f"{status} for a test"))  # type: ignore[arg-type]


@dataclass
class FakeClock:
    """Time that passes when it is spent."""

    now_ns: int = 1_000

    def __call__(self) -> int:
        return self.now_ns

    def spend(self, duration_ns: float) -> int:
        self.now_ns += int(duration_ns)
        return int(duration_ns)


@dataclass
class FakeMachine:
    """Launches fake workers, decides how long their calls take and what goes wrong, and keeps what they did."""

    clock: FakeClock = field(default_factory=FakeClock)
    call_ns: dict[str, float] = field(default_factory=dict)
    """Time of a call by subject; 1 ms unless given."""
    slowdown: Callable[[str, int], float] = lambda _subject, _block: 1.0
    """Factor on the time of a block, by subject and the number of its blocks before."""
    first_call_factor: int = 1
    start_ns: int = 0
    """Time that a worker needs until it is ready."""
    load_ns: int = 10
    """Time of a load; the n-th worker needs n more, and a load in a worker that runs already takes ten times as long,
    so that none can be taken for another."""
    troubles: dict[tuple[str, str, int], Trouble] = field(default_factory=dict)
    """(step, subject or runtime, how often the step was taken before) -> what happens then."""
    answers: Answers = field(default_factory=dict)
    """Answers of a test, instead of or besides those of `FakeWorker`."""
    homes: Sequence[object] = ()
    """Processes that workers get one after the other, again and again; without any, each has its own."""
    workers: list[FakeWorker] = field(default_factory=list)
    awake: set[int] = field(default_factory=set)
    most_awake: int = 0
    steps: Counter[tuple[str, str]] = field(default_factory=Counter)
    requests: list[Request[Any]] = field(default_factory=list)
    """All that were answered."""
    places: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    """Which subjects were timed on which processors; none means that the worker may use all."""
    recorded: dict[str, int] = field(default_factory=dict)
    """Calls of each subject that its trace would hold, the first one included."""

    def launch(self, spec: WorkerSpec) -> FakeWorker:
        worker = FakeWorker(self, spec, len(self.workers))
        self.workers.append(worker)
        return worker

    @contextmanager
    def open_worker(self, spec: WorkerSpec) -> Iterator[FakeWorker]:
        worker = self.launch(spec)
        try:
            worker.wait_until_ready()
            yield worker
        finally:
            worker.close()

    def take(self, step: str, name: str) -> None:
        """Count a step, after the trouble that belongs to it."""
        before = self.steps[step, name]
        self.steps[step, name] += 1
        if trouble := self.troubles.get((step, name, before)):
            trouble()

    def wake(self, number: int) -> None:
        self.awake.add(number)
        self.most_awake = max(self.most_awake, len(self.awake))

    def launches_of(self, runtime: str) -> int:
        return sum(worker.spec.runtime == runtime for worker in self.workers)

    @property
    def all_closed(self) -> bool:
        return all(worker.closed for worker in self.workers)


class FakeWorker:
    """A worker on the real interface; it insists on being awake, and alone, when it is asked."""

    def __init__(self, machine: FakeMachine, spec: WorkerSpec, number: int) -> None:
        self.machine = machine
        self.spec = spec
        self.hosted = spec
        """What it has loaded last: a process of a pool starts without a model."""
        self.number = number
        self.ready = self.closed = self.lost = False
        self.loads = 0
        self.prepared: set[int] = set()
        self.cpus: tuple[int, ...] = ()
        self.look: Callable[[int], None] = lambda _pid: None

    @property
    def home(self) -> object:
        return self.machine.homes[self.number % len(self.machine.homes)] if self.machine.homes else self

    @property
    def idle(self) -> bool:
        return self.ready and not self.closed and not self.lost

    def wait_until_ready(self) -> None:
        if self.ready:
            return
        self.machine.clock.spend(self.machine.start_ns)
        self.machine.take("ready", self.spec.runtime)
        self.ready = True
        self.machine.wake(self.number)

    def ask(self, request: Request[R]) -> R:
        assert self.ready
        assert not self.closed
        assert self.machine.awake == {self.number}
        try:
            self.machine.take(step_of(request), self._name(request))
        except WorkerLost:
            self.lost = True
            raise
        self.machine.requests.append(request)
        answer = (ANSWERS | self.machine.answers)[type(request)]
        return cast("R", answer(self, request))

    def watch(self, look: Callable[[int], None], _interval_s: float) -> None:
        self.look = look

    def freeze(self) -> None:
        self.machine.awake.discard(self.number)

    def thaw(self) -> None:
        assert not self.closed
        self.machine.wake(self.number)

    def close(self) -> None:
        self.machine.awake.discard(self.number)
        self.closed = True

    def _name(self, request: Request[Any]) -> str:
        if isinstance(request, ms.ProbeStep):
            return request.step
        subject = getattr(request, "subject", None)
        return self.hosted.runtime if subject is None else self.hosted.subjects[subject].name

    def load(self, request: ms.Load) -> ms.Loaded:
        self.hosted = request.spec
        self.prepared.clear()
        self.loads += 1
        load_ns = self.machine.clock.spend(self._slowly(self.machine.load_ns + self.number))
        return ms.Loaded(load_ns, {"threads": self.spec.threads})

    def prepare(self, request: ms.Prepare) -> ms.Prepared:
        assert self.loads
        self.prepared.add(request.subject)
        call_ns = self.machine.first_call_factor * self._call_ns(request.subject)
        name = self.hosted.subjects[request.subject].name
        return ms.Prepared(self.machine.clock.spend(self._slowly(call_ns)), {"prepared": name})

    def warm_up(self, request: ms.WarmUp) -> ms.WarmedUp:
        self.machine.clock.spend(request.duration_ns)
        return ms.WarmedUp(float(self._call_ns(request.subject)))

    def time_block(self, request: ms.TimeBlock) -> ms.TimedBlock:
        name = self._begin(request.subject, request.warm_ns)
        factor = self.machine.slowdown(name, self.machine.steps["time_block", name] - 1)
        self.machine.clock.spend(request.every_ns)
        start, call_ns = self.machine.clock(), self._call_ns(request.subject) * factor
        singles = [int(call_ns)] * request.calls if request.each else []
        span_ns = self.machine.clock.spend(request.calls * max(call_ns, request.every_ns))
        duration_ns = int(request.calls * call_ns)
        span = span_ns if request.every_ns else None
        return ms.TimedBlock(start, duration_ns, singles, cpu_ns=CPU_FACTOR * duration_ns, span_ns=span)

    def time_each(self, request: ms.TimeEach) -> ms.TimedEach:
        name = self._begin(request.subject, request.warm_ns or 0)
        if request.warm_ns is None:
            self.machine.recorded[name] = self.machine.recorded.get(name, 1) + request.calls
        call_ns = self._call_ns(request.subject)
        return ms.TimedEach([self.machine.clock.spend(call_ns) for _ in range(request.calls)])

    def split_each(self, request: ms.SplitEach) -> ms.TimedSplit:
        """A fifth of a call is preparing, a tenth fetching; a callable has no parts."""
        self._begin(request.subject, request.warm_ns)
        if isinstance(self.hosted.subjects[request.subject], FunctionSubject):
            return ms.TimedSplit([], [], [])
        call_ns = self._call_ns(request.subject)
        times = [self.machine.clock.spend(call_ns) for _ in range(request.calls)]
        return ms.TimedSplit([ns // 5 for ns in times], [ns * 7 // 10 for ns in times], [ns // 10 for ns in times])

    def compute(self, request: ms.Compute) -> ms.Computed:
        return ms.Computed(["Y"], pack_value([request.subject]))

    def end_recording(self, _request: ms.EndRecording) -> ms.EndedRecording:
        return ms.EndedRecording(f"{self.spec.runtime}.json")

    def hold(self, _request: ms.Hold) -> ms.Done:
        return ms.Done()

    def move_to(self, _request: ms.MoveTo) -> ms.Done:
        return ms.Done()

    def _begin(self, subject: int, warm_ns: int) -> str:
        assert subject in self.prepared
        name = self.hosted.subjects[subject].name
        self.machine.places.append((name, self.cpus))
        self.machine.clock.spend(warm_ns)
        return name

    def _call_ns(self, subject: int) -> float:
        return self.machine.call_ns.get(self.hosted.subjects[subject].name, 1_000_000)

    def _slowly(self, duration_ns: float) -> float:
        return duration_ns if self.loads <= 1 else 10 * duration_ns


ANSWERS: Answers = {
    ms.Load: FakeWorker.load,
    ms.Prepare: FakeWorker.prepare,
    ms.WarmUp: FakeWorker.warm_up,
    ms.TimeBlock: FakeWorker.time_block,
    ms.TimeEach: FakeWorker.time_each,
    ms.SplitEach: FakeWorker.split_each,
    ms.Compute: FakeWorker.compute,
    ms.EndRecording: FakeWorker.end_recording,
    ms.Hold: FakeWorker.hold,
    ms.MoveTo: FakeWorker.move_to,
}


def step_of(request: Request[Any]) -> str:
    """time_block for a TimeBlock."""
    return re.sub(r"(?<=.)(?=[A-Z])", "_", type(request).__name__).lower()


def solo(name: str, memory_bytes: int = 0) -> WorkerSpec:
    """A worker with one callable; its runtime has the same name."""
    subject = FunctionSubject(name=name, function=b"")
    return WorkerSpec(subjects=(subject,), threads=1, feeds={}, runtime=name, memory_bytes=memory_bytes)


def spec_of(runtime: str, *names: str, memory_bytes: int = 0) -> WorkerSpec:
    """A worker with several call styles."""
    subjects = tuple(ModelSubject(name=name, call=name) for name in names)
    return WorkerSpec(
        subjects=subjects,
        threads=1,
        feeds={},
        runtime=runtime,
        model_label=runtime,
        model_path="model.onnx",
        memory_bytes=memory_bytes,
    )
