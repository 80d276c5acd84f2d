"""Does a gate let equal models pass, stop slower ones, and end in time; and what can a record tell?

usage: python -m benchmarks.gate [part[=number] ...]
parts: race (gates of each kind, 50 unless given), record (runs of each model, 20 unless given); without one, both
"""

from __future__ import annotations

import itertools
import math
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

import onnx
from msgspec.structs import replace

import onnxperf
from benchmarks.fidelity import BESIDES, CHAIN, chain
from benchmarks.kept import keep, share
from onnxperf.analyze.judges.gate_record import RecordedRun, RecordedSide, recorded_limits
from onnxperf.analyze.judges.yardstick import BETWEEN_RUNS
from onnxperf.api._shared import yardstick
from onnxperf.records.gate import NEW, GateLimit
from onnxperf.records.race import Bench

MAX_SLOWDOWN = 0.03
MORE = 4
"""Nodes that are 6 % more work."""
FAR_MORE = 8
"""Nodes that are 12 % more work."""


def outcomes(new: onnx.ModelProto, old: onnx.ModelProto, gates: int) -> tuple[Counter[str], list[float]]:
    """What so many gates said, and the seconds that each took."""
    found: Counter[str] = Counter()
    seconds = []
    for seed in range(gates):
        begin = time.monotonic()
        gate = onnxperf.gate(new, old, max_slowdown=MAX_SLOWDOWN, dims={"batch": 32}, threads=1, seed=seed)
        seconds.append(time.monotonic() - begin)
        found[gate.record.outcome] += 1
        print(gate.answer, file=sys.stderr, flush=True)
    return found, seconds


def raced(gates: int) -> None:
    """Gates of a model against itself, and of one with 6 % more work."""
    old = chain(CHAIN)
    equal, equal_s = outcomes(old, old, gates)
    slower, slower_s = outcomes(chain(CHAIN + MORE), old, gates)
    seconds = equal_s + slower_s
    lines = [
        f"`--max-slowdown {MAX_SLOWDOWN:.0%}`, calls of about 100 us with one thread.",
        "",
        f"- a model against itself: passed {share(equal['passed'], gates)} (goal at least 90 %), "
        f"failed {share(equal['failed'], gates)} (goal at most 4 %), undecided {equal['undecided']}",
        f"- {MORE / (CHAIN + BESIDES):.1%} more work: failed {share(slower['failed'], gates)} (goal at least 90 %), "
        f"passed {slower['passed']}, undecided {slower['undecided']}",
        f"- {statistics.median(seconds):.1f} s a gate (median), {max(seconds):.1f} s at most (goal 60 s)",
    ]
    keep("gate: equal and slower models", lines)


def runs_of(models: Sequence[onnx.ModelProto], number: int) -> list[list[Bench]]:
    """So many runs of each model, in turn, each with a yardstick of its own."""
    found: list[list[Bench]] = [[] for _ in models]
    for seed in range(number):
        for runs, model in zip(found, models, strict=True):
            yardstick.forget()
            runs.append(onnxperf.bench(model, dims={"batch": 32}, threads=1, seed=seed, yardstick=True).record)
            print(f"run {seed + 1} of {number}", file=sys.stderr, flush=True)
    return found


def against_record(new: Bench, old: Bench) -> GateLimit:
    """What a gate with this run says of that record."""
    (now,), (then,) = new.cases, old.cases
    side = RecordedSide(
        run=RecordedRun(name="record", machine=old.machine, cases=(then,)), case=then, subject=then.subjects[0]
    )
    named = replace(now, subjects=(replace(now.subjects[0], name=NEW),))
    return recorded_limits([named], [side], new.machine, MAX_SLOWDOWN)[0]


def recorded(number: int) -> None:
    """Every run against every other: of the same model, and of one with more work."""
    old, slower, slow = runs_of([chain(CHAIN + more) for more in (0, MORE, FAR_MORE)], number)
    pairs = {
        "a model against itself": list(itertools.permutations(old, 2)),
        f"{MORE / (CHAIN + BESIDES):.1%} more work": list(itertools.product(slower, old)),
        f"{FAR_MORE / (CHAIN + BESIDES):.1%} more work": list(itertools.product(slow, old)),
    }
    lines = [
        f"{number} runs of each model, every run judged against the record of every other at `--max-slowdown "
        f"{MAX_SLOWDOWN:.0%}`, calls of about 100 us with one thread. The interval has a standard deviation of "
        f"{BETWEEN_RUNS:.1%} for what lies between runs.",
        "",
    ]
    for name, couples in pairs.items():
        limits = [against_record(new, before) for new, before in couples]
        found, total = Counter(each.outcome for each in limits), len(limits)
        logs = [math.log(each.ratio) for each in limits if each.ratio is not None]
        spread = f"ratio {math.exp(statistics.fmean(logs)):.3f}, standard deviation {statistics.stdev(logs):.2%}"
        lines.append(
            f"- {name}: passed {found['passed'] / total:.0%}, failed {found['failed'] / total:.1%}, "
            f"undecided {found['undecided'] / total:.0%}; {spread}"
        )
    keep("gate: a record as the baseline", lines)


PARTS: dict[str, tuple[Callable[[int], None], int]] = {"race": (raced, 50), "record": (recorded, 20)}


def main() -> None:
    """The parts that were requested."""
    for word in sys.argv[1:] or PARTS:
        name, _, number = word.partition("=")
        part, usual = PARTS[name]
        part(int(number or usual))


if __name__ == "__main__":
    main()
