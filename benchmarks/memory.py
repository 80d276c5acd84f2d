"""How right is onnxperf.memory? Known amounts, short spikes and leaks; and what races and checks hold themselves.

usage: python -m benchmarks.memory [--print]
       --print leaves RESULTS.md as it is

Linux only. memory_profiler, which looks every 10 ms, is shown beside; it is no dependency: pip install memory_profiler
"""

from __future__ import annotations

import mmap
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from statistics import median

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

from benchmarks.kept import keep, share
from onnxperf.api.bench import bench
from onnxperf.api.check import check
from onnxperf.api.memory import memory
from onnxperf.measure.memory import peak_bytes, read_resident, reset_peak, trim
from onnxperf.records.memory import MemorySubject
from onnxperf.results.bench import BenchResult
from onnxperf.results.check import CheckResult

MB = 1_000_000
TOUCHED = (50 * MB, 200 * MB, 800 * MB)
TOUCHED_GOAL = 0.02
POOL, SPIKE = 400 * MB, 8 * MB
"""The kernel takes 2 to 3 ms to fill a spike of this size, so that nearly all of it is there for well below 1 ms."""
SPIKES, SEEN = 20, 0.9
LEAKS = (4_000, 64_000, 1 * MB)
LEAK_GOAL = 0.05
LEAK_CALLS = 500
"""Enough for the smallest leak to show; the largest takes half a gigabyte."""
BATCHES = [1000, 3000, 9000, 27000]
PERCEPTRON = """<ir_version: 8, opset_import: ["" : 17]>
perceptron (float[batch, 256] X) => (float[batch, 256] Y) { A = MatMul(X, W) B = Relu(A) Y = MatMul(B, W) }"""
PEER, PEER_INTERVAL_S = "memory_profiler", 0.01
MEAN = """<ir_version: 8, opset_import: ["": 18]>
mean (float[batch, 1000] X) => (float[batch, 1] Y) { axes = Constant<value_ints=[1]>() Y = ReduceMean(X, axes) }"""
ROWS = 60_000
"""Of 4 kB each."""
COPIES_GOAL = 1.2
COPIES_BEFORE = {"two models": 5.0, "two call styles": 3.0, "a model and a function": 4.0}
"""Before inputs were shared, measured in the same way."""
EXPAND = """<ir_version: 8, opset_import: ["": 18]>
expand (float[1] X) => (float[m, 1000] Y) {{ s = Constant<value_ints=[{rows}, 1000]>() Y = Expand(X, s) }}"""
CHECK_GOAL = 3.2
"""Both sides' outputs, one more while a side is compared with itself, and the pieces at work."""
CHECK_BEFORE = {"two models": 33.0, "two runtimes": 33.0, "a model and a function": 33.0}
"""Before outputs were shared and compared in pieces, measured in the same way on 64 MB."""


# ---------------------------------------------------------------- subjects of which the truth is known


def touch(size: int) -> int:
    """Write to every page of a buffer, and drop it."""
    return int(np.ones(size, np.uint8)[-1])


class Spike:
    """Reads a warm buffer, and at a random moment meanwhile takes more memory for an instant."""

    def __init__(self) -> None:
        self.pool: np.ndarray | None = None

    def __call__(self) -> None:
        """The first call makes the buffer."""
        if self.pool is None:
            self.pool = np.ones(POOL, np.uint8)
        moment = random.randrange(POOL)
        self.pool[:moment].sum()
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE  # the kernel fills it, faster than we could
        mmap.mmap(-1, SPIKE, flags=flags).close()
        self.pool[moment:].sum()


class Leak:
    """Keeps what every call makes."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.kept: list[bytes] = []

    def __call__(self) -> None:
        """Make and keep some bytes, all of them written."""
        self.kept.append(b"\1" * self.size)


# ---------------------------------------------------------------- what is seen of them


def calls_of(subject: MemorySubject) -> list[int]:
    """By how much every steady call raised the kernel's mark."""
    if subject.status != "ok":
        raise SystemExit(f"{subject.name}: {subject.status}: {subject.reason}")
    return [step.increment_bytes for step in subject.steps if step.name == "steady call"]


