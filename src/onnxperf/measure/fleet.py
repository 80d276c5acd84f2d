"""The workers of a race: started side by side, frozen but for the one at its turn, and mended when one is lost."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec.structs import replace

from onnxperf.errors import BadInput, SubjectError, WorkerLost
from onnxperf.measure.messages import Crew, ModelSubject
from onnxperf.measure.process import Worker
from onnxperf.records import Block, Scalar, Split, Status, Subject

Launch = Callable[[Crew], Worker]


@dataclass(eq=False)
class Lane:
    """A subject under way: where it lives and what was measured so far."""

    crew: Crew
    position: int
    seat: int = 0
    """Its place among the subjects of the worker that runs now."""
    calls: int = 0
    single_calls: int = 0
    split_calls: int = 0
    call_ns: float = 0.0
    launches: int = 0
    set_ups: int = 0
    """Within the launch that runs now."""
    looks: int = 0
    looks_planned: int = 0
    load_ns: list[int] = field(default_factory=list)
    first_call_ns: list[int] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    each_ns: list[int] = field(default_factory=list)
    prepare_ns: list[int] = field(default_factory=list)
    compute_ns: list[int] = field(default_factory=list)
    fetch_ns: list[int] = field(default_factory=list)
    outputs: tuple[list[str], Any] | None = None
    """Names and values of what its first call of all returned, where that was asked for."""
    conditions: dict[str, Scalar] = field(default_factory=dict)
    status: Status = "ok"
    reason: str = ""
    signal: int | None = None
    stderr: str = ""

    @property
    def name(self) -> str:
        """The subject's name."""
        return self.crew.subjects[self.position].name

    @property
    def alive(self) -> bool:
        """Nothing has ended this subject."""
        return self.status == "ok"

    def drop(self, error: SubjectError | BadInput) -> None:
        """End this subject; what it measured stays."""
        self.status = error.status if isinstance(error, SubjectError) else "failed"
        self.reason = str(error)
        if isinstance(error, WorkerLost):
            self.signal, self.stderr = error.signal, error.stderr

    def record(self) -> Subject:
        """What is known now, as a record."""
        subject = self.crew.subjects[self.position]
        # A block of one call is the time of a single call too.
        singles = [block.duration_ns for block in self.blocks if block.calls == 1]
        return Subject(
            name=subject.name,
            model=self.crew.model_label,
            runtime=self.crew.runtime,
            call=subject.call if isinstance(subject, ModelSubject) else None,
            status=self.status,
            reason=self.reason,
            signal=self.signal,
            stderr=self.stderr,
            load_ns=round(statistics.median(self.load_ns)) if self.load_ns else None,
            first_call_ns=round(statistics.median(self.first_call_ns)) if self.first_call_ns else None,
            input_bytes=sum(tensor.nbytes for tensor in self.crew.feeds.values()),
            looks=self.looks,
            looks_planned=self.looks_planned,
            blocks=tuple(self.blocks),
            call_ns=(*self.each_ns, *singles),
            split=self._split(),
            conditions=dict(self.conditions),
        )

    def _split(self) -> Split | None:
        if not self.compute_ns:
            return None
        return Split(
            prepare_ns=statistics.median(self.prepare_ns),
            compute_ns=statistics.median(self.compute_ns),
            fetch_ns=statistics.median(self.fetch_ns),
            calls=len(self.compute_ns),
        )


