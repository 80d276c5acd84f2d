"""How often does a history see a change that is none, and a change that is one, if runs are not independent?

usage: python -m benchmarks.history_rates [number of histories of each kind]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from benchmarks.kept import keep, share
from onnxperf.analyze.judges.history import judge_history
from onnxperf.analyze.judges.statistics import Floats
from onnxperf.records.history import ChangePoint, HistoryPoint, StoredSubject, TimeOrigin

NUMBER = 1000
MIN_EFFECT = 0.01
NEAR = 2
"""Values between a change that was found and the true one."""
PER_DAY = 5
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
ORIGIN = TimeOrigin(cpu="simulated", conditions={"threads": 1})

Noise = Callable[[np.random.Generator, int], Floats]


def correlated(by: float, deviation: float) -> Noise:
    """Each value resembles the one before it: AR(1)."""

    def noise(rng: np.random.Generator, count: int) -> Floats:
        found = rng.normal(0, deviation * math.sqrt(1 - by**2), count)
        found[0] = rng.normal(0, deviation)
        for place in range(1, count):
            found[place] += by * found[place - 1]
        return found

    return noise


def days(rng: np.random.Generator, count: int) -> Floats:
    """Every day has a level of its own (2 %), every run deviates from that (1 %)."""
    levels = rng.normal(0, 0.02, -(-count // PER_DAY))
    return np.asarray(np.repeat(levels, PER_DAY)[:count] + rng.normal(0, 0.01, count), dtype=np.float64)


def wandering(rng: np.random.Generator, count: int) -> Floats:
    """Half of the variance wanders slowly (AR(1) by 0.8), half is independent: no AR(1) any more."""
    return correlated(0.8, 0.014)(rng, count) + rng.normal(0, 0.014, count)


class Kind(NamedTuple):
    """A kind of history."""

    name: str
    noise: Noise
    per_day: int = 1
    commits: bool = False
    """Each run has a commit of its own."""


KINDS = (
    Kind("independent, 2 %", correlated(0.0, 0.02)),
    *(Kind(f"correlated by {by}, 2 %", correlated(by, 0.02)) for by in (0.3, 0.6, 0.8)),
    Kind("five runs a day: days 2 %, runs 1 %", days, PER_DAY),
    Kind("five commits a day: days 2 %, runs 1 %", days, PER_DAY, commits=True),
    Kind("half independent, half correlated by 0.8, 2 % together", wandering),
)


class Step(NamedTuple):
    """A history with a change in its middle."""

    kind: Kind
    runs: int
    change: float


STEPS = (
    Step(Kind("correlated by 0.3, 1 %", correlated(0.3, 0.01)), 50, 0.05),
    Step(Kind("independent, 1 %", correlated(0.0, 0.01)), 50, 0.03),
    Step(Kind("independent, 1 %", correlated(0.0, 0.01)), 20, 0.05),
    Step(Kind("independent, 2 %", correlated(0.0, 0.02)), 200, 0.05),
    Step(Kind("correlated by 0.6, 1 %", correlated(0.6, 0.01)), 50, 0.05),
    Step(Kind("correlated by 0.6, 1 %", correlated(0.6, 0.01)), 200, 0.05),
    Step(Kind("five runs a day: days 2 %, runs 1 %", days, PER_DAY), 200, 0.05),
)


def changes_in(logs: Floats, kind: Kind) -> tuple[ChangePoint, ...]:
    """What the package finds in runs with these times."""
    points = tuple(
        HistoryPoint(
            f"run{n}",
            (FIRST + timedelta(days=n // kind.per_day, minutes=n % kind.per_day)).isoformat(),
            commit=str(n) if kind.commits else "",
            time_ns=1e5 * math.exp(log),
        )
        for n, log in enumerate(logs)
    )
    stored = StoredSubject(name="m", model="m", runtime="ort", call="run", origin=ORIGIN, points=points)
    (series,) = judge_history("m", [stored], None, MIN_EFFECT).series
    return series.changes


def false_changes(kind: Kind, runs: int, number: int) -> int:
    """Histories without a change that get one."""
    rng = np.random.default_rng(20261118)
    return sum(bool(changes_in(kind.noise(rng, runs), kind)) for _ in range(number))


class Found(NamedTuple):
    """What became of true changes."""

    near: int
    covered: int
    """Intervals of the nearest change that contain the truth."""


def found_changes(step: Step, number: int) -> Found:
    """Changes that are found where they are, and how many intervals contain them."""
    rng = np.random.default_rng(20261119)
    middle, near, covered = step.runs // 2, 0, 0
    for _ in range(number):
        logs = step.kind.noise(rng, step.runs)
        logs[middle:] += math.log1p(step.change)
        reach = NEAR * step.kind.per_day
        alike = [each for each in changes_in(logs, step.kind) if abs(each.index - middle) <= reach]
        near += bool(alike)
        covered += any((each.ratio_low or 0) <= 1 + step.change <= (each.ratio_high or 0) for each in alike)
    return Found(near, covered)


def main() -> None:
    """Both, as tables."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else NUMBER
    lines = ["| without a change | runs | one found |", "|---|---|---|"]
    for kind in KINDS:
        lines += [
            f"| {kind.name} | {runs} | {share(false_changes(kind, runs, number), number)} |" for runs in (50, 200)
        ]
    lines += ["", f"| a change in the middle | runs | found within {NEAR} values | intervals that contain it |"]
    lines.append("|---|---|---|---|")
    for step in STEPS:
        found = found_changes(step, number)
        covered = f"{found.covered} of {found.near}" if found.near else "none"
        lines.append(f"| {step.change:.0%}, {step.kind.name} | {step.runs} | {share(found.near, number)} | {covered} |")
    keep("history: rates", lines)


if __name__ == "__main__":
    main()
