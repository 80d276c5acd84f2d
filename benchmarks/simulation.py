"""Races through the real plan, turns, looks and statistics, on a fake clock and with noise that is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np

from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.comparison import compare, rounds_to_units, settled
from onnxperf.measure.messages import (
    FunctionSubject,
    Load,
    Loaded,
    Prepare,
    Prepared,
    R,
    Reply,
    Request,
    TimeBlock,
    TimedBlock,
    TimedEach,
    TimeEach,
    WarmedUp,
    WarmUp,
    WorkerSpec,
)
from onnxperf.measure.race import Settled, Tools, race
from onnxperf.measure.worker.timing import sizes_of
from onnxperf.records.options import RaceOptions
from onnxperf.records.race import Measurement, Subject

CALL_NS = 10_000.0
START_NS = 100e6
_RAMP_NS = 0.4e9
"""So long after its first block a launch has become as slow as its ramp makes it."""
_SLOW_CALL, _SLOW_BLOCK, _SLOW_LAUNCH = 3.0, 1.15, 1.2
"""How many times as long they take."""


@dataclass
class NoisyMachine:
    """A machine whose speed drifts and jumps, with noise that is heavy-tailed and lasts over many blocks."""

    rng: np.random.Generator
    now_ns: float = 0.0
    drift: float = 0.0
    burst_until_ns: float = 0.0
    step: float = 0.0
    """The log of how much slower the low one of two clock frequencies is; 0 means that there is one."""
    is_low: bool = False
    step_ends_ns: float = 0.0
    phase: float = field(init=False)

    def __post_init__(self) -> None:
        """Start anywhere in the slow wave."""
        self.phase = self.rng.uniform(0, 2 * math.pi)

    def slowdown(self, suffers: float = 1.0) -> float:
        """The log of how much slower than its best the machine is now, for what suffers so much from other guests."""
        self.drift += self.rng.normal(0, 0.002)
        if self.now_ns > self.burst_until_ns and self.rng.random() < 0.01:
            self.burst_until_ns = self.now_ns + self.rng.exponential(0.3e9)
        burst = 0.25 if self.now_ns < self.burst_until_ns else 0.0
        return self.drift + 0.03 * math.sin(self.now_ns / 1e9 + self.phase) + suffers * burst + self._frequency()

    def _frequency(self) -> float:
        if self.step and self.now_ns > self.step_ends_ns:
            self.is_low = not self.is_low
            self.step_ends_ns = self.now_ns + self.rng.exponential(0.7e9)
        return self.step if self.is_low else 0.0

    def clock(self) -> int:
        """The time."""
        return int(self.now_ns)

    def spend(self, duration_ns: float) -> int:
        """Let time pass."""
        self.now_ns += duration_ns
        return int(duration_ns)


@dataclass(frozen=True)
class Manner:
    """How the calls of a subject behave, whatever the machine does."""

    length: float = 1.0
    """Of a usual call, where that of the others is 1."""
    jitter: float = 0.0
    """Standard deviation of a call."""
    slow_calls: float = 0.0
    """Share of calls that take three times as long."""
    slow_blocks: float = 0.0
    """Share of blocks that are slower by 15 %."""
    slow_launches: float = 0.0
    """Share of launches that are slower by 20 %."""
    ramp: float = 0.0
    """How much slower calls become within each launch."""
    suffers: float = 1.0
    """How many times as much others of the host slow it down."""

    @property
    def mean(self) -> float:
        """Of all calls on a machine without noise."""
        parts = ((self.slow_calls, _SLOW_CALL), (self.slow_blocks, _SLOW_BLOCK), (self.slow_launches, _SLOW_LAUNCH))
        return self.length * math.prod(1 + share * (factor - 1) for share, factor in parts)

    def sums(self, sizes: Sequence[int] | st.Ints, rng: np.random.Generator) -> st.Floats:
        """Time of so many calls together, for each number, in usual calls.

        Exact, not one by one: calls have a gamma distribution, and so do their sums.
        """
        counts = np.asarray(sizes)
        slow = rng.binomial(counts, self.slow_calls) if self.slow_calls else np.zeros_like(counts)
        return self._sums(counts - slow, rng) + _SLOW_CALL * self._sums(slow, rng)

    def _sums(self, counts: st.Ints, rng: np.random.Generator) -> st.Floats:
        if not self.jitter:
            return counts.astype(np.float64)
        variance = self.jitter**2
        return variance * rng.standard_gamma(counts / variance)


STEADY = Manner()


@dataclass(eq=False)
class SimulatedWorker:
    """A worker of one subject on a noisy machine, with noise of its own besides."""

    spec: WorkerSpec
    machine: NoisyMachine
    call_ns: float
    process_effect: float
    layout_effect: float = 0.0
    lasting: float = 0.0
    cpus: tuple[int, ...] = ()
    manner: Manner = STEADY
    start_ns: float = START_NS
    first_block_ns: float | None = None

    @property
    def home(self) -> object:
        """It has a process of its own."""
        return self

    def wait_until_ready(self) -> None:
        """Start as fast as a lean worker does."""
        self.machine.spend(self.start_ns)
        if self.manner.slow_launches and self.machine.rng.random() < self.manner.slow_launches:
            self.process_effect += math.log(_SLOW_LAUNCH)

    def ask(self, request: Request[R]) -> R:
        """Answer what a race without splits and outputs asks for."""
        return cast("R", self._answer(request))

    def _answer(self, request: Request[Any]) -> Reply:
        match request:
            case Load():
                # Where the memory of the session lies decides, as on real machines, about 1 %, and often more.
                self.layout_effect = 0.005 * self.machine.rng.standard_t(3)
                return Loaded(None, {})
            case Prepare():
                return Prepared(int(self.call_ns))
            case WarmUp():
                self.machine.spend(request.duration_ns)
                return WarmedUp(self.call_ns)
            case TimeBlock():
                return self._time_block(request)
            case TimeEach():  # between blocks: their noise does not matter here
                times = self.call_ns * self.manner.sums([1] * request.calls, self.machine.rng)
                return TimedEach(times.astype(int).tolist())
        raise TypeError(request)

    def _time_block(self, request: TimeBlock) -> TimedBlock:
        """Take as long as the subject, the machine and this process decide together."""
        machine, manner = self.machine, self.manner
        machine.spend(request.warm_ns)
        self.lasting = 0.6 * self.lasting + machine.rng.normal(0, 0.008)
        tail = 0.01 * manner.suffers * abs(machine.rng.standard_t(2.5))
        noise = machine.slowdown(manner.suffers) + self.lasting + self.process_effect + self.layout_effect
        if manner.slow_blocks and machine.rng.random() < manner.slow_blocks:
            noise += math.log(_SLOW_BLOCK)
        self.first_block_ns = self.first_block_ns or machine.now_ns
        noise += manner.ramp * min(1.0, (machine.now_ns - self.first_block_ns) / _RAMP_NS)
        sizes = np.asarray(sizes_of(request.calls, request.pieces))
        times = manner.sums([1] * request.calls if request.each else sizes, machine.rng)
        times *= self.call_ns * math.exp(noise)
        times[0] += times.sum() * math.expm1(tail)  # one interruption; which call it meets does not matter
        start = int(machine.now_ns)
        duration_ns = machine.spend(float(times.sum()))
        pieces = np.add.reduceat(times, np.cumsum(sizes) - sizes) if request.each else times
        each = times.astype(int).tolist() if request.each else []
        return TimedBlock(start, duration_ns, each, quickest_ns=float((pieces / sizes).min()))

    def freeze(self) -> None:
        """Nothing runs by itself."""

    def thaw(self) -> None:
        """Nothing was stopped."""

    def close(self) -> None:
        """Nothing stays behind."""


BASELINE = "baseline"


@dataclass(frozen=True)
class Track:
    """Where subjects race: what their calls are like, and the machine."""

    manners: tuple[Manner, ...]
    """The first is that of the baseline."""
    call_ns: float = CALL_NS
    start_ns: float = START_NS
    """Of a worker."""
    step: float = 0.0
    """Of the frequency."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the subjects."""
        return (BASELINE, *(f"rival {number}" for number in range(len(self.manners) - 1)))

    def specs(self) -> list[WorkerSpec]:
        """A worker for each subject, told apart by its runtime."""
        return [
            WorkerSpec(subjects=(FunctionSubject(name=name, function=b""),), threads=1, feeds={}, runtime=name)
            for name in self.names
        ]

    def machine(self, seed: int) -> NoisyMachine:
        """One of its kind."""
        return NoisyMachine(np.random.default_rng(seed), step=self.step)

    def launch(self, spec: WorkerSpec, machine: NoisyMachine) -> SimulatedWorker:
        """Start a worker, which is faster or slower than others of its kind."""
        manner = self.manners[self.names.index(spec.runtime)]
        effect = machine.rng.normal(0, 0.004)
        return SimulatedWorker(
            spec, machine, self.call_ns * manner.length, effect, manner=manner, start_ns=self.start_ns
        )


def simulate_on(
    track: Track, seed: int, options: RaceOptions, enough: Settled | None = None
) -> tuple[Measurement, ...]:
    """What a race measures; `enough` decides instead of the usual judge whether it is settled."""
    machine = track.machine(seed)
    usual = partial(settled, baseline=BASELINE, min_effect=options.min_effect, alpha_share=options.alpha_share)
    tools = Tools(
        launch=partial(track.launch, machine=machine),
        settled=enough or usual,
        noise=partial(rounds_to_units, baseline=BASELINE),
        clock=machine.clock,
    )
    return race(track.specs(), options, tools).subjects


def simulate(
    seed: int, slower: tuple[float, ...], time_s: float, min_effect: float = 0.01, alpha_share: float = 1.0
) -> tuple[Subject, ...]:
    """Race a baseline against subjects that are slower by the given parts; returns the judged subjects."""
    track = Track((STEADY, *(Manner(length=1.0 + part) for part in slower)))
    options = RaceOptions(baseline=BASELINE, time=time_s, min_effect=min_effect, alpha_share=alpha_share, seed=seed)
    return compare(simulate_on(track, seed, options), BASELINE, min_effect, alpha_share)
