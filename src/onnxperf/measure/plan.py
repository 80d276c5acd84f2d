"""How long, how often and in what order: the arithmetic of a race, decided before its ratios are known."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence

from msgspec import Struct

from onnxperf.records import MIN_ROUNDS, RaceOptions

LOOKS = 3
BLOCK_NS = 10_000_000
WARM_NS = 3_000_000
"""Untimed calls after a thaw: caches are cold and threads asleep."""
DEFAULT_TIME_S = 6.0
_LONGEST_DEFAULT_TIME_S = 60.0
_BLOCK_MARGIN = 1.1
"""Calls are chosen for a little more than BLOCK_NS, so that a block stays above it when the machine speeds up."""
_OVERHEAD_NS = 300_000
"""Signals and messages around a block."""
SINGLES_EVERY = 5
"""Rounds between blocks of single calls, so that these see the same weather as the others."""
_SINGLE_CALLS = 250
"""Single calls at a time: after the 20 rounds of the shortest race there are enough of them for a p99."""


class Plan(Struct, frozen=True):
    """A race in numbers."""

    looks: tuple[int, ...]
    """Rounds after which the data are looked at; the last one ends the race."""
    calls: tuple[int, ...]
    """Calls per block of each subject."""
    single_calls: tuple[int, ...]
    """Single calls of each subject, every SINGLES_EVERY rounds."""


def make_plan(call_ns: Sequence[float], options: RaceOptions) -> Plan:
    """Plan a race of subjects whose calls take about `call_ns`."""
    calls = tuple(options.calls or calls_per_block(each) for each in call_ns)
    single_calls = tuple(min(_SINGLE_CALLS, int(BLOCK_NS / max(each, 1.0))) for each in call_ns)
    if options.blocks:
        return Plan((options.blocks,), calls, single_calls)
    budget_ns = (options.time or DEFAULT_TIME_S) * 1e9
    round_ns = sum(map(_turn_ns, call_ns, calls)) + sum(map(_turn_ns, call_ns, single_calls)) / SINGLES_EVERY
    rounds = int(budget_ns / round_ns)
    if options.time is None:
        rounds = max(rounds, min(MIN_ROUNDS, int(_LONGEST_DEFAULT_TIME_S * 1e9 / round_ns)))
    return Plan(looks_at(max(rounds, 1)), calls, single_calls)


def calls_per_block(call_ns: float) -> int:
    """As many calls as make a block of at least BLOCK_NS."""
    return max(1, math.ceil(BLOCK_NS * _BLOCK_MARGIN / max(call_ns, 1.0)))


def looks_at(rounds: int) -> tuple[int, ...]:
    """Spread the looks evenly over the rounds, none before MIN_ROUNDS."""
    wanted = (max(MIN_ROUNDS, math.ceil(rounds * look / LOOKS)) for look in range(1, LOOKS))
    return (*sorted({look for look in wanted if look < rounds}), rounds)


def _turn_ns(call_ns: float, calls: int) -> float:
    return calls * call_ns + max(WARM_NS, call_ns) + _OVERHEAD_NS if calls else 0.0


def balanced_orders(subjects: int, seed: int) -> Iterator[list[int]]:
    """Orders without end in which everyone follows everyone else equally often (Williams' design, rows shuffled)."""
    shuffle = random.Random(seed).shuffle  # noqa: S311 - an experiment's design, not a secret
    zigzag = [turn // 2 if turn % 2 == 0 else subjects - (turn + 1) // 2 for turn in range(subjects)]
    rows = [[(start + step) % subjects for step in zigzag] for start in range(subjects)]
    if subjects % 2:
        rows += [row[::-1] for row in rows]
    while True:
        shuffle(rows)
        yield from (list(row) for row in rows)
