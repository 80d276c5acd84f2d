"""Does a history find a change where it happened, none where nothing changed, and quickly among 10,000 runs?

usage: python -m benchmarks.history [simulated|speed ...]
"""

from __future__ import annotations

import math
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import numpy as np

import onnxperf
from benchmarks.kept import keep, share
from onnxperf.analyze.judges.change_points import change_points
from onnxperf.analyze.judges.statistics import Floats
from onnxperf.measure.machine.describe import describe_machine
from onnxperf.records.base import Scalar
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.store import open_store

POINTS, DEVIATION, STEP, NEAR = 200, 0.02, 0.05, 2
MIN_EFFECT = math.log1p(0.01)
STEPS, STILL = 200, 1000
RUNS = 10_000

Noise = Callable[[np.random.Generator, int], Floats]


def normal(rng: np.random.Generator, count: int) -> Floats:
    """Normal noise."""
    return rng.normal(0, DEVIATION, count)


def heavy(rng: np.random.Generator, count: int) -> Floats:
    """Student's with three degrees of freedom, of the same deviation."""
    return rng.standard_t(3, count) * DEVIATION / math.sqrt(3)


def outliers(rng: np.random.Generator, count: int) -> Floats:
    """Normal noise, and one run of twenty slower by 10 to 50 %."""
    return normal(rng, count) + (rng.random(count) < 0.05) * rng.uniform(0.1, 0.5, count)


def drifting(rng: np.random.Generator, count: int) -> Floats:
    """Neighbours are alike (correlation 0.3); `benchmarks/history_rates.py` has more of these."""
    found = normal(rng, count) * math.sqrt(1 - 0.3**2)
    for place in range(1, count):
        found[place] += 0.3 * found[place - 1]
    return found


NOISES: dict[str, Noise] = {
    "normal": normal,
    "heavy tails (t, 3 degrees)": heavy,
    "5 % outliers of 10 to 50 %": outliers,
    "correlated by 0.3": drifting,
}


class Found(NamedTuple):
    """What was found in simulated histories."""

    near: int
    """Steps that were found within two points."""
    anywhere: int
    """Histories with a step and a change point, wherever it is."""
    several: int
    """Histories with a step and more than one change point."""
    steps: int
    false: int
    """Histories without a step and with a change point."""
    still: int


def simulated_histories(noise: Noise, steps: int, still: int, points: int = POINTS, seed: int = 20261117) -> Found:
    """Logarithms of times with one step somewhere, and without."""
    rng = np.random.default_rng(seed)
    near = anywhere = several = 0
    for _ in range(steps):
        place = int(rng.integers(10, points - 9))
        values = noise(rng, points)
        values[place:] += math.log1p(STEP)
        changes = change_points(values, MIN_EFFECT)
        near += any(abs(each.place - place) <= NEAR for each in changes)
        anywhere += bool(changes)
        several += len(changes) > 1
    false = sum(bool(change_points(noise(rng, points), MIN_EFFECT)) for _ in range(still))
    return Found(near, anywhere, several, steps, false, still)


def simulated() -> None:
    """Steps and their absence, under several kinds of noise and lengths."""
    lines = [
        f"Histories of {POINTS} points, noise of {DEVIATION:.0%} (standard deviation), a step of {STEP:.0%} at a place "
        "drawn uniformly from 10 to 190.",
        "",
        f"| noise | found within {NEAR} points | found at all | more than one | without a step, one found |",
        "|---|---|---|---|---|",
    ]
    for name, noise in NOISES.items():
        found = simulated_histories(noise, STEPS, STILL)
        lines.append(
            f"| {name} | {share(found.near, found.steps)} | {found.anywhere / found.steps:.1%} "
            f"| {found.several / found.steps:.1%} | {share(found.false, found.still)} |"
        )
    more = simulated_histories(normal, 2000, 2000, seed=1)
    lines += [
        "",
        "Goals under normal noise: at least 95 % within 2 points, at most 5 % false.",
        f"With 2,000 of each: {share(more.near, more.steps)} and {share(more.false, more.still)}.",
        "",
        "Without a step, normal noise, other lengths:",
        "",
    ]
    for points in (8, 12, 20, 50, 100, 400, 1000):
        false = simulated_histories(normal, 0, STILL, points).false
        lines.append(f"- {points} points: {share(false, STILL)}")
    keep("history: change points", lines)


# ---------------------------------------------------------------- speed


def filled(path: Path, runs: int) -> None:
    """A store of so many runs of one case with two subjects: one is kept, the others are copies with other times."""
    conditions: dict[str, Scalar] = {
        "threads": 2,
        "onnxruntime": "1.31.1",
        "providers": "CPUExecutionProvider",
        "opt_level": "all",
    }
    subjects = tuple(
        Subject(name=name, model="m", runtime="ort", call=name, status="ok", median_ns=1e4, conditions=dict(conditions))
        for name in ("run", "io-binding")
    )
    machine = describe_machine()
    with open_store(path) as store:
        case = Case(model="m", subjects=subjects, fingerprint={"m": "0" * 64}, dims={"batch": 1})
        store.keep(Bench(machine=machine, command="", cases=(case,)), "bench", tags={"commit": "0" * 12})
    started = "strftime('%Y-%m-%dT%H:%M:%S', 1700000000 + 3600 * n, 'unixepoch') || '.000000+00:00'"
    changed = {
        "runs": {"id": "n", "name": "'run' || n", "started": started, "uid": "'uid' || n"},
        "tags": {"id": "n", "run": "n", "value": "substr('00000000000' || n, -12)"},
        "cases": {"id": "n", "run": "n"},
        "attempts": {"id": "n", "case": "n", "uid": "'uid' || n"},
        "subjects": {
            "id": "2 * n + position",
            "attempt": "n",
            "time_ns": "time_ns * (1 + (n * 7919 % 1000) / 25000.0)",
            "blocks": "randomblob(4000)",
            "call_times": "randomblob(4000)",
        },
    }
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TEMP TABLE numbers AS WITH RECURSIVE t(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM t WHERE n < ?) "
            "SELECT n FROM t",
            (runs,),
        )
        for table, values in changed.items():
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            names = ", ".join(f'"{column}"' for column in columns)
            made = ", ".join(values.get(column, f'"{column}"') for column in columns)
            connection.execute(f"INSERT INTO {table} ({names}) SELECT {made} FROM {table}, numbers")


def speed() -> None:
    """A history of 10,000 runs, from the open store to the answer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.sqlite"
        filled(path, RUNS)
        walls, processors = [], []
        for _ in range(7):
            wall, processor = time.perf_counter(), time.process_time()
            result = onnxperf.history("m", store=path)
            walls.append(time.perf_counter() - wall)
            processors.append(time.process_time() - processor)
        points = sum(len(each.points) for each in result.record.series)
        size = path.stat().st_size / 1e6
    keep(
        "history: speed",
        [
            f"{RUNS:,} runs of one case with two subjects ({points:,} times, {size:.0f} MB), SQLite; opening, "
            "reading, change points and answer, best of 7.",
            "",
            f"- {1e3 * min(walls):.0f} ms, of which {1e3 * min(processors):.0f} ms of processor time (goal 200 ms)",
        ],
    )


def main() -> None:
    """The parts that are named, or both."""
    parts = {"simulated": simulated, "speed": speed}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