def peer_calls(work: Callable[[], object], times: int) -> list[float] | None:
    """By how much memory_profiler's highest sample is above its first, for every call; None where it is missing."""
    if find_spec(PEER) is None:
        return None
    from memory_profiler import memory_usage

    samples = [memory_usage((work, ()), interval=PEER_INTERVAL_S) for _ in range(times)]
    return [(max(each) - each[0]) * 2**20 for each in samples]


def worst(seen: Sequence[float], truth: int) -> float:
    """The largest deviation, with its sign, as a share of the truth."""
    return max((value / truth - 1 for value in seen), key=abs)


def cells_of(seen: Sequence[float] | None, truth: int) -> tuple[str, str]:
    """The call in the middle, and the worst one's error."""
    if seen is None:
        return "not installed", ""
    return f"{median(seen) / MB:.1f} MB", f"{worst(seen, truth):+.1%}"


def row(*cells: str) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def touched_lines() -> Iterator[str]:
    """Amounts that a call writes to and drops."""
    subjects = memory({f"{size // MB} MB": partial(touch, size) for size in TOUCHED}, calls=5).record.cases[0].subjects
    yield row("touched", "onnxperf", "worst error", f"{PEER} at 10 ms", "worst error")
    yield row(*["---"] * 5)
    errors = []
    for size, subject in zip(TOUCHED, subjects, strict=True):
        ours = calls_of(subject)
        errors.append(abs(worst(ours, size)))
        yield row(subject.name, *cells_of(ours, size), *cells_of(peer_calls(partial(touch, size), len(ours)), size))
    yield ""
    yield f"- {len(ours)} calls of each; the median, and the call that was furthest from the truth"
    yield f"- onnxperf within {100 * TOUCHED_GOAL:.0f} % of what was touched: {met(max(errors) <= TOUCHED_GOAL)}"


def spike_lines() -> Iterator[str]:
    """Spikes too short for a clock of 10 ms."""
    ours: list[float] = []
    while len(ours) < SPIKES:
        ours += calls_of(memory(Spike(), calls=5).record.cases[0].subjects[0])
    warm = Spike()
    warm()
    yield f"- {SPIKES} calls with a spike of {SPIKE // MB} MB over a warm buffer of {POOL // MB} MB, at any moment;"
    yield f"  seen with at least {100 * SEEN:.0f} % of its size:"
    for name, seen in (("onnxperf", ours[:SPIKES]), (f"{PEER} at 10 ms", peer_calls(warm, SPIKES))):
        if seen is None:
            yield f"  - {name}: not installed"
            continue
        hits = sum(value >= SEEN * SPIKE for value in seen)
        yield f"  - {name}: {share(hits, len(seen))}; median {median(seen) / MB:.2f} MB"


def growth_lines() -> Iterator[str]:
    """Leaks, and what is none."""
    leaking = {f"keeps {size // 1000} kB per call": Leak(size) for size in LEAKS}
    functions: dict[str, Callable[[], object]] = {**leaking, "touches 1 MB and drops it": partial(touch, 1 * MB)}
    subjects = memory(functions, calls=LEAK_CALLS).record.cases[0].subjects
    yield row("subject", "named", "growth per call", "error")
    yield row(*["---"] * 4)
    right, errors = [], []
    for subject, truth in zip(subjects, (*LEAKS, 0), strict=True):
        calls_of(subject)
        assert subject.growth is not None
        found = subject.growth.bytes_per_call
        right.append(subject.growth.kind == ("leak" if truth else "none"))
        errors += [found / truth - 1] if truth else []
        yield row(subject.name, subject.growth.kind, f"{found:,.0f} bytes", f"{errors[-1]:+.1%}" if truth else "")
    arena = memory(perceptron(), dims={"batch": BATCHES}).record.cases[-1].subjects[0].growth
    assert arena is not None
    right.append(arena.kind == "arena")
    name = f"onnxruntime, one session, batches of {', '.join(map(str, BATCHES))}"
    yield row(name, arena.kind, f"{arena.bytes_per_call:,.0f} bytes", "")
    yield ""
    yield f"- every one named for what it is: {met(all(right))}"
    yield f"- bytes per call of a leak within {100 * LEAK_GOAL:.0f} %: {met(max(map(abs, errors)) <= LEAK_GOAL)}"


