"""The parent's side of a worker: start it, ask it, freeze and thaw it, and make sure that it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from onnxperf.errors import BadModel, SubjectError, WorkerLost
from onnxperf.measure import messages, packing
from onnxperf.measure.memory import peak_bytes, resident_bytes
from onnxperf.measure.messages import Failed, Loaded, Prepared, TimedSplit, WorkerSpec
from onnxperf.records import StepName

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

_TAIL_BYTES = 4096
_TAIL_LINES = 20
"""Of what a lost worker said, this is kept."""
_LOOK_S = 0.1
"""Between two looks at a worker's memory; they take some 30 us."""

R = TypeVar("R")


class Worker(Protocol):
    """What the race needs of a worker; tests give it a fake with a fake clock."""

    def wait_until_ready(self) -> None:
        """Return when the process has imported what it needs."""

    def load(self) -> Loaded:
        """Open the shared session."""

    def prepare(self, subject: int) -> Prepared:
        """Bind a subject and make its first call."""

    def warm_up(self, subject: int, duration_ns: int) -> float:
        """Call a subject untimed; returns the time of a call in ns."""

    def time_block(self, subject: int, calls: int, warm_ns: int) -> tuple[int, int]:
        """Time calls together; returns start and duration in ns."""

    def time_each(self, subject: int, calls: int, warm_ns: int) -> list[int]:
        """Time calls one by one."""

    def split_each(self, subject: int, calls: int, warm_ns: int) -> TimedSplit:
        """Time the parts of calls."""

    def compute(self, subject: int) -> tuple[list[str], Any]:
        """Call a subject; returns the names of its values, where they have any, and the values."""

    def move_to(self, cpus: tuple[int, ...]) -> None:
        """Use these processors from now on."""

    def freeze(self) -> None:
        """Stop every thread; returns when they have stopped."""

    def thaw(self) -> None:
        """Let the threads go on."""

    def close(self) -> None:
        """End the process, frozen or not."""


