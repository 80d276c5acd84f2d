"""Workers that outlive a race: the next case of a sweep finds processes that have started already."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

from onnxperf.errors import OnnxperfError
from onnxperf.measure.messages import Load, R, Request, WorkerSpec
from onnxperf.measure.process import ProcessWorker

PROCESSES = 3
"""Of each kind: where its memory lies makes a process faster or slower, so no single one may decide all cases."""

_Kind = tuple[str, int, str | None]
"""Runtime, threads and interpreter: all are settled when a process starts."""


class Pool:
    """Processes of several kinds; use as a context manager, so that none outlives it."""

    def __init__(self, start: Callable[[WorkerSpec], ProcessWorker]) -> None:
        self._start = start
        self._idle: dict[_Kind, deque[ProcessWorker]] = defaultdict(deque)
        self._started: dict[_Kind, int] = defaultdict(int)

    def __enter__(self) -> Pool:
        """Nothing runs before the first launch."""
        return self

    def __exit__(self, *error: object) -> None:
        """End all idle processes; busy ones belong to their race."""
        for workers in self._idle.values():
            for worker in workers:
                worker.close()
        self._idle.clear()

    def launch(self, spec: WorkerSpec) -> PooledWorker:
        """A process for a spec: a new one while there are few, else the one that has been idle longest."""
        kind = _kind(spec)
        idle = self._idle[kind]
        if spec.runtime != "callable" and idle and self._started[kind] >= PROCESSES:
            return PooledWorker(spec, idle.popleft(), self)
        self._started[kind] += 1
        return PooledWorker(spec, self._start(spec), self)

    def take_back(self, process: ProcessWorker) -> None:
        """Keep a process for the next race, without what it has loaded; one that cannot be used again is closed."""
        kind = _kind(process.spec)
        # A callable of the user may have left anything behind in its process.
        if process.spec.runtime != "callable" and _unloaded(process):
            self._idle[kind].append(process)
        else:
            process.close()
            self._started[kind] -= 1


def _kind(spec: WorkerSpec) -> _Kind:
    return spec.runtime, spec.threads, spec.python


def _unloaded(process: ProcessWorker) -> bool:
    """Whether a process could drop what it has loaded, and is frozen now."""
    if not process.idle:
        return False
    runtime, threads, python = _kind(process.spec)
    nothing = WorkerSpec(subjects=(), threads=threads, feeds={}, runtime=runtime, python=python)
    try:
        process.thaw()
        process.ask(Load(nothing))
        process.freeze()
    except (OnnxperfError, OSError):
        return False
    process.spec = nothing  # an idle process keeps no inputs in memory here either
    return True


@dataclass(eq=False)
class PooledWorker:
    """A worker whose process goes back to its pool at the end."""

    spec: WorkerSpec
    process: ProcessWorker
    pool: Pool
    cpus: tuple[int, ...] = ()

    @property
    def home(self) -> ProcessWorker:
        """The process, which other workers had before."""
        return self.process

    def wait_until_ready(self) -> None:
        """Return when the process has imported what it needs."""
        self.process.wait_until_ready()

    def ask(self, request: Request[R]) -> R:
        """Send a request and wait for its reply."""
        return self.process.ask(request)

    def freeze(self) -> None:
        """Stop every thread."""
        self.process.freeze()

    def thaw(self) -> None:
        """Let the threads continue."""
        self.process.thaw()

    def close(self) -> None:
        """Give the process back."""
        self.pool.take_back(self.process)
