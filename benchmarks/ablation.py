"""Which part of the race does the work: the same pairs judged by ever more of the method, simulated and recorded live.

usage: python -m benchmarks.ablation [part[=races] ...]
parts: simulated, record (keeps live recordings in a temporary folder), recorded (judges them); without one, all of them
"""

from __future__ import annotations

import contextlib
import math
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from benchmarks.fidelity import BESIDES, CHAIN, Unfrozen, chain, mlp, ort_crews
from benchmarks.kept import keep
from benchmarks.scenarios import repeated
from benchmarks.simulation import BASELINE, STEADY, Manner, Track, simulate_on
from onnxperf.analyze.judges.comparison import compare
from onnxperf.analyze.judges.statistics import Floats, Ints
from onnxperf.api._shared import racing
from onnxperf.measure import plan as planning
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.messages import Load, Prepare, TimeBlock, WarmUp, WorkerSpec
from onnxperf.measure.process import Worker, move_to
from onnxperf.measure.worker.timing import Clock, monotonic_ns
from onnxperf.measure.worker_group import Launch
from onnxperf.records.options import RaceOptions, WorkerLimits
from onnxperf.records.race import Block, Measurement

ALPHA, MIN_EFFECT, TIME_S = 0.05, 0.01, 9.0
FOLDER = Path(tempfile.gettempdir()) / "onnxperf-ablation"
_WARM_UP_NS = 200_000_000
Pair = tuple[Measurement, Measurement]
"""The baseline and its rival."""

# ---------------------------------------------------------------- ways to measure


@dataclass(frozen=True)
class Place:
    """Where a pair is measured."""

    specs: Sequence[WorkerSpec]
    launch: Launch
    clock: Clock
    cpus: tuple[int, ...] = ()


class _Timer:
    """A subject in one process, timed block after block as in a race."""

    def __init__(self, worker: Worker, clock: Clock) -> None:
        worker.wait_until_ready()
        worker.ask(Load(worker.spec))
        worker.ask(Prepare(0))
        self.worker, self.clock, self.blocks = worker, clock, list[Block]()
        self.calls = planning.calls_per_block(worker.ask(WarmUp(0, _WARM_UP_NS)).call_ns)

    def time(self, position: int) -> None:
        """One block more."""
        request = TimeBlock(0, self.calls, planning.WARM_NS, pieces=min(20, self.calls))
        timed = self.worker.ask(request)
        block = Block(
            round=len(self.blocks),
            position=position,
            launch=0,
            calls=self.calls,
            start_ns=timed.start_ns,
            duration_ns=timed.duration_ns,
            quickest_ns=timed.quickest_ns,
        )
        self.blocks.append(block)

    def record(self) -> Measurement:
        """What was measured."""
        return Measurement(name=self.worker.spec.subjects[0].name, blocks=tuple(self.blocks))


def one_after_the_other(place: Place) -> Pair:
    """All blocks of the baseline, then all of its rival, each in one process."""
    found = []
    for spec in place.specs:
        with contextlib.closing(place.launch(spec)) as worker:
            timer, begin = _Timer(worker, place.clock), place.clock()
            while place.clock() - begin < TIME_S / 2 * 1e9:
                timer.time(0)
            found.append(timer.record())
    return found[0], found[1]


def in_turn(place: Place) -> Pair:
    """Block by block in turn, each in one process; on the same processor where there are some to choose from."""
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(contextlib.closing(place.launch(spec))) for spec in place.specs]
        timers = []
        for worker in workers:
            timers.append(_Timer(worker, place.clock))
            worker.freeze()
        begin = place.clock()
        for number, order in enumerate(planning.balanced_orders(len(timers), seed=0)):
            if place.clock() - begin > TIME_S * 1e9:
                break
            for position, timer in enumerate(timers[index] for index in order):
                timer.worker.thaw()
                move_to(timer.worker, planning.processors_of(number, place.cpus, timer.worker.spec.threads))
                timer.time(position)
                timer.worker.freeze()
        return timers[0].record(), timers[1].record()


# ---------------------------------------------------------------- ways to judge


class Claim(NamedTuple):
    """What a way to judge says: whether there is a difference, and the log of the speedup."""

    is_made: bool
    estimate: float


Judge = Callable[[Pair], Claim]


def _logs(pair: Pair) -> tuple[Floats, Floats]:
    theirs, ours = (np.log([block.per_call_ns for block in each.blocks]) for each in pair)
    return theirs, ours


def unpaired(pair: Pair, every: int | None = None) -> Claim:
    """Welch's t-test of all blocks; with looks, what people do: stop after the first where p < 0.05."""
    theirs, ours = _logs(pair)
    ends = _ends(min(len(theirs), len(ours)), every)
    (one, spread), (other, other_spread) = _running(theirs, ends), _running(ours, ends)
    freedom = (ends - 1) * (spread + other_spread) ** 2 / (spread**2 + other_spread**2)
    return _first_claim(one - other, np.sqrt((spread + other_spread) / ends), freedom)


