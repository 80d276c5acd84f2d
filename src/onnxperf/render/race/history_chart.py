"""The chart of a series of a history: a point per run, the levels between change points, and the changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxperf.records.history import ChangePoint, History, HistoryPoint, HistorySeries, Timed
from onnxperf.render.charts.base import BLUE, GREEN, GREY, RED, Axis, Chart, axis_of, chart, named_axis, time_unit
from onnxperf.render.charts.plot import Edge, Plot, PlotMark, Series, clipped, robust, with_rounded
from onnxperf.render.kit.table import Table
from onnxperf.wording.names import capital, dims_text, name_of, visible
from onnxperf.wording.numbers import count, duration, factor, grouped, interval

MOST_SERIES = 8
"""Charts; further series are in the tables."""
MOST_POINTS = 400
"""The newest runs that a chart shows; the tables of files have all."""
_TICKS = 8
_LABEL = 14
"""Characters below a tick."""


def series_chart(series: HistorySeries, record: History, table: Table[Any]) -> Chart:
    """The newest runs of a series; what lies far from all others is clipped at the edge."""
    times = series.timed()
    first = max(0, len(times) - MOST_POINTS)
    shown = times[first:]
    title = ", ".join(filter(None, [name_of(series.name), visible(dims_text(series.dims)), visible(series.machine)]))
    summary = _summary(series, len(times), len(shown))
    return chart(title, summary, _plot(series, record, shown, first), table, on="page")


def _plot(series: HistorySeries, record: History, shown: Timed, first: int) -> Plot:
    relative = "" if series.yardstick_ns is None else " relative to the yardstick"
    kept = [(begin, end, ns) for begin, end, ns in levels(series) if end >= first]
    values = [*robust([ns for _, ns in shown]), *(ns for _, _, ns in kept)]
    y = axis_of(f"{series.measure} time per call{relative}", values, time_unit(values))
    runs = Series(
        name="runs",
        xs=[float(place) for place in range(len(shown))],
        ys=[ns for _, ns in shown],
        color=BLUE,
        shape="points",
        words=[_words(point, ns) for point, ns in shown],
    )
    inside, outliers = clipped(runs, y, [duration(ns) for _, ns in shown])
    changes = [each for each in series.changes if each.index > first]
    return Plot(
        x=_runs_axis(record, [point for point, _ in shown]),
        y=y,
        series=[with_rounded(inside), *_levels(kept, first)],
        marks=[*outliers, *(_mark(each, first) for each in changes)],
        edges=[Edge(each.index - first - 0.5, _color(each), "dashed") for each in changes],
        tall=320,
    )


def _runs_axis(record: History, points: Sequence[HistoryPoint]) -> Axis:
    return named_axis([tick_text(point, record) for point in points], record.by or "", _TICKS)


def tick_text(point: HistoryPoint, record: History) -> str:
    """What stands below a point: the version, the commit or the day."""
    texts = {"version": point.version, "commit": point.commit[:8]}
    return visible(texts.get(record.by or "", "") or point.started[:10])[:_LABEL]


def levels(series: HistorySeries) -> list[tuple[int, int, float]]:
    """Where each level begins and ends, and its time; empty without a change point."""
    if not series.changes:
        return []
    ends = [0, *(each.index for each in series.changes), len(series.timed())]
    times = [series.changes[0].before_ns, *(each.after_ns for each in series.changes)]
    return [(begin, end - 1, ns) for begin, end, ns in zip(ends, ends[1:], times, strict=False)]


def _levels(kept: Sequence[tuple[int, int, float]], first: int) -> list[Series]:
    """The level at every run: a step at each change."""
    if not kept:
        return []
    ys = [ns for begin, end, ns in kept for _ in range(max(begin, first), end + 1)]
    words = [f"level {duration(ns)}" for ns in ys]
    xs = [float(place) for place in range(len(ys))]
    return [with_rounded(Series("level between change points", xs, ys, GREY, "step", words))]


def _mark(change: ChangePoint, first: int) -> PlotMark:
    """The factor of a change, between both levels."""
    return PlotMark(
        x=change.index - first - 0.5,
        y=(change.before_ns * change.after_ns) ** 0.5,
        words=f"{_changed(change)}\nfrom {duration(change.before_ns)} to {duration(change.after_ns)}",
        color=_color(change),
        text=f"{factor(change.ratio)}×",
    )


def _color(change: ChangePoint) -> int:
    return RED if change.ratio > 1 else GREEN


def _words(point: HistoryPoint, ns: float) -> str:
    facts = [f"run {point.run}", duration(ns), point.started[:16].replace("T", " ")]
    facts += [f"commit {visible(point.commit)}"] if point.commit else []
    facts += [f"onnxruntime {visible(point.version)}"] if point.version else []
    return "\n".join(facts)


def _summary(series: HistorySeries, runs: int, shown: int) -> str:
    newest = f" Of {count(runs, 'run')} the newest {grouped(shown)} are shown." if shown < runs else ""
    changes = "".join(f" {_changed(each)}." for each in series.changes[:-1])
    return f"{capital(visible(series.answer))}.{changes}{newest}"


def _changed(change: ChangePoint) -> str:
    within = "" if change.ratio_low is None else f" (95 % CI {interval(change.ratio_low, change.ratio_high)})"
    return f"At run {change.first_after.run} the time changes by a factor of {factor(change.ratio)}{within}"
