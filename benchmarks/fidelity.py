"""Does the answer hold on a noisy machine? False alarms, true differences found, and times that agree with timeit.

usage: python -m benchmarks.fidelity [part[=races] ...]
parts: simulated, scenarios, live, loaded, slower, barrier, beside, timeit; without one, all of them
"""

from __future__ import annotations

import contextlib
import itertools
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import cloudpickle
import numpy as np
import onnx
from onnx import helper, numpy_helper, parser
from scipy.stats import ttest_ind, ttest_rel

from benchmarks.barriers import meeting_pieces, pieces_of_work
from benchmarks.kept import keep, share
from benchmarks.scenarios import ALARMS, plain, scenarios
from onnxperf.api._shared import racing
from onnxperf.api._shared.setups import Setup
from onnxperf.api._shared.subjects import model_specs, open_entries
from onnxperf.measure.machine import load
from onnxperf.measure.messages import FunctionSubject, WorkerSpec
from onnxperf.measure.process import ProcessWorker
from onnxperf.records.options import InputOptions, RaceOptions, SessionOptions, WorkerLimits
from onnxperf.records.race import Subject

LINEAR = """<ir_version: 8, opset_import: ["" : 17]>
linear (float[batch, 10] X) => (float[batch, 1] Y) <float[10, 1] W = {1,2,3,4,5,6,7,8,9,10}, float[1] b = {1}>
{ XW = MatMul(X, W)  Y = Add(XW, b) }"""
PRODUCT = """<ir_version: 8, opset_import: ["" : 17]>
product (float[n, n] A, float[n, n] B) => (float[n, n] C) { C = MatMul(A, B) }"""
LOAD = """
import random, time
data = bytearray(8 << 20)
while True:
    end = time.monotonic() + random.expovariate(1 / 0.3)
    while time.monotonic() < end:  # arithmetic and memory traffic, in turns
        sum(i * i for i in range(20_000)); data[:] = bytes(len(data))
    time.sleep(random.expovariate(1 / 0.4))
"""
LOADS = 2
"""Programs of that load."""
_QUIET = 0.05
"""Share of the processors that others may use in a race that shows the truth."""