class Fleet:
    """All workers of a race; use as a context manager, so that none outlives it."""

    def __init__(
        self,
        lanes: Sequence[Lane],
        launch: Launch,
        warmup_ns: int,
        tell: Callable[[str], None],
        collect: bool = False,
    ) -> None:
        self.lanes = list(lanes)
        self._crews = list({id(lane.crew): lane.crew for lane in lanes}.values())
        self._launch = launch
        self._warmup_ns = warmup_ns
        self._tell = tell
        self._collect = collect
        self._workers: dict[int, Worker] = {}

    def __enter__(self) -> Fleet:
        """Nothing runs before `start`."""
        return self

    def __exit__(self, *error: object) -> None:
        """End all workers."""
        for crew in self._crews:
            self._close(crew)

    def alive(self) -> list[Lane]:
        """The lanes that can still be measured."""
        return [lane for lane in self.lanes if lane.alive]

    def start(self) -> None:
        """Start all workers, or start them anew."""
        self._start(self._crews)

    def set_up_again(self) -> None:
        """Load and bind everything anew in the running workers: other addresses, other cache conflicts."""
        for crew in self._crews:
            if self._alive_in(crew):
                self._for_all_in(crew, self._load_again)
            self._prepare_all_in(crew, self._prepare_again)

    @property
    def set_up_ns(self) -> int:
        """What setting up everything took when the workers started."""
        loads = {id(lane.crew): lane.load_ns[-1] for lane in self.alive() if lane.load_ns}
        return sum(loads.values()) + sum(lane.first_call_ns[-1] for lane in self.alive())

    def turn(self, lane: Lane, step: Callable[[Worker], None], cpus: tuple[int, ...] = ()) -> None:
        """Wake a lane's worker for one step; a failure ends the lane and leaves its worker to the others."""
        worker = self._workers[id(lane.crew)]
        try:
            worker.thaw()
            if cpus:
                worker.move_to(cpus)
            step(worker)
            worker.freeze()
        except WorkerLost as error:
            lane.drop(error)
            self._start([lane.crew])
        except (SubjectError, BadInput) as error:
            lane.drop(error)
            worker.freeze()

    def _start(self, crews: Sequence[Crew]) -> None:
        """Start processes side by side; then, each with the machine to itself, load, call and warm up."""
        for crew in crews:
            self._close(crew)
            if lanes := self._alive_in(crew):
                for seat, lane in enumerate(lanes):
                    lane.seat = seat
                subjects = tuple(crew.subjects[lane.position] for lane in lanes)
                self._workers[id(crew)] = self._launch(replace(crew, subjects=subjects))
        self._tell("starting workers")
        for step in (self._wait_until_ready, self._load):
            for crew in crews:
                if self._alive_in(crew):
                    self._for_all_in(crew, step)
        for crew in crews:
            self._prepare_all_in(crew, self._prepare)

    def _for_all_in(self, crew: Crew, step: Callable[[Crew, Worker], None]) -> None:
        """Take a step that concerns a whole worker: if it fails, all of the worker's subjects fail."""
        worker = self._workers[id(crew)]
        try:
            worker.thaw()
            step(crew, worker)
            worker.freeze()
        except (SubjectError, BadInput) as error:
            for lane in self._alive_in(crew):
                lane.drop(error)
            self._close(crew)

    def _wait_until_ready(self, crew: Crew, worker: Worker) -> None:
        del crew
        worker.wait_until_ready()

    def _load(self, crew: Crew, worker: Worker) -> None:
        lanes = self._alive_in(crew)
        self._tell(f"loading {crew.model_label or lanes[0].name}")
        loaded = worker.load()
        for lane in lanes:
            lane.launches += 1
            lane.set_ups = 1
            lane.conditions.update(loaded.conditions)
            if loaded.load_ns is not None:
                lane.load_ns.append(loaded.load_ns)

    def _load_again(self, crew: Crew, worker: Worker) -> None:
        worker.load()
        for lane in self._alive_in(crew):
            lane.set_ups += 1

    def _prepare_all_in(self, crew: Crew, prepare: Callable[[Lane, Worker], None]) -> None:
        worker = self._workers.get(id(crew))
        for lane in self._alive_in(crew):
            # A lane that takes the worker down is dropped, and the new worker has prepared the others by then.
            if self._workers.get(id(crew)) is worker:
                self.turn(lane, partial(prepare, lane))

    def _prepare(self, lane: Lane, worker: Worker) -> None:
        self._tell(f"warming up {lane.name}")
        prepared = worker.prepare(lane.seat)
        lane.first_call_ns.append(prepared.first_call_ns)
        lane.conditions.update(prepared.conditions)
        if self._collect and lane.outputs is None:
            lane.outputs = worker.compute(lane.seat)
        lane.call_ns = worker.warm_up(lane.seat, self._warmup_ns)

    def _prepare_again(self, lane: Lane, worker: Worker) -> None:
        worker.prepare(lane.seat)

    def _alive_in(self, crew: Crew) -> list[Lane]:
        return [lane for lane in self.lanes if lane.crew is crew and lane.alive]

    def _close(self, crew: Crew) -> None:
        worker = self._workers.pop(id(crew), None)
        if worker is not None:
            worker.close()
