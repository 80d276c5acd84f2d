"""Is it hard to break? Damaged models, traces, inputs, plans, records and bundles, signals, bombs, onnx's test models.

usage: python -m benchmarks.hardening [part[=count] ...]
parts: models, traces, inputs, plans, records, bundles, signals, bombs, wheel, soak (in minutes); without one, all
Files that broke something are left in the folder hardening-found.
"""

from __future__ import annotations

import signal
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
    GOAL,
    HANG,
    TRACEBACK,
    Attempt,
    Outcome,
    Tally,
    drive,
    judged,
    keep_files,
    table,
)
from benchmarks.hardening_commands import COMMANDS, CORES, FOUND, LIMIT_S, MODEL, PLAN, SWEEP, command
from benchmarks.hardening_records import bundles, records
from benchmarks.hardening_signals import signals
from benchmarks.kept import keep
from benchmarks.processes import run_process
from benchmarks.soak import soak
from tests.fuzz import seeds
from tests.fuzz.bombs import bombs as all_bombs
from tests.fuzz.mutations import mutated_bytes
from tests.fuzz.targets import damaged_json, damaged_model, damaged_text

PARENT_BYTES = 512 << 20
"""What the parent may need for a bomb."""
HEAVY_EVERY = 50
"""Of the damaged models, one in so many goes through a command that runs it; the others are viewed."""


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
        ["-o", "-.dot"],
        ["-o", "-.svg"],
        ["-o", "-.py"],
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
        ["-o", "-.csv"],
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


# ---------------------------------------------------------------- bombs


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
            tallies[name].count_left(ended)
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
    "records": ("hardening: damaged records", _report(records)),
    "bundles": ("hardening: damaged bundles", _report(bundles)),
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
