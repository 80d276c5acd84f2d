"""The series of a model below one another on one axis: each relative to its first level, every point a link to its run.

Places along the x axis are percentages, so that the drawing has the width of its page without stretching its texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from typing import NamedTuple

from onnxperf.records.history import ChangePoint, History, HistoryPoint, HistorySeries
from onnxperf.render.charts.base import linear_ticks
from onnxperf.render.race.history_chart import band_ends, band_of, base_of, calm_times, tick_text
from onnxperf.serve.drawing import Scale, scale_of, tag
from onnxperf.serve.templates import run_address
from onnxperf.wording.names import dims_text, visible
from onnxperf.wording.numbers import duration, percent, signed_percent_tick
from onnxperf.wording.verdicts import sign_of

HEIGHT, _TOP, _AXIS = 124, 34, 22
"""Pixels of a series, of the room for its labels, and of the axis below all series."""
MOST_SERIES = 12
"""Series that are drawn; the table has all."""
_LEFT, _RIGHT = 3.0, 97.0
"""Where the first and the last point are, in percent of the width."""
_TICKS = 6
_COMMIT = 8
_ZERO = 1e-9
_LABEL_SIDE = 62.0
"""From this place on, the label of a band is left of its begin."""


class Track(NamedTuple):
    """One series of the drawing."""

    title: str
    facts: str
    svg: str


class Tracks(NamedTuple):
    """The drawing."""

    tracks: list[Track]
    axis: str
    left_out: int


def tracks_of(record: History) -> Tracks:
    """All series with a time, and the axis below them."""
    shown = [each for each in record.series if each.timed()]
    places = _Places(record, shown[:MOST_SERIES])
    bases = [base_of(each) for each in shown]
    both = list(zip(shown, bases, strict=True))
    values = [ns / base for each, base in both for ns in (*calm_times(each), *band_ends(each))]
    scale = _Below(scale_of([*values, 1.0], HEIGHT - _TOP, 8))
    made = [_track(each, record, base, scale, places) for each, base in both[:MOST_SERIES]]
    return Tracks(made, places.axis(), len(shown[MOST_SERIES:]))


class _Below(NamedTuple):
    """A scale below the room for labels."""

    scale: Scale

    def y(self, value: float) -> float:
        return round(_TOP + self.scale.y(value), 1)


# ---------------------------------------------------------------- the x axis


class _Places:
    """Where runs stand: by time, or by the version, commit or machine that they belong to."""

    def __init__(self, record: History, shown: Sequence[HistorySeries]) -> None:
        self._record = record
        self._by_time = record.by in (None, "day")
        points = [point for each in shown for point in each.points]
        self._moments = sorted(_seconds(each) for each in points) or [0.0, 1.0]
        self._group_of = _groups_of(shown)
        self._groups = {name: place for place, name in enumerate(_group_order(record, shown))}

    def along(self, point: HistoryPoint, series: HistorySeries) -> float:
        """Percent of the width."""
        if self._by_time:
            begin, end = self._moments[0], self._moments[-1]
            part = (_seconds(point) - begin) / ((end - begin) or 1.0)
        else:
            name, within = self._group_of[id(series)].get(point.run, ("", 0.5))
            part = (self._groups.get(name, 0) + 0.15 + 0.7 * within) / max(len(self._groups), 1)
        return round(_LEFT + (_RIGHT - _LEFT) * part, 2)

    def axis(self) -> str:
        """Dates or names below all series."""
        parts = []
        for number, (place, words) in enumerate(self._ticks()):
            x = f"{round(_LEFT + (_RIGHT - _LEFT) * place, 2)}%"
            anchor = "start" if place < 0.05 else "end" if place > 0.95 else "middle"
            parts.append(tag("line", class_="tick", x1=x, x2=x, y1=0, y2=5))
            way = {"class_": "more"} if number % 2 else {}  # a narrow page has room for every second
            parts.append(tag("text", escape(words), x=x, y=18, text_anchor=anchor, **way))
        return tag("svg", "".join(parts), class_="axis", width="100%", height=_AXIS, aria_hidden="true")

    def _ticks(self) -> Iterator[tuple[float, str]]:
        if not self._by_time:
            step = -(-len(self._groups) // _TICKS)
            for name, place in self._groups.items():
                if place % max(step, 1) == 0:
                    yield (place + 0.5) / len(self._groups), visible(name)[:14]
            return
        begin, end = (datetime.fromtimestamp(self._moments[place], UTC) for place in (0, -1))
        days = max((end - begin).days, 0)
        step = next((each for each in (1, 2, 7, 14, 30, 61, 91, 182, 365) if days / each <= _TICKS), days // 4 or 1)
        day = begin.replace(hour=0, minute=0, second=0, microsecond=0)
        while day <= end:
            if day >= begin:
                yield (day - begin) / ((end - begin) or timedelta(1)), day.strftime("%Y-%m-%d")
            day += timedelta(days=step)


def _group_order(record: History, shown: Sequence[HistorySeries]) -> list[str]:
    """Groups of all series: each series keeps its order; commits are in the order of their first runs anywhere."""
    order: list[str] = []
    for series in shown:
        place = 0
        for group in series.groups:
            if group.name not in order:
                order.insert(place, group.name)
            place = order.index(group.name) + 1
    if record.by == "commit":
        first: dict[str, str] = {}
        for point in (point for each in shown for point in each.points):
            name = point.commit or "no commit"
            first[name] = min(point.started, first.get(name, point.started))
        order.sort(key=lambda name: first.get(name, ""))
    return order


def _groups_of(shown: Sequence[HistorySeries]) -> dict[int, dict[str, tuple[str, float]]]:
    """For the runs of each series, their group, and the place in it: groups are in the order of the points."""
    found: dict[int, dict[str, tuple[str, float]]] = {}
    for series in shown:
        places = found.setdefault(id(series), {})
        timed = [point for point, _ in series.timed()]
        begin = 0
        for group in series.groups:
            own = timed[begin : begin + group.runs]
            places |= {each.run: (group.name, (place + 0.5) / len(own)) for place, each in enumerate(own)}
            begin += group.runs
    return found


def _seconds(point: HistoryPoint) -> float:
    return datetime.fromisoformat(point.started).timestamp()


# ---------------------------------------------------------------- a series


def _track(series: HistorySeries, record: History, base: float, scale: _Below, places: _Places) -> Track:
    timed = series.timed()
    xs = [places.along(point, series) for point, _ in timed]
    parts = [*_grid(scale), *_changes(series, xs), *_levels(series, base, scale, xs)]
    parts += _failures(series, places)
    newest = max(point.started for point, _ in timed)
    for x, (point, ns) in zip(xs, timed, strict=True):
        parts.append(_point(point, ns, x, ns / base, scale, record, tabbed=point.started == newest))
    title = ", ".join(filter(None, [series.name, dims_text(series.dims)]))
    noise = f"noise ±{percent(series.noise)}" if series.noise is not None else ""
    level = f"level {duration(series.level_ns)}" if series.level_ns is not None else ""
    facts = " · ".join(filter(None, [series.machine, level, noise, series.answer]))
    svg = tag(
        "svg", "".join(parts), class_="track", width="100%", height=HEIGHT, role="group", aria_label=visible(title)
    )
    return Track(visible(title), visible(facts), svg)


def _grid(scale: _Below) -> Iterator[str]:
    """Lines at round changes relative to the first level."""
    low, high = scale.scale.low - 1, scale.scale.high - 1
    for value, _ in linear_ticks(low, high, most=4):
        y = scale.y(1 + value)
        words = signed_percent_tick(value) if abs(value) > _ZERO else "0"
        yield tag("line", class_="grid", x1="0%", x2="100%", y1=y, y2=y)
        yield tag("text", words, class_="scale", x=2, y=round(y - 2, 1))


def _levels(series: HistorySeries, base: float, scale: _Below, xs: Sequence[float]) -> Iterator[str]:
    for level in series.levels():
        x1, x2 = _ends(level.first, level.last, xs)
        band = band_of(level, series.noise)
        if band is not None:
            top, bottom = scale.y(band[1] / base), scale.y(band[0] / base)
            size = {"x": f"{x1}%", "width": f"{round(x2 - x1, 2)}%", "y": top, "height": round(max(bottom - top, 1), 1)}
            yield tag("rect", class_="band", **size)
        y = scale.y(level.ns / base)
        yield tag("line", class_="level", x1=f"{x1}%", x2=f"{x2}%", y1=y, y2=y)


def _ends(first: int, last: int, xs: Sequence[float]) -> tuple[float, float]:
    """From halfway after the point before to halfway before the point after."""
    begin = (xs[first - 1] + xs[first]) / 2 if first else xs[0] - 1
    end = (xs[last] + xs[last + 1]) / 2 if last + 1 < len(xs) else xs[-1] + 1
    return round(begin, 2), round(max(end, begin + 0.2), 2)


def _changes(series: HistorySeries, xs: Sequence[float]) -> Iterator[str]:
    """A labeled band from each change point to the next."""
    levels = series.levels()
    for place, (change, level) in enumerate(zip(series.changes, levels[1:], strict=False)):
        x1, x2 = _ends(level.first, level.last, xs)
        way = "slower" if change.ratio > 1 else "faster"
        size = {"x": f"{x1}%", "width": f"{round(x2 - x1, 2)}%", "y": 0, "height": HEIGHT}
        yield tag("rect", class_=f"since {way}", **size)
        yield tag("line", class_=f"edge {way}", x1=f"{x1}%", x2=f"{x1}%", y1=0, y2=HEIGHT)
        anchor, dx = ("end", -5) if x1 > _LABEL_SIDE else ("start", 5)
        where = {"x": f"{x1}%", "y": 13 + 14 * (place % 2), "dx": dx, "text_anchor": anchor}  # neighbors do not collide
        short, rest = _label(change, way)
        words = escape(short) + tag("tspan", escape(rest), class_="more")
        yield tag("text", words, class_=f"label {way}", **where)


def _label(change: ChangePoint, way: str) -> tuple[str, str]:
    """How much it changed, and since when, for which a narrow page has no room."""
    since = change.first_after.commit[:_COMMIT] or change.first_after.run
    return f"{sign_of(way)} {percent(abs(change.ratio - 1))}", visible(f" {way} since {since}")


def _failures(series: HistorySeries, places: _Places) -> Iterator[str]:
    timed = {id(point) for point, _ in series.timed()}
    for point in series.points:
        if id(point) not in timed:
            words = visible(f"run {point.run}: {point.status}, {point.started[:10]}")
            cross = tag("text", "×", class_="failure", x=f"{places.along(point, series)}%", y=HEIGHT - 3)
            yield tag("a", tag("title", escape(words)) + cross, href=run_address(point.run), tabindex=-1)


def _point(point: HistoryPoint, ns: float, x: float, value: float, scale: _Below, record: History, tabbed: bool) -> str:
    """A dot, or a triangle at the edge beyond which it lies; both lead to the run."""
    words = visible("\n".join(filter(None, _facts(point, ns, record))))
    label = visible(f"run {point.run}, {duration(ns)}, {point.started[:10]}")
    if scale.scale.is_outside(value):
        mark, y = ("▲", _TOP + 9) if value > scale.scale.high else ("▼", HEIGHT - 4)
        drawn = tag("text", mark, class_="outlier", x=f"{x}%", y=y)
    else:
        drawn = tag("circle", cx=f"{x}%", cy=scale.y(value), r=3.5)
    content = tag("title", escape(words)) + drawn
    place = {"href": run_address(point.run), "tabindex": 0 if tabbed else -1}
    return tag("a", content, class_="point", aria_label=label, **place)


def _facts(point: HistoryPoint, ns: float, record: History) -> list[str]:
    return [
        f"run {point.run}: {duration(ns)}",
        point.started[:16].replace("T", " "),
        f"commit {point.commit[:12]}{' with local changes' if point.dirty else ''}" if point.commit else "",
        f"onnxruntime {point.version}" if point.version else "",
        tick_text(point, record) if record.by == "commit" and not point.commit else "",
    ]
