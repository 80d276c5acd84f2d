"""A cluster as seen by the dispatcher: nodes that come and go, each with at most one job; tests use a fake."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

Contents = Path | bytes
"""Content of a file sent to nodes: its path, or its bytes."""


class ClusterNode(NamedTuple):
    """A machine of the cluster."""

    id: str
    """Assigned by the cluster; a node that rejoins gets a new one."""
    name: str
    """Its name for people, unique among the nodes alive at the same time."""


class JobLoad(NamedTuple):
    """The data sent with a job."""

    function: str
    """`module:function` of this package, called with the payload, the files' folder and a reporting function."""
    payload: bytes
    files: Mapping[str, Contents]
    """By name in the folder, derived from the contents: each is sent to a node once."""


@dataclass(frozen=True)
class NodeJob:
    """A task to run on one node."""

    key: str
    """Unique among the jobs."""
    pack: Callable[[], JobLoad]
    """Called when a node is free; an exception ends the dispatcher."""
    node: str = ""
    """Name of the node that must run it; empty if any may."""


class Ended(NamedTuple):
    """How the job of a node ended."""

    node: ClusterNode
    answer: bytes | None
    """None if the job was lost."""
    reason: str = ""
    """Why it was lost."""


class NodeReport(NamedTuple):
    """The current activity of a node."""

    done: float
    text: str


class Event(NamedTuple):
    """A change in the state of a job."""

    kind: Literal["begun", "answered", "lost"]
    job: NodeJob
    node: ClusterNode
    answer: bytes = b""
    reason: str = ""


class Cluster(Protocol):
    """Nodes that run jobs."""

    @property
    def joining(self) -> bool:
        """Whether a node may still become ready."""

    def alive(self) -> Sequence[ClusterNode]:
        """The nodes that are alive, ready or not."""

    def nodes(self) -> Sequence[ClusterNode]:
        """The nodes that are alive and ready for jobs, including busy ones."""

    def start(self, node: ClusterNode, load: JobLoad) -> None:
        """Assign a job to an idle node."""

    def wait(self, seconds: float) -> Sequence[Ended]:
        """Jobs that have ended, as soon as there is one; none if nothing ends in time."""

    def reports(self) -> Mapping[str, NodeReport]:
        """The activity of the busy nodes, by id."""

    def release(self, node: ClusterNode) -> None:
        """Assign no further jobs to the node."""

    def stop(self) -> None:
        """Ask all jobs to end soon, and to return what they have."""

    def close(self) -> None:
        """End all jobs, and clean up all nodes."""
