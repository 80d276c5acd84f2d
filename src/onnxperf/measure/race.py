"""The race: subjects take turns, round after round, until an interim analysis shows a clear answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from onnxperf.measure import plan as planning
from onnxperf.measure.messages import SplitEach, TimeBlock, TimeEach, WorkerSpec
from onnxperf.measure.process import Worker
from onnxperf.measure.worker.timing import Clock, monotonic_ns
from onnxperf.measure.worker_group import Launch, SubjectRun, WorkerGroup
from onnxperf.records.base import is_busy
from onnxperf.records.options import RaceOptions
from onnxperf.records.race import Block, Measurement

_PATIENCE = 1.5
"""A race ends at this multiple of its planned time."""

Settled = Callable[[Sequence[Measurement]], bool]
"""Whether all questions about these subjects are answered."""
Noise = Callable[[Sequence[Measurement]], float | None]
"""Variation of rounds within a launch relative to that between launches."""
Progress = Callable[[float, str], None]
"""Receives the completed share (0 to 1) and the current step; called only between blocks."""
_Processors = Mapping[SubjectRun, tuple[int, ...]]
"""Processors of each run in a round, one per thread."""


class Tools(Struct, frozen=True, kw_only=True):
    """Tools of a race; tests pass fakes."""

    launch: Launch
    settled: Settled
    noise: Noise = lambda _subjects: None
    progress: Progress = lambda _done, _text: None
    clock: Clock = monotonic_ns
    cpus: tuple[int, ...] = ()
    """Processors available to this process; empty if workers cannot be bound to processors."""
    memory_bytes: int | None = None
    """Memory limit for all workers together; None means that all fit."""
    collect: bool = False
    """Also collect the outputs of every subject."""
    warn: Callable[[planning.Plan], str] = lambda _plan: ""
    """Warning about a plan before its race starts."""
    others: Callable[[], float | None] = lambda: None
    """Share of the processors used by other programs since the previous call; None if unknown."""


class RaceEnd(Struct, frozen=True, kw_only=True):
    """Result of a race: raw records of all subjects, in the order of the specs."""

    subjects: tuple[Measurement, ...]
    batches: int
    interrupted: bool
    start_s: float = 0.0
    """Seconds for starting, loading and warming up before the first rounds."""
    others: float | None = None
    """Share of the processors used by other programs during the race; None if unknown."""
    outputs: tuple[tuple[list[str], Any] | None, ...] = ()
    """Outputs of every subject, if requested and if its first call succeeded."""


def race(specs: Sequence[WorkerSpec], options: RaceOptions, tools: Tools) -> RaceEnd:
    """Measure all subjects of all specs against each other; measurements are returned even after failures."""
    runs = [SubjectRun(spec, position) for spec in specs for position in range(len(spec.subjects))]
    batches = into_batches(runs, options.baseline, tools.memory_bytes)
    interrupted = False
    rounds = start_ns = 0
    try:
        for batch in batches:
            rounds, started_ns = _race_batch(batch, rounds, options, tools)
            start_ns += started_ns
    except KeyboardInterrupt:
        interrupted = True
    return RaceEnd(
        subjects=tuple(run.record() for run in runs),
        batches=len(batches),
        interrupted=interrupted,
        start_s=start_ns / 1e9,
        outputs=tuple(run.outputs for run in runs),
    )


def into_batches(runs: Sequence[SubjectRun], baseline: str | None, memory_bytes: int | None) -> list[list[SubjectRun]]:
    """Split runs into batches whose workers fit into memory together; each batch includes the baseline."""
    first = next((run for run in runs if run.name == baseline), runs[0])
    batches = [[run for run in runs if run.spec is first.spec]]
    for spec in {id(run.spec): run.spec for run in runs if run.spec is not first.spec}.values():
        hosted = {id(run.spec): run.spec.memory_bytes for run in batches[-1]}
        if memory_bytes is not None and len(hosted) > 1 and sum(hosted.values()) + spec.memory_bytes > memory_bytes:
            batches.append([first])
        batches[-1] += [run for run in runs if run.spec is spec]
    return batches


def _race_batch(runs: Sequence[SubjectRun], first_round: int, options: RaceOptions, tools: Tools) -> tuple[int, int]:
    """Race the runs of a batch against each other; returns the number of the next round and the start-up time."""
    course = _Course(runs, first_round, options, tools)
    with WorkerGroup(runs, tools.launch, int(options.warmup * 1e9), course.report, tools.collect) as group:
        begin = tools.clock()
        group.start()
        start_ns = tools.clock() - begin
        if group.alive():
            course.run(group, start_ns)
    return first_round + course.done, start_ns


class _Course:
    """The state of a batch from its first round to its last."""

    def __init__(self, runs: Sequence[SubjectRun], first_round: int, options: RaceOptions, tools: Tools) -> None:
        self.done = 0
        """Completed rounds."""
        self._runs = runs
        self._first_round = first_round
        self._options = options
        self._tools = tools
        self._planned = 0
        self._shown = 0.0
        self._warning = ""
        self._orders = planning.balanced_orders(len(runs), seed=options.seed)

    def report(self, text: str) -> None:
        """Report a step; the completed share never decreases, even if a revised plan has more rounds."""
        self._shown = max(self._shown, self.done / self._planned if self._planned else 0.0)
        self._tools.progress(self._shown, text)

    def run(self, group: WorkerGroup, start_ns: int) -> None:
        """Take turns, unit after unit, until an interim analysis shows a clear answer or the plan ends."""
        plan = _plan(group, start_ns, self._options)
        self._planned, self._warning = plan.rounds, self._tools.warn(plan)
        begin, renewals_ns, spent_ns = self._tools.clock(), 0, 0
        limit_ns = math.inf if plan.is_fixed else _PATIENCE * 1e9 * plan.seconds_for(plan.rounds)
        for unit in itertools.count(1):
            renewals_ns += self._renew(group, unit - 1, plan)
            self._tools.others()  # ignore the load caused by starting
            before = [len(run.blocks) for run in self._runs]
            for _ in range(min(plan.rounds_per_unit, plan.rounds - self.done)):
                if group.alive() and spent_ns <= limit_ns:
                    self._run_round(group)
                    spent_ns = self._tools.clock() - begin
            forgive_own_waits(self._runs, before, self._tools.others())
            if plan.units_per_launch == 1 and not plan.is_fixed and unit <= planning.PILOT_UNITS:
                plan = self._revised(plan, unit, spent_ns, renewals_ns)
                self._planned = plan.rounds
            is_last = self.done >= plan.rounds or spent_ns > limit_ns or not group.alive()
            if (is_last or unit in plan.looks) and self._is_over(plan, unit, is_last):
                break

    def _renew(self, group: WorkerGroup, units: int, plan: planning.Plan) -> int:
        """Restart workers or reopen their sessions, so that the memory layout does not decide the race; returns the
        time."""
        begin = self._tools.clock()
        if units and units % plan.units_per_launch == 0:
            group.start()
        elif units:
            group.set_up_again()
        return self._tools.clock() - begin

    def _run_round(self, group: WorkerGroup) -> None:
        self.report("; ".join(filter(None, [f"round {self.done + 1} of at most {self._planned}", self._warning])))
        cpus = {run: planning.processors_of(self.done, self._tools.cpus, run.spec.threads) for run in self._runs}
        for position, index in enumerate(next(self._orders)):
            run = self._runs[index]
            if run.alive:
                group.turn(run, partial(_time_block, run, self._first_round + self.done, position), cpus[run])
        self.done += 1
        if self.done % planning.PARTS_EVERY == 1:  # so that the shortest race includes them
            _time_parts(group, cpus)

    def _revised(self, plan: planning.Plan, unit: int, spent_ns: int, renewals_ns: int) -> planning.Plan:
        """The plan revised after the pilot: real times of renewals and rounds, and the source of the noise."""
        time_s = max(self._options.time or planning.DEFAULT_TIME_S, plan.seconds_for(plan.rounds))
        if unit < planning.PILOT_UNITS:
            return planning.hastened(plan, unit, self.done, spent_ns, 1e9 * time_s)
        return planning.revised(
            plan,
            left_ns=1e9 * time_s - spent_ns,
            renewal_ns=renewals_ns / (planning.PILOT_UNITS - 1),
            round_ns=(spent_ns - renewals_ns) / self.done,
            noise=self._tools.noise([run.record() for run in self._runs]),
        )

    def _is_over(self, plan: planning.Plan, unit: int, is_last: bool) -> bool:
        for run in self._runs:
            run.looks_planned = len(plan.looks)
            run.looks = len(plan.looks) if is_last else plan.looks.index(unit) + 1
        return is_last or self._tools.settled([run.record() for run in self._runs])


def forgive_own_waits(runs: Sequence[SubjectRun], before: Sequence[int], others: float | None) -> None:
    """If other programs left the processors idle, threads only waited for each other, since libraries start many."""
    if others is None or is_busy(others):
        return
    for run, first in zip(runs, before, strict=True):
        run.blocks[first:] = [
            replace(block, free_pieces=max(run.pieces, 1)) if block.free_pieces == 0 else block
            for block in run.blocks[first:]
        ]


def _plan(group: WorkerGroup, start_ns: int, options: RaceOptions) -> planning.Plan:
    """Plan the whole race from the costs of the start."""
    runs = group.alive()
    costs = planning.Costs(group.launch_ns(start_ns), group.set_up_ns, tuple(run.call_ns for run in runs))
    plan = planning.make_plan(costs, options)
    counts = zip(plan.calls, plan.single_calls, plan.split_calls, strict=True)
    for run, (calls, single_calls, split_calls) in zip(runs, counts, strict=True):
        run.calls, run.single_calls, run.split_calls, run.pieces = calls, single_calls, split_calls, plan.pieces
        run.longest_ns = 0 if options.calls_per_block else planning.LONGEST_BLOCK_NS
        if options.every is not None:
            run.every_ns = planning.pace_ns(options)
            run.conditions["every_s"] = options.every
    return plan


def _time_block(run: SubjectRun, number: int, position: int, worker: Worker) -> None:
    is_each, waits = run.single_calls == 0, run.spec.threads > 1
    timed = worker.ask(
        TimeBlock(run.slot, run.calls, planning.WARM_NS, is_each, run.pieces, run.every_ns, waits, run.longest_ns)
    )
    block = Block(
        round=number,
        position=position,
        launch=run.launch,
        set_up=run.set_up,
        calls=run.calls if timed.calls is None else timed.calls,
        start_ns=timed.start_ns,
        duration_ns=timed.duration_ns,
        quickest_ns=timed.quickest_ns,
        cpu_ns=timed.cpu_ns,
        span_ns=timed.span_ns,
        free_pieces=timed.free_pieces,
    )
    run.blocks.append(block)
    run.add_calls(timed.call_ns)
    if run.single_calls:  # reading the clock inside the block would matter
        single_calls = run.single_calls if timed.calls is None else 1  # a slow moment counts, but should not take long
        run.add_calls(worker.ask(TimeEach(run.slot, single_calls, 0)).call_ns)


def _time_parts(group: WorkerGroup, cpus: _Processors) -> None:
    """Time the parts of calls, if requested."""
    for run in group.alive():
        if run.split_calls:
            group.turn(run, partial(_split_each, run), cpus[run])


def _split_each(run: SubjectRun, worker: Worker) -> None:
    timed = worker.ask(SplitEach(run.slot, run.split_calls, planning.WARM_NS))
    run.prepare_ns += timed.prepare_ns
    run.compute_ns += timed.compute_ns
    run.fetch_ns += timed.fetch_ns