def paired(pair: Pair, every: int | None = None) -> Claim:
    """The t-test of the differences of rounds, with or without looks."""
    theirs, ours = _logs(pair)
    rounds = min(len(theirs), len(ours))
    ends = _ends(rounds, every)
    mean, spread = _running(theirs[:rounds] - ours[:rounds], ends)
    return _first_claim(mean, np.sqrt(spread / ends), (ends - 1).astype(np.float64))


def _ends(blocks: int, every: int | None) -> Ints:
    """Numbers of blocks after which the data are looked at."""
    return np.array([blocks]) if every is None else np.arange(10, blocks + 1, every)


def _running(values: Floats, ends: Ints) -> tuple[Floats, Floats]:
    """Mean and variance of the first values, up to each end."""
    middle = values.mean()
    means = np.cumsum(values - middle)[ends - 1] / ends
    squares = np.cumsum((values - middle) ** 2)[ends - 1]
    return means + middle, (squares - ends * means**2) / (ends - 1)


def _first_claim(estimates: Floats, errors: Floats, freedom: Floats) -> Claim:
    clear = np.flatnonzero(2 * student.sf(np.abs(estimates) / errors, freedom) < ALPHA)
    return Claim(clear.size > 0, float(estimates[clear[0] if clear.size else -1]))


def launch_means(pair: Pair) -> Claim:
    """Student's t-test of the ratios of the means of launches."""
    means = [
        {
            launch: statistics.fmean(block.per_call_ns for block in each.blocks if block.launch == launch)
            for launch in {block.launch for block in each.blocks}
        }
        for each in pair
    ]
    logs = [math.log(means[0][launch] / means[1][launch]) for launch in sorted(means[0].keys() & means[1].keys())]
    return Claim(len(logs) > 1 and ttest_1samp(logs, 0.0).pvalue < ALPHA, statistics.fmean(logs))


def by_onnxperf(pair: Pair) -> Claim:
    """The verdict."""
    _, rival = compare(pair, pair[0].name, MIN_EFFECT)
    return Claim(rival.verdict in ("faster", "slower"), math.log(rival.speedup or math.nan))


class Method(NamedTuple):
    """A way to compare two subjects."""

    name: str
    kind: str
    """Of its recordings."""
    judge: Judge


METHODS = (
    Method("one after the other, Welch's t-test", "after", unpaired),
    Method("one after the other, looks every 5 blocks", "after", partial(unpaired, every=5)),
    Method("in turn, Welch's t-test", "in turn", unpaired),
    Method("in turn, paired t-test over rounds", "in turn", paired),
    Method("in turn, paired, looks every 5 rounds", "in turn", partial(paired, every=5)),
    Method("and frozen on the same processor, Welch's t-test", "frozen", unpaired),
    Method("and frozen on the same processor, paired", "frozen", paired),
    Method("and many launches, Welch's t-test of blocks", "race", unpaired),
    Method("and many launches, Welch's t-test, looks every 5 rounds", "race", partial(unpaired, every=5)),
    Method("and many launches, paired t-test over rounds", "race", paired),
    Method("and launches as the unit, Student of their means", "race", launch_means),
    Method("and quickest pieces: onnxperf", "race", by_onnxperf),
)


class Judged(NamedTuple):
    """What a method said of several pairs."""

    pairs: int
    any_claims: int
    claims: int
    """Of a difference of the minimum effect at least."""
    slower: int
    """Of these, that the rival is slower."""
    error: float
    """Root of the mean square of what the estimate is off."""


def judged(claims: Sequence[Claim], truth: float) -> Judged:
    """Count claims."""
    band = math.log1p(MIN_EFFECT)
    made = [claim.estimate for claim in claims if claim.is_made]
    return Judged(
        pairs=len(claims),
        any_claims=len(made),
        claims=sum(abs(each) >= band for each in made),
        slower=sum(each <= -band for each in made),
        error=math.sqrt(statistics.fmean((claim.estimate - math.log(truth)) ** 2 for claim in claims)),
    )


class Question(NamedTuple):
    """Pairs of which the truth is known."""

    name: str
    truth: float


def table(found: Mapping[str, Mapping[Question, Judged]]) -> list[str]:
    """A row for each method: false alarms, slower ones that were found, and how far estimates are off."""
    questions = list(dict.fromkeys(question for row in found.values() for question in row))
    heads = [f"{each.name}: {'false alarms (any size)' if each.truth == 1 else 'found'}; error" for each in questions]
    lines = [f"| method | {' | '.join(heads)} |", "|---" * (len(questions) + 1) + "|"]
    for name, row in found.items():
        cells = [_cell(row[each], each) if each in row else "" for each in questions]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _cell(seen: Judged, question: Question) -> str:
    if question.truth == 1:
        said = f"{seen.claims / seen.pairs:.0%} ({seen.any_claims / seen.pairs:.0%})"
    else:
        said = f"{seen.slower / seen.pairs:.0%}"
    return f"{said}; {seen.error:.2%}"


_EXPLAINED = (
    "False alarms: claims that equal subjects differ by 1 % or more, in brackets by any amount. Found: claims "
    "that the slower one is slower by 1 % or more. Error: root of the mean square of what the estimate is off."
)

# ---------------------------------------------------------------- simulated