def mlp() -> onnx.ModelProto:
    """Two layers that take about 100 us on one core for 32 rows."""
    weights = np.random.default_rng(0).standard_normal((2, 256, 256), dtype=np.float32) / 16
    graph = parser.parse_graph(
        "mlp (float[batch, 256] X) => (float[batch, 256] Y) { H = MatMul(X, W0)  R = Relu(H)  Y = MatMul(R, W1) }"
    )
    graph.initializer.extend(numpy_helper.from_array(each, f"W{n}") for n, each in enumerate(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def ort_crews(model: onnx.ModelProto, names: Sequence[str], dims: dict[str, int], threads: int) -> list[WorkerSpec]:
    """The same model in a process of its own for each name."""
    sources = dict.fromkeys(names, model)
    entries = open_entries(sources, InputOptions(dims=dims), None)
    specs = model_specs(entries, [Setup("ort", ("run",), SessionOptions(threads=threads))])
    _KEEP.extend(entries)
    return specs


_KEEP: list[Any] = []
"""Models given as protos live in folders that vanish with them."""


def function_spec(functions: dict[str, Callable[[], object]], threads: int = 1) -> WorkerSpec:
    """Callables that share a process."""
    subjects = tuple(FunctionSubject(name=name, function=cloudpickle.dumps(f)) for name, f in functions.items())
    return WorkerSpec(subjects=subjects, threads=threads, feeds={})


def run(specs: Sequence[WorkerSpec], **options: Any) -> tuple[Subject, ...]:
    """A real race, judged."""
    chosen = RaceOptions(**options)
    end = racing.run_race(specs, chosen, racing.start_of(WorkerLimits()), lambda _done, _text: None)
    if end.interrupted:
        raise KeyboardInterrupt
    subjects = racing.judged_case(end, chosen).subjects
    for subject in subjects:
        assert subject.status == "ok", f"{subject.name}: {subject.reason}"
    return subjects


# ---------------------------------------------------------------- live


def sequential_t_tests(baseline: Subject, rival: Subject) -> tuple[bool, bool]:
    """What people do: look at the same blocks every 5 rounds, and stop when p < 0.05; unpaired, and paired by round."""
    ours = np.log([block.duration_ns / block.calls for block in rival.blocks])
    theirs = np.log([block.duration_ns / block.calls for block in baseline.blocks])
    looks = range(10, len(ours) + 1, 5)
    unpaired = any(ttest_ind(ours[:n], theirs[:n], equal_var=False).pvalue < 0.05 for n in looks)
    paired = any(ttest_rel(ours[:n], theirs[:n]).pvalue < 0.05 for n in looks)
    return unpaired, paired


@contextlib.contextmanager
def bursty_load() -> Iterator[None]:
    """Other programs that keep cores busy now and then."""
    processes = [subprocess.Popen([sys.executable, "-c", LOAD]) for _ in range(LOADS)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


class Tally:
    """What races of default length found, where the truth is known."""

    def __init__(self, what: str, truth: float) -> None:
        self.what, self.truth = what, truth
        self.verdicts: Counter[str] = Counter()
        self.widths: list[float] = []
        self.seconds: list[float] = []
        self.inside = self.unpaired = self.paired = 0

    def race(self, specs: Sequence[WorkerSpec], seed: int) -> None:
        """Race once more, and count."""
        begin = time.perf_counter()
        baseline, rival = run(specs, seed=seed)
        self.seconds.append(time.perf_counter() - begin)
        self.verdicts[str(rival.verdict)] += 1
        low, high = rival.speedup_low or 0.0, rival.speedup_high or math.inf
        self.inside += low <= self.truth <= high
        self.widths.append(math.log(high / low) / 2 if low else math.inf)
        found = sequential_t_tests(baseline, rival)
        self.unpaired, self.paired = self.unpaired + found[0], self.paired + found[1]
        print(f"{self.what}: {dict(self.verdicts)}, inside {self.inside}", file=sys.stderr, flush=True)

    @property
    def races(self) -> int:
        """How many there were."""
        return len(self.seconds)

    def line(self, verdict: str, goal: str) -> str:
        """How often a verdict was given, and how sharp and how long the races were."""
        return (
            f"- {self.what}: {verdict} {share(self.verdicts[verdict], self.races)} ({goal}); "
            f"truth inside the interval {share(self.inside, self.races)} (goal 93 to 99 %); "
            f"half-width {statistics.median(self.widths):.2%} (median); "
            f"{statistics.median(self.seconds):.1f} s a race (median), {max(self.seconds):.1f} s at most"
        )


MODELS = {"an MLP": (mlp(), {"batch": 32}), "a linear model": (parser.parse_model(LINEAR), {"batch": 1000})}
EQUIVALENT_GOALS = {("an MLP", False): 90, ("an MLP", True): 80, ("a linear model", False): 65}


def equal(races: int, is_loaded: bool) -> list[str]:
    """A/A races of default length: a call of about 100 us, and one of about 10 us, each in half of them."""
    lines, alarms, unpaired, paired = [], 0, 0, 0
    for name, (model, dims) in MODELS.items():
        tally = Tally(f"A/A, {name}", truth=1.0)
        specs = ort_crews(model, ("A", "B"), dims, threads=1)
        for seed in range(races // 2):
            tally.race(specs, seed)
        goal = EQUIVALENT_GOALS.get((name, is_loaded))
        lines.append(tally.line("equivalent", f"goal at least {goal} %" if goal else "no goal"))
        alarms += sum(tally.verdicts[each] for each in ALARMS)
        unpaired, paired = unpaired + tally.unpaired, paired + tally.paired
    count = 2 * (races // 2)
    return [
        f"- false alarms: {share(alarms, count)} (goal at most 5 %)",
        *lines,
        f"- sequential t-test on the same blocks, unpaired: {share(unpaired, count)}; paired: {share(paired, count)}",
    ]


def live(races: int = 200) -> list[str]:
    """A/A races on the machine as it is."""
    return equal(races, is_loaded=False)


def loaded(races: int = 100) -> list[str]:
    """A/A races beside another program."""
    with bursty_load():
        return equal(races, is_loaded=True)


def chain(nodes: int) -> onnx.ModelProto:
    """Equal products one after the other, of about 1.5 us each: work that can be made longer by an exact part."""
    names = ["X", *(f"H{n}" for n in range(1, nodes)), "Y"]
    products = " ".join(f"{y} = MatMul({x}, W)" for x, y in itertools.pairwise(names))
    graph = parser.parse_graph(f"chain (float[batch, 32] X) => (float[batch, 32] Y) {{ {products} }}")
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((32, 32)))  # keeps the size of what it multiplies
    graph.initializer.append(numpy_helper.from_array(turn.astype(np.float32), "W"))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


CHAIN, BESIDES = 58, 8
"""Nodes of the baseline, and how many nodes the rest of a call is worth (132 nodes take 1.89 times as long as 66).

Two more nodes are 3 % more work, one more is 1.5 %.
"""


def slower(races: int = 50) -> list[str]:
    """Calls of about 100 us with 3 % and 1.5 % more work, so many races of each."""
    lines = []
    for more, goal in ((2, 98), (1, 90)):
        whole = CHAIN + BESIDES
        tally = Tally(f"{more / whole:.1%} more work", truth=whole / (whole + more))
        specs = [
            spec
            for n in (CHAIN, CHAIN + more)
            for spec in ort_crews(chain(n), (f"{n} nodes",), {"batch": 32}, threads=1)
        ]
        for seed in range(races):
            tally.race(specs, seed)
        lines.append(tally.line("slower", f"goal at least {goal} %"))
    return lines


# ---------------------------------------------------------------- threads that wait for each other


def barrier(races: int = 20) -> list[str]:
    """Two threads that meet at barriers, against one thread: whatever is said under load must hold without it."""
    specs = [function_spec({"one": pieces_of_work()}), function_spec({"two": meeting_pieces()}, threads=2)]
    found: dict[str, list[Subject]] = {"without load": [], "loaded": []}
    quiet: list[float] = []
    for seed in range(races):
        for title, rivals in found.items():
            before = load.snapshot()
            with bursty_load() if title == "loaded" else contextlib.nullcontext():
                rivals.append(run(specs, seed=seed)[1])
            others, speedup = load.share_of_others(before, load.snapshot()) or 0.0, rivals[-1].speedup or math.nan
            if title == "without load" and others < _QUIET:
                quiet.append(speedup)
            print(f"barrier, {title}: {rivals[-1].verdict} {speedup}, others {others:.0%}", file=sys.stderr, flush=True)
    if not quiet:
        return [f"No truth: in none of {races} races without load did other programs use less than {_QUIET:.0%}."]
    truth = statistics.median(quiet)

    def against(rivals: Sequence[Subject]) -> str:
        sized = [each for each in rivals if each.verdict in (*ALARMS, "equivalent")]
        wrong = [each for each in sized if not (each.speedup_low or 0) <= truth <= (each.speedup_high or math.inf)]
        speedups = [each.speedup or math.nan for each in rivals]
        return (
            f"verdicts whose interval excludes the truth {share(len(wrong), len(rivals))} (goal at most 5 %); without "
            f"one {len(rivals) - len(sized)}; speedup {min(speedups):.3f} to {max(speedups):.3f}"
        )

    return [
        f"Truth: {truth:.3f}, the speedup in the middle of {len(quiet)} races without load, ours or that of others.",
        "",
        *(f"- {title}: {against(rivals)}" for title, rivals in found.items()),
    ]


# ---------------------------------------------------------------- neighbours and timeit


class Unfrozen(ProcessWorker):
    """A worker that is never stopped, for contrast."""

    def freeze(self) -> None:
        """Let it spin."""

    def thaw(self) -> None:
        """It was never stopped."""


def _blas() -> Callable[[], object]:
    data: list[Any] = []

    def product() -> object:
        if not data:
            rng = np.random.default_rng(0)
            data.extend(rng.standard_normal((2, 384, 384), dtype=np.float32))
        return data[0] @ data[1]

    return product


def beside(repeats: int = 7) -> list[str]:
    """A multi-threaded BLAS call beside a multi-threaded onnxruntime session, against the same call alone."""
    blas, ort = (
        function_spec({"blas": _blas()}, threads=2),
        ort_crews(parser.parse_model(PRODUCT), ("ort",), {"n": 384}, threads=2),
    )
    ratios: dict[str, list[float]] = {"frozen": [], "unfrozen": []}
    for _ in range(repeats):
        times = {"alone": run([blas], time=2.0)[0], "frozen": run([blas, *ort], time=2.0)[0]}
        with mock.patch.object(racing, "ProcessWorker", Unfrozen):
            times["unfrozen"] = run([blas, *ort], time=2.0)[0]
        for name, values in ratios.items():
            values.append((times[name].median_ns or 0) / (times["alone"].median_ns or 1))
            print(f"beside, {name}: {values[-1]:.3f}", file=sys.stderr, flush=True)
    return [
        f"- {name}: median ratio {statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"
        for name, values in ratios.items()
    ]


def timeit(rounds: int = 2000) -> list[str]:
    """The mean of a call of about 5 us, by the race and by timeit, in turn in the same worker."""
    with tempfile.TemporaryDirectory() as folder:
        file, number = Path(folder) / "timeit.txt", 550

        def call() -> object:
            return sum(range(400))  # no array: two copies of one would lie differently in memory, and differ by 1 %

        timers: list[Any] = []

        def by_timeit() -> None:
            import builtins
            import time
            import timeit

            if not timers:
                timers.append(timeit.Timer(call))  # compiles source: not something to do between two timings
            start = time.perf_counter_ns()
            seconds = timers[0].timeit(number)
            # Kept by the process, and written seldom: a file between two runs would make the second one cold.
            said: list[str] = vars(builtins).setdefault("said_by_timeit", [])
            said.append(f"{start} {seconds / number * 1e9}\n")
            if len(said) == 10:  # a launch has a few rounds only, and what it keeps is lost with it
                with file.open("a", encoding="utf-8") as stream:
                    stream.writelines(said)
                said.clear()

        ours, theirs = run([function_spec({"race": call, "timeit": by_timeit})], blocks=rounds)
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    said = [(int(start), float(mean)) for start, mean in lines]
    ratios = []
    for mine, block in zip(ours.blocks, theirs.blocks, strict=True):
        # What timeit said in this round; the untimed call before it, after a thaw, does not count for either side.
        within = [mean for start, mean in said if block.start_ns <= start <= block.start_ns + block.duration_ns]
        if within:
            ratios.append(math.log(mine.duration_ns / mine.calls / statistics.mean(within)))
    mean, error = statistics.mean(ratios), statistics.stdev(ratios) / math.sqrt(len(ratios))
    return [
        f"- mean of {len(ratios)} rounds: {ours.mean_ns or 0:.0f} ns by the race, ratio to timeit {math.exp(mean):.4f} "
        f"+- {2 * error:.4f}; goal within 2 %"
    ]


PARTS: dict[str, tuple[str, Callable[..., list[str]]]] = {
    "simulated": ("fidelity: simulated races", plain),
    "scenarios": ("fidelity: simulated races that are hard to judge", scenarios),
    "live": ("fidelity: live A/A races, no load of our own", live),
    "loaded": ("fidelity: live A/A races, bursty background load", loaded),
    "slower": ("fidelity: true slow-downs of 3 and 1.5 %", slower),
    "barrier": ("fidelity: threads that meet at barriers", barrier),
    "beside": ("fidelity: a multi-threaded neighbour", beside),
    "timeit": ("fidelity: against timeit", timeit),
}


def main() -> None:
    """Run the parts that are named, each with as many races as are given, or all."""
    for wanted in sys.argv[1:] or PARTS:
        name, _, races = wanted.partition("=")
        title, part = PARTS[name]
        keep(title, part(int(races)) if races else part())


if __name__ == "__main__":
    main()
