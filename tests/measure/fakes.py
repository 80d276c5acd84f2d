"""A clock that only moves when told to, and workers that live by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from onnxperf.measure.messages import FunctionSubject, Loaded, ModelSubject, Prepared, TimedSplit, WorkerSpec
from onnxperf.records import Scalar

Trouble = Callable[[], None]
"""What happens instead of a quiet step; usually it raises."""


@dataclass
class FakeClock:
    """Time that passes when somebody spends it."""

    now_ns: int = 1_000

    def __call__(self) -> int:
        return self.now_ns

    def spend(self, duration_ns: float) -> int:
        self.now_ns += int(duration_ns)
        return int(duration_ns)


@dataclass
class Yard:
    """Where fake workers are launched: it watches them, and knows what will befall them."""

    clock: FakeClock = field(default_factory=FakeClock)
    call_ns: dict[str, int] = field(default_factory=dict)
    """Time of a call by subject; 1 ms unless given."""
    start_ns: int = 0
    """Time that a worker needs until it is ready."""
    load_ns: int = 10
    """Time of a load; the n-th worker needs n more, and a load in a worker that runs already takes ten times as long,
    so that nobody takes one for the other."""
    troubles: dict[tuple[str, str, int], Trouble] = field(default_factory=dict)
    """(step, subject or runtime, how often the step was taken before) -> what happens then."""
    workers: list[FakeWorker] = field(default_factory=list)
    awake: set[int] = field(default_factory=set)
    most_awake: int = 0
    steps: dict[tuple[str, str], int] = field(default_factory=dict)
    places: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    """Whose calls were timed on which processors; none means that the worker may use all."""
    recorded: dict[str, int] = field(default_factory=dict)
    """Calls of each subject that its trace would hold, the first one included."""

    def launch(self, spec: WorkerSpec) -> FakeWorker:
        worker = FakeWorker(self, spec, len(self.workers))
        self.workers.append(worker)
        return worker

    def take(self, step: str, who: str) -> None:
        """Count a step, and let happen what has to."""
        before = self.steps.get((step, who), 0)
        self.steps[step, who] = before + 1
        trouble = self.troubles.get((step, who, before))
        if trouble:
            trouble()

    def launches_of(self, runtime: str) -> int:
        return sum(worker.spec.runtime == runtime for worker in self.workers)

    @property
    def all_closed(self) -> bool:
        return all(worker.closed for worker in self.workers)


class FakeWorker:
    """A worker on the real interface; it insists on being awake, and alone, when it is asked."""

    def __init__(self, yard: Yard, spec: WorkerSpec, number: int) -> None:
        self._yard = yard
        self.spec = spec
        self.number = number
        self.ready = self.closed = False
        self.loads = 0
        self.prepared: set[int] = set()
        self.cpus: tuple[int, ...] = ()

    def wait_until_ready(self) -> None:
        self._yard.clock.spend(self._yard.start_ns)
        self._yard.take("ready", self.spec.runtime)
        self.ready = True

    def load(self) -> Loaded:
        self._must_be_at_its_turn()
        assert self.ready
        self._yard.take("load", self.spec.runtime)
        self.prepared.clear()
        self.loads += 1
        conditions: dict[str, Scalar] = {"threads": self.spec.threads}
        return Loaded(self._yard.clock.spend(self._slowly(self._yard.load_ns + self.number)), conditions)

    def prepare(self, subject: int) -> Prepared:
        name = self._step("prepare", subject)
        assert self.loads
        self.prepared.add(subject)
        return Prepared(self._yard.clock.spend(self._slowly(self._call_ns(name))), {"prepared": name})

    def warm_up(self, subject: int, duration_ns: int) -> float:
        name = self._step("warm_up", subject)
        self._yard.clock.spend(duration_ns)
        return float(self._call_ns(name))

    def time_block(self, subject: int, calls: int, warm_ns: int) -> tuple[int, int]:
        name = self._step("time_block", subject)
        self._must_be_prepared(subject)
        self._yard.clock.spend(warm_ns)
        start = self._yard.clock()
        return start, self._yard.clock.spend(calls * self._call_ns(name))

    def time_each(self, subject: int, calls: int, warm_ns: int) -> list[int]:
        name = self._step("time_each", subject)
        self._must_be_prepared(subject)
        self._yard.clock.spend(warm_ns)
        return [self._yard.clock.spend(self._call_ns(name)) for _ in range(calls)]

    def split_each(self, subject: int, calls: int, warm_ns: int) -> TimedSplit:
        """A fifth of a call is preparing, a tenth fetching; a callable has no parts."""
        name = self._step("split_each", subject)
        self._must_be_prepared(subject)
        self._yard.clock.spend(warm_ns)
        if isinstance(self.spec.subjects[subject], FunctionSubject):
            return TimedSplit([], [], [])
        times = [self._yard.clock.spend(self._call_ns(name)) for _ in range(calls)]
        return TimedSplit([ns // 5 for ns in times], [ns * 7 // 10 for ns in times], [ns // 10 for ns in times])

    def compute(self, subject: int) -> tuple[list[str], list[int]]:
        self._step("compute", subject)
        return ["Y"], [subject]

    def call_each(self, subject: int, calls: int) -> list[int]:
        name = self._step("call_each", subject)
        self._must_be_prepared(subject)
        self._yard.recorded[name] = self._yard.recorded.get(name, 1) + calls
        return [self._yard.clock.spend(self._call_ns(name)) for _ in range(calls)]

    def end_recording(self) -> Path:
        self._must_be_at_its_turn()
        return Path(f"{self.spec.runtime}.json")

    def move_to(self, cpus: tuple[int, ...]) -> None:
        self._must_be_at_its_turn()
        self._yard.take("move_to", self.spec.runtime)
        self.cpus = cpus

    def freeze(self) -> None:
        self._yard.awake.discard(self.number)

    def thaw(self) -> None:
        assert not self.closed
        self._yard.awake.add(self.number)
        self._yard.most_awake = max(self._yard.most_awake, len(self._yard.awake))

    def close(self) -> None:
        self._yard.awake.discard(self.number)
        self.closed = True

    def _step(self, step: str, subject: int) -> str:
        self._must_be_at_its_turn()
        name = self.spec.subjects[subject].name
        self._yard.take(step, name)
        return name

    def _call_ns(self, name: str) -> int:
        return self._yard.call_ns.get(name, 1_000_000)

    def _slowly(self, duration_ns: int) -> int:
        return duration_ns if self.loads <= 1 else 10 * duration_ns

    def _must_be_prepared(self, subject: int) -> None:
        assert subject in self.prepared
        self._yard.places.append((self.spec.subjects[subject].name, self.cpus))

    def _must_be_at_its_turn(self) -> None:
        assert not self.closed
        assert self._yard.awake == {self.number}


def solo(name: str, memory_bytes: int = 0) -> WorkerSpec:
    """A worker with one callable; its runtime bears the same name."""
    subject = FunctionSubject(name=name, function=b"")
    return WorkerSpec(subjects=(subject,), threads=1, feeds={}, runtime=name, memory_bytes=memory_bytes)


def crew_of(runtime: str, *names: str, memory_bytes: int = 0) -> WorkerSpec:
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
