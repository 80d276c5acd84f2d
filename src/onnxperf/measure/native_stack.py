"""Samples of Python and compiled frames, taken externally by py-spy while a worker makes calls."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from onnxperf.errors import MissingExtra, SubjectError
from onnxperf.programs import find_program
from onnxperf.wording.numbers import plain

GRACE_S = 60.0
"""Extra time beyond sampling: py-spy first reads the symbols of all libraries."""


def find_py_spy() -> str:
    """Path of py-spy, next to this interpreter or on PATH."""
    found = find_program("py-spy", [str(Path(sys.executable).parent)]) or find_program("py-spy")
    if found is None:
        raise MissingExtra("py-spy", "stack")
    return found


def record(pid: int, keep_busy: Callable[[], object], output: Path, duration_s: float, rate: int) -> None:
    """Sample a process until py-spy is done, and keep it busy during that time."""
    command = [find_py_spy(), "record", "--native", "--idle", "--format", "raw", "--output", str(output)]
    command += ["--duration", str(max(1, round(duration_s))), "--rate", str(rate), "--pid", str(pid)]
    log = output.with_suffix(".log")
    with log.open("wb") as output_file:
        spy = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output_file, stderr=output_file)
        try:
            end = time.monotonic() + duration_s + GRACE_S
            while spy.poll() is None:
                if time.monotonic() > end:
                    raise SubjectError("timeout", f"py-spy did not end within {plain(duration_s + GRACE_S)} s")
                keep_busy()
        finally:
            with contextlib.suppress(ProcessLookupError):
                spy.kill()
            spy.wait()
    if spy.returncode < 0:
        raise SubjectError("failed", f"py-spy was killed by {signal.Signals(-spy.returncode).name}")
    if spy.returncode or not output.exists():
        raise SubjectError("failed", f"py-spy: {_complaint(log.read_text(encoding='utf-8', errors='replace'))}")


def _complaint(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip()[:1].isdigit()]
    reasons = [
        line for line in lines if "error" in line.lower() or "denied" in line.lower() or "reason" in line.lower()
    ]
    return " ".join((reasons or lines or ["it exited without a message"])[:2])
