"""What the kernel shows of processes, and workers of plain functions."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import psutil

from onnxperf.measure.messages import FunctionSubject, Load, WorkerSpec
from onnxperf.measure.packing import pack_feeds
from onnxperf.measure.process import ProcessWorker

Function = Callable[..., object]


class Workers:
    """Starts workers of functions; `close` ends them all."""

    def __init__(self) -> None:
        self.started: list[ProcessWorker] = []

    def __call__(
        self,
        *functions: Function,
        timeout_s: float = 60.0,
        limit: int | None = None,
        threads: int = 1,
        **feeds: Any,
    ) -> ProcessWorker:
        subjects = tuple(
            FunctionSubject(name=f"f{n}", function=cloudpickle.dumps(function)) for n, function in enumerate(functions)
        )
        spec = WorkerSpec(subjects=subjects, threads=threads, feeds=pack_feeds(feeds))
        worker = ProcessWorker(spec, timeout_s, limit)
        self.started.append(worker)
        worker.wait_until_ready()
        worker.ask(Load(spec))
        return worker

    def close(self) -> None:
        for worker in self.started:
            worker.close()


def state_of(pid: int) -> str:
    """The letter that the kernel shows for a process: T is stopped."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def gone(pid: int) -> bool:
    """Whether a process ends within a few seconds (a zombie has ended)."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return True
        psutil.wait_procs([process], timeout=10)
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def tagged(tag: str) -> list[psutil.Process]:
    """All processes that inherited the tag and have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if tag.encode() in (folder / "environ").read_bytes():
                found.append(psutil.Process(int(folder.name)))
        except (OSError, psutil.NoSuchProcess):
            continue
    return found


def left_behind(tag: str, deadline_s: float = 10.0) -> list[psutil.Process]:
    """What is still there after all had time to end."""
    deadline = time.monotonic() + deadline_s
    while (found := tagged(tag)) and time.monotonic() < deadline:
        psutil.wait_procs(found, timeout=0.5)
    return found
