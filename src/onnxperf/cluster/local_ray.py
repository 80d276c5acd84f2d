"""Our own Ray on this machine: all its processes are below a guardian, which ends them when this process ends."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

import psutil

from onnxperf import scratch
from onnxperf.cluster.signals import signals_wait
from onnxperf.errors import BadOption
from onnxperf.wording.names import one_line, shortened

LONGEST = 200
"""Maximum number of characters of Ray's output."""
_LONGEST_BASE = 107 - len("/ray-12345678/session_2026-01-01_00-00-00_123456_1234567/sockets/plasma_store")
"""Maximum length of a folder name, so that the paths of Ray's sockets in it are not too long for the kernel."""
_END_S = 20.0
_KILL_S = 1.0
_PR_SET_CHILD_SUBREAPER = 36
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # the default is 15: other processes would have priority
    "RAY_memory_monitor_refresh_ms": "0",  # or it would kill cases that the kernel allows
}


@contextlib.contextmanager
def local_ray() -> Iterator[IO[bytes]]:
    """Start a Ray; yields the stream that will contain its address (`address_in`). At the end, all of it is gone."""
    folder = _folder()
    try:
        paths = [path or str(Path.cwd()) for path in sys.path]
        own = {scratch.VARIABLE: str(folder), "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "ignore"}
        with subprocess.Popen(
            _command(_guard.__name__, folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_SETTINGS, **own},
            process_group=0,  # Ctrl-C reaches only this process
        ) as guardian:
            try:
                yield cast("IO[bytes]", guardian.stdout)
            finally:
                with signals_wait():
                    _end(guardian)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def address_in(answer: IO[bytes]) -> str:
    """The address of a started Ray, as soon as it is known."""
    line = answer.readline()
    found = json.loads(line) if line else {"error": "its process ended"}
    if "error" in found:
        raise BadOption(f"cannot be used: {found['error']}", option="on", value="ray")
    return str(found["address"])


def _folder() -> Path:
    base = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="ray-", dir=base if len(base) <= _LONGEST_BASE else Path(os.sep, "tmp")))


def _command(role: str, folder: Path) -> list[str]:
    return [sys.executable, "-P", "-m", __spec__.name, role, str(folder)]


def _end(guardian: subprocess.Popen[bytes]) -> None:
    try:
        guardian.communicate(timeout=_END_S)  # this closes its input, for which the guardian waits
    except subprocess.TimeoutExpired:
        guardian.kill()


# ---------------------------------------------------------------- the guardian, and the process below it


def _guard(folder: Path) -> None:
    """Let a process start Ray, wait until the parent has ended or is done, and kill all descendants."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: None)  # unlike SIG_IGN, not inherited
    if sys.platform == "linux":  # orphaned descendants become children of this process
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with subprocess.Popen(_command(_start.__name__, folder), stdin=subprocess.PIPE):
        os.dup2(2, 1)  # only the other process may write the address
        os.read(0, 1)
        _kill_all_below()
    shutil.rmtree(folder, ignore_errors=True)


def _kill_all_below() -> None:
    while found := psutil.Process().children(recursive=True):
        for each in found:
            with contextlib.suppress(psutil.Error):
                each.kill()
        psutil.wait_procs(found, timeout=_KILL_S)


def _start(folder: Path) -> None:
    """Start Ray, print its address, and keep it while the guardian lives."""
    ray: Any = importlib.import_module("ray")
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    # One processor for our one process: Ray starts one process per processor.
    options = {"num_cpus": 1, "include_dashboard": False, "_temp_dir": str(folder)}
    try:
        context = ray.init("local", log_to_driver=False, configure_logging=False, **options)
    except Exception as error:  # Ray may raise almost any error
        print(json.dumps({"error": shortened(one_line(error) or type(error).__name__, LONGEST)}), flush=True)
        return
    print(json.dumps({"address": context.address_info["gcs_address"]}), flush=True)
    os.read(0, 1)
    ray.shutdown()


def _main(arguments: Sequence[str]) -> None:
    role, folder = arguments
    {each.__name__: each for each in (_guard, _start)}[role](Path(folder))


if __name__ == "__main__":
    _main(sys.argv[1:])
