"""How long, how often and in what order: the arithmetic of a race, decided before its ratios are known."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

from msgspec import Struct

from onnxperf.records.options import RaceOptions
from onnxperf.records.race import ALPHA, FEWEST_ROUNDS, MIN_ROUNDS

LOOKS = 3
BLOCK_NS = 10_000_000
WARM_NS = 3_000_000
"""Untimed calls after a thaw: caches are cold and threads asleep."""
DEFAULT_TIME_S = 6.0
_LONGEST_DEFAULT_TIME_S = 60.0
_LONGEST_FOR_A_VERDICT_S = 300.0
"""So much for the fewest rounds that can give one, where subjects are costly and no time was requested."""
_BLOCK_MARGIN = 1.1
"""Calls are chosen for a little more than BLOCK_NS, so that a block stays above it when the machine speeds up."""
_OVERHEAD_NS = 300_000
"""Signals and messages around a block."""
SINGLES_EVERY = 5
"""Rounds between blocks of single calls, so that these see the same conditions as the others."""
_SINGLE_CALLS = 250
"""Single calls at a time: after the 20 rounds of the shortest race there are enough of them for a p99."""
_EACH_NS = 100_000
"""Calls from this length on are timed one by one inside blocks: reading the clock is less than a thousandth of them."""
_EARLIEST_LOOK = 12
"""Rounds after which a large difference may end a race: that many agree by chance once in 2,000 races."""
_FEWEST_SPLIT_CALLS = 3
"""However slow they are: their parts have a median then."""


_LAUNCHES = 6
_LAUNCH_SHARE = 0.5
"""What starting workers anew may take, compared with the measuring time."""
_SHORTEST_LAUNCH = 6
"""Rounds: the 20 of the shortest race that may give a verdict are 3 launches."""
_SHORTEST_SET_UP = 5
"""Rounds."""
_SET_UP_SHARE = 0.2
"""Part of the measuring time that opening sessions anew may take."""


class Costs(Struct, frozen=True):
    """What the start of a race has shown."""

    start_ns: float
    """Starting all workers until they are warm."""
    set_up_ns: float
    """Opening and binding all sessions in workers that run."""
    call_ns: tuple[float, ...]
    """A call of each subject."""


class Plan(Struct, frozen=True, kw_only=True):
    """A race in numbers."""

    looks: tuple[int, ...]
    """Rounds after which the data are looked at; the last one ends the race."""
    calls: tuple[int, ...]
    """Calls per block of each subject."""
    single_calls: tuple[int, ...]
    """Single calls of each subject, every SINGLES_EVERY rounds; 0 where all calls in blocks are timed one by one."""
    split_calls: tuple[int, ...]
    """Calls of each subject whose parts are timed, as often; 0 where they are not requested."""
    rounds_per_launch: int
    """Rounds after which all workers are started anew."""
    rounds_per_set_up: int
    """Rounds after which all sessions are opened anew.

    Where its memory lies makes the same session faster or slower, by 1 % as a rule and by 10 % at times. Many launches
    and set-ups average that out, and show how large it is; costly ones have to last longer.
    """
    round_ns: float
    """Time of a round, with what is timed beside its blocks."""
    renewal_ns: float
    """Time of all launches and set-ups after the first."""
    needed: int
    """Rounds without which not even a large difference is decided."""

    def seconds_for(self, rounds: int) -> float:
        """How long so many rounds would take."""
        return (rounds * self.round_ns + self.renewal_ns) / 1e9


def make_plan(costs: Costs, options: RaceOptions) -> Plan:
    """Plan a race from its costs."""
    call_ns, budget_ns = costs.call_ns, (options.time or DEFAULT_TIME_S) * 1e9
    calls = tuple(options.calls or calls_per_block(each) for each in call_ns)
    single_calls = tuple(0 if each >= _EACH_NS else _SINGLE_CALLS for each in call_ns)
    split_calls = tuple(_split_calls(each) if options.split else 0 for each in call_ns)
    now_and_then_ns = sum(map(_turn_ns, call_ns, single_calls)) + sum(map(_turn_ns, call_ns, split_calls))
    round_ns = sum(map(_turn_ns, call_ns, calls)) + now_and_then_ns / SINGLES_EVERY
    needed = _rounds_needed(len(call_ns) - 1)
    rounds = options.blocks or _affordable_rounds(round_ns, budget_ns, needed, options)
    affordable = int(_LAUNCH_SHARE * budget_ns / max(costs.start_ns, 1.0))
    launches = max(1, min(_LAUNCHES, affordable, rounds // _SHORTEST_LAUNCH))
    rounds_per_launch = math.ceil(rounds / launches)
    rounds_per_set_up = max(_SHORTEST_SET_UP, math.ceil(costs.set_up_ns / (_SET_UP_SHARE * round_ns)))
    if launches == 1 and rounds >= FEWEST_ROUNDS:
        # An interval needs two set-ups, at the first look too: their difference is part of it.
        rounds_per_set_up = min(rounds_per_set_up, max(rounds // (LOOKS + 1), _SHORTEST_SET_UP))
    set_ups = launches * ((rounds_per_launch - 1) // rounds_per_set_up)
    return Plan(
        looks=(rounds,) if options.blocks else looks_at(rounds),
        calls=calls,
        single_calls=single_calls,
        split_calls=split_calls,
        rounds_per_launch=rounds_per_launch,
        rounds_per_set_up=rounds_per_set_up,
        round_ns=round_ns,
        renewal_ns=(launches - 1) * costs.start_ns + set_ups * costs.set_up_ns,
        needed=needed,
    )


def _split_calls(call_ns: float) -> int:
    return max(_FEWEST_SPLIT_CALLS, min(_SINGLE_CALLS, int(BLOCK_NS / max(call_ns, 1.0))))


def _rounds_needed(rivals: int) -> int:
    """Rounds that must agree before it is no accident, with so many comparisons at once."""
    return max(FEWEST_ROUNDS, math.ceil(1 + math.log2(max(rivals, 1) / ALPHA)))


def _affordable_rounds(round_ns: float, budget_ns: float, needed: int, options: RaceOptions) -> int:
    rounds = int(budget_ns / round_ns)
    if options.time is None:
        rounds = max(rounds, min(MIN_ROUNDS, int(_LONGEST_DEFAULT_TIME_S * 1e9 / round_ns)))
        rounds = max(rounds, min(needed, int(_LONGEST_FOR_A_VERDICT_S * 1e9 / round_ns)))
    return max(rounds, 1)


def calls_per_block(call_ns: float) -> int:
    """As many calls as make a block of at least BLOCK_NS."""
    return max(1, math.ceil(BLOCK_NS * _BLOCK_MARGIN / max(call_ns, 1.0)))


def looks_at(rounds: int) -> tuple[int, ...]:
    """Spread the looks evenly over the rounds, none before the earliest one."""
    wanted = (max(_EARLIEST_LOOK, math.ceil(rounds * look / LOOKS)) for look in range(1, LOOKS))
    return (*sorted({look for look in wanted if look < rounds}), rounds)


def _turn_ns(call_ns: float, calls: int) -> float:
    return calls * call_ns + max(WARM_NS, call_ns) + _OVERHEAD_NS if calls else 0.0


def processors_of(number: int, cpus: Sequence[int], threads: int) -> tuple[int, ...]:
    """The processors of a round, as many as a subject has threads: all subjects of a round use the same ones.

    Another guest of the host slows down one processor and not the other: on different ones, equal subjects differ by
    12 % from round to round, on the same one by 1 %. Rounds take turns, so that no processor decides. Subjects that
    use all processors need no binding.
    """
    if threads >= len(cpus):
        return ()
    return tuple(sorted(cpus[(number * threads + each) % len(cpus)] for each in range(threads)))


def balanced_orders(subjects: int, seed: int) -> Iterator[list[int]]:
    """Orders without end in which every subject follows every other equally often (Williams' design, rows shuffled)."""
    shuffle = random.Random(seed).shuffle  # noqa: S311 - an experiment's design, not a secret
    zigzag = [turn // 2 if turn % 2 == 0 else subjects - (turn + 1) // 2 for turn in range(subjects)]
    rows = [[(start + step) % subjects for step in zigzag] for start in range(subjects)]
    if subjects % 2:
        rows += [row[::-1] for row in rows]
    while True:
        shuffle(rows)
        yield from (list(row) for row in rows)