def copies_lines() -> Iterator[str]:
    """What a race on a large input holds in the process that starts it."""
    first, second = (onnx.parser.parse_model(MEAN) for _ in range(2))
    races: dict[str, Callable[..., BenchResult]] = {
        "two models": partial(bench, {"first": first, "second": second}),
        "two call styles": partial(bench, first, call=["run", "io-binding"]),
        "a model and a function": partial(bench, first, against={"numpy": row_means}),
    }
    yield row("race", "copies of the input in the parent", "before inputs were shared")
    yield row(*["---"] * 3)
    found = []
    for name, race in races.items():
        copies_in(race, rows=10)  # what is imported with the first race is no input
        found.append(copies_in(race, ROWS))
        yield row(name, f"{found[-1]:.2f}", f"{COPIES_BEFORE[name]:.1f}")
    yield ""
    yield f"- an input of {ROWS * 4000 // MB} MB; the most that is resident during a race, its input included"
    yield f"- at most {COPIES_GOAL} copies: {met(max(found) <= COPIES_GOAL)}"


def copies_in(race: Callable[..., BenchResult], rows: int) -> float:
    """The most that a race holds, above what was there before its input, in sizes of this input."""
    x = np.full((rows, 1000), 0.5, np.float32)
    trim()
    if not reset_peak():
        raise SystemExit("the kernel shows no peak")
    before = read_resident().total_bytes
    race(feeds={"X": x}, blocks=2, time=0.1, warmup=0.0)
    return 1 + ((peak_bytes() or 0) - before) / x.nbytes


def check_lines() -> Iterator[str]:
    """What a check of a large output holds in the process that starts it."""
    yield row("check", "sizes of one output in the parent", "before outputs were shared")
    yield row(*["---"] * 3)
    found = []
    for name, before in CHECK_BEFORE.items():
        outputs_in(name, rows=10)  # what is imported with the first check is no output
        found.append(outputs_in(name, ROWS))
        yield row(name, f"{found[-1]:.2f}", f"{before:.0f}")
    yield ""
    yield f"- outputs of {ROWS * 4000 // MB} MB; the most that is resident during a check, those of both sides included"
    yield f"- at most {CHECK_GOAL} sizes: {met(max(found) <= CHECK_GOAL)}"


def outputs_in(name: str, rows: int) -> float:
    """The most that a check holds, above what was there before it, in sizes of an output."""
    first, second = (onnx.parser.parse_model(EXPAND.format(rows=rows)) for _ in range(2))
    checks: dict[str, Callable[[], CheckResult]] = {
        "two models": partial(check, {"first": first, "second": second}),
        "two runtimes": partial(check, first),
        "a model and a function": partial(check, first, against=partial(expanded, rows)),
    }
    trim()
    if not reset_peak():
        raise SystemExit("the kernel shows no peak")
    before = read_resident().total_bytes
    if not checks[name]():
        raise SystemExit(f"{name}: the outputs differ")
    return ((peak_bytes() or 0) - before) / (rows * 4000)


def expanded(rows: int, x: np.ndarray) -> np.ndarray:
    """The model as a function."""
    return np.ascontiguousarray(np.broadcast_to(x, (rows, 1000)))


def row_means(x: np.ndarray) -> np.ndarray:
    """The model as a function."""
    means: np.ndarray = x.mean(axis=1, keepdims=True)
    return means


def perceptron() -> onnx.ModelProto:
    """A small model whose intermediate results call_many with the batch."""
    proto = onnx.parser.parse_model(PERCEPTRON)
    proto.graph.initializer.append(numpy_helper.from_array(np.eye(256, dtype=np.float32), "W"))
    return proto


def met(reached: bool) -> str:
    """A goal in a word."""
    return "met" if reached else "missed"


def main() -> None:
    """Print the figures and keep them."""
    lines = [*touched_lines(), "", *spike_lines(), "", *growth_lines(), "", *copies_lines(), "", *check_lines()]
    if "--print" in sys.argv[1:]:
        print("\n".join(lines))
    else:
        keep("memory", lines)


if __name__ == "__main__":
    main()
