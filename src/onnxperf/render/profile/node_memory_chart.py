"""A step curve of the memory of one inference over its nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from onnxperf.records.node_memory import NodeMemories
from onnxperf.render.kit import old_chart as fg
from onnxperf.render.profile.node_memory import node_label
from onnxperf.wording.names import name_of, shortened
from onnxperf.wording.numbers import decimal_size, decimal_size_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

_INCHES = 7.5
"""Width of the axes beside its legend, at least."""
NAMED = 24
"""Up to so many nodes have their names written below the axis."""


def node_memory_plot(record: NodeMemories, ax: Axes | None = None) -> Axes:
    """Bytes in use after each node, what the arena holds, the level before the first node, the peak with its name."""
    nodes = record.nodes
    named = len(nodes) <= NAMED
    what = f"{name_of(record.model)}, iteration {record.iteration}"
    if ax is None:
        figure = fg.new_figure(11, 5.4 if named else 4.4)
        fg.entitle(figure, "Memory in onnxruntime's arena per node", what)
        ax = figure.subplots()
    else:
        fg.name_given(ax, what)
    highest = max((node.held_bytes or node.in_use_bytes or 0 for node in nodes), default=0)
    scale, unit = decimal_size_unit(highest)
    signs: list[Line2D | Patch] = [*_curves(ax, record, scale), *_levels(ax, record, scale)]
    ax.set_xlim(-0.6, max(len(nodes) - 0.4, 0.6))
    ax.set_ylim(0, 1.22 * highest / scale if highest else 1)
    _mark_peak(ax, record, scale)
    ax.set_ylabel(unit, fontsize=fg.FONT)
    ax.set_xlabel("" if named else "nodes, in the order in which they ended", fontsize=fg.FONT)
    ax.tick_params(labelsize=fg.FONT)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=fg.GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    if named:
        labels = [shortened(node_label(node), 28) for node in nodes]
        ax.set_xticks(range(len(nodes)), labels, rotation=35, ha="right", rotation_mode="anchor", fontsize=fg.FONT)
        fg.as_written(*ax.get_xticklabels())
    fg.legend(ax, signs, beside=True)
    return ax


def _curves(ax: Axes, record: NodeMemories, scale: float) -> Iterator[Line2D]:
    """Step curves of what is in the trace; a line of each for the legend."""
    from matplotlib.lines import Line2D

    nodes, loaded = record.nodes, record.loaded_bytes or 0
    series: list[tuple[str, str, Literal["--", "-", ":"], Sequence[int | None]]] = [
        ("held by the arena", fg.GREY, "--", [node.held_bytes for node in nodes]),
        ("in use", fg.BLUE, "-", [node.in_use_bytes for node in nodes]),
        ("packed weights + live set", fg.GREEN, ":", [_above(loaded, node.live_bytes) for node in nodes]),
    ]
    for name, colour, line, values in series:
        if any(value is not None for value in values):
            heights = [math.nan if value is None else value / scale for value in values]
            _step(ax, heights, colour, line)
            yield Line2D([], [], color=colour, linestyle=line, linewidth=1.6, label=name)


def _above(base: int, value: int | None) -> int | None:
    return None if value is None else base + value


def _step(ax: Axes, heights: Sequence[float], colour: str, line: str) -> None:
    """A level per node, as wide as the node's place; matplotlib's own steps would end in the middle of the last."""
    edges = [at - 0.5 for at in range(len(heights) + 1)]
    ax.step(edges, [*heights, *heights[-1:]], where="post", color=colour, linestyle=line, linewidth=1.6)


def _levels(ax: Axes, record: NodeMemories, scale: float) -> Iterator[Patch]:
    """What is in use before any node runs, as areas: packed weights, and what was taken for results in advance."""
    from matplotlib.patches import Patch

    loaded, base = record.loaded_bytes or 0, record.base_bytes or 0
    if base > loaded:
        ax.axhspan(loaded / scale, base / scale, color=fg.SKY, alpha=fg.PALE, linewidth=0)
        yield Patch(color=fg.SKY, alpha=fg.PALE, linewidth=0, label="taken in advance")
    if loaded > 0:
        ax.axhspan(0, loaded / scale, color=fg.ORANGE, alpha=fg.PALE, linewidth=0)
        yield Patch(color=fg.ORANGE, alpha=fg.PALE, linewidth=0, label="packed weights")


def _mark_peak(ax: Axes, record: NodeMemories, scale: float) -> None:
    found = next(((at, node) for at, node in enumerate(record.nodes) if node.is_peak), None)
    if found is None:
        return
    at, node = found
    place = (float(at), (node.in_use_bytes or 0) / scale)
    begin, end = ax.get_xlim()
    words = f"{shortened(node_label(node), 40)}: {decimal_size(node.in_use_bytes)}"
    (left,) = fg.side_by_side([(at - begin) / (end - begin)], [fg.text_part(words, fg.size_of(ax, _INCHES)[0])])
    fg.mark_peak(ax, place)
    fg.write_above(ax, words, place, left)
