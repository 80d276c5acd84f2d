"""Memory of one inference on a page: what onnxruntime's arena had in use after each node."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.node_memory import NodeMemories
from onnxperf.records.profile import link
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.profile.node_memory import node_label
from onnxperf.render.web.bars import size_unit
from onnxperf.render.web.old_base import Chart, Section
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import decimal_size, grouped

_MOST_ROWS = 2_000
_MOST_POINTS = 4_000
"""Points of a curve: of more, the highest of each few is kept."""
_FAR = 3
"""How many times what is used the arena may hold where both are drawn."""
Curves = dict[str, tuple[Sequence[int | None], int]]
"""Sizes by name, with the place of a colour."""


def arena_sections(record: NodeMemories) -> list[Section]:
    """The curve, where the trace has memory."""
    keys = [link(node.path, node.name) for node in record.nodes]
    return [Section("Memory", [arena_chart(record, keys)])] if record.nodes else []


def arena_chart(record: NodeMemories, keys: Sequence[str]) -> Chart:
    """Bytes in use when each node ended, what the arena held, and the live set, over the nodes."""
    nodes = record.nodes
    in_use = [node.in_use_bytes for node in nodes]
    held = max((node.held_bytes or 0 for node in nodes), default=0)
    peak = max(range(len(nodes)), key=lambda at: in_use[at] or 0)
    curves = _curves(record, held <= _FAR * (in_use[peak] or 0))
    scale, unit = size_unit([size or 0 for values, _ in curves.values() for size in values])
    kept = _thinned(in_use)
    data = {
        "x": "nodes, in the order in which they ended",
        "y": unit,
        "step": True,
        "zero": True,
        "keys": [name_of(keys[at]) for at in kept],
        "curves": [
            {
                "name": name,
                "xs": kept,
                "ys": [None if (size := values[at]) is None else size / scale for at in kept],
                "words": [f"{node_label(nodes[at])}: {decimal_size(values[at])} {name}" for at in kept],
                "colour": colour,
            }
            for name, (values, colour) in curves.items()
        ],
        "levels": [{"y": size / scale} for size in (record.loaded_bytes, record.base_bytes) if size],
        "marks": [{"x": peak, "y": (in_use[peak] or 0) / scale, "words": f"the peak: {node_label(nodes[peak])}"}],
    }
    summary = (
        f"Memory of onnxruntime's arena over the nodes of inference {grouped(record.iteration)}: the most in use is "
        f"{decimal_size(in_use[peak])}, when {node_label(nodes[peak])} ends; {_levels(record)}"
        f"the arena held {decimal_size(held)}."
    )
    return Chart("curve", "Memory per node", summary, data, _table(record), 340)


def _curves(record: NodeMemories, with_held: bool) -> Curves:
    """What the trace has; beside an arena that holds much more, what is used would be a line along the axis."""
    nodes, loaded = record.nodes, record.loaded_bytes or 0
    live = [None if node.live_bytes is None else loaded + node.live_bytes for node in nodes]
    every: Curves = {
        "in use": ([node.in_use_bytes for node in nodes], 0),
        "packed weights + live set": (live, 2),
        "held by the arena": ([node.held_bytes for node in nodes] if with_held else [], 6),
    }
    return {name: each for name, each in every.items() if any(size is not None for size in each[0])}


def _levels(record: NodeMemories) -> str:
    sizes = {"packed weights": record.loaded_bytes, "in use before the first node": record.base_bytes}
    return "".join(f"{name} {decimal_size(size)}, " for name, size in sizes.items() if size is not None)


def _thinned(sizes: Sequence[int | None]) -> list[int]:
    """Places of the points that are drawn: all of them, or the highest of each few neighbours."""
    few = max(-(-len(sizes) // _MOST_POINTS), 1)
    groups = (range(at, min(at + few, len(sizes))) for at in range(0, len(sizes), few))
    return [max(several, key=lambda at: sizes[at] or 0) for several in groups]


def _table(record: NodeMemories) -> Table:
    """The nodes with the most in use, in the order in which they ended."""
    columns = [Column("node", left=True), Column("operator", left=True), Column("in use"), Column("arena held")]
    nodes = record.nodes
    most = sorted(range(len(nodes)), key=lambda at: -(nodes[at].in_use_bytes or 0))[:_MOST_ROWS]
    rows = []
    for node in (nodes[at] for at in sorted(most)):
        sizes = (node.in_use_bytes, node.held_bytes, node.live_bytes)
        texts = [decimal_size(size) if size is not None else "" for size in sizes]
        rows.append(Row([node_label(node), name_of(node.op_name), *texts]))
    return without_empty(Table([*columns, Column("live set")], rows))
