"""How often sweeps, and races whose starts are costly, are wrong: through the package's own pool, plan and judges.

Every case is a race of equal subjects, so that each verdict of a difference is a false alarm. Processes differ by a
part that stays the same as long as they live: what no number of rounds or set-ups shows.

usage: python -m benchmarks.sweep_rates [sweeps=SWEEPS] [starts=RACES] [--print]
       --print shows the figures without keeping them
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pool as Helpers
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from benchmarks.kept import keep, share
from benchmarks.simulation import CALL_NS, START_NS, NoisyMachine, SimulatedWorker
from onnxperf.analyze.judges.comparison import compare, rounds_to_units, settled
from onnxperf.measure import pool as pools
from onnxperf.measure.messages import Load, Loaded, ModelSubject, Reply, Request, WorkerSpec
from onnxperf.measure.plan import GOOD_LAUNCHES
from onnxperf.measure.pool import Launches, Pool
from onnxperf.measure.race import Tools, race
from onnxperf.records.options import RaceOptions
from onnxperf.records.race import MIN_UNITS

MIN_EFFECT = 0.01
ALARMS = ("faster", "slower")
CASES = 4
"""Of a sweep; its processes live through all of them, each at another speed in each."""
PROCESS_SDS = (0.004, 0.01)
TIME_S = 3.0
"""Of a case."""


FEW = 3
"""Processes that cases of a sweep shared before they had five at least."""
LOAD_NS = 20_000_000
SLOW_START_NS = 1.5e9
"""Of each of two processes, as of torch."""
ROWS = {
    "two runtimes": ("ort", "numpy"),
    "two settings of one runtime": ("ort", "ort"),
    "four settings of one runtime, any": ("ort",) * 4,
}


@dataclass(eq=False)
class SimulatedProcess(SimulatedWorker):
    """A process that outlives its races, and runs every subject of every case faster or slower than others do."""

    start_ns: float = START_NS
    process_sd: float = 0.0
    ready: bool = False
    effects: dict[str, float] = field(default_factory=dict)

    @property
    def idle(self) -> bool:
        """It never dies, and answers at once."""
        return self.ready

    def wait_until_ready(self) -> None:
        """Start only once."""
        if not self.ready:
            self.machine.spend(self.start_ns)
        self.ready = True

    def _answer(self, request: Request[Any]) -> Reply:
        reply = super()._answer(request)
        if not isinstance(request, Load):
            return reply
        for subject in request.spec.subjects:
            drawn = self.machine.rng.normal(0, self.process_sd)
            self.process_effect = self.effects.setdefault(subject.name, drawn)
        return Loaded(self.machine.spend(LOAD_NS), {})


class Rival(NamedTuple):
    """What a race says about a subject that is as fast as its baseline."""

    alarm: bool
    inside: bool
    launches: int
    seconds: float


def raced(
    machine: NoisyMachine, launches: Launches, runtimes: Sequence[str], time_s: float | None, seed: int, case: int = 0
) -> list[Rival]:
    """A race of equal subjects: all but the first are rivals."""
    names = [f"{case}.{place}" for place in range(len(runtimes))]
    specs = [
        WorkerSpec(subjects=(ModelSubject(name=name, call="run"),), threads=1, feeds={}, runtime=runtime)
        for name, runtime in zip(names, runtimes, strict=True)
    ]
    options = RaceOptions(time=time_s, min_effect=MIN_EFFECT, seed=seed)
    tools = Tools(
        launch=launches(specs, options),
        settled=partial(settled, baseline=names[0], min_effect=MIN_EFFECT),
        noise=partial(rounds_to_units, baseline=names[0]),
        clock=lambda: int(machine.now_ns),
    )
    begin_ns = machine.now_ns
    end = race(specs, options, tools)
    seconds = (machine.now_ns - begin_ns) / 1e9
    return [
        Rival(
            each.verdict in ALARMS,
            each.speedup_low is not None and each.speedup_low <= 1 <= (each.speedup_high or 0.0),
            len({block.launch for block in each.blocks}),
            seconds,
        )
        for each in compare(end.subjects, names[0], MIN_EFFECT)[1:]
    ]


def swept(seed: int, process_sd: float, runtimes: Sequence[str], processes: int, time_s: float) -> list[list[Rival]]:
    """A sweep of some cases, through a pool of at most so many processes of each kind."""
    machine = NoisyMachine(np.random.default_rng(seed))
    start: Any = partial(SimulatedProcess, machine=machine, call_ns=CALL_NS, process_effect=0.0, process_sd=process_sd)
    limits: dict[str, Any] = {"GOOD_LAUNCHES": processes, "MIN_UNITS": min(processes, MIN_UNITS)}
    with mock.patch.multiple(pools, **limits), Pool(start, lambda: 1 << 40, lambda: int(machine.now_ns)) as pool:
        return [raced(machine, pool.launches, runtimes, time_s, seed, case) for case in range(CASES)]


def started(seed: int, process_sd: float, time_s: float | None) -> list[list[Rival]]:
    """A race whose processes take long to start."""
    machine = NoisyMachine(np.random.default_rng(seed))
    start = partial(
        SimulatedProcess,
        machine=machine,
        call_ns=CALL_NS,
        process_effect=0.0,
        process_sd=process_sd,
        start_ns=SLOW_START_NS,
    )
    return [raced(machine, lambda _specs, _options: start, ("callable", "ort"), time_s, seed)]


def line(what: str, races: Sequence[Sequence[Rival]]) -> str:
    """False alarms of whole races, and how many intervals have the truth inside."""
    rivals = [rival for each in races for rival in each]
    alarms = sum(any(rival.alarm for rival in each) for each in races)
    return (
        f"- {what}: false alarms {share(alarms, len(races))} (goal at most 5 %); "
        f"truth inside the interval {share(sum(rival.inside for rival in rivals), len(rivals))} (goal at least 93 %); "
        f"{statistics.median(rival.launches for rival in rivals):g} launches, "
        f"{statistics.median(rival.seconds for rival in rivals):.1f} s (medians)"
    )


def sweeps(number: int = 100) -> list[str]:
    """Sweeps of equal subjects."""
    lines = []
    with Helpers(2) as helpers:
        for process_sd in PROCESS_SDS:
            for what, runtimes in ROWS.items():
                for processes in (FEW, MIN_UNITS, GOOD_LAUNCHES):
                    sweep = partial(swept, process_sd=process_sd, runtimes=runtimes, processes=processes, time_s=TIME_S)
                    found = [case for cases in helpers.imap(sweep, range(number), chunksize=5) for case in cases]
                    lines.append(line(f"{what}, processes differ by {process_sd:.1%}, {processes} of each kind", found))
                    print(lines[-1], file=sys.stderr, flush=True)
    return [
        f"Equal subjects in {number} sweeps of {CASES} cases, {TIME_S:g} s each, through the real pool, plan, judges,",
        f"on the noisy machine of the simulated races. Sweeps had {FEW} processes of each kind, and have 5 to 8 now.",
        "",
        *lines,
    ]


def starts(number: int = 200) -> list[str]:
    """Races of equal subjects that start slowly, as torch does."""
    lines = []
    with Helpers(2) as helpers:
        for process_sd in PROCESS_SDS:
            for time_s, said in ((9.0, "`--time 9`"), (None, "default time")):
                start = partial(started, process_sd=process_sd, time_s=time_s)
                found = [case for cases in helpers.imap(start, range(number), chunksize=5) for case in cases]
                lines.append(line(f"{said}, processes differ by {process_sd:.1%}", found))
                print(lines[-1], file=sys.stderr, flush=True)
    seconds = 2 * SLOW_START_NS / 1e9
    return [f"Equal subjects, a launch of which takes {seconds:g} s to start.", "", *lines]


PARTS = {"sweeps": ("sweep rates: cases that share processes", sweeps), "starts": ("sweep rates: slow starts", starts)}


def main() -> None:
    """Run the parts that are named, each with as many sweeps or races as are given, or all."""
    wanted = [each for each in sys.argv[1:] if each != "--print"]
    for name, _, number in (each.partition("=") for each in wanted or PARTS):
        title, part = PARTS[name]
        lines = part(int(number)) if number else part()
        if "--print" in sys.argv[1:]:
            print("\n".join([f"## {title}", "", *lines]))
        else:
            keep(title, lines)


if __name__ == "__main__":
    main()
