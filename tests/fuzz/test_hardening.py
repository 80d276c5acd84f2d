"""The benchmark that tries to break the package counts every attempt once, and notices what must not happen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks import attempts, hardening, hardening_records, hardening_signals, processes, soak
from benchmarks.attempts import (
    CRASH,
    ERROR,
    HANG,
    LOST,
    RAN,
    RESULT,
    TRACEBACK,
    Attempt,
    Execute,
    Outcome,
    Tally,
    judged,
)
from benchmarks.hardening_commands import MODEL, command
from benchmarks.processes import Ended
from onnxperf.results.base import result_classes
from tests.depth import some
from tests.fuzz import recorded, seeds
from tests.fuzz.bombs import BOMBS, bombs

ENDINGS = [
    (0, "a table", "", RESULT),
    (1, "outputs differ", "", RESULT),
    (3, "undecided", "a note on the way", RESULT),
    (2, "", "onnxperf: no such file: 'x'\n", ERROR),
    (2, "", "a note\nonnxperf: no such file: 'x'\n", ERROR),
    (2, "", "", TRACEBACK),
    (2, "", "something else\n", TRACEBACK),
    (1, "failed: killed by SIGSEGV", "", CRASH),
    (1, "failed: its process ended with exit code 1", "", CRASH),
    (1, "", "onnxperf: its process ended with exit code 1: MemoryError", CRASH),
    (2, "", "onnxperf: its process ended with exit code 1: ModuleNotFoundError: No module named 'x'", TRACEBACK),
    (2, "", "onnxperf: no answer within 5 s (increase --timeout)", CRASH),
    (1, "", "onnxperf: unexpected KeyError: 3 (please report it; --debug shows the traceback)", TRACEBACK),
    (1, "", "Traceback (most recent call last):\n  File\nKeyError: 3", TRACEBACK),
    (70, "", "onnxperf: internal error", TRACEBACK),
    (-11, "", "", LOST),
]


@pytest.mark.parametrize(("code", "out", "err", "kind"), ENDINGS)
def test_every_ending_is_of_one_kind(code: int, out: str, err: str, kind: str) -> None:
    assert judged(code, out, err).kind == kind


def left_file() -> None:
    Path(tempfile.mkdtemp())


def left_process() -> None:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], process_group=0)


def run_code() -> None:
    Path("ran").touch()


def no_end() -> None:
    signal.pause()


def broken() -> None:
    raise KeyError("x")


CALLS: dict[str, tuple[Callable[[], object], dict[str, int], dict[str, int]]] = {
    "a result": (lambda: 0, {RESULT: 3}, {}),
    "an error that is not ours": (broken, {TRACEBACK: 3}, {}),
    "the end of the process": (lambda: os.kill(os.getpid(), signal.SIGKILL), {LOST: 3}, {}),
    "a hang": (no_end, {HANG: 3}, {}),
    "a file left": (left_file, {RESULT: 3}, {"files left": 3}),
    "a process left": (left_process, {RESULT: 3}, {"processes left": 3}),
    "code that ran": (run_code, {RAN: 3}, {}),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_fault_of_each_kind_is_noticed_and_its_files_kept(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, kinds, left = CALLS[what]
    monkeypatch.setattr(processes, "GRACE_S", 0.2)
    made = Attempt({"m": b"data"}, call=call, forbidden="ran")
    limit_s = 0.3 if HANG in kinds else 60
    tally = attempts.drive("test", lambda _number: made, range(3), limit_s, tmp_path)
    assert dict(tally.kinds) == kinds
    assert {name: count for name, count in tally.left.items() if count} == left
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == (["test-0", "test-1", "test-2"] if set(kinds) & set(attempts.GOAL) else [])
    assert tally.holds == (not kept and not left)


@pytest.mark.parametrize("name", some(seeds.models(), every=4))
def test_what_models_are_made_from_is_whole(name: str) -> None:
    attempt = Attempt({MODEL: seeds.models()[name]}, command("view"))
    assert attempts.drive("whole", lambda _number: attempt, [0]).kinds == {RESULT: 1}


PARTS = [
    *(hardening.models, hardening.traces, hardening.inputs, hardening.plans),
    *(hardening_records.records, hardening_records.bundles),
]


@pytest.mark.parametrize("part", some(PARTS, every=5), ids=lambda part: part.__name__)
def test_a_part_counts_every_attempt_once(part: Callable[[int], list[Tally]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardening, "HEAVY_EVERY", 10**9)  # number 0 would run a model
    for name in ("REAL_EVERY", "GATED_EVERY", "VARIED_EVERY", "RESUMED_EVERY"):
        monkeypatch.setattr(hardening_records, name, 10**9)
    [tally] = part(12)
    assert tally.tried == 12
    assert {kind for kind, count in tally.kinds.items() if count} <= set(attempts.KINDS)


def test_there_is_a_whole_record_of_every_kind_and_each_is_read() -> None:
    assert {type(each) for each in recorded.records().values()} == set(result_classes())
    attempt = [Attempt({"a.json": each}, ["report", "a.json", "-o", "a.md"]) for each in recorded.files().values()]
    assert attempts.drive("whole", attempt.__getitem__, range(len(attempt))).kinds == {RESULT: len(attempt)}


def test_every_step_with_a_whole_bundle_gives_a_result() -> None:
    bundle = recorded.zipped([recorded.rows()[0], recorded.lines_of(recorded.records()["bench0"])])

    def steps(execute: Execute) -> Iterator[Outcome]:
        for outcome in hardening_records.looked_at(execute, "a.md", resumed=False):
            yield outcome if outcome.kind == RESULT else Outcome(LOST, f"{outcome}")

    attempt = Attempt({hardening_records.BUNDLE: bundle}, steps=steps)
    assert attempts.drive("whole", lambda _number: attempt, [0]).kinds == {RESULT: 1}


def test_there_are_bombs_enough_and_they_are_small() -> None:
    assert len(BOMBS) >= 50
    assert max(len(data) for _, data in bombs()) <= 10 << 20


def test_a_process_is_watched_to_its_end() -> None:
    ended = processes.run_process(["view", "m.onnx"], {"m.onnx": seeds.models()["linear"]}, 60)
    assert (ended.code, ended.processes_left, ended.files_left) == (0, 0, 0)
    assert "MatMul" in ended.out
    assert 0 < ended.peak_bytes < hardening.PARENT_BYTES


def test_the_table_has_a_row_for_each_and_names_what_went_wrong() -> None:
    good, bad = Tally("good"), Tally("bad")
    good.add(0, Outcome(RESULT))
    bad.add(0, Outcome(TRACEBACK, "KeyError: 'x'"))
    bad.left["files left"] = 2
    lines = attempts.table([good, bad])
    assert lines[2:4] == [
        "| good | 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |",
        "| bad | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 0 | 2 | 0 |",
    ]
    assert lines[-1] == "- bad, tracebacks: 1 x `KeyError: _`"


@pytest.mark.parametrize(
    ("code", "out", "err", "kind"),
    [
        (0, "done before", "", RESULT),
        (143, "Interrupted: showing what was measured so far.", "", RESULT),
        (143, "", "onnxperf: interrupted", ERROR),
        (-15, "", "", ERROR),
        (130, "", "", TRACEBACK),
        (2, "", "onnxperf: no inference was profiled", TRACEBACK),
        (143, "", "Traceback (most recent call last):", TRACEBACK),
        (None, "", "", HANG),
    ],
)
def test_a_signal_ends_a_command_in_its_own_way(code: int | None, out: str, err: str, kind: str) -> None:
    ended = Ended(code, out, err, 0, 0, 0)
    assert hardening_signals.judged_signal(ended, signal.SIGTERM).kind == kind


@pytest.mark.parametrize(("gain", "verdict"), [(0.0, "no growth"), (3.0, "GROWS")])
def test_a_soak_finds_what_grows(gain: float, verdict: str) -> None:
    samples = [
        (minute, {"memory_mb": 100 + gain * minute, "descriptors": 9, "processes": 0, "disk_kb": 0})
        for minute in map(float, range(30))
    ]
    lines = [line for line in soak.verdicts(samples) if line.startswith("- ")]
    assert lines[0].endswith(verdict)
    assert all(line.endswith("no growth") for line in lines[1:])