class ProcessWorker:
    """A worker in a freshly started interpreter of its own."""

    def __init__(self, spec: WorkerSpec, timeout_s: float, memory_limit_bytes: int | None = None) -> None:
        self._spec = spec
        self._timeout_s = timeout_s
        self._memory_limit_bytes = memory_limit_bytes
        self._watch: Callable[[int], None] | None = None
        self._look_s = _LOOK_S
        self._cpus: tuple[int, ...] = ()
        self._ready = self._busy = False
        self._oom_kills = _oom_kills()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        self._pipe, theirs = Pipe()
        handle = theirs.fileno()
        if sys.platform == "win32":
            os.set_handle_inheritable(handle, True)
        command = [sys.executable, "-P", "-m", "onnxperf.measure.worker", str(handle), str(os.getpid()), spec.runtime]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            env=_environment(spec.threads),
            **_popen_options(handle),
        )
        theirs.close()

    def wait_until_ready(self) -> None:
        """Return when the process has imported what it needs."""
        if not self._ready:
            self._receive(messages.Ready)
            self._ready = True

    @property
    def idle(self) -> bool:
        """Whether the process has not ended, as far as is known, and owes no answer."""
        return self._process.returncode is None and not self._busy

    def adopt(self, spec: WorkerSpec) -> None:
        """Host another spec of the same runtime and number of threads from the next load on."""
        self._spec = spec

    def unload(self) -> None:
        """Drop the session and the inputs."""
        self.wait_until_ready()
        self._ask(messages.Load(replace(self._spec, subjects=(), model_path=None, feeds={}, more_feeds=())), Loaded)

    def load(self) -> Loaded:
        """Open the shared session."""
        return self._ask(messages.Load(self._spec), Loaded)

    def prepare(self, subject: int) -> Prepared:
        """Bind a subject and make its first call."""
        return self._ask(messages.Prepare(subject), Prepared)

    def warm_up(self, subject: int, duration_ns: int) -> float:
        """Call a subject untimed."""
        return self._ask(messages.WarmUp(subject, duration_ns), messages.WarmedUp).call_ns

    def time_block(self, subject: int, calls: int, warm_ns: int) -> tuple[int, int]:
        """Time calls together."""
        timed = self._ask(messages.TimeBlock(subject, calls, warm_ns), messages.TimedBlock)
        return timed.start_ns, timed.duration_ns

    def time_each(self, subject: int, calls: int, warm_ns: int) -> list[int]:
        """Time calls one by one."""
        return self._ask(messages.TimeEach(subject, calls, warm_ns), messages.TimedEach).call_ns

    def split_each(self, subject: int, calls: int, warm_ns: int) -> TimedSplit:
        """Time the parts of calls."""
        return self._ask(messages.SplitEach(subject, calls, warm_ns), TimedSplit)

    def call_each(self, subject: int, calls: int) -> list[int]:
        """Time calls one by one, and make no others."""
        return self._ask(messages.CallEach(subject, calls), messages.TimedEach).call_ns

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def sample_stack(self, subject: int, calls: int, interval_s: float) -> bytes:
        """Call a subject while its Python stack is sampled; returns pyinstrument's session as JSON."""
        return self._ask(messages.SampleStack(subject, calls, interval_s), messages.SampledStack).session

    def call_for(self, subject: int, duration_ns: int) -> int:
        """Call a subject for a while, for others to watch; returns the number of calls."""
        return self._ask(messages.CallFor(subject, duration_ns), messages.CalledFor).calls

    def track_allocations(self, subject: int, calls: int, path: Path) -> Path:
        """Call a subject while memray writes this file."""
        request = messages.TrackAllocations(subject, calls, str(path))
        return Path(self._ask(request, messages.TrackedAllocations).path)

    def end_recording(self) -> Path:
        """Have the trace written; returns its file."""
        return Path(self._ask(messages.EndRecording(), messages.Recorded, after_interrupt=True).path)

    def hold(self) -> None:
        """Take over the inputs, and load nothing yet."""
        self._ask(messages.Hold(self._spec), messages.Held)

    def probe(self, step: StepName) -> messages.ProbedStep:
        """Take a step of the first subject; returns what memory it needed."""
        return self._ask(messages.ProbeStep(step), messages.ProbedStep)

    def call_many(self, calls: int) -> messages.CalledMany:
        """Call the first subject often; returns what memory is left in use."""
        return self._ask(messages.CallMany(calls), messages.CalledMany)

    def watch(self, look: Callable[[int], None], interval_s: float) -> None:
        """From now on, while the worker is at work, call `look` with the number of its process again and again."""
        limited = self._memory_limit_bytes is not None
        self._watch, self._look_s = look, min(interval_s, _LOOK_S) if limited else interval_s

    def trace_lines(self, subject: int) -> messages.TracedLines:
        """Call a function once, and read memory between its lines."""
        return self._ask(messages.TraceLines(subject), messages.TracedLines)

    def compute(self, subject: int, everything: bool = False) -> tuple[list[str], Any]:
        """Call a subject; returns the names of its values, where they have any, and the values."""
        computed = self._ask(messages.Compute(subject, everything), messages.Computed)
        return computed.names, packing.unpack_value(computed.value)

    def move_to(self, cpus: tuple[int, ...]) -> None:
        """Use these processors from now on."""
        if cpus != self._cpus:
            self._ask(messages.MoveTo(cpus), messages.Moved)
            self._cpus = cpus

    def freeze(self) -> None:
        """Stop the process and its children, and wait until the kernel confirms it."""
        if CAN_FREEZE:
            self._signal(signal.SIGSTOP)
            # WNOWAIT leaves the state to be read again: a death in between belongs to the next request.
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self) -> None:
        """Let the process and its children go on."""
        if CAN_FREEZE:
            self._signal(signal.SIGCONT)

    def close(self) -> None:
        """Kill the process and its children; there is nothing in them worth a farewell."""
        if hasattr(signal, "SIGKILL"):
            self._signal(signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()
        self._pipe.close()
        self._output.close()

    def _signal(self, number: int) -> None:
        """Signal the worker's process group, unless the worker was reaped and its number may be another's."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _ask(self, request: messages.Request, kind: type[R], after_interrupt: bool = False) -> R:
        """Ask and wait; after Ctrl-C, the answer to what was interrupted may come first."""
        self._busy = True
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the reply will tell why
            self._pipe.send_bytes(messages.encode(request))
        return self._receive(kind, after_interrupt)

    def _receive(self, kind: type[R], after_interrupt: bool = False) -> R:
        """Sleep until the worker answers; the parent must not disturb what is being measured."""
        try:
            if not self._wait():
                self.close()
                raise WorkerLost("timeout", f"no answer within {self._timeout_s:g} s (change with --timeout)")
            reply = messages.decode_reply(self._pipe.recv_bytes())
        except (EOFError, ConnectionResetError, BrokenPipeError) as error:
            raise self._death() from error
        self._busy = False
        if isinstance(reply, Failed):
            raise BadModel(reply.reason) if reply.bad_input else SubjectError(reply.status, reply.reason)
        if after_interrupt and not isinstance(reply, kind):
            return self._receive(kind)
        assert isinstance(reply, kind)  # noqa: S101 - both sides are ours
        return reply

    def _wait(self) -> bool:
        """Whether the worker answers in time; it may be looked at meanwhile."""
        if self._memory_limit_bytes is None and self._watch is None:
            return self._pipe.poll(self._timeout_s)
        end_s = time.monotonic() + self._timeout_s
        while (left_s := end_s - time.monotonic()) > 0:
            answered = self._pipe.poll(min(self._look_s, left_s))
            if self._watch is not None:
                self._watch(self._process.pid)
            self._keep_to_limit()
            if answered:
                return True
        return False

    def _keep_to_limit(self) -> None:
        if self._memory_limit_bytes is None:
            return
        pid = self._process.pid
        peak = peak_bytes(pid) or resident_bytes(pid)
        if peak > self._memory_limit_bytes:
            self.close()
            limit, used = (f"{size / 2**20:.0f} MiB" for size in (self._memory_limit_bytes, peak))
            raise WorkerLost("oom", f"needed {used} of memory, more than the {limit} of --memory-limit")

    def _death(self) -> WorkerLost:
        """Say how the process died, and end the children that it leaves behind."""
        if CAN_FREEZE:
            # Until the dead process is reaped, its number still belongs to its group.
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            self._signal(signal.SIGKILL)
        code = self._process.wait()
        said = self._said()
        last = f": {said[-1].strip()}" if said else ""
        number, tail = (-code if code < 0 else None), "\n".join(said[-_TAIL_LINES:])
        if code == -getattr(signal, "SIGKILL", 9):
            if _oom_kills() > self._oom_kills:
                return WorkerLost("oom", "killed by the kernel: out of memory", number, tail)
            return WorkerLost("crashed", "killed by SIGKILL from outside", number, tail)
        if code < 0:
            return WorkerLost("crashed", f"killed by {signal.Signals(-code).name}{last}", number, tail)
        return WorkerLost("crashed", f"its process ended with exit code {code}{last}", number, tail)

    def _said(self) -> list[str]:
        """The last lines that the process wrote."""
        self._output.seek(max(0, self._output.seek(0, os.SEEK_END) - _TAIL_BYTES))
        return self._output.read().decode("utf-8", "replace").strip().splitlines()


def _popen_options(handle: int) -> dict[str, Any]:
    """A process group of its own: Ctrl-C reaches only the parent, and freezing includes grandchildren."""
    if sys.platform == "win32":
        return {"close_fds": False}
    return {"pass_fds": (handle,), "process_group": 0}


def _environment(threads: int) -> dict[str, str]:
    """Thread counts are set before any library is imported; modules are found where the parent finds them."""
    paths = [path or str(Path.cwd()) for path in sys.path]
    return {
        **os.environ,
        **dict.fromkeys(_THREAD_VARIABLES, str(threads)),
        "TF_NUM_INTEROP_THREADS": "1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONWARNINGS": "ignore",
    }


def _oom_kills() -> int:
    """How often the kernel has killed for lack of memory, where it tells."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
