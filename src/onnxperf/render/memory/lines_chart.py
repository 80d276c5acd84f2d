"""A chart of what each line of a function costs in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.render.kit import old_chart as fg
from onnxperf.wording.names import shortened, visible
from onnxperf.wording.numbers import in_megabytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NEEDED, _STAYS = fg.ORANGE, fg.BLUE


def lines_plot(record: MemoryLines, ax: Sequence[Axes] | None = None) -> fg.AxesArray:
    """A row per line that ran: resident memory after it on the left, what it needed and what stays on the right."""
    lines = [line for line in record.lines if line.occurrences]
    labels = [_label(line) for line in lines]
    panels = ax
    what = f"{Path(record.file).name}:{record.function}"
    if panels is None:
        figure = fg.bar_figure(labels, 2, "Memory per line", what, 0.42)
        panels = figure.subplots(1, 2, sharey=True)
    else:
        fg.name_given(panels[0], what)
    after = [line.resident_bytes or 0 for line in lines]
    fg.draw_bars(panels[0], labels, [_bars(after, fg.GREY)])
    series = [_bars([line.increment_bytes or 0 for line in lines], _STAYS)]
    if record.exact:
        series = [_bars([line.peak_bytes or 0 for line in lines], _NEEDED), *series]
    fg.draw_bars(panels[1], labels, series)
    _size_axis(panels[0], "MB resident after the line")
    _size_axis(panels[1], "MB above what was resident before the line")
    needed = {"needed while it ran": _NEEDED} if record.exact else {}
    fg.legend(panels[1], fg.patches({**needed, "stays, over all occurrences": _STAYS}))
    return fg.as_array(panels)


def _bars(sizes: Sequence[int], colour: str) -> fg.Bars:
    """Bars to the right; memory that was given back has only its words, and nothing has none."""
    words = [in_megabytes(size) if size > 0 else f"{in_megabytes(-size)} given back" if size else "" for size in sizes]
    return fg.Bars([max(size, 0) / 1e6 for size in sizes], [colour] * len(sizes), words)


def _label(line: LineMemory) -> str:
    return shortened(f"{line.number}  {visible(line.text.strip())}", fg.NAME_LENGTH)


def _size_axis(ax: Axes, words: str) -> None:
    ax.xaxis.set_tick_params(labelsize=fg.FONT)
    ax.set_xlabel(words, fontsize=fg.FONT)
