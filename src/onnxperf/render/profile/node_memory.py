"""Memory of one inference, node by node, as a page."""

from __future__ import annotations

from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import Flow, Heading, Part, closing
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import decimal_size

TOP = 10


def node_memory_page(record: NodeMemories) -> list[Part]:
    """Levels, the nodes with the most bytes in use, the peak, notes."""
    return [
        Heading(record.model, [f"onnxruntime's arena in iteration {record.iteration}"]),
        Flow(_levels(record)),
        nodes_table(record),
        *closing(record.answer, record.notes),
    ]


def _levels(record: NodeMemories) -> list[str]:
    """What is in use before any node runs, and the highest of the session."""
    levels = {
        "packed weights": record.loaded_bytes,
        "in use before the first node": record.base_bytes,
        "highest of the session": record.session_peak_bytes,
    }
    return [f"{name} {decimal_size(count)}" for name, count in levels.items() if count is not None]


def nodes_table(record: NodeMemories, top: int = TOP) -> Table:
    """The nodes with the most bytes in use, the earlier ones first where they are equal."""
    columns = (
        Column("node", left=True, room=16),
        Column("operator", left=True, room=8),
        Column("in use"),
        Column("requested", rank=3),
        Column("arena held", rank=2),
        Column("outputs", rank=1),
        Column("live set", rank=1),
    )
    nodes = sorted(record.nodes, key=lambda node: -(node.in_use_bytes or 0))[:top]
    return without_empty(Table(columns, list(map(_row, nodes)), "The most bytes in use when a node ended"))


def node_label(node: NodeMemory) -> str:
    """Path and name."""
    return name_of("/".join([*node.path, node.name]))


def _row(node: NodeMemory) -> Row:
    sizes = (node.in_use_bytes, node.requested_bytes, node.held_bytes, node.output_bytes, node.live_bytes)
    texts = [decimal_size(count) if count is not None else "" for count in sizes]
    return Row([node_label(node), name_of(node.op_name), *texts], "bold" if node.is_peak else "")
