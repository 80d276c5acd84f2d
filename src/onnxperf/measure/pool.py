"""Workers that outlive a race: the next case of a sweep finds processes that have started already."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from onnxperf.errors import OnnxperfError
from onnxperf.measure.messages import Loaded, Prepared, TimedSplit, WorkerSpec
from onnxperf.measure.process import ProcessWorker

PROCESSES = 3
"""Of each kind: where its memory lies makes a process faster or slower, so no single one may decide all cases."""

_Kind = tuple[str, int]
"""Runtime and threads: both are settled when a process starts."""


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
        """End all idle processes; those at work belong to their race."""
        for workers in self._idle.values():
            for worker in workers:
                worker.close()
        self._idle.clear()

    def launch(self, spec: WorkerSpec) -> PooledWorker:
        """A process for a spec: a new one while there are few, else the one that has been idle longest."""
        kind = (spec.runtime, spec.threads)
        idle = self._idle[kind]
        if spec.runtime == "callable" or not idle or self._started[kind] < PROCESSES:
            self._started[kind] += 1
            return PooledWorker(self, kind, self._start(spec))
        worker = idle.popleft()
        worker.adopt(spec)
        return PooledWorker(self, kind, worker)

    def take_back(self, kind: _Kind, worker: ProcessWorker) -> None:
        """Keep a process for the next race, without what it has loaded; one that has ended, or is a user's, goes."""
        if kind[0] == "callable":
            worker.close()  # a callable of the user may have left anything behind in its process
            return
        if self._is_empty(worker):
            self._idle[kind].append(worker)
        else:
            worker.close()
            self._started[kind] -= 1

    @staticmethod
    def _is_empty(worker: ProcessWorker) -> bool:
        """Have a process drop what it has loaded; False if it cannot."""
        if not worker.idle:
            return False
        try:
            worker.thaw()
            worker.unload()
            worker.freeze()
        except (OnnxperfError, OSError):
            return False
        return True


class PooledWorker:
    """A worker whose process goes back to its pool at the end."""

    def __init__(self, pool: Pool, kind: _Kind, worker: ProcessWorker) -> None:
        self._pool = pool
        self._kind = kind
        self._worker = worker

    def close(self) -> None:
        """Give the process back."""
        self._pool.take_back(self._kind, self._worker)

    def wait_until_ready(self) -> None:
        """Return when the process has imported what it needs."""
        self._worker.wait_until_ready()

    def load(self) -> Loaded:
        """Open the shared session."""
        return self._worker.load()

    def prepare(self, subject: int) -> Prepared:
        """Bind a subject and make its first call."""
        return self._worker.prepare(subject)

    def warm_up(self, subject: int, duration_ns: int) -> float:
        """Call a subject untimed."""
        return self._worker.warm_up(subject, duration_ns)

    def time_block(self, subject: int, calls: int, warm_ns: int) -> tuple[int, int]:
        """Time calls together."""
        return self._worker.time_block(subject, calls, warm_ns)

    def time_each(self, subject: int, calls: int, warm_ns: int) -> list[int]:
        """Time calls one by one."""
        return self._worker.time_each(subject, calls, warm_ns)

    def split_each(self, subject: int, calls: int, warm_ns: int) -> TimedSplit:
        """Time the parts of calls."""
        return self._worker.split_each(subject, calls, warm_ns)

    def compute(self, subject: int) -> tuple[list[str], Any]:
        """Call a subject; returns the names of its values, where they have any, and the values."""
        return self._worker.compute(subject)

    def move_to(self, cpus: tuple[int, ...]) -> None:
        """Use these processors from now on."""
        self._worker.move_to(cpus)

    def freeze(self) -> None:
        """Stop every thread."""
        self._worker.freeze()

    def thaw(self) -> None:
        """Let the threads go on."""
        self._worker.thaw()
