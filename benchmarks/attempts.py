"""Runs commands on hostile files and says how each ended; what it leaves behind, processes and files, is counted."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import re
import resource
import selectors
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.processes import Ended, kill, leftover_processes, private_environment, processes_of, write_files
from onnxperf.cli.main import run
from onnxperf.errors import OnnxperfError

RESULT, ERROR, CRASH, TRACEBACK, HANG, RAN, LOST = KINDS = (
    "results",
    "clean errors",
    "contained crashes",
    "tracebacks",
    "hangs",
    "code that ran",
    "cases lost",
)
"""How an attempt ends: exactly one of these. A contained crash is that of a worker, reported by its parent."""
GOAL = (TRACEBACK, HANG, RAN, LOST)
"""Kinds that must not occur."""
COUNTED = ("processes left", "files left")
"""Of these there must be none, either."""

BATCH = 50
"""Attempts of one child."""
CHILD_BYTES = 8 << 30
"""Address space of a child and of its workers, so that a fault here does not end the machine."""
_END_S = 60.0
"""For a child to end after its last attempt."""
_CRASHED = re.compile(
    r"killed by (SIG|the kernel)|its process ended with exit code|no answer within|needed .* of memory"
)
_BROKEN = re.compile(r"ended with exit code \d+: (?!MemoryError)\w*(Error|Exception)\b.*")
"""A worker that ends like this was not ended by the system: its own code raised something."""
_INTERNAL_ERROR = 70
"""The exit code that no verdict has."""
_UNEXPECTED = re.compile(r"Traceback \(most recent call last\)|onnxperf: unexpected \w+|Fatal Python error")


class Outcome(NamedTuple):
    """How an attempt ended."""

    kind: str
    detail: str = ""


Execute = Callable[[Sequence[str]], Outcome]
"""Runs a command of the package in this process."""


class Attempt(NamedTuple):
    """Files, and what is done with them."""

    files: Mapping[str, bytes]
    arguments: Sequence[str] = ()
    """Of the command line."""
    call: Callable[[], object] | None = None
    """Instead of a command: a function of the package; its own errors are clean."""
    steps: Callable[[Execute], Iterable[Outcome]] | None = None
    """Instead of a command: several steps with the files; the outcome of the first counts unless another is worse."""
    forbidden: str = ""
    """A file that exists only if the attempt ran code that it must not run."""


Maker = Callable[[int], Attempt]


@dataclass
class Tally:
    """What came out of many attempts."""

    title: str
    kinds: Counter[str] = field(default_factory=Counter)
    details: dict[str, Counter[str]] = field(default_factory=dict)
    """Of tracebacks, hangs and lost cases: the message, how often, by kind."""
    left: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """All attempts."""
        return self.kinds.total()

    @property
    def holds(self) -> bool:
        """Whether nothing occurred that must not."""
        return not any(self.kinds[kind] for kind in GOAL) and not self.left.total()

    def count_left(self, ended: Ended) -> None:
        """Count what a process left."""
        self.left["processes left"] += ended.processes_left
        self.left["files left"] += ended.files_left

    def add(self, number: int, outcome: Outcome) -> None:
        """Count an attempt."""
        self.kinds[outcome.kind] += 1
        if outcome.kind in GOAL:
            generic = re.sub(r"0x[0-9a-f]+|\d+|'[^']*'", "_", outcome.detail)[:120]
            self.details.setdefault(outcome.kind, Counter())[generic] += 1
            print(f"{self.title} {number}: {outcome.kind}: {outcome.detail[:200]}", file=sys.stderr, flush=True)


def table(tallies: Sequence[Tally]) -> list[str]:
    """The counts in Markdown, a row each, then what went wrong."""
    heads = ["what", "tried", *KINDS[:-1], *COUNTED, KINDS[-1]]
    lines = [f"| {' | '.join(heads)} |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for tally in tallies:
        counts = [tally.tried, *(tally.kinds[kind] for kind in KINDS[:-1])]
        cells = [*counts, *(tally.left[each] for each in COUNTED), tally.kinds[LOST]]
        lines.append(f"| {tally.title} | {' | '.join(f'{cell:,}' for cell in cells)} |")
    for tally in tallies:
        lines += [f"- {tally.title}: {note}" for note in tally.notes]
        for kind, details in tally.details.items():
            lines += [f"- {tally.title}, {kind}: {times} x `{text}`" for text, times in details.most_common(8)]
    return [*lines[: len(tallies) + 2], "", *lines[len(tallies) + 2 :]]


def judged(code: int | None, out: str, err: str) -> Outcome:
    """How a command ended, by its exit code and what it printed."""
    last = err.strip().rpartition("\n")[2]
    if _UNEXPECTED.search(err) or code == _INTERNAL_ERROR:
        return Outcome(TRACEBACK, last)
    if broken := _BROKEN.search(out + err):
        return Outcome(TRACEBACK, broken.group())
    if code is None or code < 0:
        return Outcome(LOST, f"the command itself ended with {code}: {last}")
    if _CRASHED.search(out + err):
        return Outcome(CRASH)
    if code == 2:
        clean = last.startswith("onnxperf: ") and bool(last.removeprefix("onnxperf: ").strip())
        return Outcome(ERROR) if clean else Outcome(TRACEBACK, f"exit code 2 without a line that says why: {last}")
    return Outcome(RESULT)


# ---------------------------------------------------------------- many attempts in children of this process


def drive(
    title: str, make: Maker, numbers: Sequence[int], limit_s: float = 60, found: Path | None = None, children: int = 2
) -> Tally:
    """Attempt each number in children of this process, which has imported all; several at once."""
    tally, waiting = Tally(title), [list(numbers[n : n + BATCH]) for n in range(0, len(numbers), BATCH)][::-1]

    def note(number: int, outcome: Outcome) -> None:
        tally.add(number, outcome)
        if outcome.kind in GOAL:
            keep_files(found, title, number, make(number).files, outcome)

    gc.freeze()  # or the children would copy what they only look at
    with selectors.DefaultSelector() as selector:
        running: dict[int, _Child] = {}
        while waiting or running:
            while waiting and len(running) < children:
                child = _Child(make, waiting.pop(), limit_s)
                running[child.pipe] = child
                selector.register(child.pipe, selectors.EVENT_READ)
            next_end = min(child.deadline for child in running.values()) - time.monotonic()
            for key, _ in selector.select(max(0.0, next_end)):
                running[key.fd].read(note)
            for child in [each for each in running.values() if each.over]:
                selector.unregister(child.pipe)
                del running[child.pipe]
                rest = child.finish(tally, note)
                if rest:
                    waiting.append(rest)
    return tally


class _Child:
    """A child that attempts some numbers, one after the other."""

    def __init__(self, make: Maker, numbers: list[int], limit_s: float) -> None:
        self.first, self.last = numbers[0], numbers[-1]
        self.numbers, self.limit_s = numbers, limit_s
        self.folder = Path(tempfile.mkdtemp(prefix="hardening-"))
        self.pipe, theirs = os.pipe()
        self.ended, self._buffer = False, b""
        self.pid = os.fork()
        if not self.pid:
            code = 1
            try:
                os.close(self.pipe)
                _work(make, numbers, theirs, self.folder)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                _end_child(code)
        os.close(theirs)
        self.deadline = time.monotonic() + limit_s

    def read(self, note: Callable[[int, Outcome], None]) -> None:
        """Take over what the child reports."""
        data = os.read(self.pipe, 1 << 16)
        self.ended = not data
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            note(self.numbers.pop(0), Outcome(*json.loads(line)))
            self.deadline = time.monotonic() + (self.limit_s if self.numbers else _END_S)

    @property
    def over(self) -> bool:
        """Whether nothing more is to come, or it is too late."""
        return self.ended or time.monotonic() > self.deadline

    def finish(self, tally: Tally, note: Callable[[int, Outcome], None]) -> list[int]:
        """End the child, count what it leaves, and return what is still to be attempted."""
        if not self.ended:
            for each in {self.pid, *processes_of(self.pid, self.folder)}:
                kill(each)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.pipe)
        if self.numbers:
            lost = Outcome(LOST, f"its process ended with {status}")
            note(self.numbers.pop(0), lost if self.ended else Outcome(HANG, f"no end within {self.limit_s:g} s"))
        if self.ended:
            tally.left["processes left"] += len(leftover_processes(self.pid, self.folder))
            files = [each.name for each in (self.folder / "tmp").iterdir()] if status == 0 else []
            tally.left["files left"] += len(files)
            if files:
                print(f"{tally.title}, {self.first} to {self.last}: left {files}", file=sys.stderr, flush=True)
        for each in processes_of(self.pid, self.folder):
            kill(each)
        shutil.rmtree(self.folder, ignore_errors=True)
        return self.numbers


def _work(make: Maker, numbers: Sequence[int], pipe: int, folder: Path) -> None:
    """In the child: attempt the numbers, and report each."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_BYTES, CHILD_BYTES))
    for name in ("tmp", "work", "home"):
        (folder / name).mkdir()
    os.environ.update(private_environment(folder))
    tempfile.tempdir = None  # it is asked for again
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(folder / "work")
    for stream, name in enumerate(("out", "err"), 1):
        os.dup2(os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_APPEND), stream)
    for number in numbers:
        outcome = _attempted(make(number), folder)
        os.write(pipe, json.dumps(outcome).encode() + b"\n")


