"""Memory of one inference, node by node: a view on its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.results.showing import as_printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class NodeMemoryResult:
    """What `p.memory()` returns; `record` holds everything."""

    def __init__(self, record: NodeMemories) -> None:
        self.record = record

    @property
    def peak(self) -> NodeMemory:
        """The first node at which the most was in use."""
        return next(node for node in self.record.nodes if node.is_peak)

    def to_df(self) -> DataFrame:
        """One row per execution of a node, in the order in which they ended; sizes in bytes."""
        from pandas import DataFrame

        fields = NodeMemory.__struct_fields__
        rows = [[getattr(node, field) for field in fields] for node in self.record.nodes]
        frame = DataFrame(rows, columns=list(fields)).astype({name: "Int64" for name in fields if "_bytes" in name})
        return frame.assign(path=["/".join(node.path) for node in self.record.nodes])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Bytes in use over the sequence of nodes as a step curve, the peak marked, and what the arena holds."""
        from onnxperf.render.profile.node_memory_chart import node_memory_plot

        return node_memory_plot(self.record, ax)

    def to_json(self) -> str:
        """The whole record."""
        from onnxperf.render.kit.old_export import to_json

        return to_json(self.record).decode()

    def __repr__(self) -> str:
        """The peak and the nodes with the most bytes in use, without colours."""
        from onnxperf.render.profile.node_memory import print_node_memory

        return as_printed(print_node_memory, self.record)

    def _repr_html_(self) -> str:
        from onnxperf.render.profile.node_memory import node_memory_html

        return node_memory_html(self.record)
