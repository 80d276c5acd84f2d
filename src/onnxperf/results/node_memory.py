"""Memory of one inference, node by node: a view on its record."""

from __future__ import annotations

from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.render.profile.node_memory import memory_charts, node_memory_page, node_memory_table
from onnxperf.results.base import Result, Show

SHOW = Show(
    NodeMemories,
    "node_memory",
    node_memory_page,
    tables={"nodes": node_memory_table},
    charts={"curve": memory_charts},
)


class NodeMemoryResult(Result[NodeMemories]):
    """What `p.memory()` returns; `record` holds everything."""

    show = SHOW

    @property
    def peak(self) -> NodeMemory:
        """The first node at which the most was in use."""
        return next(node for node in self.record.nodes if node.is_peak)
