"""The chart of a series of a history: a point per run, levels with their noise, and change points as labeled bands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

from onnxperf.records.history import ChangePoint, History, HistoryPoint, HistorySeries, Level, Timed
from onnxperf.render.charts.base import BLUE, GREEN, GREY, RED, Axis, Chart, axis_of, chart, named_axis, time_unit
from onnxperf.render.charts.plot import Edge, Plot, PlotSpan, Series, clipped, robust, with_rounded
from onnxperf.render.kit.table import Table
from onnxperf.wording.names import capital, dims_text, name_of, visible
from onnxperf.wording.numbers import count, duration, factor, grouped, interval, percent

MOST_SERIES = 8
"""Charts; further series are in the tables."""
MOST_POINTS = 400
"""The newest runs that a chart shows; the tables of files have all."""
BAND = 2.0
"""Half of the height of a noise band, in units of the noise: about 95 % of the runs lie inside."""
FAR = 6.0
"""How many times the median distance from the level an outlier is away: four deviations of normal noise."""
NEAR = 0.03
"""Distance from the level that is never an outlier."""
_TICKS = 8
_LABEL = 14
"""Characters below a tick."""
_PERCENT = (0.01, "%")


class _Sight(NamedTuple):
    """What a series is divided by, and the axis that it shares with the others."""

    base: float
    y: Axis


def sights_of(series: Sequence[HistorySeries]) -> list[_Sight]:
    """One axis for all series: relative to the first level of each; times if there is only one."""
    if len(series) == 1:
        return [_Sight(1.0, _time_axis(series[0]))]
    bases = [base_of(each) for each in series]
    values = [
        ns / base - 1 for each, base in zip(series, bases, strict=True) for ns in (*calm_times(each), *band_ends(each))
    ]
    y = axis_of("change since the first level", values, _PERCENT)
    return [_Sight(base, y) for base in bases]


def _time_axis(series: HistorySeries) -> Axis:
    relative = "" if series.yardstick_ns is None else " relative to the yardstick"
    values = [*calm_times(series), *band_ends(series)]
    return axis_of(f"{series.measure} time per call{relative}", values, time_unit(values))


def base_of(series: HistorySeries) -> float:
    """The time of the first level; the first time if machines are compared."""
    levels = series.levels()
    return levels[0].ns if levels else series.timed()[0][1]


def calm_times(series: HistorySeries) -> list[float]:
    """The times near their level: what an axis must have room for."""
    times = [ns for _, ns in series.timed()]
    levels = [level.ns for level in series.levels() for _ in range(level.last + 1 - level.first)]
    if not levels:
        return robust(times)
    off = [abs(math.log(ns / level)) for ns, level in zip(times, levels, strict=True)]
    reach = max(FAR * median(off), NEAR)
    return [ns for ns, far in zip(times, off, strict=True) if far <= reach]


def band_of(level: Level, noise: float | None) -> tuple[float, float] | None:
    """Between which times about 95 % of the runs of a level lie."""
    return None if noise is None else (level.ns * max(1 - BAND * noise, 0.1), level.ns * (1 + BAND * noise))


def band_ends(series: HistorySeries) -> list[float]:
    """The ends of all noise bands, for an axis."""
    found = [band_of(level, series.noise) for level in series.levels()]
    return [end for band in found if band is not None for end in band]


def series_chart(series: HistorySeries, record: History, table: Table[Any], sight: _Sight) -> Chart:
    """The newest runs of a series; what lies far from its level is clipped at the edge."""
    times = series.timed()
    first = max(0, len(times) - MOST_POINTS)
    shown = times[first:]
    title = ", ".join(filter(None, [name_of(series.name), visible(dims_text(series.dims)), visible(series.machine)]))
    summary = _summary(series, len(times), len(shown))
    return chart(title, summary, _plot(series, record, shown, first, sight), table, on="page")


def _plot(series: HistorySeries, record: History, shown: Timed, first: int, sight: _Sight) -> Plot:
    def along(ns: float) -> float:
        return ns if sight.base == 1.0 else ns / sight.base - 1

    runs = Series(
        name="runs",
        xs=[float(place) for place in range(len(shown))],
        ys=[along(ns) for _, ns in shown],
        color=BLUE,
        shape="points",
        words=[_words(point, ns) for point, ns in shown],
        keys=[point.run for point, _ in shown],
    )
    inside, outliers = clipped(runs, sight.y, [duration(ns) for _, ns in shown])
    changes = [each for each in series.changes if each.index > first]
    ends = [*(each.index - first - 0.5 for each in changes[1:]), len(shown) - 0.5]
    return Plot(
        x=_runs_axis(record, [point for point, _ in shown]),
        y=sight.y,
        series=[with_rounded(inside), *_levels(series, first, along)],
        marks=outliers,
        spans=[_span(each, first, end) for each, end in zip(changes, ends, strict=bool(changes))],
        edges=[Edge(each.index - first - 0.5, _color(each), "dashed") for each in changes],
        tall=320,
    )


def _runs_axis(record: History, points: Sequence[HistoryPoint]) -> Axis:
    return named_axis([tick_text(point, record) for point in points], record.by or "", _TICKS)


def tick_text(point: HistoryPoint, record: History) -> str:
    """What stands below a point: the version, the commit or the day."""
    texts = {"version": point.version, "commit": point.commit[:8]}
    return visible(texts.get(record.by or "", "") or point.started[:10])[:_LABEL]


def _levels(series: HistorySeries, first: int, along: Any) -> Iterator[Series]:
    """The level at every run with its noise band: a step at each change."""
    kept = [level for level in series.levels() if level.last >= first]
    if not kept:
        return
    of_runs = [level for level in kept for _ in range(max(level.first, first), level.last + 1)]
    ends = [band_of(level, series.noise) for level in of_runs]
    yield with_rounded(
        Series(
            name="level, ±2 × noise",
            xs=[float(place) for place in range(len(of_runs))],
            ys=[along(level.ns) for level in of_runs],
            color=GREY,
            shape="step",
            words=[f"level {duration(level.ns)}" for level in of_runs],
            lows=[along(each[0]) for each in ends if each is not None],
            highs=[along(each[1]) for each in ends if each is not None],
        )
    )


def _span(change: ChangePoint, first: int, end: float) -> PlotSpan:
    """From a change to the next one."""
    way = "slower" if change.ratio > 1 else "faster"
    since = visible(change.first_after.commit[:8] or change.first_after.run)
    label = f"{percent(abs(change.ratio - 1))} {way} since {since}"
    return PlotSpan(low=change.index - first - 0.5, high=end, name=way, color=_color(change), label=label)


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
