"""The chart of a stack: which functions the time goes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.records.stack import Stack
from onnxperf.render.kit import old_chart as fg
from onnxperf.render.stack.page import busiest
from onnxperf.wording.names import name_of, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 20


def stack_plot(record: Stack, ax: Axes | None = None) -> Axes:
    """A bar per function: its self time per call, wherever in the tree it was called."""
    order = busiest(record)
    labels = [shortened(name_of(f"{each.function}  {each.file}"), fg.NAME_LENGTH) for each in order]
    labels, values = fg.capped(labels, [each.share * record.call_ns / 1e3 for each in order], most=MOST)
    is_given = ax is not None
    if ax is None:
        ax = fg.bar_figure(labels, 1, "Self time per function", name_of(record.name)).subplots()
    total = sum(values)
    colours = [fg.SKY if "<built-in>" in label else fg.BLUE for label in labels]
    bars = fg.Bars(values, colours, [fg.cost(us, total) for us in values])
    fg.draw_bars(ax, labels, [bars], summed=len(order) > MOST)
    fg.time_axis(ax.xaxis, "per call")
    lines = fg.legend(ax, fg.patches({"Python": fg.BLUE, "built-in": fg.SKY}))
    if is_given:
        fg.name_given(ax, name_of(record.name), lines)
    return ax
