"""The parent's side of a worker: starting, requests, freezing, thawing, and reliable cleanup."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from pathlib import Path
from typing import IO, Any, Protocol, cast

import msgspec

from onnxperf.errors import BadInput, BadModel, SubjectError, WorkerLost
from onnxperf.measure import memory
from onnxperf.measure.messages import Failed, MoveTo, R, Reply, Request, WorkerSpec, decode_reply, encode, handles_of
from onnxperf.measure.shared import send_file
from onnxperf.measure.travelling import folder_of_package
from onnxperf.wording.numbers import plain, size

CAN_FREEZE = hasattr(signal, "SIGSTOP") and hasattr(os, "waitid")

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
)
_OF_OUR_PYTHON = frozenset({"PYTHONHOME", "PYTHONPLATLIBDIR", "__PYVENV_LAUNCHER__"})
"""Variables that would make another interpreter use our libraries."""

_TAIL_BYTES = 4096
_TAIL_LINES = 20
"""How much of a lost worker's output is kept."""
_LOOK_S = 0.1
"""Interval of checking a worker's memory; a check takes about 30 µs."""


class Worker(Protocol):
    """A process that hosts subjects; tests have a fake on a fake clock."""

    cpus: tuple[int, ...]
    """Processors it was moved to; empty before the first move."""

    @property
    def spec(self) -> WorkerSpec:
        """Spec of the hosted subjects."""

    @property
    def home(self) -> object:
        """The process behind it, which other workers may have used before."""

    def wait_until_ready(self) -> None:
        """Return when the process has imported what it needs."""

    def ask(self, request: Request[R]) -> R:
        """Send a request and wait for its reply; an error in the worker is raised here."""

    def freeze(self) -> None:
        """Stop every thread; returns when they have stopped."""

    def thaw(self) -> None:
        """Let the threads continue."""

    def close(self) -> None:
        """End the process, frozen or not."""


def move_to(worker: Worker, cpus: tuple[int, ...]) -> None:
    """Move a worker to these processors, unless there are none or it is already there."""
    if cpus and cpus != worker.cpus:
        worker.ask(MoveTo(cpus))
        worker.cpus = cpus


@contextlib.contextmanager
def open_worker(
    spec: WorkerSpec, *, timeout_s: float, memory_limit_bytes: int | None = None
) -> Iterator[ProcessWorker]:
    """Start a worker; it is always closed at the end."""
    with contextlib.closing(ProcessWorker(spec, timeout_s, memory_limit_bytes)) as worker:
        worker.wait_until_ready()
        yield worker


