"""The chart of a history: a panel per series, with the levels between its change points."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from onnxperf.records.history import History, HistoryPoint, HistorySeries
from onnxperf.render.kit import old_chart as fg
from onnxperf.wording.names import dims_text, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SERIES = 8
"""Panels; further series are in the tables."""
_WIDTH, _HEIGHT = 9.0, 2.3
_TICKS = 6
_LABEL = 14
"""Characters below a tick."""


def history_plot(record: History, ax: Axes | None = None) -> Axes | fg.AxesArray:
    """A point per run, a line per level, the first series on top; on one axes of the user's, only the first series."""
    shown = [series for series in record.series if series.timed()][:MOST_SERIES]
    if ax is not None:
        if shown:
            _draw(ax, shown[0], record)
            fg.name_given(ax, _title(shown[0]))
        return ax
    figure = fg.new_figure(_WIDTH, 0.9 + _HEIGHT * max(len(shown), 1))
    fg.entitle(figure, "Time per call from run to run", record.model)
    panels = figure.subplots(max(len(shown), 1), 1, squeeze=False)[:, 0]
    for panel, series in zip(panels, shown, strict=False):
        _draw(panel, series, record)
        fg.name_panel(panel, _title(series))
    if not shown:
        panels[0].set_xlabel("nothing was measured", fontsize=fg.FONT)
    return fg.as_array(panels)


def levels(series: HistorySeries) -> list[tuple[int, int, float]]:
    """Where each level begins and ends, and its time; empty without a change point."""
    if not series.changes:
        return []
    ends = [0, *(each.index for each in series.changes), len(series.timed())]
    times = [series.changes[0].before_ns, *(each.after_ns for each in series.changes)]
    return [(begin, end - 1, ns) for begin, end, ns in zip(ends, ends[1:], times, strict=False)]


def tick_text(point: HistoryPoint, record: History, machine: str = "") -> str:
    """What stands below a point: the version, the commit or the day."""
    day = datetime.fromisoformat(point.started).date().isoformat()
    texts = {"version": point.version, "commit": point.commit[:8], "machine": machine}
    return visible(texts.get(record.by or "", "") or day)[:_LABEL]


def _draw(ax: Axes, series: HistorySeries, record: History) -> None:
    times = series.timed()
    ax.plot(range(len(times)), [ns / 1e3 for _, ns in times], "o", color=fg.BLUE, markersize=3.5, zorder=2)
    for begin, end, ns in levels(series):
        ax.plot([begin - 0.5, end + 0.5], [ns / 1e3] * 2, color=fg.INK, linewidth=1.4, zorder=3)
    for change in series.changes:
        colour = fg.RED if change.ratio > 1 else fg.GREEN
        ax.axvline(change.index - 0.5, color=colour, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    fg.time_axis(ax.yaxis, "per call")
    places = _tick_places(len(times))
    ax.set_xticks(places, [tick_text(times[place][0], record) for place in places], fontsize=fg.FONT)
    fg.as_written(*ax.get_xticklabels())
    ax.set_xlim(-0.7, len(times) - 0.3)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color=fg.GRID, linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)


def _tick_places(count: int) -> Sequence[int]:
    step = max(1, -(-count // _TICKS))
    return range(0, count, step)


def _title(series: HistorySeries) -> str:
    return ", ".join(filter(None, [series.name, dims_text(series.dims), series.machine]))
