"""Workers that outlive a race, so that the next case of a sweep finds running processes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from onnxperf.errors import OnnxperfError
from onnxperf.measure.messages import Load, R, Request, WorkerSpec
from onnxperf.measure.plan import GOOD_LAUNCHES, has_room_for_launches
from onnxperf.measure.process import ProcessWorker
from onnxperf.measure.worker.timing import Clock, monotonic_ns
from onnxperf.measure.worker_group import Launch
from onnxperf.records.options import RaceOptions
from onnxperf.records.race import MIN_UNITS

Launches = Callable[[Sequence[WorkerSpec], RaceOptions], Launch]
"""Returns how the workers of a race are launched."""

_IDLE_BYTES = 100 << 20
"""Memory of a process without a model: 57 MB in measurements, even after a model of 400 MB."""
_SLOW_START_S = 1.0
"""If processes take longer to start, only the required number is started."""

_Kind = tuple[str, int, str | None]
"""Runtime, threads and interpreter, which are fixed when a process starts."""


class Pool:
    """Processes of several kinds; use as a context manager, so that none outlives it.

    The memory layout of a process changes its speed, so a few processes must not decide all cases. Each race rotates
    over the same number of processes of each kind, at least five, and eight if memory and time allow. All of its
    subjects run in all of them, and launches are independent of each other even in short races.
    """

    def __init__(
        self,
        start: Callable[[WorkerSpec], ProcessWorker],
        memory_bytes: Callable[[], int],
        clock: Clock = monotonic_ns,
    ) -> None:
        self._start = start
        self._memory_bytes = memory_bytes
        self._clock = clock
        self._crews: dict[_Kind, _Crew] = defaultdict(_Crew)
        self._starts_slowly = False

    def __enter__(self) -> Pool:
        """Return the pool; no process starts before the first launch."""
        return self

    def __exit__(self, *error: object) -> None:
        """End all processes."""
        for crew in self._crews.values():
            for place in list(crew.places):
                crew.close(place)

    def launches(self, specs: Sequence[WorkerSpec], options: RaceOptions) -> Launch:
        """How the workers of a race are launched: in processes of this pool, unless a callable takes part.

        A user callable may change its process in any way, so it gets a new one for every launch. The other workers
        start in parallel at no extra cost, so they are new as well.
        """
        if any(spec.runtime == "callable" for spec in specs):
            return self._start
        return _Turns(self, tuple(specs), options).launch

    def prepare(self, specs: Sequence[WorkerSpec], options: RaceOptions) -> int:
        """Start the missing processes of a race in parallel; returns how many of each kind it rotates over."""
        kinds = Counter(map(_kind, specs))
        room_bytes = self._memory_bytes() - sum(spec.memory_bytes for spec in specs)
        loaded = max(kinds.values())  # that many at once
        if not has_room_for_launches(sum(len(spec.subjects) for spec in specs), options):
            return loaded
        added = {number: self._added_bytes(kinds, number) for number in range(loaded, GOOD_LAUNCHES + 1)}
        most = max((number for number, each in added.items() if each <= max(room_bytes, 0)), default=loaded)
        number = max(loaded, min(most, MIN_UNITS))
        self._fill(kinds, number)
        if most > number and not self._starts_slowly:
            number = most
            self._fill(kinds, number)
        return number

    def take(self, spec: WorkerSpec, number: int) -> PooledWorker:
        """The next of `number` processes for a spec."""
        kind = _kind(spec)
        crew = self._crews[kind]
        place = crew.next_place(number)
        if place not in crew.places:
            crew.places[place] = self._start(_without_model(kind))
        crew.busy.add(place)
        return PooledWorker(spec, crew.places[place], partial(crew.take_back, place))

    def _added_bytes(self, kinds: Counter[_Kind], number: int) -> int:
        """Memory of additional idle processes, apart from those already running and those that the race loads."""
        return (
            sum(max(number - max(len(self._crews[kind].places), used), 0) for kind, used in kinds.items()) * _IDLE_BYTES
        )

    def _fill(self, kinds: Counter[_Kind], number: int) -> None:
        """Start the missing processes of each kind; if one fails, the race reports the reason when it restarts it."""
        begin, new = self._clock(), []
        for kind in kinds:
            crew = self._crews[kind]
            for place in range(number):
                if place not in crew.places:
                    crew.places[place] = self._start(_without_model(kind))
                    new.append((crew, place))
        failed: list[_Crew] = []
        for crew, place in new:
            if crew in failed or not _is_ready(crew.places[place]):
                failed.append(crew)
                crew.close(place)
        if new and (self._clock() - begin) / len(new) > _SLOW_START_S * 1e9:
            self._starts_slowly = True


@dataclass(eq=False)
class _Crew:
    """Processes of one kind, each in its own slot."""

    places: dict[int, ProcessWorker] = field(default_factory=dict)
    busy: set[int] = field(default_factory=set)
    turn: int = -1

    def next_place(self, number: int) -> int:
        """Subjects that start together get adjacent slots, shifted by one each time, so that all use every slot."""
        if not self.busy:
            self.turn += 1
        nearest = [(self.turn + len(self.busy) + step) % number for step in range(number)]
        return next((place for place in nearest if place not in self.busy), number)

    def take_back(self, place: int) -> None:
        """Unload a process and keep it for the next launch; close it if it cannot be reused."""
        self.busy.discard(place)
        if not _is_unloaded(self.places[place]):
            self.close(place)

    def close(self, place: int) -> None:
        """End a process."""
        self.places.pop(place).close()


@dataclass(eq=False)
class _Turns:
    """One race: the same number of processes of each kind, so that its subjects change processes together."""

    pool: Pool
    specs: tuple[WorkerSpec, ...]
    options: RaceOptions
    number: int = 0

    def launch(self, spec: WorkerSpec) -> PooledWorker:
        """A worker in the next process of its kind."""
        self.number = self.number or self.pool.prepare(self.specs, self.options)
        return self.pool.take(spec, self.number)


def _kind(spec: WorkerSpec) -> _Kind:
    return spec.runtime, spec.threads, spec.python


def _without_model(kind: _Kind) -> WorkerSpec:
    runtime, threads, python = kind
    return WorkerSpec(subjects=(), threads=threads, feeds={}, runtime=runtime, python=python)


def _is_ready(process: ProcessWorker) -> bool:
    """Whether a process has started and could be frozen."""
    try:
        process.wait_until_ready()
        process.freeze()
    except (OnnxperfError, OSError):
        return False
    return True


def _is_unloaded(process: ProcessWorker) -> bool:
    """Whether a process could be unloaded and frozen."""
    if not process.idle:
        return False
    try:
        process.thaw()
        process.ask(Load(process.spec))  # without a model, as it was started
        process.freeze()
    except (OnnxperfError, OSError):
        return False
    return True


@dataclass(eq=False)
class PooledWorker:
    """A worker whose process returns to its pool at the end."""

    spec: WorkerSpec
    process: ProcessWorker
    give_back: Callable[[], None]
    cpus: tuple[int, ...] = ()

    @property
    def home(self) -> ProcessWorker:
        """The process, which other workers used before."""
        return self.process

    def wait_until_ready(self) -> None:
        """Return when the process has imported what it needs."""
        self.process.wait_until_ready()

    def ask(self, request: Request[R]) -> R:
        """Send a request and wait for its reply."""
        return self.process.ask(request)

    def freeze(self) -> None:
        """Stop every thread."""
        self.process.freeze()

    def thaw(self) -> None:
        """Let the threads continue."""
        self.process.thaw()

    def close(self) -> None:
        """Return the process to the pool."""
        self.give_back()
