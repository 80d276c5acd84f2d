"""The plan of a race (durations, repetitions, order), made before its ratios are known."""

from __future__ import annotations

import math
import operator
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from onnxperf.records.options import RaceOptions
from onnxperf.records.race import FEWEST_ROUNDS, MIN_ROUNDS, MIN_UNITS

BLOCK_NS = 10_000_000
WARM_NS = 3_000_000
"""Time of untimed calls after a thaw, when caches are cold and threads asleep."""
LONGEST_BLOCK_NS = 50 * BLOCK_NS
"""A block that takes longer than planned ends here. While other programs used a processor, calls whose threads wait for
each other were a thousand times slower, and one block of them outlasted the race."""
DEFAULT_TIME_S = 9.0
_LONGEST_DEFAULT_TIME_S = 60.0
"""If no time was requested: the limit for five launches, or else for 20 rounds."""
_LONGEST_FOR_A_VERDICT_S = 300.0
"""If no time was requested and subjects are slow: the limit for the minimum number of rounds for a verdict."""
GOOD_LAUNCHES = 8
"""With so many launches, one outlier no longer matters; with fewer, but at least five, the interval is wider."""
_BLOCK_MARGIN = 1.1
"""Calls are planned for slightly more than BLOCK_NS, so that a block stays above it if the machine speeds up."""
_OVERHEAD_NS = 300_000
"""Time of the signals and messages around a block."""
PARTS_EVERY = 5
"""Rounds between timings of the parts of calls."""
_SINGLE_CALLS = 50
"""Single calls after each block: the 20 rounds of the shortest race then suffice for a p99."""
_PART_CALLS = 250
"""Maximum number of calls whose parts are timed."""
_PIECES = 20
"""Pieces of half a millisecond: some of them are not disturbed by other guests of the host."""
_EACH_NS = 100_000
"""Calls of this length or more are timed one by one inside blocks: reading the clock takes less than 0.1 % of them."""
FEWEST_PACED_CALLS = 3
"""Minimum number of calls in a block with pauses, regardless of their length."""
_FEWEST_SPLIT_CALLS = 3
"""Minimum number of calls whose parts are timed, so that a median exists."""


PILOT_UNITS = MIN_UNITS
"""Launches or set-ups after which the plan is revised: they show the cost of a renewal and the source of the noise."""
_LONGER_NS = {GOOD_LAUNCHES: 30e9, MIN_UNITS: _LONGEST_DEFAULT_TIME_S * 1e9}
"""Limits for so many launches if no time was requested and the default is too short for five."""
_EARLIEST_LOOK = PILOT_UNITS + 1
_EARLY_LOOK = 1 / 3
"""Fraction of a race after which the interim analysis takes place."""
_SHORTEST_UNIT = 4
"""Rounds per unit: the 20 rounds of the shortest race that can decide a small difference are five units."""
_USUAL_NOISE = 2.0
"""Variation of rounds within a unit relative to that between units, measured on quiet machines."""
_LEAST_NOISE, _MOST_NOISE = 1.0, 5.0
"""Limits for estimates from a pilot of few units."""
_RENEWAL_SHARE = 0.5
"""Maximum time of launches beyond the fifth, relative to the measuring time, if rounds were requested."""
_MOST_RENEWAL_SHARE = 0.8
"""Maximum share of time for fewer than five launches: each shows more than all the rounds it replaces."""


class Costs(Struct, frozen=True):
    """Costs observed at the start of a race."""

    start_ns: float
    """Time for restarting all workers until they are warm; with a process pool, for loading everything into other
    processes."""
    set_up_ns: float
    """Time for opening and binding all sessions in running workers."""
    call_ns: tuple[float, ...]
    """Time of a call of each subject."""


class Plan(Struct, frozen=True, kw_only=True):
    """The plan of a race.

    The memory layout of a session changes its speed, usually by 1 % and sometimes by 10 %, which no number of rounds
    reveals. A race therefore consists of independent units: launches, which restart all workers, or, if that is too
    expensive, set-ups, which reopen all sessions.
    """

    rounds: int
    """Maximum number of rounds of the race."""
    rounds_per_unit: int
    """Rounds after which workers are restarted or sessions reopened."""
    units_per_launch: int
    """Units after which workers are restarted; all other units only reopen sessions."""
    looks: tuple[int, ...]
    """Units after which the data are analyzed; the last one ends the race."""
    calls: tuple[int, ...]
    """Number of calls per block of each subject."""
    single_calls: tuple[int, ...]
    """Single calls of each subject after each of its blocks; 0 if all calls in blocks are timed one by one."""
    pieces: int
    """Pieces of each block, of which the fastest is least disturbed; equal for all subjects, since otherwise one would
    have an advantage."""
    split_calls: tuple[int, ...]
    """Calls of each subject whose parts are timed; 0 if not requested."""
    round_ns: float
    """Time of a round, including timings outside its blocks."""
    renewal_ns: float
    """Mean time between two units."""
    needed: int
    """Minimum number of rounds for deciding even a large difference."""
    is_fixed: bool
    """Whether the number of rounds was requested and stays fixed."""

    def seconds_for(self, rounds: int) -> float:
        """Duration of so many rounds."""
        units = _Units(rounds, self.rounds_per_unit, self.units_per_launch, self.renewal_ns)
        return units.taking_ns(self.round_ns) / 1e9


