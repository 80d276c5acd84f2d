"""Is it hard to break? Damaged models, traces, inputs and plans, signals, bombs, and all test models of onnx, counted.

usage: python -m benchmarks.hardening [part[=count] ...]
parts: models, traces, inputs, plans, signals, bombs, wheel, soak (in minutes); without one, all of them
Files that broke something are left in the folder hardening-found.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

import onnx

from benchmarks.attempts import (
    COUNTED,
    ERROR,
    GOAL,
    HANG,
    TRACEBACK,
    Attempt,
    Ended,
    Outcome,
    Tally,
    drive,
    judged,
    keep_files,
    run_process,
    table,
)
from benchmarks.kept import keep
from benchmarks.soak import soak
from tests.fuzz import seeds
from tests.fuzz.bombs import bombs as all_bombs
from tests.fuzz.mutations import mutated_bytes
from tests.fuzz.targets import damaged_json, damaged_model, damaged_text

FOUND = Path("hardening-found")
PARENT_BYTES = 512 << 20
"""What the parent may need for a bomb."""
STEP_S = 5
"""Timeout of a step, where a command has one."""
LIMIT_S = 120
"""For a whole command, of several steps, on a busy machine."""
CORES = os.cpu_count() or 1
HEAVY_EVERY = 50
"""Of the damaged models, one in so many goes through a command that runs it; the others are viewed."""

MODEL, PLAN = "m.onnx", "plan.toml"
COMMANDS: dict[str, list[str]] = {
    "view": ["view", MODEL],
    "check": ["check", MODEL, "--no-store"],
    "bench": ["bench", MODEL, "--time", "0.05", "--warmup", "0", "--no-store"],
    "profile": ["profile", MODEL, "--repeat", "1", "--no-store"],
    "memory": ["memory", MODEL, "--repeat", "5", "--skip-arena", "--no-store"],
    "optimize": ["optimize", MODEL, "-o", "out.onnx", "--no-store"],
    "diff": ["diff", MODEL, "--opt-level", "disable,all", "--no-race", "--repeat", "1", "--no-store"],
    "stack": ["stack", MODEL, "--calls", "1", "--no-store"],
    "einsum": ["einsum", "--rewrite", MODEL, "--no-search", "-o", "out.onnx", "--no-store"],
    "sweep": ["sweep", PLAN, "--no-store"],
    "convert": ["convert", MODEL, "-o", "out.onnx"],
}
"""Every command that takes a model."""
SWEEP = f'models = ["{MODEL}"]\n[options]\ntime = 0.05\ntimeout = {STEP_S}\nthreads = 1\n'


@cache
def command(name: str) -> tuple[str, ...]:
    """The arguments of a command, with a timeout where it has one."""
    from onnxperf.cli.main import app

    options = {each for argument in app[name].assemble_argument_collection() for each in argument.names}
    timeout = ["--timeout", str(STEP_S)] if "--timeout" in options else []
    threads = ["--threads", "1"] if "--threads" in options else []
    return (*COMMANDS[name], *timeout, *threads)


# ---------------------------------------------------------------- damaged files


def _damaged(number: int, part: str, whole: dict[str, bytes], damage: Callable[[bytes, Random], bytes]) -> Any:
    """A name, its content with some damage, and dice for the rest."""
    random = Random(f"{part} {number}")
    name = random.choice(list(whole))
    content = (damage if random.random() < 0.75 else mutated_bytes)(whole[name], random)
    return name, content, random


def _model_attempt(number: int) -> Attempt:
    _, content, random = _damaged(number, "model", seeds.models(), damaged_model)
    if number % HEAVY_EVERY == 0:
        name = random.choice([each for each in COMMANDS if each not in ("view", "sweep", "convert")])
        return Attempt({MODEL: content}, command(name))
    forms = [
        [],
        ["--all"],
        ["--json", "-"],
        ["--as", "dot"],
        ["--as", "svg"],
        ["--as", "code"],
        ["--values", "--json", "-"],
    ]
    return Attempt({MODEL: content}, [*command("view"), *random.choice(forms)])


def models(count: int = 10_000) -> list[Tally]:
    """Damaged models: most are viewed, in every form; some run."""
    return [drive("models", _model_attempt, range(count), LIMIT_S, FOUND, CORES)]


def _trace_attempt(number: int) -> Attempt:
    _, content, random = _damaged(number, "trace", seeds.traces(), damaged_json)
    files = {"a.json": content, "b.json": seeds.traces()["nested"]}
    outputs: list[list[str]] = [
        [],
        ["--json", "-"],
        ["--csv", "-"],
        ["-o", "a.perfetto.json"],
        ["-o", "a.md"],
        ["--top", "1"],
    ]
    profile = ["profile", "a.json", "--no-store", *random.choice(outputs)]
    return Attempt(files, ["diff", "a.json", "b.json", "--no-store"] if number % 10 == 0 else profile)


def traces(count: int = 10_000) -> list[Tally]:
    """Damaged traces: profiled, written, compared."""
    return [drive("traces", _trace_attempt, range(count), LIMIT_S, FOUND, CORES)]


def _input_attempt(number: int) -> Attempt:
    name, content, _ = _damaged(number, "input", seeds.inputs(), mutated_bytes)
    files = {MODEL: seeds.models()["linear"], name: content}
    if number % HEAVY_EVERY == 0:
        return Attempt(files, [*command("check"), "--input", f"X={name}"])
    return Attempt(files, call=lambda: _feeds(name))


def _feeds(name: str) -> None:
    """What every command does with the files of --input."""
    from onnxperf.model.files import read_inputs
    from onnxperf.model.inputs import make_feeds
    from onnxperf.model.load import open_model
    from onnxperf.records.options import InputOptions

    make_feeds(open_model(MODEL), InputOptions(), read_inputs({"X": name}))


def inputs(count: int = 2500) -> list[Tally]:
    """Damaged .npy, .npz and .pb files: read as inputs of a model."""
    return [drive("inputs", _input_attempt, range(count), LIMIT_S, FOUND, CORES)]


def _plan_attempt(number: int) -> Attempt:
    plans = {name: plan.encode() for name, plan in seeds.PLANS.items()}
    _, content, _ = _damaged(number, "plan", plans, damaged_text)
    source = b"open('ran', 'w')\ndef make():\n    open('ran', 'w')\n"
    files = {PLAN: content, MODEL: seeds.models()["linear"], "source.py": source}
    return Attempt(files, ["sweep", PLAN, "--dry-run"], forbidden="ran")


def plans(count: int = 2500) -> list[Tally]:
    """Damaged plans of sweeps, in a dry run, which must run nothing."""
    return [drive("plans", _plan_attempt, range(count), LIMIT_S, FOUND, CORES)]


# ---------------------------------------------------------------- signals and bombs


_SIGNALLED = ["view", "check", "bench", "profile", "memory", "stack", "sweep", "diff"]
_LONGER = {"--time": "4", "--repeat": "20000", "--calls": "200000", "--timeout": "60"}


def _signalled(number: int) -> tuple[Outcome, Ended, str]:
    """Run a command, and send it a signal at a random moment after its interpreter has started."""
    random = Random(f"signal {number}")
    name, wanted = random.choice(_SIGNALLED), random.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    delay_s = random.uniform(0, 3.5)

    def disturb(process: subprocess.Popen[bytes]) -> None:
        try:
            process.wait(delay_s)
        except subprocess.TimeoutExpired:
            process.send_signal(wanted)

    given = command(name)
    arguments = [_LONGER.get(before, each) for before, each in zip(("", *given), given, strict=False)]
    files = {MODEL: seeds.models()["many"], PLAN: SWEEP.replace("0.05", "4").encode()}
    ended = run_process(arguments, files, LIMIT_S, disturb)
    return judged_signal(ended, wanted), ended, f"{name} {wanted.name} after {delay_s:.2f} s"


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

    def attempt(number: int) -> None:
        outcome, ended, what = _signalled(number)
        with lock:
            tally.add(number, Outcome(outcome.kind, f"{what}: {outcome.detail}"))
            ended.count_left(tally)
            if outcome.kind in GOAL:
                keep_files(FOUND, "signal", number, {"stderr.txt": ended.err.encode()}, outcome)
            if ended.processes_left or ended.files_left:
                left = f"{ended.processes_left} processes, {ended.files_left} files"
                print(f"signals {number}: {what} left {left} (exit code {ended.code})", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(attempt, range(count)))
    return [tally]


def bombs(count: int | None = None) -> list[Tally]:
    """Every bomb through every command that takes a model, in real processes."""
    chosen = list(all_bombs())[:count]
    tallies, lock = {name: Tally(f"bombs: {name}") for name in COMMANDS}, threading.Lock()
    peaks = dict.fromkeys(COMMANDS, 0)

    def attempt(case: tuple[int, str, bytes, str]) -> None:
        number, bomb, data, name = case
        files = {MODEL: data, PLAN: SWEEP.encode()}
        ended = run_process(command(name), files, LIMIT_S)
        outcome = Outcome(HANG, bomb) if ended.code is None else judged(ended.code, ended.out, ended.err)
        if outcome.kind not in GOAL and ended.peak_bytes > PARENT_BYTES:
            outcome = Outcome(TRACEBACK, f"{bomb}: {ended.peak_bytes >> 20} MB in the parent")
        with lock:
            tallies[name].add(number, Outcome(outcome.kind, f"{bomb}: {outcome.detail}"))
            ended.count_left(tallies[name])
            peaks[name] = max(peaks[name], ended.peak_bytes)
            if outcome.kind in GOAL:
                keep_files(FOUND, f"bomb-{name}", number, files, outcome)

    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(attempt, [(n, *bomb, name) for n, bomb in enumerate(chosen) for name in COMMANDS]))
    for name, tally in tallies.items():
        tally.notes.append(f"at most {peaks[name] >> 20} MB in the parent ({PARENT_BYTES >> 20} allowed)")
    return list(tallies.values())


# ---------------------------------------------------------------- onnx's own test models


@cache
def wheel_models() -> list[tuple[str, bytes]]:
    """Every model in the test data of the onnx wheel, and of every test case of a node."""
    from onnx.backend.test.loader import load_model_tests

    data = Path(onnx.__file__).parent / "backend" / "test" / "data"
    files = [(str(path.relative_to(data)), path.read_bytes()) for path in sorted(data.rglob("*.onnx"))]
    kept = [(each.name, each.model) for each in load_model_tests(kind="node") if each.model is not None]
    return [*files, *((name, bytes(model.SerializeToString())) for name, model in kept or _node_cases())]


def _node_cases() -> list[tuple[str, onnx.ModelProto]]:
    """Newer wheels have no files for nodes, but the code that makes them."""
    from onnx.backend.test.case.node import collect_testcases

    cases = collect_testcases(None)
    return [(case.name, case.model) for case in cases if case.model is not None]


def wheel(count: int | None = None) -> list[Tally]:
    """All of them through view and check, every tenth also through profile, bench and memory."""
    cases = wheel_models()[:count]
    plans: dict[str, Sequence[int]] = dict.fromkeys(("view", "check"), range(len(cases)))
    plans |= dict.fromkeys(("profile", "bench", "memory"), range(0, len(cases), 10))
    return [
        drive(f"wheel: {name}", partial(_wheel_attempt, name), numbers, LIMIT_S, FOUND, CORES)
        for name, numbers in plans.items()
    ]


def _wheel_attempt(name: str, number: int) -> Attempt:
    return Attempt({MODEL: wheel_models()[number][1]}, command(name))


# ---------------------------------------------------------------- report


def _report(part: Callable[..., list[Tally]]) -> Callable[..., list[str]]:
    def report(*count: int) -> list[str]:
        tallies = part(*count)
        zeros = ", ".join((*GOAL, *COUNTED))
        verdict = "holds" if all(tally.holds for tally in tallies) else "is missed"
        return [f"{part.__doc__} Goal, which {verdict}: 0 {zeros}.", "", *table(tallies)]

    return report


PARTS: dict[str, tuple[str, Callable[..., list[str]]]] = {
    "models": ("hardening: damaged models", _report(models)),
    "traces": ("hardening: damaged traces", _report(traces)),
    "inputs": ("hardening: damaged inputs", _report(inputs)),
    "plans": ("hardening: damaged plans", _report(plans)),
    "signals": ("hardening: signals at random moments", _report(signals)),
    "bombs": ("hardening: bombs", _report(bombs)),
    "wheel": ("hardening: the test models of onnx", _report(wheel)),
    "soak": ("hardening: soak", soak),
}


def main() -> None:
    """Run the parts that are named, each with as many attempts as are given, or all."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # commands below nohup, or in the background of a shell, ignore these
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for wanted in sys.argv[1:] or PARTS:
        name, _, count = wanted.partition("=")
        title, part = PARTS[name]
        keep(title, part(int(count)) if count else part())


if __name__ == "__main__":
    main()
