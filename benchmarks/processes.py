"""Commands in processes of their own: how each ended, the memory that it took, and what it left behind."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

GRACE_S = 3.0
"""For processes to end after the one that started them."""


class Ended(NamedTuple):
    """A process that has ended."""

    code: int | None
    """None if it was killed because its time was over."""
    out: str
    err: str
    peak_bytes: int
    processes_left: int
    files_left: int
    """Temporary ones, and those in its current folder that nobody asked for."""


ENTRY = """import runpy, os, sys
os.write(int(sys.argv.pop(1)), b".")
runpy.run_module("onnxperf", run_name="__main__", alter_sys=True)"""
"""Says when the interpreter has started: before that, no program can do anything about a signal."""


def run_process(
    arguments: Sequence[str],
    files: Mapping[str, bytes],
    limit_s: float,
    disturb: Callable[[subprocess.Popen[bytes]], None] = lambda _process: None,
    grace_s: float = GRACE_S,
) -> Ended:
    """Run a command in a process, session and folder of its own; `disturb` may do something to it meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="hardening-"))
    for name in ("tmp", "work", "home"):
        (folder / name).mkdir()
    write_files(folder / "work", files)
    ready, theirs = os.pipe()
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-c", ENTRY, str(theirs), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=folder / "work",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **private_environment(folder)},
            pass_fds=(theirs,),
            start_new_session=True,
        )
    os.close(theirs)
    os.read(ready, 1)
    os.close(ready)
    disturb(process)
    peak, end = 0, time.monotonic() + limit_s
    while process.poll() is None and time.monotonic() < end:
        peak = max(peak, _peak_bytes(process.pid))
        time.sleep(0.01)
    code = process.poll()
    left = len(leftover_processes(process.pid, folder, grace_s)) if code is not None else 0
    files_left = _files_left(folder, {*files, *arguments}) if code is not None else 0
    for each in {*processes_of(process.pid, folder), *([process.pid] if code is None else [])}:
        kill(each)
    process.wait()
    texts = [(folder / name).read_text(encoding="utf-8", errors="replace") for name in ("out", "err")]
    shutil.rmtree(folder, ignore_errors=True)
    return Ended(code, texts[0], texts[1], peak, left, files_left)


def _files_left(folder: Path, known: set[str]) -> int:
    """Temporary files, and files in the current folder that nobody asked for; what a killed SQLite leaves is in use."""
    names = {each.name.removesuffix("-wal").removesuffix("-shm") for each in (folder / "work").iterdir()}
    return sum(1 for _ in (folder / "tmp").iterdir()) + len(names - known)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files; scripts can be executed."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
        if data.startswith(b"#!"):
            (folder / name).chmod(0o755)


def private_environment(folder: Path) -> dict[str, str]:
    """Variables that keep everything that is written within a folder."""
    return {
        "TMPDIR": str(folder / "tmp"),
        "HOME": str(folder / "home"),
        "XDG_CACHE_HOME": str(folder / "home" / "cache"),
        "XDG_DATA_HOME": str(folder / "home" / "data"),
        "ONNXPERF_STORE": str(folder / "home" / "runs.sqlite"),
        "OPENBLAS_NUM_THREADS": "1",
    }


def leftover_processes(session: int, folder: Path | None = None, grace_s: float | None = None) -> list[int]:
    """Processes of a session whose leader has ended; those that are about to end have a moment for it."""
    end = time.monotonic() + (GRACE_S if grace_s is None else grace_s)
    while (found := processes_of(session, folder)) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def processes_of(session: int, folder: Path | None = None) -> list[int]:
    """Processes of a session that have not ended, and those elsewhere that were given this private folder."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, _parent, _group, its_session = _fields(int(entry.name))
                if state not in "ZX" and (int(its_session) == session or _was_given(entry.path, folder)):
                    found.append(int(entry.name))
    return found


def _was_given(process: str, folder: Path | None) -> bool:
    """Whether a process inherited the variables of `private_environment`, which Ray's daemons do, too."""
    return folder is not None and f"TMPDIR={folder}/".encode() in Path(process, "environ").read_bytes()


def _fields(pid: int) -> list[str]:
    """State, parent, group and session of a process."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:4]


def _peak_bytes(pid: int) -> int:
    with contextlib.suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"))
        return int(found[1]) * 1024 if found else 0
    return 0


def kill(pid: int) -> None:
    """End a process, if it is still there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
