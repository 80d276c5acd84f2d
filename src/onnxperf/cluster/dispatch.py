"""Decides which job runs where: every job once, one at a time on each node, on nodes that are alive."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from onnxperf.cluster.base import Cluster, ClusterNode, Ended, Event, NodeJob

POLL_S = 0.5
"""Interval between checks of the cluster: nodes may have joined, and reports are shown."""
GRACE_S = 8.0
"""Time limit for jobs asked to stop: a race stops between two blocks."""


class Dispatcher:
    """Assigns jobs to nodes; a lost job is not rerun."""

    def __init__(self, jobs: Iterable[NodeJob], cluster: Cluster, clock: Callable[[], float] = time.monotonic) -> None:
        self._waiting = deque(jobs)
        self._running: dict[ClusterNode, NodeJob] = {}
        self._cluster = cluster
        self._clock = clock

    @property
    def waiting(self) -> list[NodeJob]:
        """Jobs that have not begun."""
        return list(self._waiting)

    @property
    def running(self) -> dict[ClusterNode, NodeJob]:
        """The current job of each node."""
        return dict(self._running)

    def events(self, look: Callable[[], None] = lambda: None) -> Iterator[Event]:
        """Run all jobs, until none is left or no node can run the remaining ones; `look` is called periodically."""
        while self._waiting or self._running:
            yield from self._begin()
            if not self._running and not self._cluster.joining:
                return
            yield from self._ended(POLL_S)
            look()

    def stop(self) -> Iterator[Event]:
        """Let running jobs end early; those that take too long, or end without a result, stay in `running`."""
        self._cluster.stop()
        end, unanswered = self._clock() + GRACE_S, dict[ClusterNode, NodeJob]()
        while self._running and (left := end - self._clock()) > 0:
            for event in self._ended(min(POLL_S, left)):
                if event.kind == "lost":  # most likely because of the interruption
                    unanswered[event.node] = event.job
                else:
                    yield event
        self._running |= unanswered

    def _begin(self) -> Iterator[Event]:
        for node in self._cluster.nodes():
            if node in self._running:
                continue
            job = self._next(node)
            if job is None:
                self._cluster.release(node)
                continue
            load = job.pack()
            self._waiting.remove(job)
            self._running[node] = job
            yield Event("begun", job, node)  # reported before it runs
            self._cluster.start(node, load)

    def _next(self, node: ClusterNode) -> NodeJob | None:
        return next((job for job in self._waiting if job.node in ("", node.name)), None)

    def _ended(self, seconds: float) -> Iterator[Event]:
        for ended in self._cluster.wait(seconds):
            yield _event(self._running.pop(ended.node), ended)


def _event(job: NodeJob, ended: Ended) -> Event:
    if ended.answer is None:
        return Event("lost", job, ended.node, reason=ended.reason)
    return Event("answered", job, ended.node, ended.answer)
