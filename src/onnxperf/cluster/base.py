"""What a cluster is to the dispatcher: nodes that come and go, each with one job at most; tests have a fake."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

Contents = Path | bytes
"""Of a file that travels: where it is, or what it holds."""


class ClusterNode(NamedTuple):
    """A machine of the cluster."""

    id: str
    """Given by the cluster; a node that joins again has another one."""
    name: str
    """What people call it; no two nodes that live at the same time have the same."""


class JobLoad(NamedTuple):
    """What a job takes along."""

    function: str
    """`module:function` of this package, which gets the payload, the folder of the files and where to report."""
    payload: bytes
    files: Mapping[str, Contents]
    """By their names in the folder, which tell their contents: each travels to a node once."""


@dataclass(frozen=True)
class NodeJob:
    """Something to be run on one node."""

    key: str
    """No other job has it."""
    pack: Callable[[], JobLoad]
    """Called when a node is free; what it raises ends the dispatcher."""
    node: str = ""
    """Name of the node that must run it; empty where any may."""


class Ended(NamedTuple):
    """How the job of a node ended."""

    node: ClusterNode
    answer: bytes | None
    """None if it was lost."""
    reason: str = ""
    """Why it was."""


class NodeReport(NamedTuple):
    """What a node is doing."""

    done: float
    text: str


class Event(NamedTuple):
    """What became of a job."""

    kind: Literal["begun", "answered", "lost"]
    job: NodeJob
    node: ClusterNode
    answer: bytes = b""
    reason: str = ""


class Cluster(Protocol):
    """Nodes that run jobs."""

    @property
    def joining(self) -> bool:
        """Whether a node may become ready that is not yet."""

    def alive(self) -> Sequence[ClusterNode]:
        """The nodes that are alive, ready or not."""

    def nodes(self) -> Sequence[ClusterNode]:
        """The nodes that are alive and ready for jobs, those with a job included."""

    def start(self, node: ClusterNode, load: JobLoad) -> None:
        """Give a node its job; it has none."""

    def wait(self, seconds: float) -> Sequence[Ended]:
        """Jobs that have ended, as soon as there is one; none where nothing ends in time."""

    def reports(self) -> Mapping[str, NodeReport]:
        """What the nodes with a job are doing, by their ids."""

    def release(self, node: ClusterNode) -> None:
        """The node gets no further job."""

    def stop(self) -> None:
        """Ask all jobs to end soon, and to answer with what they have."""

    def close(self) -> None:
        """End all jobs, and leave nothing behind on any node."""