class ProcessWorker:
    """A worker in its own, freshly started interpreter."""

    def __init__(self, spec: WorkerSpec, timeout_s: float, memory_limit_bytes: int | None = None) -> None:
        self.spec = spec
        self.timeout_s = timeout_s
        self.memory_limit_bytes = memory_limit_bytes
        self.largest_reply_bytes: int | None = None
        """Maximum size of a reply; a worker that sends more is stopped."""
        self.cpus: tuple[int, ...] = ()
        self._watch: Callable[[int], None] | None = None
        self._look_s = _LOOK_S
        self._asked, self._answered = 0, -1
        """Numbers of the last request and the last reply; reply 0 reports that the worker is ready."""
        self._oom_kills = _oom_kills()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        self._pipe, theirs = Pipe()
        handle = theirs.fileno()
        if sys.platform == "win32":
            os.set_handle_inheritable(handle, True)
        try:
            self._process = start_process(spec, handle, self._output)
        except OSError as error:
            self._pipe.close()
            self._output.close()
            is_limit = error.errno in (errno.EAGAIN, errno.ENOMEM)
            advice = "end other processes, or raise their limit" if is_limit else f"Python is at {_python(spec)!r}"
            raise BadInput(f"cannot start a process: {error.strerror or error}; {advice}") from error
        finally:
            theirs.close()

    def wait_until_ready(self) -> None:
        """Return when the process has imported what it needs."""
        if self._answered < 0:
            self._receive()

    @property
    def home(self) -> ProcessWorker:
        """The worker itself, since it has its own process."""
        return self

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def idle(self) -> bool:
        """Whether the process has started, owes no answer, and has not ended as far as known."""
        return self._process.returncode is None and self._answered == self._asked

    @property
    def starting(self) -> bool:
        """Whether the process has not yet reported that it is ready."""
        return self._answered < 0

    @property
    def ended(self) -> bool:
        """Whether the process has ended for any reason; this does not reap it."""
        if CAN_FREEZE and self._process.returncode is None:
            with contextlib.suppress(ChildProcessError):  # another part of this process has reaped it
                return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return self._process.poll() is not None

    def watch(self, look: Callable[[int], None], interval_s: float) -> None:
        """From now on, while the worker is busy, call `look` with its process id at this interval."""
        limited = self.memory_limit_bytes is not None
        self._watch, self._look_s = look, min(interval_s, _LOOK_S) if limited else interval_s

    def ask(self, request: Request[R]) -> R:
        """Send a request and wait for its reply; an error in the worker is raised here."""
        self._asked += 1
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # waiting for the reply reveals the reason
            self._pipe.send_bytes(encode((self._asked, request)))
            for handle in handles_of(request):
                send_file(self._pipe.fileno(), handle)
        return cast("R", self._receive())

    def freeze(self) -> None:
        """Stop the process and its children, and wait until the kernel confirms it."""
        if CAN_FREEZE:
            self._signal(signal.SIGSTOP)
            # WNOWAIT leaves the state readable: if the process dies here, the next request reports it.
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        """Let the process and its children continue."""
        if CAN_FREEZE:
            self._signal(signal.SIGCONT)

    def close(self) -> None:
        """Kill the process and its children; they have nothing to save."""
        if hasattr(signal, "SIGKILL"):
            self._signal(signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()
        self._pipe.close()
        self._output.close()

    def _signal(self, number: int) -> None:
        """Signal the worker's process group, unless the worker was reaped and its id may have been reused."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _receive(self) -> Reply:
        """Sleep until the worker answers; the parent must not disturb the measurement."""
        while True:
            try:
                if not self._wait():
                    self.close()
                    raise WorkerLost("timeout", f"no answer within {plain(self.timeout_s)} s (increase `timeout`)")
                self._answered, reply = decode_reply(self._pipe.recv_bytes(self.largest_reply_bytes))
            except (EOFError, ConnectionResetError, BrokenPipeError) as error:
                raise self._death() from error
            except OSError as error:  # the pipe rejects larger messages
                self.close()
                most = size(self.largest_reply_bytes or 0)
                raise WorkerLost("oom", f"its answer is larger than {most}") from error
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                self.close()
                raise WorkerLost("crashed", "its answer is damaged") from error
            if self._answered == self._asked:  # after Ctrl-C, the reply to the interrupted request comes first
                break
        if isinstance(reply, Failed):
            raise BadModel(reply.reason) if reply.bad_input else SubjectError(reply.status, reply.reason)
        return reply

    def _wait(self) -> bool:
        """Whether the worker answers in time; meanwhile its memory is checked."""
        if self.memory_limit_bytes is None and self._watch is None:
            return self._pipe.poll(self.timeout_s)
        end_s = time.monotonic() + self.timeout_s
        while (left_s := end_s - time.monotonic()) > 0:
            answered = self._pipe.poll(min(self._look_s, left_s))
            if self._watch is not None:
                self._watch(self._process.pid)
            self._keep_to_limit()
            if answered:
                return True
        return False

    def _keep_to_limit(self) -> None:
        if self.memory_limit_bytes is None:
            return
        pid = self._process.pid
        peak = memory.peak_bytes(pid) or memory.resident_bytes(pid)
        if peak > self.memory_limit_bytes:
            self.close()
            limit = size(self.memory_limit_bytes)
            raise WorkerLost("oom", f"needed at least {size(peak)}, more than the {limit} of `memory_limit`")

    def _death(self) -> WorkerLost:
        """How the process died; its remaining children are killed."""
        if CAN_FREEZE:
            # Until the dead process is reaped, its id still belongs to its group.
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            self._signal(signal.SIGKILL)
        code = self._process.wait()
        output = self._last_output()
        last = f": {output[-1].strip()}" if output else ""
        number, tail = (-code if code < 0 else None), "\n".join(output[-_TAIL_LINES:])
        if code == -getattr(signal, "SIGKILL", 9):
            if _oom_kills() > self._oom_kills:
                return WorkerLost("oom", "killed by the kernel: out of memory", number, tail)
            return WorkerLost("crashed", "killed by SIGKILL from outside", number, tail)
        if code < 0:
            return WorkerLost("crashed", f"killed by {signal.Signals(-code).name}{last}", number, tail)
        return WorkerLost("crashed", f"its process ended with exit code {code}{last}", number, tail)

    def _last_output(self) -> list[str]:
        """The last lines of the process's output."""
        self._output.seek(max(0, self._output.seek(0, os.SEEK_END) - _TAIL_BYTES))
        return self._output.read().decode("utf-8", "replace").strip().splitlines()


def start_process(spec: WorkerSpec, handle: int, output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start the interpreter of a worker, which inherits its end of the pipe and writes to a file."""
    module = ["-P", "-m", "onnxperf.measure.worker"]
    return subprocess.Popen(
        [*spec.wrapper, _python(spec), *module, str(handle), str(os.getpid()), spec.runtime],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=environment_of(spec),
        **_popen_options(handle),
    )


def _python(spec: WorkerSpec) -> str:
    return spec.python or sys.executable


def _popen_options(handle: int) -> dict[str, Any]:
    """A separate process group: Ctrl-C reaches only the parent, and freezing includes grandchildren."""
    if sys.platform == "win32":
        return {"close_fds": False}
    return {"pass_fds": (handle,), "process_group": 0}


def environment_of(spec: WorkerSpec) -> dict[str, str]:
    """Environment variables of a worker: thread counts and the parent's module search path.

    Another interpreter has its own modules and finds only this package here, never our onnxruntime.
    """
    ours = spec.python is None
    paths = [path or str(Path.cwd()) for path in sys.path] if ours else [str(folder_of_package())]
    variables = {name: value for name, value in os.environ.items() if ours or name not in _OF_OUR_PYTHON}
    return {
        **variables,
        **dict.fromkeys(_THREAD_VARIABLES, str(spec.threads)),
        "TF_NUM_INTEROP_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONWARNINGS": "ignore",
        **({"PYTHONHASHSEED": "0"} if spec.wrapper else {}),  # the order of sets must not change a count
    }


def _oom_kills() -> int:
    """Number of processes killed by the kernel for lack of memory; 0 if unknown."""
    with contextlib.suppress(OSError):
        for line in (memory.PROC / "vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
