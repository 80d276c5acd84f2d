"""Runs on a node of the cluster: one process for all its jobs, with a folder that is removed with it."""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath
from typing import Any

from onnxperf import scratch

_REPORT_S = 0.5
"""Seconds between two reports: each is a message."""
_OF_RAY = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Set by Ray according to the reserved processors; workers get their own values."""

Reporter = Callable[[float, str], None]


def versions_here() -> dict[str, str]:
    """Versions that must be the same on all nodes."""
    try:
        own = version("onnxperf")
    except PackageNotFoundError:  # from a source folder
        own = ""
    return {"onnxperf": own, "Python": ".".join(platform.python_version_tuple()[:2])}


class NodeRunner:
    """Runs the jobs of a node, one after the other."""

    def __init__(self) -> None:
        for name in _OF_RAY:
            os.environ.pop(name, None)
        with contextlib.suppress(OSError, AttributeError):  # only root may; else a note reports it
            os.setpriority(os.PRIO_PROCESS, 0, 0)
        base = scratch.base_folder()
        self._folder = base / scratch.name_of_folder()
        scratch.make(self._folder)
        with contextlib.suppress(OSError):
            scratch.remove_abandoned(base)
        os.environ[scratch.VARIABLE] = tempfile.tempdir = str(self._folder)

    def versions(self) -> dict[str, str]:
        """The versions installed here."""
        return versions_here()

    def run(self, function: str, payload: bytes, files: Mapping[str, Any], reports: Any, name: str) -> bytes:
        """Run a job; files are written unless they exist from an earlier one."""
        import ray

        folder = self._folder / "files"
        for each, reference in files.items():
            write_once(folder, each, partial(ray.get, reference))
        found = function_named(function)
        return bytes(found(payload, folder, report_to(reports, name, ray)))

    def close(self) -> None:
        """Remove all files; workers end with this process."""
        scratch.remove(self._folder)


def function_named(text: str) -> Callable[[bytes, Path, Reporter], bytes]:
    """A function of this package."""
    module, _, name = text.partition(":")
    if not module.startswith("onnxperf."):
        raise ValueError(f"{text!r} is not a function of onnxperf")
    found: Callable[[bytes, Path, Reporter], bytes] = getattr(importlib.import_module(module), name)
    return found


def write_once(folder: Path, name: str, contents: Callable[[], Any]) -> None:
    """Write a file below a folder, unless it exists."""
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts:
        raise ValueError(f"{name!r} is outside the folder of the node")
    path = folder / place
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.draft")
    with draft.open("wb") as file:
        file.write(memoryview(contents()))
    draft.rename(path)


def report_to(reports: Any, name: str, ray: Any, clock: Callable[[], float] = time.monotonic) -> Reporter:
    """Report to the driver; if it asks a job to stop, the job is interrupted between two blocks, as by Ctrl-C."""
    last = [clock() - _REPORT_S]
    answers: list[Any] = []

    def report(done: float, text: str) -> None:
        if clock() - last[0] < _REPORT_S:
            return
        last[0] = clock()
        with contextlib.suppress(ray.exceptions.RayError):  # a lost report must not lose measurements
            if answers and ray.wait(answers, timeout=0)[0] and ray.get(answers.pop()):
                raise KeyboardInterrupt
            if not answers:
                answers.append(reports.note.remote(name, done, text))

    return report


class Reports:
    """Receives the nodes' reports, and replies whether they should stop."""

    def __init__(self) -> None:
        self._notes: dict[str, tuple[float, str]] = {}
        self._stopped = False

    def note(self, name: str, done: float, text: str) -> bool:
        """Store the last report of a node; returns whether its job should stop."""
        self._notes[name] = (done, text)
        return self._stopped

    def notes(self) -> dict[str, tuple[float, str]]:
        """The last report of each node."""
        return self._notes

    def stop(self) -> None:
        """Ask every job to stop."""
        self._stopped = True
