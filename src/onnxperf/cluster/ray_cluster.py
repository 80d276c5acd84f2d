"""A cluster of Ray: one process on each node that reserves all of it, and runs one job at a time."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import signal
import socket
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnxperf.cluster.base import ClusterNode, Contents, Ended, JobLoad, NodeReport
from onnxperf.cluster.node import NodeRunner, Reports, versions_here
from onnxperf.errors import BadOption, required
from onnxperf.wording.names import one_line, shortened

LOCAL = "ray"
"""A Ray of our own, on this machine."""
RESOURCE = "onnxperf_node"
"""Where nodes have this resource, only they take jobs, and a job takes one of it instead of all processors."""
_ADDRESS = re.compile(r"auto|(ray://)?(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+):(?P<port>\d{1,5})")
_CONNECT_S = 5.0
_REPORT_S = 2.0
_CLOSE_S = 5.0
_MOST_TRIES = 3
"""Processes that may fail to start on a node before it is left alone."""
_LONGEST = 200
"""Characters of what Ray says."""
_LONGEST_BASE = 40
"""Characters of the folder of Ray's sockets, whose paths may not have more than 107."""
_OF_LOCAL_RAY = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # 15 unless set: others on the machine would come first
    "RAY_memory_monitor_refresh_ms": "0",  # or it would end a case that the kernel lets live
}


@dataclass(eq=False)
class _Process:
    """The process of ours on a node, and what it is asked."""

    node: ClusterNode
    actor: Any
    asked: Any
    """Its next answer; None where it has nothing to do."""
    ready: bool = False
    """It has answered which versions it has."""


@contextlib.contextmanager
def open_cluster(on: str, warn: Callable[[str], None]) -> Iterator[RayCluster]:
    """The cluster at an address, or one of our own on this machine; `warn` gets what is wrong with a node."""
    check_address(on)
    ray = _imported()
    with _connection(ray, on):
        cluster = RayCluster(ray, warn)
        try:
            yield cluster
        finally:
            cluster.close()


def check_address(on: str) -> None:
    """Refuse what cannot be an address."""
    if on != LOCAL and _ADDRESS.fullmatch(on) is None:
        raise BadOption(option="on", value=on, expected="ray, ray://HOST:PORT, HOST:PORT or auto")


def _imported() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in ("ray.exceptions", "ray.util.scheduling_strategies"):
            required(module, "ray")
        return required("ray", "ray")


@contextlib.contextmanager
def _connection(ray: Any, on: str) -> Iterator[None]:
    """Ray, connected; what we started is ended."""
    if ray.is_initialized():  # by the program that calls us
        yield
        return
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    folder = _ray_folder() if on == LOCAL else None
    try:
        _connect(ray, on, folder)
        try:
            with _hushed(ray):
                yield
        finally:
            with _silence():
                ray.shutdown()
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _connect(ray: Any, on: str, folder: Path | None) -> None:
    options: dict[str, Any] = {"address": on, "log_to_driver": False, "configure_logging": False}
    if folder is not None:
        # Its one processor is for our one process: Ray starts a process for each.
        local = {"address": "local", "num_cpus": 1, "include_dashboard": False, "_temp_dir": str(folder)}
        options |= local
    else:
        _check_reachable(on)
    before = {name: os.environ.get(name) for name in _OF_LOCAL_RAY}
    if folder is not None:
        os.environ.update(_OF_LOCAL_RAY)
    try:
        with _own_signals(), _silence():
            ray.init(**options)
    except Exception as error:  # Ray raises almost anything
        cause = shortened(one_line(error) or type(error).__name__, _LONGEST)
        # Ray says no more than "timeout" where the token is missing.
        hint = "; for a cluster with tokens set RAY_AUTH_MODE=token" if "timeout" in cause else ""
        raise BadOption(f"cannot be used: {cause}{hint}", option="on", value=on) from error
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})


def _ray_folder() -> Path:
    base = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="ray-", dir=base if len(base) <= _LONGEST_BASE else Path(os.sep, "tmp")))


