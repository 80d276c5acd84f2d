"""A history on a page: the times of every series from run to run, with the levels between change points."""

from __future__ import annotations

from onnxperf.records.history import ChangePoint, History, HistorySeries
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.race.history_chart import levels, tick_text
from onnxperf.render.web.forest import BLUE, RED
from onnxperf.render.web.old_base import Chart, Section
from onnxperf.render.web.plots import ChartAxis, ChartLine, Point, lines_data, value_axis
from onnxperf.wording.names import capital, dims_text, name_of, visible
from onnxperf.wording.numbers import count, duration, duration_unit, factor, grouped, interval

MOST_SERIES = 8
"""Charts; further series are in the tables."""
MOST_POINTS = 400
"""The newest runs that a chart shows; the tables of files have all."""
_TICKS = 8


def history_sections(record: History) -> list[Section]:
    """A chart per series."""
    measured = [series for series in record.series if series.timed()]
    charts = [_chart(series, record) for series in measured[:MOST_SERIES]]
    return [Section("From run to run", charts)] if charts else []


def _chart(series: HistorySeries, record: History) -> Chart:
    times = series.timed()
    first = max(0, len(times) - MOST_POINTS)
    shown = times[first:]
    scale, unit = duration_unit(min(ns for _, ns in shown))
    points = []
    for place, (point, ns) in enumerate(shown, first):
        facts = [f"run {point.run}", duration(ns), point.started[:16].replace("T", " ")]
        facts += [f"commit {visible(point.commit)}"] if point.commit else []
        facts += [f"onnxruntime {visible(point.version)}"] if point.version else []
        points.append(Point(place, ns / scale, "\n".join(facts)))
    lines = [ChartLine("runs", points, BLUE), *_levels(series, first, scale)]
    step = max(1, -(-len(shown) // _TICKS))
    ticks = [(first + place, tick_text(shown[place][0], record)) for place in range(0, len(shown), step)]
    x = ChartAxis("", ticks=ticks, ends=(first - 1, first + len(shown)))
    relative = "" if series.yardstick_ns is None else " relative to the yardstick"
    axis = value_axis(f"{series.measure} time per call{relative} ({unit})", [ns / scale for _, ns in shown])
    data = lines_data(x, axis, lines)
    title = ", ".join(filter(None, [name_of(series.name), visible(dims_text(series.dims)), visible(series.machine)]))
    return Chart("lines", title, _summary(series, len(times), len(shown)), data, _table(series), 320)


def _levels(series: HistorySeries, first: int, scale: float) -> list[ChartLine]:
    """One line with a gap at each change."""
    points: list[Point] = []
    for begin, end, ns in levels(series):
        if end >= first:
            words = f"level {duration(ns)}"
            points += [Point(max(begin, first), ns / scale, words), Point(end, ns / scale, words), Point(end, None)]
    return [ChartLine("level between change points", points, RED)] if points else []


def _summary(series: HistorySeries, runs: int, shown: int) -> str:
    newest = f" Of {count(runs, 'run')} the newest {grouped(shown)} are shown." if shown < runs else ""
    changes = "".join(
        f" At run {each.first_after.run} the time changes by a factor of {factor(each.ratio)}{_within(each)}."
        for each in series.changes[:-1]
    )
    return f"{capital(visible(series.answer))}.{changes}{newest}"


def _within(change: ChangePoint) -> str:
    return "" if change.ratio_low is None else f" (95 % interval {interval(change.ratio_low, change.ratio_high)})"


def _table(series: HistorySeries) -> Table:
    columns = [Column("run", left=True), Column("when", left=True), Column("time"), Column("status", left=True)]
    columns += [Column("onnxruntime", left=True), Column("commit", left=True), Column("model file", left=True)]
    times = {id(point): ns for point, ns in series.timed()}
    rows = [
        Row(
            [
                point.run,
                point.started[:16].replace("T", " "),
                duration(times.get(id(point))),
                point.status,
                visible(point.version),
                f"{visible(point.commit)}{' with local changes' if point.dirty else ''}",
                visible(point.fingerprint[:12]),
            ]
        )
        for point in series.points[-MOST_POINTS:]
    ]
    return without_empty(Table(columns, rows))
