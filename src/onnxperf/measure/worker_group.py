"""The workers of a race: started in parallel, frozen except for the active one, and replaced if lost."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from msgspec.structs import replace

from onnxperf.errors import BadInput, SubjectError, WorkerLost
from onnxperf.measure.layout import block_sizes
from onnxperf.measure.messages import Load, ModelSubject, Prepare, WarmUp, WorkerSpec
from onnxperf.measure.outputs import compute
from onnxperf.measure.process import Worker, move_to
from onnxperf.records.base import Scalar, Status
from onnxperf.records.race import Block, Measurement, Split

Launch = Callable[[WorkerSpec], Worker]

_SEED = 1
"""Seed of the memory layout."""
_SHORTER = 10
"""The first warm-up also estimates the time of a call; later ones need not, and are this many times shorter."""


@dataclass(eq=False)
class SubjectRun:
    """A subject in a race: its worker and its measurements so far."""

    spec: WorkerSpec
    position: int
    slot: int = 0
    """Its index among the subjects currently hosted by its worker."""
    calls: int = 0
    single_calls: int = 0
    """Calls timed one by one between blocks; 0 if all calls in blocks are timed one by one."""
    split_calls: int = 0
    pieces: int = 1
    """Number of pieces of each block."""
    every_ns: int = 0
    """Time between the starts of consecutive calls; 0 for no pauses."""
    longest_ns: int = 0
    """Time after which a block ends early; 0 if the number of calls was requested."""
    call_ns: float = 0.0
    loads: Counter[object] = field(default_factory=Counter)
    """Number of times each of its processes has loaded it."""
    launch: int = 0
    """Index of its current process within the race, from 0."""
    set_up: int = 0
    """Index of the current opening of its session within that process, from 0."""
    looks: int = 0
    looks_planned: int = 0
    load_ns: list[int] = field(default_factory=list)
    first_call_ns: list[int] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    each_ns: list[int] = field(default_factory=list)
    each_launches: list[tuple[int, int]] = field(default_factory=list)
    """Launch and number of those calls, in order."""
    prepare_ns: list[int] = field(default_factory=list)
    compute_ns: list[int] = field(default_factory=list)
    fetch_ns: list[int] = field(default_factory=list)
    outputs: tuple[list[str], Any] | None = None
    """Names and values of the outputs of its very first call, if requested."""
    conditions: dict[str, Scalar] = field(default_factory=dict)
    status: Status = "ok"
    reason: str = ""
    signal: int | None = None
    stderr: str = ""

    @property
    def name(self) -> str:
        """The subject's name."""
        return self.spec.subjects[self.position].name

    @property
    def alive(self) -> bool:
        """Whether this subject can still be measured."""
        return self.status == "ok"

    def drop(self, error: SubjectError | BadInput) -> None:
        """End this subject; its measurements are kept."""
        self.status = error.status if isinstance(error, SubjectError) else "failed"
        self.reason = str(error)
        if isinstance(error, WorkerLost):
            self.signal, self.stderr = error.signal, error.stderr

    def add_calls(self, call_ns: Sequence[int]) -> None:
        """Add times of single calls of its current launch."""
        if not call_ns:
            return
        self.each_ns += call_ns
        launch, calls = self.each_launches.pop() if self.each_launches else (self.launch, 0)
        if launch != self.launch:
            self.each_launches.append((launch, calls))
            calls = 0
        self.each_launches.append((self.launch, calls + len(call_ns)))

    def record(self) -> Measurement:
        """The measurements so far, as a record."""
        subject = self.spec.subjects[self.position]
        return Measurement(
            name=subject.name,
            model=self.spec.model_label,
            runtime=self.spec.runtime,
            call=subject.call if isinstance(subject, ModelSubject) else None,
            status=self.status,
            reason=self.reason,
            signal=self.signal,
            stderr=self.stderr,
            load_ns=round(statistics.median(self.load_ns)) if self.load_ns else None,
            first_call_ns=round(statistics.median(self.first_call_ns)) if self.first_call_ns else None,
            input_bytes=sum(tensor.nbytes for tensor in self.spec.feeds.values()),
            looks=self.looks,
            looks_planned=self.looks_planned,
            blocks=tuple(self.blocks),
            call_ns=tuple(self.each_ns),
            call_launches=tuple(self.each_launches),
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


class WorkerGroup:
    """All workers of a race; use as a context manager, so that none outlives it."""

    def __init__(
        self,
        runs: Sequence[SubjectRun],
        launch: Launch,
        warmup_ns: int,
        report: Callable[[str], None],
        collect: bool = False,
    ) -> None:
        self.runs = list(runs)
        self._specs = list({id(run.spec): run.spec for run in runs}.values())
        self._launch = launch
        self._warmup_ns = warmup_ns
        self._report = report
        self._collect = collect
        self._workers: dict[int, Worker] = {}
        self._chance = np.random.default_rng(_SEED)

    def __enter__(self) -> WorkerGroup:
        """Return the group; nothing runs before `start`."""
        return self

    def __exit__(self, *error: object) -> None:
        """End all workers."""
        for spec in self._specs:
            self._close(spec)

    def alive(self) -> list[SubjectRun]:
        """The runs that can still be measured."""
        return [run for run in self.runs if run.alive]

    def start(self) -> None:
        """Start or restart all workers."""
        self._start(self._specs)

    def set_up_again(self) -> None:
        """Reload and rebind everything in the running workers with another memory layout and other cache conflicts."""
        for spec in self._specs:
            if self._alive_in(spec):
                self._for_all_in(spec, self._load_again)
            self._prepare_all_in(spec, self._prepare_again)

    @property
    def set_up_ns(self) -> int:
        """Time for setting up everything when the workers started."""
        loads = {id(run.spec): run.load_ns[-1] for run in self.alive() if run.load_ns}
        return sum(loads.values()) + sum(run.first_call_ns[-1] for run in self.alive())

    def launch_ns(self, start_ns: float) -> float:
        """Time of another launch if the first took `start_ns`: with a pool, little more than a set-up."""
        if any(worker.home is worker for worker in self._workers.values()):
            return start_ns
        return self.set_up_ns + len(self.alive()) * self._warmup_ns / _SHORTER

    def turn(self, run: SubjectRun, step: Callable[[Worker], None], cpus: tuple[int, ...] = ()) -> None:
        """Thaw the worker of a run for one step; a failure ends the run but keeps the worker for its other subjects."""
        worker = self._workers[id(run.spec)]
        try:
            worker.thaw()
            move_to(worker, cpus)
            step(worker)
            worker.freeze()
        except WorkerLost as error:
            run.drop(error)
            self._start([run.spec])
        except (SubjectError, BadInput) as error:
            run.drop(error)
            worker.freeze()

    def _start(self, specs: Sequence[WorkerSpec]) -> None:
        """Start processes in parallel; then load, call and warm up each one alone on the machine."""
        for spec in specs:
            self._close(spec)  # all before the first starts, so that those of a pool can change slots
        for spec in specs:
            if runs := self._alive_in(spec):
                for slot, run in enumerate(runs):
                    run.slot = slot
                subjects = tuple(spec.subjects[run.position] for run in runs)
                self._workers[id(spec)] = self._launch(replace(spec, subjects=subjects))
        self._report("starting workers")
        for step in (self._wait_until_ready, self._load):
            for spec in specs:
                if self._alive_in(spec):
                    self._for_all_in(spec, step)
        for spec in specs:
            self._prepare_all_in(spec, self._prepare)

    def _for_all_in(self, spec: WorkerSpec, step: Callable[[WorkerSpec, Worker], None]) -> None:
        """Execute a step of a whole worker; if it fails, all of its subjects fail."""
        worker = self._workers[id(spec)]
        try:
            worker.thaw()
            step(spec, worker)
            worker.freeze()
        except (SubjectError, BadInput) as error:
            for run in self._alive_in(spec):
                run.drop(error)
            self._close(spec)

    def _wait_until_ready(self, spec: WorkerSpec, worker: Worker) -> None:
        del spec
        worker.wait_until_ready()

    def _load(self, spec: WorkerSpec, worker: Worker) -> None:
        runs = self._alive_in(spec)
        self._report(f"loading {spec.model_label or runs[0].name}")
        is_fresh = worker.home is worker
        loaded = worker.ask(Load(worker.spec, () if is_fresh else block_sizes(self._chance)))
        self._count_load(spec, worker)
        for run in runs:
            run.conditions.update(loaded.conditions)
            if loaded.load_ns is not None:
                run.load_ns.append(loaded.load_ns)

    def _load_again(self, spec: WorkerSpec, worker: Worker) -> None:
        worker.ask(Load(worker.spec, block_sizes(self._chance)))
        self._count_load(spec, worker)

    def _count_load(self, spec: WorkerSpec, worker: Worker) -> None:
        """Number the load: a returning process of a pool is not a new launch."""
        for run in self._alive_in(spec):
            run.loads[worker.home] += 1
            run.launch, run.set_up = list(run.loads).index(worker.home), run.loads[worker.home] - 1

    def _prepare_all_in(self, spec: WorkerSpec, prepare: Callable[[SubjectRun, Worker], None]) -> None:
        worker = self._workers.get(id(spec))
        for run in self._alive_in(spec):
            # A run whose worker is lost is dropped; the new worker has already prepared the others.
            if self._workers.get(id(spec)) is worker:
                self.turn(run, partial(prepare, run))

    def _prepare(self, run: SubjectRun, worker: Worker) -> None:
        self._report(f"warming up {run.name}")
        prepared = worker.ask(Prepare(run.slot))
        run.first_call_ns.append(prepared.first_call_ns)
        run.conditions.update(prepared.conditions)
        if self._collect and run.outputs is None:
            run.outputs = compute(worker, run.slot)
        if run.call_ns:
            warm = worker.ask(WarmUp(run.slot, self._warmup_ns // _SHORTER))
        else:
            warm = worker.ask(WarmUp(run.slot, self._warmup_ns))
            run.call_ns = warm.call_ns
        if warm.retraces:
            run.conditions["retraces"] = True

    def _prepare_again(self, run: SubjectRun, worker: Worker) -> None:
        worker.ask(Prepare(run.slot))

    def _alive_in(self, spec: WorkerSpec) -> list[SubjectRun]:
        return [run for run in self.runs if run.spec is spec and run.alive]

    def _close(self, spec: WorkerSpec) -> None:
        worker = self._workers.pop(id(spec), None)
        if worker is not None:
            worker.close()
