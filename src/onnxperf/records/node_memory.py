"""Memory of one inference, node by node, from the figures of onnxruntime's arena."""

from __future__ import annotations

from msgspec import Struct

from onnxperf.records.base import Findings
from onnxperf.records.numbers import Delta


class NodeMemory(Struct, frozen=True, kw_only=True):
    """One execution of a node; what the trace does not have is None."""

    name: str
    """Name of the node in the graph that was executed."""
    op_name: str
    """Its operator type."""
    path: tuple[str, ...] = ()
    """Nodes in whose bodies it is, the outermost first."""
    in_use_bytes: Delta | None = None
    """Of the arena, in use when the node ended, before what is no longer needed is released."""
    requested_bytes: Delta | None = None
    """What of that was requested; the arena rounds up."""
    held_bytes: Delta | None = None
    """What the arena had taken from the system."""
    output_bytes: Delta | None = None
    """Size of its outputs."""
    live_bytes: Delta | None = None
    """Intermediate results and outputs that are needed while it runs, if nothing is written in place of its input; None
    where the graph is not known."""
    is_peak: bool = False
    """The first node at which the most was in use."""


class NodeMemories(Findings, frozen=True, kw_only=True):
    """What the `memory()` of a profile returns: one iteration."""

    model: str
    """Label of the model or trace."""
    iteration: Delta
    """Which inference, from 0."""
    loaded_bytes: Delta | None = None
    """In use before the first node of the first inference: weights that kernels have packed. Weights that are used
    as they are in the file are not in the arena."""
    base_bytes: Delta | None = None
    """In use before the first node of this inference. From the second one on, onnxruntime takes the memory of all
    intermediate results at once (its memory pattern), and that is in it, as are outputs that the caller still has."""
    session_peak_bytes: Delta | None = None
    """The most that was in use since the session began, within kernels too."""
    nodes: tuple[NodeMemory, ...] = ()
    """In the order in which they ended; nodes of bodies come before the node that has the body."""