def _attempted(attempt: Attempt, folder: Path) -> Outcome:
    work = Path.cwd()
    write_files(work, attempt.files)
    outcome = _tried(attempt, folder)
    if attempt.forbidden and (work / attempt.forbidden).exists():
        outcome = Outcome(RAN, f"a program of the sender; else: {outcome.kind} {outcome.detail}")
    os.chdir(work)
    for each in work.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
    return outcome


def _tried(attempt: Attempt, folder: Path) -> Outcome:
    if attempt.call is not None:
        return called(attempt.call)
    if attempt.steps is not None:
        outcomes = list(attempt.steps(partial(_run, folder=folder)))
        worst = max(outcomes, key=lambda each: KINDS.index(each.kind))
        return outcomes[0] if worst.kind in (RESULT, ERROR) else worst
    return _run(attempt.arguments, folder)


def called(call: Callable[[], object]) -> Outcome:
    """How a function of the package ended."""
    try:
        call()
    except OnnxperfError:
        return Outcome(ERROR)
    except BaseException as error:
        return Outcome(TRACEBACK, f"{_last_place(error)} {error!r}")
    return Outcome(RESULT)


def _run(arguments: Sequence[str], folder: Path) -> Outcome:
    printed = [folder / "out", folder / "err"]
    for each in printed:
        os.truncate(each, 0)
    code: int | None = 0
    try:
        code = run(arguments)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException as error:
        return Outcome(TRACEBACK, f"{_last_place(error)} {error!r}")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    outcome = judged(code, *(each.read_text(encoding="utf-8", errors="replace") for each in printed))
    if outcome.kind == TRACEBACK:
        return Outcome(TRACEBACK, f"{_place(arguments)} {' '.join(arguments[:2])}: {outcome.detail}")
    return outcome


def _place(arguments: Sequence[str]) -> str:
    """Where an error comes from: the same again shows it."""
    try:
        run([*arguments, "--debug"])
    except BaseException as error:
        return _last_place(error)
    return ""


def _last_place(error: BaseException) -> str:
    """The innermost line of the package."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if "onnxperf/" in each.filename]
    return f"{frames[-1].filename.rpartition('onnxperf/')[2]}:{frames[-1].name}" if frames else ""


def _end_child(code: int) -> None:
    """End as an interpreter does: what exists until the end of the process is removed now."""
    import atexit

    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()  # the stack of the parent lies below: returning would run its code
    os._exit(code)


def keep_files(folder: Path | None, title: str, number: int, files: Mapping[str, bytes], outcome: Outcome) -> None:
    """Keep what broke something, so that it can become a regression file."""
    if folder is None:
        return
    place = folder / f"{title}-{number}"
    place.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (place / name).write_bytes(data)
    (place / "outcome.txt").write_text(f"{outcome.kind}: {outcome.detail}\n", encoding="utf-8")
