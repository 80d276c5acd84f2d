"""Races through the real plan, turns, looks and statistics, on a fake clock and with noise that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np

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
from onnxperf.measure.race import Tools, race
from onnxperf.records.options import RaceOptions
from onnxperf.records.race import Subject

CALL_NS = 10_000.0
START_NS = 100e6


@dataclass
class NoisyMachine:
    """A machine whose speed drifts and jumps, with noise that is heavy-tailed and lasts over many blocks."""

    rng: np.random.Generator
    now_ns: float = 0.0
    drift: float = 0.0
    burst_until_ns: float = 0.0
    phase: float = field(init=False)

    def __post_init__(self) -> None:
        """Start anywhere in the slow wave."""
        self.phase = self.rng.uniform(0, 2 * math.pi)

    def slowdown(self) -> float:
        """The log of how much slower than its best the machine is now, whatever runs."""
        self.drift += self.rng.normal(0, 0.002)
        if self.now_ns > self.burst_until_ns and self.rng.random() < 0.01:
            self.burst_until_ns = self.now_ns + self.rng.exponential(0.3e9)
        burst = 0.25 if self.now_ns < self.burst_until_ns else 0.0
        return self.drift + 0.03 * math.sin(self.now_ns / 1e9 + self.phase) + burst

    def spend(self, duration_ns: float) -> int:
        """Let time pass."""
        self.now_ns += duration_ns
        return int(duration_ns)


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

    @property
    def home(self) -> object:
        """It has a process of its own."""
        return self

    def wait_until_ready(self) -> None:
        """Start as fast as a lean worker does."""
        self.machine.spend(START_NS)

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
            case TimeEach():  # percentiles do not matter here
                return TimedEach([int(self.call_ns)] * request.calls)
        raise TypeError(request)

    def _time_block(self, request: TimeBlock) -> TimedBlock:
        """Take as long as the subject, the machine and this process decide together."""
        self.machine.spend(request.warm_ns)
        self.lasting = 0.6 * self.lasting + self.machine.rng.normal(0, 0.008)
        tail = 0.01 * abs(self.machine.rng.standard_t(2.5))
        noise = self.machine.slowdown() + self.lasting + tail + self.process_effect + self.layout_effect
        start = int(self.machine.now_ns)
        duration_ns = self.machine.spend(request.calls * self.call_ns * math.exp(noise))
        return TimedBlock(start, duration_ns, quickest_ns=self.call_ns * math.exp(noise - tail))

    def freeze(self) -> None:
        """Nothing runs by itself."""

    def thaw(self) -> None:
        """Nothing was stopped."""

    def close(self) -> None:
        """Nothing stays behind."""


def simulate(
    seed: int, slower: tuple[float, ...], time_s: float, min_effect: float = 0.01, alpha_share: float = 1.0
) -> tuple[Subject, ...]:
    """Race a baseline against subjects that are slower by the given parts; returns the judged subjects."""
    machine = NoisyMachine(np.random.default_rng(seed))
    factors = {"baseline": 1.0, **{f"rival {n}": 1.0 + part for n, part in enumerate(slower)}}
    specs = [
        WorkerSpec(subjects=(FunctionSubject(name=name, function=b""),), threads=1, feeds={}, runtime=name)
        for name in factors
    ]

    def launch(spec: WorkerSpec) -> SimulatedWorker:
        effect = machine.rng.normal(0, 0.004)
        return SimulatedWorker(spec, machine, CALL_NS * factors[spec.runtime], effect)

    options = RaceOptions(baseline="baseline", time=time_s, min_effect=min_effect, seed=seed)
    tools = Tools(
        launch=launch,
        settled=partial(settled, baseline="baseline", min_effect=min_effect, alpha_share=alpha_share),
        noise=partial(rounds_to_units, baseline="baseline"),
        clock=lambda: int(machine.now_ns),
    )
    return compare(race(specs, options, tools).subjects, "baseline", min_effect, alpha_share)