def make_plan(costs: Costs, options: RaceOptions) -> Plan:
    """Plan a race from its costs; the time budget covers everything after the first start."""
    call_ns, budget_ns = costs.call_ns, (options.time or DEFAULT_TIME_S) * 1e9
    every_ns = pace_ns(options)
    calls = tuple(options.calls_per_block or calls_per_block(each, every_ns) for each in call_ns)
    single_calls = tuple(0 if every_ns or each >= _EACH_NS else _SINGLE_CALLS for each in call_ns)
    split_calls = tuple(_split_calls(each) if options.split else 0 for each in call_ns)
    singles_ns = sum(map(operator.mul, call_ns, single_calls))
    parts_ns = sum(map(_turn_ns, call_ns, split_calls)) / PARTS_EVERY
    round_ns = sum(map(_turn_ns, call_ns, calls, repeat(every_ns))) + singles_ns + parts_ns
    units = next(filter(None, (make(costs, round_ns, budget_ns, options) for make in _WAYS)))
    return Plan(
        rounds=units.rounds,
        rounds_per_unit=units.rounds_each,
        units_per_launch=units.per_launch,
        looks=looks_at(units.total, is_fixed=bool(options.blocks)),
        calls=calls,
        single_calls=single_calls,
        pieces=min(_PIECES, *calls),
        split_calls=split_calls,
        round_ns=round_ns,
        renewal_ns=units.renewal_ns,
        needed=FEWEST_ROUNDS,
        is_fixed=bool(options.blocks),
    )


class _Units(NamedTuple):
    rounds: int
    rounds_each: int
    per_launch: int
    renewal_ns: float

    @property
    def total(self) -> int:
        return math.ceil(self.rounds / self.rounds_each)

    def taking_ns(self, round_ns: float) -> float:
        return self.rounds * round_ns + (self.total - 1) * self.renewal_ns


