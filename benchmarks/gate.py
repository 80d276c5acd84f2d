"""Does a gate let equal models pass, stop slower ones, and end in time?

usage: python -m benchmarks.gate [gates]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter

import onnx

import onnxperf
from benchmarks.fidelity import BESIDES, CHAIN, chain
from benchmarks.kept import keep, share

MAX_SLOWDOWN = 0.03
MORE = 4
"""Nodes that are 6 % more work."""


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


def main() -> None:
    """Gates of a model against itself, and of one with 6 % more work."""
    gates = int(sys.argv[1]) if len(sys.argv) > 1 else 50
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


if __name__ == "__main__":
    main()
