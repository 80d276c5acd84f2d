"""Memory of one inference, node by node: a page, a table and a step curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.records.profile import link
from onnxperf.render.charts.base import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    SKY,
    Axis,
    Chart,
    axis_of,
    chart,
    named_axis,
    size_unit,
)
from onnxperf.render.charts.plot import Dash, Plot, PlotMark, PlotSpan, Series
from onnxperf.render.kit.column import BYTES, FLAG, NAME, Column, for_files
from onnxperf.render.kit.page import Flow, Heading, Page, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.wording.names import capital, name_of
from onnxperf.wording.numbers import grouped, size

TOP = 10
IN_USE, LIVE = "in use", "packed weights + live set"
_NAMED = 24
"""Up to so many nodes have their names written below the axis."""
_ZOOMS = 60
"""Nodes from which on a reader may enlarge their chart."""
_MOST_ROWS = 2_000
_MOST_POINTS = 4_000
"""Points of a curve: of more, the highest of each few is kept."""
_FAR = 3
"""How many times what is used the arena may hold if both are drawn."""
_ROOM = 0.18
"""Above the peak, for its name."""


def node_memory_page(record: NodeMemories) -> Page:
    """Levels, the nodes with the most bytes in use, the curve, the peak, notes."""
    facts = [f"onnxruntime's arena in iteration {record.iteration}"]
    return [
        Heading(record.model, facts),
        Flow(_levels(record)),
        most_table(record)._replace(on="screen"),
        Section("Memory", memory_charts(record)),
        *answered(record.answer, record.notes),
    ]


def _levels(record: NodeMemories) -> list[str]:
    """What is in use before any node runs, and the highest of the session."""
    levels = {
        "packed weights": record.loaded_bytes,
        "in use before the first node": record.base_bytes,
        "highest of the session": record.session_peak_bytes,
    }
    return [f"{name} {size(count)}" for name, count in levels.items() if count is not None]


# ---------------------------------------------------------------- tables


def node_memory_table(record: NodeMemories) -> Table[NodeMemory]:
    """A row per execution of a node, in the order in which they ended."""
    return _table(record.nodes)


def most_table(record: NodeMemories, top: int = TOP) -> Table[NodeMemory]:
    """The nodes with the most bytes in use, the earlier ones first where they are equal."""
    most = sorted(record.nodes, key=lambda node: -(node.in_use_bytes or 0))
    return _table(most[:top])._replace(title="The most bytes in use when a node ended")


def _table(nodes: Sequence[NodeMemory]) -> Table[NodeMemory]:
    columns: list[Column[NodeMemory]] = [
        Column("name", "node", lambda node: node.name, NAME, text=memory_label, room=16),
        Column("op_name", "operator", lambda node: node.op_name, NAME, room=8),
        for_files("path", lambda node: "/".join(node.path)),
        Column("in_use_bytes", "in use", lambda node: node.in_use_bytes, BYTES),
        Column("requested_bytes", "requested", lambda node: node.requested_bytes, BYTES, 100),
        Column("held_bytes", "arena held", lambda node: node.held_bytes, BYTES, 80),
        Column("output_bytes", "outputs", lambda node: node.output_bytes, BYTES, 60),
        Column("live_bytes", "live set", lambda node: node.live_bytes, BYTES, 60),
        for_files("is_peak", lambda node: node.is_peak, FLAG),
    ]
    return Table(columns, nodes, style=lambda node: "bold" if node.is_peak else "")


def memory_label(node: NodeMemory) -> str:
    """Path and name."""
    return name_of("/".join([*node.path, node.name]))


# ---------------------------------------------------------------- the curve


class MemoryCurve(NamedTuple):
    """A size of every node."""

    name: str
    color: int
    dash: Dash
    of: Callable[[NodeMemory], int | None]


def memory_charts(record: NodeMemories, keys: Sequence[str] = ()) -> list[Chart]:
    """Bytes in use when each node ended, what the arena held, and the live set, over the nodes."""
    nodes = record.nodes
    if not any(node.in_use_bytes is not None for node in nodes):
        return []
    keys = keys or [link(node.path, node.name) for node in nodes]
    highest = max(range(len(nodes)), key=lambda at: nodes[at].in_use_bytes or 0)
    peak, kept = nodes[highest], thinned(nodes)
    curves = memory_curves(record)
    sizes = [value for curve in curves for node in nodes if (value := curve.of(node)) is not None]
    picture = Plot(
        x=_nodes_axis(nodes),
        y=axis_of("memory", sizes, size_unit(sizes), from_zero=True, log_from=float("inf"), margin=_ROOM),
        series=[
            Series(
                name=curve.name,
                xs=kept,
                ys=[curve.of(nodes[at]) for at in kept],
                color=curve.color,
                shape="step",
                words=[f"{memory_label(nodes[at])}: {size(curve.of(nodes[at]))} {curve.name}" for at in kept],
                dash=curve.dash,
                keys=[name_of(keys[at]) for at in kept],
            )
            for curve in curves
        ],
        marks=[_peak_mark(highest, peak)],
        spans=_before_nodes(record),
        zooms=len(nodes) > _ZOOMS,
    )
    summary = f"Over the nodes of inference {grouped(record.iteration)}. {memory_summary(record)}"
    return [chart("Memory per node", summary, picture, _drawn_table(nodes, keys), on="page")]


def memory_curves(record: NodeMemories) -> list[MemoryCurve]:
    """What the trace has; with an arena that holds much more, what is used would be a line along the axis."""
    nodes, loaded = record.nodes, record.loaded_bytes or 0
    used = max((node.in_use_bytes or 0 for node in nodes), default=0)
    held = max((node.held_bytes or 0 for node in nodes), default=0)

    def live(node: NodeMemory) -> int | None:
        return None if node.live_bytes is None else loaded + node.live_bytes

    every = [
        MemoryCurve(IN_USE, BLUE, "solid", lambda node: node.in_use_bytes),
        MemoryCurve(LIVE, GREEN, "dotted", live),
        *(
            [MemoryCurve("held by the arena", GREY, "dashed", lambda node: node.held_bytes)]
            if held <= _FAR * used
            else []
        ),
    ]
    return [curve for curve in every if any(curve.of(node) is not None for node in nodes)]


def _nodes_axis(nodes: Sequence[NodeMemory]) -> Axis:
    if len(nodes) <= _NAMED:
        return named_axis(list(map(memory_label, nodes)))
    return axis_of("nodes, in the order in which they ended", [0, len(nodes) - 1], margin=0.01)


def _peak_mark(place: int, node: NodeMemory) -> PlotMark:
    text = f"{memory_label(node)}: {size(node.in_use_bytes)}"
    return PlotMark(place, float(node.in_use_bytes or 0), f"the peak: {text}", "peak", BLUE, text, "in use")


def _before_nodes(record: NodeMemories) -> list[PlotSpan]:
    """What is in use before any node runs: packed weights, and what was taken for results in advance."""
    loaded, base = record.loaded_bytes or 0, record.base_bytes or 0
    spans = [
        PlotSpan(loaded, base, "taken in advance", SKY, across=True),
        PlotSpan(0, loaded, "packed weights", ORANGE, across=True),
    ]
    return [span for span in spans if span.high > span.low]


def memory_summary(record: NodeMemories) -> str:
    """The peak of onnxruntime's arena, what is in use before any node runs, and what the arena held."""
    peak = max(record.nodes, key=lambda node: node.in_use_bytes or 0)
    held = max((node.held_bytes or 0 for node in record.nodes), default=0)
    words = (
        f"Memory of onnxruntime's arena: the most in use is {size(peak.in_use_bytes)}, when {memory_label(peak)} ends."
    )
    return f"{words} {_levels_text(record, held)}".strip()


