"""Signals at random moments: every command shows what it has, or says that it ends, and leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.attempts import ERROR, GOAL, HANG, TRACEBACK, Outcome, Tally, judged, keep_files
from benchmarks.hardening_commands import CORES, FOUND, LIMIT_S, MODEL, PLAN, SWEEP, command
from benchmarks.processes import GRACE_S, Ended, run_process
from tests.fuzz import recorded, seeds

LONGER = {"--time": "4", "--calls": "20000", "--timeout": "60"}
STORE, BUNDLE, RECORD = "runs.sqlite", "runs.onnxperf.zip", "record.json"
RAY_GRACE_S = 15.0
"""For the daemons of a Ray of our own to end."""
COMMANDS_OF_A_MODEL = (
    *("view", "check", "bench", "profile", "memory", "stack", "sweep", "diff", "optimize"),
    *("gate", "tune", "quantize", "bisect", "advise"),
)
OTHERS: dict[str, Sequence[str]] = {
    "report": ["report", RECORD, "-o", "out.html"],
    "runs import": ["runs", "import", BUNDLE, "--store", "new.sqlite"],
    "runs export": ["runs", "export", "--all", "--format", "bundle", "-o", "out.zip", "--store", STORE],
    "serve": ["serve", "--port", "0", "--store", STORE],
}
ON_RAY: dict[str, Sequence[str]] = {
    "bench --on ray": ["bench", MODEL, "--dim", "N=1,2", "--time", "4", "--no-store", "--on", "ray"],
    "tune --on ray": ["tune", MODEL, "--time", "4", "--no-store", "--on", "ray"],
}
RAY_EVERY = 10
"""One in so many is on a Ray of its own, which takes ten times as long as any other to start and to end."""


class Signalled(NamedTuple):
    """A command, the signal that it gets, and when."""

    name: str
    arguments: Sequence[str]
    number: signal.Signals
    delay_s: float
    grace_s: float = GRACE_S


def chosen(place: int) -> Signalled:
    """The same place, the same command, signal and moment."""
    random = Random(f"signal {place}")
    number = random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    if place % RAY_EVERY == 0:
        name = random.choice(list(ON_RAY))
        return Signalled(name, ON_RAY[name], number, random.uniform(0, 15), RAY_GRACE_S)
    name = random.choice([*COMMANDS_OF_A_MODEL, *OTHERS])
    return Signalled(name, OTHERS.get(name) or _long(name), number, random.uniform(0, 6))


def _long(name: str) -> Sequence[str]:
    """A command of a model that takes longer than any signal waits."""
    given = command(name)
    return [LONGER.get(before, each) for before, each in zip(("", *given), given, strict=False)]


@cache
def _files() -> Mapping[str, bytes]:
    """What the commands read: a model, a plan, a record, a bundle and a store of it."""
    from onnxperf.api._keeping.bundles import import_bundle

    bundle = recorded.zipped(recorded.rows())
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, BUNDLE).write_bytes(bundle)
        import_bundle(Path(folder, BUNDLE), store=Path(folder, STORE))
        store = Path(folder, STORE).read_bytes()
    return {
        MODEL: seeds.models()["many"],
        PLAN: SWEEP.replace("0.05", "4").encode(),
        RECORD: recorded.files()["profiles9"],
        BUNDLE: bundle,
        STORE: store,
    }


def signalled(place: int) -> tuple[Outcome, Ended, str]:
    """Run a command, and send it a signal at a random moment after its interpreter has started."""
    what = chosen(place)

    def disturb(process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(what.delay_s)
        except subprocess.TimeoutExpired:
            process.send_signal(what.number)

    ended = run_process(what.arguments, _files(), LIMIT_S, disturb, what.grace_s)
    return judged_signal(ended, what.number), ended, f"{what.name} {what.number.name} after {what.delay_s:.2f} s"


def judged_signal(ended: Ended, number: signal.Signals) -> Outcome:
    """A command that receives a signal shows what it has, or says that it ends; before it could, it just ends."""
    if ended.code is None:
        return Outcome(HANG, f"no end after {number.name}")
    if ended.code == -number and not ended.err.strip():
        return Outcome(ERROR)
    outcome = judged(ended.code, ended.out, ended.err)
    if outcome.kind in GOAL:
        return outcome
    if ended.code not in (0, 1, 3, 128 + number):
        return Outcome(TRACEBACK, f"exit code {ended.code} after {number.name}: {ended.err.strip()}")
    return Outcome(ERROR) if ended.code == 128 + number and not ended.out.strip() else outcome


def signals(count: int = 200) -> list[Tally]:
    """SIGINT, SIGTERM and SIGHUP at random moments."""
    tally, lock = Tally("signals"), threading.Lock()
    _files()  # once, before threads ask for them

    def attempt(number: int) -> None:
        outcome, ended, what = signalled(number)
        with lock:
            tally.add(number, Outcome(outcome.kind, f"{what}: {outcome.detail}"))
            tally.count_left(ended)
            if outcome.kind in GOAL:
                keep_files(FOUND, "signal", number, {"stderr.txt": ended.err.encode()}, outcome)
            if ended.processes_left or ended.files_left:
                left = f"{ended.processes_left} processes, {ended.files_left} files"
                print(f"signals {number}: {what} left {left} (exit code {ended.code})", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(attempt, range(count)))
    return [tally]