def _launches(costs: Costs, round_ns: float, budget_ns: float, options: RaceOptions) -> _Units | None:
    """As many launches as the time allows, at least five; None if these do not fit."""
    start_ns = costs.start_ns
    usual = rounds_between(start_ns, round_ns, _USUAL_NOISE)
    if options.blocks:
        units = _Units(options.blocks, min(usual, options.blocks // MIN_UNITS), 1, start_ns)
        fits = units.rounds_each >= _SHORTEST_UNIT
        return units if fits and units.total <= _affordable_launches(costs, round_ns, budget_ns, options) else None
    for least in (GOOD_LAUNCHES, MIN_UNITS):
        if longest := _longest_unit(least, budget_ns - (least - 1) * start_ns, round_ns):
            rounds_each = min(usual, longest)
            number = max(least, units_within(budget_ns + start_ns, start_ns, round_ns, rounds_each))
            return _Units(number * rounds_each, rounds_each, 1, start_ns)
    for number, most_ns in () if options.time else _LONGER_NS.items():
        if longest := _longest_unit(number, most_ns - (number - 1) * start_ns, round_ns):
            rounds_each = min(usual, longest)
            return _Units(number * rounds_each, rounds_each, 1, start_ns)
    return None


def _few_launches(costs: Costs, round_ns: float, budget_ns: float, options: RaceOptions) -> _Units | None:
    """Two to four launches, with sessions reopened in between; None if these do not fit."""
    usual = rounds_between(costs.set_up_ns, round_ns, _USUAL_NOISE)
    for launches in () if options.blocks else range(MIN_UNITS - 1, 1, -1):
        starts_ns, longest_ns = (launches - 1) * costs.start_ns, _longest_ns(budget_ns, options)
        time_ns = min(longest_ns, budget_ns + starts_ns)  # if none was requested, starts are added to it
        each_ns = (time_ns - starts_ns) / launches
        least = math.ceil(MIN_UNITS / launches)
        longest = _longest_unit(least, each_ns - (least - 1) * costs.set_up_ns, round_ns)
        if longest and starts_ns <= _MOST_RENEWAL_SHARE * longest_ns:
            rounds_each = min(usual, longest)
            units = max(least, units_within(each_ns + costs.set_up_ns, costs.set_up_ns, round_ns, rounds_each))
            return _in_launches(launches * units * rounds_each, rounds_each, units, costs)
    return None


def _set_ups(costs: Costs, round_ns: float, budget_ns: float, options: RaceOptions) -> _Units:
    """Sessions reopened within one launch, or not at all if calls are very slow. Requested rounds may have several
    launches."""
    launches = _affordable_launches(costs, round_ns, budget_ns, options) if options.blocks else 1

    def units_of(rounds: int) -> _Units:
        rounds_each = rounds_between(costs.set_up_ns, round_ns, _USUAL_NOISE)
        rounds_each = max(_SHORTEST_UNIT, min(rounds_each, math.ceil(rounds / MIN_UNITS)))
        count = math.ceil(rounds / rounds_each)
        return _in_launches(rounds, rounds_each, math.ceil(count / launches) if rounds >= MIN_ROUNDS else count, costs)

    def within(time_ns: float) -> int:
        numbers = range(1, int(time_ns / round_ns) + 1)
        return bisect_right(numbers, time_ns, key=lambda rounds: units_of(rounds).taking_ns(round_ns))

    units = units_of(options.blocks or _affordable_rounds(within, budget_ns, options))
    if options.blocks or units.total >= MIN_UNITS:
        return units
    more = max(int((budget_ns - units.taking_ns(round_ns)) / (units.total * round_ns)), 0)  # too little for a unit
    return units._replace(rounds=units.rounds + units.total * more, rounds_each=units.rounds_each + more)


_WAYS: tuple[Callable[[Costs, float, float, RaceOptions], _Units | None], ...] = (_launches, _few_launches, _set_ups)
"""Ordered by preference: the first that fits is used."""


def _in_launches(rounds: int, rounds_each: int, per_launch: int, costs: Costs) -> _Units:
    count = math.ceil(rounds / rounds_each)
    launches = math.ceil(count / per_launch)
    renewals_ns = (launches - 1) * costs.start_ns + (count - launches) * costs.set_up_ns
    return _Units(rounds, rounds_each, per_launch, renewals_ns / max(count - 1, 1))


def has_room_for_launches(subjects: int, options: RaceOptions) -> bool:
    """Whether a race can have more than one launch, even if its calls are short."""
    turn_ns = WARM_NS + (0 if options.calls_per_block else BLOCK_NS)
    rounds = (options.time or DEFAULT_TIME_S) * 1e9 / (subjects * turn_ns)
    return (options.blocks or rounds) >= MIN_ROUNDS


def _longest_unit(units: int, time_ns: float, round_ns: float) -> int:
    """Rounds per unit if so many units share this time; 0 if too few."""
    rounds = int(time_ns / (units * round_ns))
    return rounds if rounds >= _SHORTEST_UNIT else 0


def _longest_ns(budget_ns: float, options: RaceOptions) -> float:
    """Maximum time of a race: exactly the requested time, if any."""
    return budget_ns if options.time is not None else max(budget_ns, _LONGEST_DEFAULT_TIME_S * 1e9)


def _affordable_launches(costs: Costs, round_ns: float, budget_ns: float, options: RaceOptions) -> int:
    """Maximum number of launches for a requested number of rounds."""
    start_ns = max(costs.start_ns, 1.0)
    few = min(1 + int(_MOST_RENEWAL_SHARE * _longest_ns(budget_ns, options) / start_ns), MIN_UNITS)
    return max(few, 1 + int(_RENEWAL_SHARE * max(budget_ns, (options.blocks or 0) * round_ns) / start_ns))


def rounds_between(renewal_ns: float, round_ns: float, noise: float) -> int:
    """Optimal rounds per unit for a given time (Kalibera and Jones), an even number to balance the order.

    `noise` is the variation of rounds within a unit relative to that between units.
    """
    rounds = min(max(noise, _LEAST_NOISE), _MOST_NOISE) * math.sqrt(renewal_ns / round_ns)
    return max(_SHORTEST_UNIT, 2 * math.ceil(rounds / 2))


def units_within(time_ns: float, renewal_ns: float, round_ns: float, rounds_each: int) -> int:
    """Number of units, with their renewals, that fit into a time."""
    return max(int(time_ns / (renewal_ns + rounds_each * round_ns)), 0)


def hastened(plan: Plan, units: int, rounds: int, spent_ns: float, time_ns: float) -> Plan:
    """The plan with shorter units, if the first pilot units took so long that the others would come too late.

    On a busy machine rounds take several times as long as planned. With fewer units than the pilot's, no small
    difference could be decided, regardless of the number of rounds.
    """
    missing = PILOT_UNITS - units
    each_ns = (time_ns - spent_ns) / missing - plan.renewal_ns
    round_ns = (spent_ns - (units - 1) * plan.renewal_ns) / rounds
    rounds_each = max(_SHORTEST_UNIT, min(plan.rounds_per_unit, int(each_ns / max(round_ns, 1.0))))
    if rounds_each == plan.rounds_per_unit:
        return plan
    return replace(
        plan, rounds=rounds + missing * rounds_each, rounds_per_unit=rounds_each, looks=looks_at(PILOT_UNITS)
    )


def revised(plan: Plan, left_ns: float, renewal_ns: float, round_ns: float, noise: float | None) -> Plan:
    """The plan for the rest of a race, based on its pilot units."""
    rounds_each = rounds_between(renewal_ns, round_ns, _USUAL_NOISE if noise is None else noise)
    missing = GOOD_LAUNCHES - PILOT_UNITS
    rounds_each = min(rounds_each, _longest_unit(missing, left_ns - missing * renewal_ns, round_ns) or rounds_each)
    more = units_within(left_ns, renewal_ns, round_ns, rounds_each)
    return replace(
        plan,
        rounds=PILOT_UNITS * plan.rounds_per_unit + more * rounds_each,
        rounds_per_unit=rounds_each,
        looks=looks_at(PILOT_UNITS + more),
        renewal_ns=renewal_ns,
        round_ns=round_ns,
    )


def _split_calls(call_ns: float) -> int:
    return max(_FEWEST_SPLIT_CALLS, min(_PART_CALLS, int(BLOCK_NS / max(call_ns, 1.0))))


def _affordable_rounds(within: Callable[[float], int], budget_ns: float, options: RaceOptions) -> int:
    """As many rounds as fit into the time; without a requested time, more if a verdict needs them."""
    rounds = within(budget_ns)
    if options.time is None:
        rounds = max(rounds, min(MIN_ROUNDS, within(_LONGEST_DEFAULT_TIME_S * 1e9)))
        rounds = max(rounds, min(FEWEST_ROUNDS, within(_LONGEST_FOR_A_VERDICT_S * 1e9)))
    return max(rounds, 1)


def calls_per_block(call_ns: float, every_ns: int = 0) -> int:
    """Number of calls for a block of at least BLOCK_NS; with pauses, at least a few."""
    fewest = FEWEST_PACED_CALLS if every_ns else 1
    return max(fewest, math.ceil(BLOCK_NS * _BLOCK_MARGIN / max(call_ns, every_ns, 1.0)))


def pace_ns(options: RaceOptions) -> int:
    """Time between the starts of consecutive calls; 0 for no pauses."""
    return round(options.every * 1e9) if options.every else 0


def looks_at(units: int, is_fixed: bool = False) -> tuple[int, ...]:
    """Units after which to analyze the data: a third of them, unless that is too early, and all."""
    early = max(_EARLIEST_LOOK, math.ceil(units * _EARLY_LOOK))
    return (units,) if is_fixed or early >= units else (early, units)


def block_seconds(options: RaceOptions) -> float:
    """Minimum duration of a block with pauses."""
    every_ns = pace_ns(options)
    return _turn_ns(0.0, options.calls_per_block or calls_per_block(0.0, every_ns), every_ns) / 1e9


def _turn_ns(call_ns: float, calls: int, every_ns: int = 0) -> float:
    """There is also a pause before the first call."""
    return calls * max(call_ns, every_ns) + every_ns + max(WARM_NS, call_ns) + _OVERHEAD_NS if calls else 0.0


def processors_of(number: int, cpus: Sequence[int], threads: int) -> tuple[int, ...]:
    """The processors of a subject in a round, one per thread: subjects with equal threads use the same processors.

    Another guest of the host may slow down only some processors: on different ones, equal subjects differ by 12 % from
    round to round, on the same ones by 1 %. Rounds rotate over processors, so that none decides the race. Subjects that
    use all processors are not bound.
    """
    if threads >= len(cpus):
        return ()
    return tuple(sorted(cpus[(number * threads + each) % len(cpus)] for each in range(threads)))


def balanced_orders(subjects: int, seed: int) -> Iterator[list[int]]:
    """Endless orders in which every subject follows every other equally often (Williams design, rows shuffled)."""
    shuffle = random.Random(seed).shuffle  # noqa: S311 - an experiment's design, not a secret
    zigzag = [turn // 2 if turn % 2 == 0 else subjects - (turn + 1) // 2 for turn in range(subjects)]
    rows = [[(start + step) % subjects for step in zigzag] for start in range(subjects)]
    if subjects % 2:
        rows += [row[::-1] for row in rows]
    while True:
        shuffle(rows)
        yield from (list(row) for row in rows)
