"""Half an hour of races, sweeps, profiles and kills in one process: does anything grow?"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from random import Random

import psutil

from benchmarks.processes import leftover_processes, private_environment
from tests.fuzz import seeds

_SETTLED = 1 / 3
"""Part of the time in which caches fill; growth is judged after it."""
_ALLOWED = {"memory_mb": 10.0, "descriptors": 1.0, "processes": 0.5, "disk_kb": 4.0}
"""What a column may gain from then to the end: less than any leak in each cycle would cost."""
_KILLED = ["bench", "profile", "view", "memory"]


def soak(minutes: int = 30) -> list[str]:
    """Cycles of everything until the time is over, and a table of what this process and its folder hold."""
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    for name in ("tmp", "home", "work"):
        (folder / name).mkdir()
    os.environ.update(private_environment(folder))
    tempfile.tempdir = None
    model = folder / "work" / "m.onnx"
    model.write_bytes(seeds.models()["many"])
    start, random = time.monotonic(), Random(0)
    samples: list[tuple[float, dict[str, float]]] = []
    cycles = 0
    try:
        while time.monotonic() < start + 60 * minutes:
            for step in (_measure, _read, _kill_command, _kill_worker):
                step(model, folder, random)
            shutil.rmtree(folder / "home")  # the store grows with each run that is kept, on purpose
            (folder / "home").mkdir()
            cycles += 1
            samples.append(((time.monotonic() - start) / 60, _held(folder / "tmp")))
            print(f"soak: {samples[-1][0]:.1f} min {samples[-1][1]}", file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [f"{cycles} cycles of races, sweeps, profiles, checks and kills in one process.", "", *verdicts(samples)]


def verdicts(samples: Sequence[tuple[float, dict[str, float]]]) -> list[str]:
    """A table over time, then for each column how much it gains."""
    columns = list(_ALLOWED)
    lines = [f"| minutes | {' | '.join(columns)} |", "|---:" * (len(columns) + 1) + "|"]
    step = max(1, len(samples) // 12)
    shown = [*samples[:-1:step], samples[-1]]
    lines += [f"| {at:.1f} | {' | '.join(f'{held[name]:g}' for name in columns)} |" for at, held in shown]
    settled = samples[int(len(samples) * _SETTLED) :]
    minutes = settled[-1][0] - settled[0][0]
    for name in columns:
        slope = _slope([(at, held[name]) for at, held in settled])
        gained = slope * minutes
        verdict = "no growth" if gained <= _ALLOWED[name] else "GROWS"
        lines.append(f"- {name}: {slope:+.3f} a minute, {gained:+.1f} in the last {minutes:.1f} minutes: {verdict}")
    return [*lines[: len(shown) + 2], "", *lines[len(shown) + 2 :]]


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """The median slope between all pairs (Theil and Sen): single peaks do not count."""
    slopes = [(b - a) / (later - earlier) for (earlier, a), (later, b) in combinations(points, 2) if later > earlier]
    return statistics.median(slopes) if slopes else 0.0


def _held(folder: Path) -> dict[str, float]:
    process = psutil.Process()
    disk = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) + sum(1 for _ in folder.iterdir())
    return {
        "memory_mb": round(process.memory_info().rss / 2**20, 1),
        "descriptors": process.num_fds(),
        "processes": len(process.children(recursive=True)),
        "disk_kb": round(disk / 1024, 1),
    }


# ---------------------------------------------------------------- one cycle


def _measure(model: Path, folder: Path, _random: Random) -> None:
    """A race, a sweep that is kept, a check and a profile, in this process."""
    import onnxperf

    onnxperf.bench(str(model), call="run,run-c", time=0.1, threads=1)
    plan = {"models": [str(model)], "dims": {"N": [1, 2]}, "options": {"time": 0.1, "threads": 1}}
    onnxperf.sweep(plan, store=str(folder / "home" / "runs.sqlite"))
    onnxperf.check(str(model), threads=1)
    onnxperf.profile(str(model), calls=3, threads=1)


def _read(model: Path, folder: Path, random: Random) -> None:
    """Whole and damaged files that are only read."""
    import onnxperf
    from tests.fuzz.targets import TARGETS, mutant

    for name in TARGETS:
        for _ in range(5):
            with contextlib.suppress(Exception):  # whether these errors are clean is for the other parts
                TARGETS[name].read(mutant(TARGETS[name], random.randrange(2**32)))
    trace = folder / "work" / "t.json"
    trace.write_bytes(seeds.traces()["nested"])
    repr(onnxperf.view(str(model)))
    repr(onnxperf.profile(str(trace)))


def _kill_command(model: Path, _folder: Path, random: Random) -> None:
    """A command that receives a signal at a random moment."""
    arguments = {"bench": ["--time", "3"], "profile": ["--calls", "20000"]}
    name = random.choice(_KILLED)
    command = [sys.executable, "-m", "onnxperf", name, str(model), *arguments.get(name, [])]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(random.uniform(0.5, 2.5))
    process.send_signal(random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
    process.wait(60)
    for left in leftover_processes(process.pid):
        print(f"soak: {name} left process {left}", file=sys.stderr)


def _kill_worker(model: Path, _folder: Path, random: Random) -> None:
    """A race in this process whose worker is killed at a random moment."""
    import onnxperf

    over = threading.Event()
    killer = threading.Thread(target=_kill_children, args=(random.uniform(0.2, 1.5), over))
    killer.start()
    try:
        with contextlib.suppress(onnxperf.OnnxperfError):
            onnxperf.bench(str(model), call="run", time=0.5, threads=1)
    finally:
        over.set()
        killer.join()


def _kill_children(after_s: float, over: threading.Event) -> None:
    if not over.wait(after_s):
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.Error):
                child.kill()
