"""Memory of one inference, node by node, as reported by onnxruntime's arena."""

from __future__ import annotations

from msgspec import Struct

from onnxperf.records.base import Findings
from onnxperf.records.numbers import Delta


class NodeMemory(Struct, frozen=True, kw_only=True):
    """One execution of a node; values that the trace lacks are null."""

    name: str
    """Name of the node in the executed graph."""
    op_name: str
    """Operator type."""
    path: tuple[str, ...] = ()
    """Nodes whose bodies contain it, outermost first."""
    in_use_bytes: Delta | None = None
    """Arena memory in use when the node ended, before unneeded tensors are released."""
    requested_bytes: Delta | None = None
    """Requested part of that memory; the arena rounds up."""
    held_bytes: Delta | None = None
    """Memory that the arena had taken from the system."""
    output_bytes: Delta | None = None
    """Size of the node's outputs."""
    live_bytes: Delta | None = None
    """Intermediate results and outputs that are live while it runs, assuming no in-place writes; null if the graph is
    unknown."""
    is_peak: bool = False
    """Whether this is the first node at which the most memory was in use."""


class NodeMemories(Findings, frozen=True, kw_only=True):
    """Result of a profile's `memory()`: memory in one iteration."""

    model: str
    """Label of the model or trace."""
    iteration: Delta
    """Index of the inference, from 0."""
    loaded_bytes: Delta | None = None
    """Memory in use before the first node of the first inference: weights packed by kernels. Weights used as stored in
    the file are not in the arena."""
    base_bytes: Delta | None = None
    """Memory in use before the first node of this inference. From the second inference on, it includes the memory of
    all intermediate results, which onnxruntime allocates at once (memory pattern), and outputs that the caller still
    holds."""
    session_peak_bytes: Delta | None = None
    """Peak memory in use since the session began, including within kernels."""
    nodes: tuple[NodeMemory, ...] = ()
    """Executions in the order they ended; nodes of a body come before the node that contains it."""