def _check_reachable(on: str) -> None:
    """Ray itself waits for a minute."""
    found = _ADDRESS.fullmatch(on)
    if found is None or found["host"] is None:
        return
    try:
        socket.create_connection((found["host"].strip("[]"), int(found["port"])), _CONNECT_S).close()
    except (OSError, OverflowError) as error:
        cause = getattr(error, "strerror", None) or one_line(error)
        raise BadOption(f"no cluster answers there: {cause}; `ray status` shows one", option="on", value=on) from error


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Ray replaces what a signal does."""
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            with contextlib.suppress(ValueError, TypeError):  # not the main thread, or not set from Python
                signal.signal(number, handler)


@contextlib.contextmanager
def _hushed(ray: Any) -> Iterator[None]:
    """Ray writes the log of a node that died to standard output, among our results; it has no option for that."""
    module = ray._private.worker
    name = "print_to_stdstream"
    before = getattr(module, name, None)
    setattr(module, name, lambda *_args, **_more: None)
    try:
        yield
    finally:
        setattr(module, name, before)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class RayCluster:
    """The nodes of a Ray that this process is connected to."""

    def __init__(self, ray: Any, warn: Callable[[str], None]) -> None:
        self._ray = ray
        self._warn = warn
        self._processes: dict[str, _Process] = {}
        self._left_alone: set[str] = set()
        """Nodes that get no (further) job."""
        self._tries: Counter[str] = Counter()
        self._names: dict[str, str] = {}
        """Of all nodes that were ever seen: a name does not change while others come and go."""
        self._files: dict[str, Any] = {}
        self._reports = ray.remote(Reports).options(num_cpus=0).remote()

    @property
    def joining(self) -> bool:
        """Whether a process of ours has not answered yet; where a node is busy, it waits for it."""
        return any(not each.ready for each in self._processes.values())

    def alive(self) -> Sequence[ClusterNode]:
        """The nodes that are alive and may take jobs."""
        return list(self._alive())

    def nodes(self) -> Sequence[ClusterNode]:
        """The nodes that are alive, and have a process of ours that is ready."""
        alive = self._alive()
        for node, resources in alive.items():
            if node.id not in self._processes and node.id not in self._left_alone:
                self._processes[node.id] = self._process(node, resources)
        return [each.node for each in self._processes.values() if each.ready and each.node in alive]

    def start(self, node: ClusterNode, load: JobLoad) -> None:
        """Give a node its job; its files travel when the node asks for them."""
        process = self._processes[node.id]
        files = {name: self._put(name, contents) for name, contents in load.files.items()}
        process.asked = process.actor.run.remote(load.function, load.payload, files, self._reports, node.id)

    def wait(self, seconds: float) -> Sequence[Ended]:
        """Jobs that have ended; processes that have answered which versions they have become ready."""
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
        """What the nodes are doing; nothing, where that is not known."""
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
        """Let all jobs be interrupted."""
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
        """A process that reserves a whole node; it dies with this one, and is never started again by Ray."""
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node.id, soft=False)
        whole = {"num_cpus": resources.get("CPU", 0), "num_gpus": resources.get("GPU", 0)}
        taken = {"num_cpus": 0, "resources": {RESOURCE: 1}} if resources.get(RESOURCE, 0) >= 1 else whole
        with _silence():
            made = self._ray.remote(NodeRunner).options(
                **taken, scheduling_strategy=strategy, max_restarts=0, max_task_retries=0
            )
            actor = made.remote()
        return _Process(node, actor, actor.versions.remote())

    def _admit(self, process: _Process, answer: Any) -> None:
        """A node that has what we have becomes ready; else it is left alone."""
        node = process.node
        try:
            found, ours = self._ray.get(answer), versions_here()
            wrong = [f"{what} {found.get(what) or '?'}, and this is {each}" for what, each in ours.items()]
            problem = "" if found == ours else f"it has {'; '.join(wrong)}; install the same there"
        except self._ray.exceptions.RayError as error:
            del self._processes[node.id]
            self._tries[node.id] += 1
            missing = "No module named 'onnxperf" in str(error)
            if self._tries[node.id] < _MOST_TRIES and not missing:
                return  # it is tried again, if the node is still alive
            cause = shortened(one_line(error), _LONGEST)
            problem = "onnxperf is not installed there" if missing else f"no process starts there: {cause}"
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
        except errors.RayTaskError as error:  # a mistake of ours
            cause = error.cause or error
            reason = f"unexpected {type(cause).__name__} on the node {node.name}: {one_line(cause)}"
            return Ended(node, None, shortened(reason, _LONGEST))
        except errors.RayError as error:
            self._processes.pop(node.id, None)
            self._kill(process)  # it may only be out of reach
            return Ended(node, None, self._cause(node, error))

    def _cause(self, node: ClusterNode, error: Exception) -> str:
        if node not in self._alive() or "node has died" in str(error) or "node was terminated" in str(error):
            return f"the node {node.name} died"
        if isinstance(error, self._ray.exceptions.ActorUnavailableError):
            return f"the node {node.name} died, or cannot be reached"
        return f"the process on the node {node.name} was killed"

    def _put(self, name: str, contents: Contents) -> Any:
        """A reference to the contents of a file, which are put into the object store once."""
        if name not in self._files:
            import numpy as np

            array = np.fromfile(contents, "uint8") if isinstance(contents, Path) else np.frombuffer(contents, "uint8")
            self._files[name] = self._ray.put(array)
        return self._files[name]

    def _end(self, processes: Sequence[_Process]) -> None:
        """Let idle processes remove their files, and end all of them; workers die with theirs."""
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
    """The name that the node was given, else that of its host."""
    name, address = str(node.get("NodeName", "")), str(node["NodeManagerAddress"])
    return name if name and name != address else str(node["NodeManagerHostname"]) or address
