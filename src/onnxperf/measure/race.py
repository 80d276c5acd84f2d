"""The race: subjects take turns, round after round, until a planned look says that the answer is clear."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from onnxperf.measure import plan as planning
from onnxperf.measure.fleet import Fleet, Lane, Launch
from onnxperf.measure.messages import Crew
from onnxperf.measure.timing import Clock, monotonic_ns
from onnxperf.records import SMALL_CLAIM, Block, RaceOptions, Subject

Settled = Callable[[Sequence[Subject]], bool]
"""Is every question about these subjects answered?"""
Progress = Callable[[float, str], None]
"""Part done (0 to 1) and what is going on; called only between blocks."""

_COSTLY_START = 0.2
"""Workers are started anew for each look, unless that takes more than this part of the measuring time."""


class Tools(Struct, frozen=True, kw_only=True):
    """What a race works with; tests bring fakes."""

    launch: Launch
    settled: Settled
    progress: Progress = lambda _done, _text: None
    clock: Clock = monotonic_ns
    memory_bytes: int | None = None
    """What all workers together may hold; None means that all fit."""


class RaceEnd(Struct, frozen=True, kw_only=True):
    """What a race leaves behind: raw records of all subjects, in the order of the crews."""

    subjects: tuple[Subject, ...]
    batches: int
    interrupted: bool


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
    rounds, last_round = first_round, first_round

    def tell(text: str) -> None:
        done = (rounds - first_round) / (last_round - first_round) if last_round > first_round else 0.0
        tools.progress(done, text)

    with Fleet(lanes, tools.launch, int(options.warmup * 1e9), tell) as fleet:
        begin = tools.clock()
        fleet.start()
        if not fleet.alive():
            return rounds
        looks = _plan(fleet.alive(), options)
        last_round += looks[-1]
        start_again = _worth_starting_again(tools.clock() - begin, options)
        orders = planning.balanced_orders(len(lanes), seed=options.seed)
        for number, look in enumerate(looks, start=1):
            if number > 1 and start_again:
                fleet.start()
            while rounds < first_round + look and fleet.alive():
                tell(f"round {rounds - first_round + 1} of at most {looks[-1]}")
                _run_round(fleet, [lanes[index] for index in next(orders)], rounds)
                rounds += 1
                if (rounds - first_round) % planning.SINGLES_EVERY == 0:
                    _time_single_calls(fleet)
            for lane in lanes:
                lane.looks, lane.looks_planned = number, len(looks)
            if tools.settled([lane.record() for lane in lanes]):
                break
    return rounds


def _plan(lanes: Sequence[Lane], options: RaceOptions) -> tuple[int, ...]:
    """Fix calls per block for the whole race, and the rounds at which the data are looked at."""
    plan = planning.make_plan([lane.call_ns for lane in lanes], options)
    for lane, calls, single_calls in zip(lanes, plan.calls, plan.single_calls, strict=True):
        lane.calls, lane.single_calls = calls, single_calls
    return plan.looks


def _worth_starting_again(start_ns: int, options: RaceOptions) -> bool:
    """Several launches average out what the layout of a process adds to its times."""
    budget_ns = (options.time or planning.DEFAULT_TIME_S) * 1e9
    return options.min_effect < SMALL_CLAIM or start_ns < _COSTLY_START * budget_ns


def _run_round(fleet: Fleet, order: Sequence[Lane], number: int) -> None:
    for position, lane in enumerate(order):
        if lane.alive:
            with fleet.turn(lane) as worker:
                start_ns, duration_ns = worker.time_block(lane.seat, lane.calls, planning.WARM_NS)
                block = Block(
                    round=number,
                    position=position,
                    launch=lane.launches - 1,
                    calls=lane.calls,
                    start_ns=start_ns,
                    duration_ns=duration_ns,
                )
                lane.blocks.append(block)


def _time_single_calls(fleet: Fleet) -> None:
    """Time calls one by one for the percentiles; blocks of one call are single calls already."""
    for lane in fleet.alive():
        if lane.calls > 1 and lane.single_calls:
            with fleet.turn(lane) as worker:
                lane.each_ns += worker.time_each(lane.seat, lane.single_calls, planning.WARM_NS)