SIMULATED = {
    Question("equal", 1.0): Track((STEADY, STEADY), call_ns=1e5),
    Question("3 % slower", 1 / 1.03): Track((STEADY, Manner(length=1.03)), call_ns=1e5),
}


def never(_subjects: Sequence[Measurement]) -> bool:
    """A race that takes all of its time."""
    return False


def _simulated_claims(seed: int, track: Track) -> list[Claim]:
    """What each method says; nothing spins in a simulation, so that freezing is left out."""
    recordings: dict[str, Pair] = {}
    for kind, way in (("after", one_after_the_other), ("in turn", in_turn)):
        machine = track.machine(seed)
        recordings[kind] = way(Place(track.specs(), partial(track.launch, machine=machine), machine.clock))
    options = RaceOptions(baseline=BASELINE, time=TIME_S, seed=seed)
    first, second = simulate_on(track, seed, options, never)
    recordings["race"] = first, second
    return [each.judge(recordings[each.kind]) for each in METHODS if each.kind != "frozen"]


def simulated(races: int = 400) -> list[str]:
    """Pairs on a noisy machine."""
    names = [each.name for each in METHODS if each.kind != "frozen"]
    found: dict[str, dict[Question, Judged]] = {name: {} for name in names}
    for question, track in SIMULATED.items():
        claims = repeated(partial(_simulated_claims, track=track), races)
        for name, of_method in zip(names, zip(*claims, strict=True), strict=True):
            found[name][question] = judged(of_method, question.truth)
    return [f"{races} pairs of each kind, {TIME_S:.0f} s each, calls of 100 us. {_EXPLAINED}", "", *table(found)]


# ---------------------------------------------------------------- live


_MORE = 2
"""Nodes that are 3 % more work."""


def _live_specs() -> dict[Question, list[WorkerSpec]]:
    whole = CHAIN + BESIDES
    longer = ort_crews(chain(CHAIN + _MORE), ("B",), {"batch": 32}, threads=1)
    return {
        Question("an MLP, equal", 1.0): ort_crews(mlp(), ("A", "B"), {"batch": 32}, threads=1),
        Question("a chain, equal", 1.0): ort_crews(chain(CHAIN), ("A", "B"), {"batch": 32}, threads=1),
        Question(f"a chain, {_MORE / whole:.0%} slower", whole / (whole + _MORE)): [
            *ort_crews(chain(CHAIN), ("A",), {"batch": 32}, threads=1),
            *longer,
        ],
    }


def _measured(kind: str, specs: Sequence[WorkerSpec], seed: int) -> Pair:
    frozen = racing.start_of(WorkerLimits())
    if kind == "race":
        options = RaceOptions(baseline=specs[0].subjects[0].name, time=TIME_S, seed=seed)
        first, second = racing.run_race(specs, options, frozen, lambda _done, _text: None, enough=never).subjects
        return first, second
    unfrozen = Place(specs, partial(Unfrozen, timeout_s=60.0), monotonic_ns)
    if kind == "after":
        return one_after_the_other(unfrozen)
    return in_turn(unfrozen if kind == "in turn" else Place(specs, frozen, monotonic_ns, machines.processors()))


def record(races: int = 10) -> list[str]:
    """Record so many pairs of each kind, kinds in turn, so that all of them meet the same machine."""
    FOLDER.mkdir(exist_ok=True)
    kinds = list(dict.fromkeys(each.kind for each in METHODS))
    for seed in range(races):
        for question, specs in _live_specs().items():
            for kind in kinds:
                file = FOLDER / f"{question.name}, {kind}, {seed}.json"
                if not file.exists():
                    file.write_bytes(msgspec.json.encode(_measured(kind, specs, seed)))
                    print(file.name, file=sys.stderr, flush=True)
    return []


def recorded(races: int = 1000) -> list[str]:
    """Judge what was recorded, or the first races of it."""
    found: dict[str, dict[Question, Judged]] = {each.name: {} for each in METHODS}
    counts: Counter[str] = Counter()
    for question in _live_specs():
        for method in METHODS:
            files = [FOLDER / f"{question.name}, {method.kind}, {seed}.json" for seed in range(races)]
            pairs = [msgspec.json.decode(file.read_bytes(), type=Pair) for file in files if file.exists()]
            if pairs:
                found[method.name][question] = judged([method.judge(pair) for pair in pairs], question.truth)
                counts[question.name] = len(pairs)
    numbers = ", ".join(f"{name} {count}" for name, count in counts.items())
    return [f"Live recordings of {TIME_S:.0f} s each ({numbers}). {_EXPLAINED}", "", *table(found)]


PARTS: dict[str, tuple[str, Callable[..., list[str]]]] = {
    "simulated": ("ablation: simulated pairs", simulated),
    "record": ("", record),
    "recorded": ("ablation: live recordings", recorded),
}


def main() -> None:
    """Run the parts that are named, each with as many races as are given, or all."""
    for wanted in sys.argv[1:] or PARTS:
        name, _, races = wanted.partition("=")
        title, part = PARTS[name]
        lines = part(int(races)) if races else part()
        if lines:
            keep(title, lines)


if __name__ == "__main__":
    main()
