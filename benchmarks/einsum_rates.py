"""How often does a search with default options decide that a graph is 1.2 times as fast, and how long does it take?

usage: python -m benchmarks.einsum_rates [races=400] [live=0] [time=18]
       races is the number of simulated races: real plan, turns and judges, known noise, known differences
       live is the number of real searches of each equation; run them on a quiet machine, then on a busy one
       time is that of a search

Linux only. A simulated race takes a tenth of a second, a live search as long as a user waits for it.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time as clocks
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import psutil

import onnxperf
from benchmarks.einsum import others_seconds, use_private_cache
from benchmarks.kept import keep, share
from benchmarks.simulation import BASELINE, Manner, Track, simulate_on
from onnxperf.analyze.judges.comparison import compare
from onnxperf.api._shared.einsum_plans import DEFAULT_TIME_S
from onnxperf.api._shared.einsum_race import PEERS_SHARE, WARM_UP_S
from onnxperf.records.options import RaceOptions

STEADY = 1.2
"""The ratio that has to be decided."""
LENGTHS = (1.0, 1 / STEADY, STEADY, 1.0, 0.5, 0.9, 0.4)
"""Time of a call of the Einsum, and of the graphs that race it."""
CALL_NS = 150e3
START_NS = 0.45e9 / len(LENGTHS)
"""All graphs are in one worker, which starts in 0.45 s."""
SEARCH_S = 4.5
"""What a search takes before its race, where it is not cut."""
EQUATIONS = {
    "bsnh,btnh->bnts": ((20, 20, 20, 20), (20, 20, 20, 20)),
    "abc,cd,def->abef": ((8, 8, 8), (8, 8), (8, 8, 8)),
    "ij,jk,kl->il": ((64, 48), (48, 64), (64, 32)),
}
BUSY = (0.0, 0.1, 0.3, 0.5, 1.1)
"""Shares of the processors that other programs had, which are told apart."""


# ---------------------------------------------------------------- simulated


def simulated(races: int, seconds: float) -> Iterator[str]:
    """Verdicts by the true ratio to the baseline."""
    time_s = (1 - PEERS_SHARE) * (seconds - SEARCH_S)
    track = Track(tuple(Manner(length=length) for length in LENGTHS), CALL_NS, START_NS)
    verdicts: dict[float, Counter[str]] = {1 / length: Counter() for length in LENGTHS[1:]}
    for seed in range(races):
        options = RaceOptions(baseline=BASELINE, time=time_s, warmup=WARM_UP_S, seed=seed)
        subjects = compare(simulate_on(track, seed, options), BASELINE, options.min_effect)
        for length, subject in zip(LENGTHS[1:], subjects[1:], strict=True):
            verdicts[1 / length][str(subject.verdict)] += 1
    yield f"{races} simulated races of {time_s:.1f} s between {len(LENGTHS)} graphs:"
    yield ""
    for ratio, found in sorted(verdicts.items()):
        right = "equivalent" if ratio == 1 else "faster" if ratio > 1 else "slower"
        wrong = sum(count for verdict, count in found.items() if verdict not in (right, "undecided"))
        yield f"- {ratio:.3g} times as fast: {right} in {share(found[right], found.total())}, wrong {wrong}"


# ---------------------------------------------------------------- live


class Searched(NamedTuple):
    """A real search."""

    equation: str
    seconds: float
    others: float
    """Share of the processors that other programs had meanwhile."""
    decided: int
    apart: int
    """Rows whose speedup is at least 1.2, or at most its inverse."""


def search(equation: str, seconds: float) -> Searched:
    """Search as a user does who asks for the first time."""
    begin, others = clocks.perf_counter(), others_seconds()
    record = onnxperf.optimize_einsum(equation, EQUATIONS[equation], again=True, time=seconds).record
    took_s = clocks.perf_counter() - begin
    share_of_others = (others_seconds() - others) / took_s / (psutil.cpu_count() or 1)
    subjects = record.race.subjects if record.race is not None else ()
    apart = [each for each in subjects if each.speedup and abs(math.log(each.speedup)) >= math.log(STEADY)]
    decided = [each for each in apart if each.verdict in ("faster", "slower")]
    found = Searched(equation, took_s, share_of_others, len(decided), len(apart))
    print(found, [each.name for each in apart if each not in decided], file=sys.stderr, flush=True)
    return found


def live(runs: int, seconds: float) -> Iterator[str]:
    """Rows that are decided, and how long it took, by how busy the machine was."""
    searched = [search(equation, seconds) for _ in range(runs) for equation in EQUATIONS]
    yield f"{runs} searches of each of {len(EQUATIONS)} equations with a time of {seconds:g} s:"
    yield ""
    for low, high in pairwise(BUSY):
        found = [each for each in searched if low <= each.others < high]
        apart = sum(each.apart for each in found)
        if apart:
            rate = share(sum(each.decided for each in found), apart)
            longest = max(each.seconds for each in found)
            others = f"others had {low:.0%} to {high:.0%}, {len(found)} searches"
            yield f"- {others}: decided {rate}, {longest:.1f} s at most"


def main(arguments: Sequence[str]) -> None:
    """Print and keep the figures."""
    given = {"races": 400.0, "live": 0.0, "time": DEFAULT_TIME_S}
    given |= {name: float(value) for name, value in (each.split("=") for each in arguments)}
    lines = list(simulated(int(given["races"]), given["time"])) if given["races"] else []
    if given["live"]:
        with tempfile.TemporaryDirectory() as folder:
            use_private_cache(folder)
            lines += ["", *live(int(given["live"]), given["time"])]
    keep("einsum rates", lines)


if __name__ == "__main__":
    main(sys.argv[1:])