def _levels_text(record: NodeMemories, held: int) -> str:
    loaded, base = record.loaded_bytes, record.base_bytes
    said = [] if loaded is None else [f"packed weights take {size(loaded)}"]
    said += [] if base is None else [f"{size(base)} are in use before the first node"]
    said += [f"the arena held {size(held)}"] if held else []
    return f"{capital('; '.join(said))}." if said else ""


def thinned(nodes: Sequence[NodeMemory], most: int = _MOST_POINTS) -> list[int]:
    """Places of the points that are drawn: all of them, or the highest of each few neighbors."""
    few = max(-(-len(nodes) // most), 1)
    groups = (range(at, min(at + few, len(nodes))) for at in range(0, len(nodes), few))
    return [max(several, key=lambda at: nodes[at].in_use_bytes or 0) for several in groups]


def _drawn_table(nodes: Sequence[NodeMemory], keys: Sequence[str]) -> Table[NodeMemory]:
    """The nodes with the most in use, in the order in which they ended."""
    most = sorted(range(len(nodes)), key=lambda at: -(nodes[at].in_use_bytes or 0))[:_MOST_ROWS]
    known = {(node.path, node.name): key for node, key in zip(nodes, keys, strict=True)}
    table = _table([nodes[at] for at in sorted(most)])
    return table._replace(link=lambda node: known[node.path, node.name])
