"""The race: subjects take turns, round after round, until a planned look says that the answer is clear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from onnxperf.measure import plan as planning
from onnxperf.measure.fleet import Fleet, Lane, Launch
from onnxperf.measure.messages import Crew
from onnxperf.measure.process import Worker
from onnxperf.measure.timing import Clock, monotonic_ns
from onnxperf.records import Block, RaceOptions, Subject

Settled = Callable[[Sequence[Subject]], bool]
"""Is every question about these subjects answered?"""
Progress = Callable[[float, str], None]
"""Part done (0 to 1) and what is going on; called only between blocks."""


class Tools(Struct, frozen=True, kw_only=True):
    """What a race works with; tests bring fakes."""

    launch: Launch
    settled: Settled
    progress: Progress = lambda _done, _text: None
    clock: Clock = monotonic_ns
    cpus: tuple[int, ...] = ()
    """Processors that this process may use; empty where workers cannot be bound to some of them."""
    memory_bytes: int | None = None
    """What all workers together may hold; None means that all fit."""
    collect: bool = False
    """Also bring home what every subject returns."""


class RaceEnd(Struct, frozen=True, kw_only=True):
    """What a race leaves behind: raw records of all subjects, in the order of the crews."""

    subjects: tuple[Subject, ...]
    batches: int
    interrupted: bool
    outputs: tuple[tuple[list[str], Any] | None, ...] = ()
    """What every subject returned, where that was asked for and it got so far."""


def race(crews: Sequence[Crew], options: RaceOptions, tools: Tools) -> RaceEnd:
    """Measure all subjects of all crews against each other; whatever happens, what was measured is returned."""
    lanes = [Lane(crew, position) for crew in crews for position in range(len(crew.subjects))]
    batches = into_batches(lanes, options.baseline, tools.memory_bytes)
    interrupted = False
    rounds = 0
    try:
        for batch in batches:
            rounds = _race_batch(batch, rounds, options, tools)
    except KeyboardInterrupt:
        interrupted = True
    return RaceEnd(
        subjects=tuple(lane.record() for lane in lanes),
        batches=len(batches),
        interrupted=interrupted,
        outputs=tuple(lane.outputs for lane in lanes),
    )


def into_batches(lanes: Sequence[Lane], baseline: str | None, memory_bytes: int | None) -> list[list[Lane]]:
    """Split lanes into batches whose workers fit into memory side by side; each batch includes the baseline."""
    first = next((lane for lane in lanes if lane.name == baseline), lanes[0])
    batches = [[lane for lane in lanes if lane.crew is first.crew]]
    for crew in {id(lane.crew): lane.crew for lane in lanes if lane.crew is not first.crew}.values():
        hosted = {id(lane.crew): lane.crew.memory_bytes for lane in batches[-1]}
        if memory_bytes is not None and len(hosted) > 1 and sum(hosted.values()) + crew.memory_bytes > memory_bytes:
            batches.append([first])
        batches[-1] += [lane for lane in lanes if lane.crew is crew]
    return batches


def _race_batch(lanes: Sequence[Lane], first_round: int, options: RaceOptions, tools: Tools) -> int:
    """Race lanes that run side by side; returns the number of the next round."""
    done = planned = 0

    def tell(text: str) -> None:
        tools.progress(done / planned if planned else 0.0, text)

    with Fleet(lanes, tools.launch, int(options.warmup * 1e9), tell, tools.collect) as fleet:
        begin = tools.clock()
        fleet.start()
        if not fleet.alive():
            return first_round
        plan = _plan(fleet, tools.clock() - begin, options)
        planned = plan.looks[-1]
        threads = max(lane.crew.threads for lane in lanes)
        orders = planning.balanced_orders(len(lanes), seed=options.seed)
        for number, look in enumerate(plan.looks, start=1):
            while done < look and fleet.alive():
                _renew(fleet, done, plan)
                tell(f"round {done + 1} of at most {planned}")
                cpus = planning.processors_of(done, tools.cpus, threads)
                _run_round(fleet, [lanes[index] for index in next(orders)], first_round + done, cpus)
                done += 1
                if done % planning.SINGLES_EVERY == 0:
                    _time_single_calls(fleet, cpus)
                if done % planning.SINGLES_EVERY == 1:  # so that the shortest race has them too
                    _time_parts(fleet, cpus)
            for lane in lanes:
                lane.looks, lane.looks_planned = number, len(plan.looks)
            if tools.settled([lane.record() for lane in lanes]):
                break
    return first_round + done


def _plan(fleet: Fleet, start_ns: int, options: RaceOptions) -> planning.Plan:
    """Fix everything for the whole race from what the start has shown."""
    lanes = fleet.alive()
    costs = planning.Costs(start_ns, fleet.set_up_ns, tuple(lane.call_ns for lane in lanes))
    plan = planning.make_plan(costs, options)
    counts = zip(plan.calls, plan.single_calls, plan.split_calls, strict=True)
    for lane, (calls, single_calls, split_calls) in zip(lanes, counts, strict=True):
        lane.calls, lane.single_calls, lane.split_calls = calls, single_calls, split_calls
    return plan


def _renew(fleet: Fleet, done: int, plan: planning.Plan) -> None:
    """Start workers anew, or at least their sessions, when it is time: where memory lies must not decide the race."""
    within_launch = done % plan.rounds_per_launch
    if done and within_launch == 0:
        fleet.start()
    elif within_launch and within_launch % plan.rounds_per_set_up == 0:
        fleet.set_up_again()


def _run_round(fleet: Fleet, order: Sequence[Lane], number: int, cpus: tuple[int, ...]) -> None:
    for position, lane in enumerate(order):
        if lane.alive:
            fleet.turn(lane, partial(_time_block, lane, number, position), cpus)


def _time_block(lane: Lane, number: int, position: int, worker: Worker) -> None:
    start_ns, duration_ns = worker.time_block(lane.seat, lane.calls, planning.WARM_NS)
    block = Block(
        round=number,
        position=position,
        launch=lane.launches - 1,
        set_up=lane.set_ups - 1,
        calls=lane.calls,
        start_ns=start_ns,
        duration_ns=duration_ns,
    )
    lane.blocks.append(block)


def _time_single_calls(fleet: Fleet, cpus: tuple[int, ...]) -> None:
    """Time calls one by one for the percentiles; blocks of one call are single calls already."""
    for lane in fleet.alive():
        if lane.calls > 1 and lane.single_calls:
            fleet.turn(lane, partial(_time_each, lane), cpus)


def _time_each(lane: Lane, worker: Worker) -> None:
    lane.each_ns += worker.time_each(lane.seat, lane.single_calls, planning.WARM_NS)


def _time_parts(fleet: Fleet, cpus: tuple[int, ...]) -> None:
    """Time what calls are made of, where that was asked for."""
    for lane in fleet.alive():
        if lane.split_calls:
            fleet.turn(lane, partial(_split_each, lane), cpus)


def _split_each(lane: Lane, worker: Worker) -> None:
    timed = worker.split_each(lane.seat, lane.split_calls, planning.WARM_NS)
    lane.prepare_ns += timed.prepare_ns
    lane.compute_ns += timed.compute_ns
    lane.fetch_ns += timed.fetch_ns
