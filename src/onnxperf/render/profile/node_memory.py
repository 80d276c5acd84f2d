"""Memory of one inference, node by node, on the terminal and in notebooks."""

from __future__ import annotations

from rich.console import Console

from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.render.kit.old_console import print_end, print_flow, print_heading, print_sheet
from onnxperf.render.kit.old_html import end_html, page_html, paragraph_html, sheet_html
from onnxperf.render.kit.table import Column, Row, Table, without_empty
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import UNICODE, Marks, decimal_size, marks_for

TOP = 10
_HEADING = "The most bytes in use when a node ended"


def print_node_memory(record: NodeMemories, console: Console) -> None:
    """Levels, the nodes with the most bytes in use, the peak, notes."""
    marks = marks_for(console.encoding)
    print_heading(record.model, [_which(record)], console)
    print_flow(memory_levels(record, marks), console)
    print_sheet(_HEADING, memory_sheet(record, marks), console)
    print_end(peak_sentence(record, marks), record.notes, console)


def node_memory_html(record: NodeMemories) -> str:
    """The same as an HTML fragment."""
    return page_html(
        paragraph_html(f"{name_of(record.model)} · {_which(record)}", "font-weight:600")
        + paragraph_html(" · ".join(memory_levels(record)), "")
        + sheet_html(memory_sheet(record), _HEADING)
        + end_html(peak_sentence(record), record.notes)
    )


def memory_levels(record: NodeMemories, marks: Marks = UNICODE) -> list[str]:
    """What is in use before any node runs, and the highest of the session."""
    levels = {
        "packed weights": record.loaded_bytes,
        "in use before the first node": record.base_bytes,
        "highest of the session": record.session_peak_bytes,
    }
    return [f"{name} {decimal_size(count, marks)}" for name, count in levels.items() if count is not None]


def memory_sheet(record: NodeMemories, marks: Marks = UNICODE, top: int = TOP) -> Table:
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
    return without_empty(Table(columns, [_row(node, marks) for node in nodes]))


def peak_sentence(record: NodeMemories, marks: Marks = UNICODE) -> str:
    """The peak and the planned minimum in one sentence."""
    peak = next((node for node in record.nodes if node.is_peak), None)
    if peak is None:
        return ""
    told = f"The most is in use at {node_label(peak)} ({peak.op_name}): {decimal_size(peak.in_use_bytes, marks)}"
    live = [node for node in record.nodes if node.live_bytes is not None]
    if not live:
        return f"{told}."
    most = max(live, key=lambda node: node.live_bytes or 0)
    needed = decimal_size(most.live_bytes, marks)
    return f"{told}; without reuse in place, results need {needed}, at {node_label(most)}."


def node_label(node: NodeMemory) -> str:
    """Path and name."""
    return name_of("/".join([*node.path, node.name]))


def _which(record: NodeMemories) -> str:
    return f"onnxruntime's arena in iteration {record.iteration}"


def _row(node: NodeMemory, marks: Marks) -> Row:
    sizes = (node.in_use_bytes, node.requested_bytes, node.held_bytes, node.output_bytes, node.live_bytes)
    texts = [decimal_size(count, marks) if count is not None else "" for count in sizes]
    return Row([node_label(node), name_of(node.op_name), *texts], "bold" if node.is_peak else "")
