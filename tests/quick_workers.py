"""Workers of tests: real processes, forked from one that has imported all, in 20 ms instead of 300. Run as a script."""

from __future__ import annotations

import ctypes
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

_PR_SET_CHILD_SUBREAPER = 36
_LARGEST_REQUEST = 1 << 17
_PRELOADED = (
    "onnx",
    "onnxruntime",
    "psutil",
    "onnxperf.measure.worker.serve",
    "onnxperf.measure.worker.quantizing",
    "onnxperf.measure.worker.reading",
    "onnxperf.runtimes.ort.session",
    "onnxperf.runtimes.ort.calls",
    "onnxperf.runtimes.numpy.session",
    "onnxperf.runtimes.reference",
)
"""What workers import for onnx models; other frameworks are imported by the workers that need them, as always."""
SKLEARN = ("sklearn.cluster", "sklearn.ensemble", "sklearn.linear_model")
"""What most estimators need; only workers of estimators may have it, as they report what is imported."""


class ForkedProcess:
    """What a worker needs of `subprocess.Popen`, for a child that somebody else forked for us."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        """The exit code, when it has ended."""
        code = self._reap(0)
        assert code is not None
        return code

    def kill(self) -> None:
        """End it, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, 9)

    def _reap(self, options: int) -> int | None:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:  # as in subprocess: another part of this process has reaped it
                pid, status = self.pid, 0
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


class Forge:
    """A process that forks workers; they become children of this process."""

    def __init__(self, *modules: str) -> None:
        """Name what workers need besides what runs onnx models."""
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, json.dumps(sys.path), str(theirs.fileno()), *modules],
                pass_fds=[theirs.fileno()],
                process_group=0,  # Ctrl-C is for the tests alone
            )

    def start(self, runtime: str, handle: int, output: int, variables: Mapping[str, str]) -> ForkedProcess:
        """Fork a worker with its pipe, its output and its environment."""
        request = json.dumps([runtime, dict(variables), str(Path.cwd()), os.getpid()]).encode()
        with self._lock:
            # An orphan becomes a child of the next ancestor that asks for orphans: this process, for a moment.
            _ask_for_orphans(True)
            try:
                socket.send_fds(self._socket, [request], [handle, output])
                answer = self._socket.recv(100)
            finally:
                _ask_for_orphans(False)
        assert answer, "the process that forks workers has ended"
        return ForkedProcess(int(answer))

    def close(self) -> None:
        """End it; workers stay."""
        self._socket.close()
        self._process.wait()


def _ask_for_orphans(wanted: bool) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


# ---------------------------------------------------------------- in the process that forks


def main() -> None:
    """Import what workers need, and fork one for every request."""
    import importlib

    path, own_end, *modules = sys.argv[1:]
    sys.path[:] = json.loads(path)
    warnings.simplefilter("ignore")
    for module in (*_PRELOADED, *modules):
        importlib.import_module(module)
    channel = socket.socket(fileno=int(own_end))
    while True:
        request, handles, _, _ = socket.recv_fds(channel, _LARGEST_REQUEST, 2)
        if not request:
            return
        between = os.fork()
        if not between:
            # The worker loses its parent at once, and gets the one that asked for it.
            if os.fork():
                os._exit(0)
            _work(channel, handles, *json.loads(request))
        os.waitpid(between, 0)
        for handle in handles:
            os.close(handle)


def _work(
    channel: socket.socket,
    handles: Sequence[int],
    runtime: str,
    variables: Mapping[str, str],
    folder: str,
    parent: int,
) -> NoReturn:
    code = 1
    try:
        handle, output = handles
        _begin(channel, output, variables, folder, parent)
        from onnxperf.measure.worker.serve import serve

        serve(handle, parent, runtime)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
        if not isinstance(error.code, int):
            print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def _begin(channel: socket.socket, output: int, variables: Mapping[str, str], folder: str, parent: int) -> None:
    """Be what a freshly started interpreter is, and tell the parent which process that is."""
    os.setpgid(0, 0)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nowhere, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.close(nowhere)
    os.close(output)
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)
    sys.path[:] = variables["PYTHONPATH"].split(os.pathsep)
    tempfile.tempdir = None
    random.seed()
    numpy: Any = sys.modules["numpy"]
    numpy.random.seed()
    while os.getppid() != parent:
        time.sleep(0.0002)
    with channel:
        channel.send(str(os.getpid()).encode())


if __name__ == "__main__":
    main()
