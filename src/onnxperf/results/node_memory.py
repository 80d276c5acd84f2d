"""Memory of one inference, node by node: a view on its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.render.kit.page import Page
from onnxperf.render.profile.node_memory import node_memory_page
from onnxperf.render.profile.node_memory_chart import node_memory_plot
from onnxperf.render.web.sections.arena import arena_sections
from onnxperf.results.old_base import OldResult, struct_frame

if TYPE_CHECKING:
    from pandas import DataFrame


class NodeMemoryResult(OldResult[NodeMemories]):
    """What `p.memory()` returns; `record` holds everything."""

    tables = {"nodes": lambda self: _nodes(self.record)}
    charts = {"curve": node_memory_plot}
    sections = (arena_sections,)

    @property
    def peak(self) -> NodeMemory:
        """The first node at which the most was in use."""
        return next(node for node in self.record.nodes if node.is_peak)

    def page(self) -> Page:
        """Levels, the nodes with the most bytes in use, and the peak."""
        return node_memory_page(self.record)


def _nodes(record: NodeMemories) -> DataFrame:
    """One row per execution of a node, in the order in which they ended; sizes in bytes."""
    return struct_frame(record.nodes, NodeMemory).assign(path=["/".join(node.path) for node in record.nodes])
