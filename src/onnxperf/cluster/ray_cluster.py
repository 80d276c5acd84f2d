"""A Ray cluster: one process on each node that reserves the whole node, and runs one job at a time."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnxperf.cluster.base import ClusterNode, Contents, Ended, JobLoad, NodeReport
from onnxperf.cluster.local_ray import LONGEST
from onnxperf.cluster.node import NodeRunner, Reports, versions_here
from onnxperf.cluster.ray_connection import connected, silence
from onnxperf.wording.names import one_line, shortened

RESOURCE = "onnxperf_node"
"""If nodes have this resource, only they get jobs, and a job takes one unit of it instead of all processors."""
_REPORT_S = 2.0
_CLOSE_S = 5.0
_MOST_TRIES = 3
"""Number of processes that may fail to start on a node before it is ignored."""


@dataclass(eq=False)
class _Process:
    """Our process on a node, and its pending request."""

    node: ClusterNode
    actor: Any
    asked: Any
    """Its next answer; None if it is idle."""
    ready: bool = False
    """It has reported its versions."""


@contextlib.contextmanager
def open_cluster(on: str, warn: Callable[[str], None]) -> Iterator[RayCluster]:
    """The cluster at an address, or our own on this machine; `warn` receives problems with nodes."""
    with connected(on) as ray:
        cluster = RayCluster(ray, warn)
        try:
            yield cluster
        finally:
            cluster.close()


class RayCluster:
    """The nodes of the Ray that this process is connected to."""

    def __init__(self, ray: Any, warn: Callable[[str], None]) -> None:
        self._ray = ray
        self._warn = warn
        self._processes: dict[str, _Process] = {}
        self._left_alone: set[str] = set()
        """Nodes that get no (further) job."""
        self._tries: Counter[str] = Counter()
        self._names: dict[str, str] = {}
        """Names of all nodes ever seen: a name does not change while others come and go."""
        self._files: dict[str, Any] = {}
        self._reports = ray.remote(Reports).options(num_cpus=0).remote()

    @property
    def joining(self) -> bool:
        """Whether one of our processes has not answered yet; on a busy node, it waits for its turn."""
        return any(not each.ready for each in self._processes.values())

    def alive(self) -> Sequence[ClusterNode]:
        """The nodes that are alive and may take jobs."""
        return list(self._alive())

    def nodes(self) -> Sequence[ClusterNode]:
        """The nodes that are alive and on which our process is ready."""
        alive = self._alive()
        for node, resources in alive.items():
            if node.id not in self._processes and node.id not in self._left_alone:
                self._processes[node.id] = self._process(node, resources)
        return [each.node for each in self._processes.values() if each.ready and each.node in alive]

    def start(self, node: ClusterNode, load: JobLoad) -> None:
        """Assign a job to a node; its files are sent when the node requests them."""
        process = self._processes[node.id]
        files = {name: self._put(name, contents) for name, contents in load.files.items()}
        process.asked = process.actor.run.remote(load.function, load.payload, files, self._reports, node.id)

    def wait(self, seconds: float) -> Sequence[Ended]:
        """Jobs that have ended; processes that have reported their versions become ready."""
        asked = {each.asked: each for each in self._processes.values() if each.asked is not None}
        if not asked:
            return []
        answered, _ = self._ray.wait(list(asked), num_returns=1, timeout=seconds)
        ended = []
        for reference in answered:
            process = asked[reference]
            process.asked = None
            if process.ready:
                ended.append(self._ended(process, reference))
            else:
                self._admit(process, reference)
        return ended

    def reports(self) -> Mapping[str, NodeReport]:
        """The activity of the nodes; empty if unknown."""
        try:
            notes = self._ray.get(self._reports.notes.remote(), timeout=_REPORT_S)
        except self._ray.exceptions.RayError:
            return {}
        return {name: NodeReport(*note) for name, note in notes.items()}

    def release(self, node: ClusterNode) -> None:
        """End our process on a node."""
        self._left_alone.add(node.id)
        process = self._processes.pop(node.id, None)
        if process is not None:
            self._end([process])

    def stop(self) -> None:
        """Interrupt all jobs."""
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.get(self._reports.stop.remote(), timeout=_REPORT_S)

    def close(self) -> None:
        """End our processes on all nodes."""
        processes, self._processes = list(self._processes.values()), {}
        self._end(processes)
        self._ray.kill(self._reports)
        self._files.clear()

    # ---------------------------------------------------------------- nodes

    def _alive(self) -> dict[ClusterNode, Mapping[str, float]]:
        """The nodes that may take jobs, with their resources."""
        alive = [each for each in self._ray.nodes() if each["Alive"]]
        chosen = [each for each in alive if each["Resources"].get(RESOURCE, 0) >= 1]
        usable = chosen or [each for each in alive if each["Resources"].get("CPU", 0) >= 1]
        return {self._named(each): each["Resources"] for each in usable}

    def _named(self, found: Mapping[str, Any]) -> ClusterNode:
        number, name = str(found["NodeID"]), _name(found)
        if number not in self._names:
            self._names[number] = f"{name}-{number[:4]}" if name in self._names.values() else name
        return ClusterNode(number, self._names[number])

    def _process(self, node: ClusterNode, resources: Mapping[str, float]) -> _Process:
        """A process that reserves a whole node; it dies with this one, and Ray never restarts it."""
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)
        whole = {"num_cpus": resources.get("CPU", 0), "num_gpus": resources.get("GPU", 0)}
        taken = {"num_cpus": 0, "resources": {RESOURCE: 1}} if resources.get(RESOURCE, 0) >= 1 else whole
        with silence():
            made = self._ray.remote(NodeRunner).options(
                **taken, scheduling_strategy=strategy, max_restarts=0, max_task_retries=0
            )
            actor = made.remote()
        return _Process(node, actor, actor.versions.remote())

    def _admit(self, process: _Process, answer: Any) -> None:
        """A node with the same versions becomes ready; others are ignored."""
        node = process.node
        try:
            found, ours = self._ray.get(answer), versions_here()
            wrong = [f"{what} {found.get(what) or '?'} instead of {each}" for what, each in ours.items()]
            problem = "" if found == ours else f"it has {'; '.join(wrong)}; install the same versions there"
        except self._ray.exceptions.RayError as error:
            del self._processes[node.id]
            self._tries[node.id] += 1
            missing = "No module named 'onnxperf" in str(error)
            if self._tries[node.id] < _MOST_TRIES and not missing:
                return  # retried if the node is still alive
            cause = shortened(one_line(error), LONGEST)
            problem = "onnxperf is not installed there" if missing else f"no process can be started there: {cause}"
        if problem:
            self._warn(f"the node {node.name} is not used: {problem}")
            self.release(node)
        else:
            process.ready = True

    # ---------------------------------------------------------------- jobs

    def _ended(self, process: _Process, answer: Any) -> Ended:
        node, errors = process.node, self._ray.exceptions
        try:
            return Ended(node, self._ray.get(answer))
        except errors.RayTaskError as error:  # a bug of ours
            cause = error.cause or error
            reason = f"unexpected {type(cause).__name__} on the node {node.name}: {one_line(cause)}"
            return Ended(node, None, shortened(reason, LONGEST))
        except errors.RayError as error:
            self._processes.pop(node.id, None)
            self._kill(process)  # it may just be unreachable
            return Ended(node, None, self._cause(node, error))

    def _cause(self, node: ClusterNode, error: Exception) -> str:
        if node not in self._alive() or "node has died" in str(error) or "node was terminated" in str(error):
            return f"the node {node.name} died"
        if isinstance(error, self._ray.exceptions.ActorUnavailableError):
            return f"the node {node.name} died or is unreachable"
        return f"the process on the node {node.name} was killed"

    def _put(self, name: str, contents: Contents) -> Any:
        """A reference to the contents of a file, which are put into the object store once."""
        if name not in self._files:
            import numpy as np

            array = np.fromfile(contents, "uint8") if isinstance(contents, Path) else np.frombuffer(contents, "uint8")
            self._files[name] = self._ray.put(array)
        return self._files[name]

    def _end(self, processes: Sequence[_Process]) -> None:
        """Let idle processes remove their files, and end all processes; workers die with them."""
        idle = [each.actor.close.remote() for each in processes if each.ready and each.asked is None]
        with contextlib.suppress(self._ray.exceptions.RayError):
            if idle:
                self._ray.wait(idle, num_returns=len(idle), timeout=_CLOSE_S)
        for each in processes:
            self._kill(each)

    def _kill(self, process: _Process) -> None:
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.kill(process.actor)


def _name(node: Mapping[str, Any]) -> str:
    """The node's assigned name, else its host name."""
    name, address = str(node.get("NodeName", "")), str(node["NodeManagerAddress"])
    return name if name and name != address else str(node["NodeManagerHostname"]) or address
