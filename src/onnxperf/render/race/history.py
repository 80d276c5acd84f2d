"""The history of a model as a page: a chart and a row per series, a row per change point and per group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from onnxperf.records.comparison import Comparison
from onnxperf.records.history import FEWEST_POINTS, ChangePoint, History, HistoryGroup, HistoryPoint, HistorySeries
from onnxperf.render.charts.base import Chart
from onnxperf.render.kit.column import (
    FACTOR,
    FILES_ONLY,
    MOMENT,
    NAME,
    NS,
    TEXT,
    WHOLE,
    Column,
    Format,
    field_columns,
    for_screens,
)
from onnxperf.render.kit.comparison import STATUS_STYLES, Compared, ratio_columns
from onnxperf.render.kit.page import Heading, Line, Page, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.render.race.history_chart import MOST_POINTS, MOST_SERIES, series_chart, sights_of
from onnxperf.wording.names import dims_text, visible
from onnxperf.wording.numbers import count, hundredths, percent, probability

MOST_ROWS = 36
"""Series, change points, or versions, commits and days of all series together, that a page shows."""
_COMMIT, _FINGERPRINT = 8, 12
"""Characters of a commit, and of what identifies the file of a model."""
_NOISE = Format(lambda noise: f"±{percent(noise)}", excel="0.0%")
_CORRELATION = Format(hundredths, excel="0.00")
_P_VALUE = Format(probability, excel="0.0E+00")


class Row(NamedTuple):
    """A point, a change or a group of a series."""

    series: HistorySeries
    part: Any
    ns: float | None = None
    """The time by which the series judges a point."""


def history_page(record: History) -> Page:
    """Series, change points, groups, and the answer; on HTML pages also charts."""
    runs = len({point.run for each in record.series for point in each.points})
    order = f"by {record.by}" if record.by else "by time"
    facts = [count(runs, "run"), count(len(record.series), "series", "series"), order, *_shared(record)]
    tables: dict[str, Table[Any]] = {record.by or "": groups_table(record, _most_groups(record))}
    if record.by != "machine":
        tables = {"series": series_table(record), "change point": changes_table(record), **tables}
    titles = {"series": "Series", "change point": "Change points", record.by or "": f"By {record.by}"}
    shown = {titles[name]: table._replace(rows=table.rows[:MOST_ROWS]) for name, table in tables.items() if table.rows}
    notes = [*record.notes, *_left_out(record, tables)]
    return [
        Heading(record.model, facts),
        *_charts(record),
        *(Section(title, [table]) for title, table in shown.items()),
        *answered(record.answer, notes, verdict=_verdict(record)),
    ]


def _verdict(record: History) -> str:
    """The latest change of all series."""
    changes = [each.changes[-1] for each in record.series if each.changes]
    if record.by == "machine" or not changes:
        return ""
    return _CHANGE.said(max(changes, key=lambda each: each.first_after.started))


def history_charts(record: History) -> list[Chart]:
    """The times of every series from run to run."""
    measured = [each for each in record.series if each.timed()][:MOST_SERIES]
    sights = sights_of(measured) if measured else []
    return [
        series_chart(each, record, series_points_table(each), sight)
        for each, sight in zip(measured, sights, strict=True)
    ]


def _charts(record: History) -> list[Section]:
    charts = history_charts(record)
    left_out = len(record.series) - MOST_SERIES
    rest = [Line(f"{count(left_out, 'more series', 'more series')}: see the tables")] if left_out > 0 else []
    title = f"From run to run, by {record.by}" if record.by else "From run to run"
    return [Section(title, [*charts, *rest], "page")] if charts else []


def _left_out(record: History, tables: Mapping[str, Table[Any]]) -> Iterator[str]:
    """What the page has no room for."""
    for name, table in tables.items():
        if len(table.rows) > MOST_ROWS:
            rows = count(len(table.rows), name, "series" if name == "series" else "")
            yield f"the first {MOST_ROWS} of {rows} are shown; files have all"
    most = _most_groups(record)
    if any(len(each.groups) > most for each in record.series):
        yield f"only the last {most} {record.by}s of each series are shown; files have all"


def _most_groups(record: History) -> int:
    """Of each series, the more the fewer there are."""
    return max(3, MOST_ROWS // max(len(record.series), 1))


# ---------------------------------------------------------------- series


def _shared(record: History) -> list[str]:
    """Machine and case where all series have the same: they are above the tables then."""
    return [next(iter(values)) for values in _values(record) if len(values) == 1 and "" not in values]


def _values(record: History) -> list[set[str]]:
    machines = {visible(each.machine) for each in record.series}
    return [machines, {visible(dims_text(each.dims)) for each in record.series}]


def _names(record: History, single: bool = False) -> list[Column[HistorySeries]]:
    """Subject, machine and case; screens leave out what all series share, and all of it if there is a `single` one."""
    machines, cases = (0 if len(values) > 1 else FILES_ONLY for values in _values(record))
    subjects = FILES_ONLY if single and len(record.series) == 1 else 0
    return [
        Column("series", "subject", lambda each: each.name, NAME, subjects, room=12),
        Column("machine", "machine", lambda each: each.machine, TEXT, machines, room=12),
        Column("dims", "case", lambda each: dims_text(each.dims), TEXT, cases, room=8),
    ]


def series_table(record: History) -> Table[HistorySeries]:
    """The first and the latest time of each series, and how much its times vary."""
    columns: list[Column[HistorySeries]] = [
        *_names(record),
        Column("runs", "runs", lambda each: each.runs(), WHOLE),
        Column("failed", "failed", lambda each: each.failures(), WHOLE, text=lambda each: str(each.failures() or "")),
        Column("first_ns", "first", _time(0), NS),
        Column("latest_ns", "latest", _time(-1), NS),
        Column("noise", "noise", attrgetter("noise"), _NOISE, 60),
        Column("correlation", "correlation", attrgetter("correlation"), _CORRELATION, 80),
        Column("changes", "changes", lambda each: len(each.changes) if _was_judged(each) else None, WHOLE),
    ]
    return Table(columns, record.series)


def _time(place: int) -> Callable[[HistorySeries], float | None]:
    return lambda series: times[place][1] if (times := series.timed()) else None


def _was_judged(series: HistorySeries) -> bool:
    return series.averages >= FEWEST_POINTS or bool(series.changes)


def _rows(record: History, parts: str, last: int = 0) -> list[Row]:
    return [Row(series, each) for series in record.series for each in getattr(series, parts)[-last:]]


def _of_series(record: History) -> list[Column[Row]]:
    return [column.of(lambda row: row.series) for column in _names(record, single=True)]


# ---------------------------------------------------------------- change points


def changes_table(record: History) -> Table[Row]:
    """When the times changed, between which runs, and by how much."""
    columns: list[Column[ChangePoint]] = [
        Column("started", "when", lambda each: each.first_after.started, MOMENT, text=_day),
        Column("last_run_before", "from run", lambda each: each.last_before.run, width=100),
        Column("run", "to run", lambda each: each.first_after.run),
        Column("commit", "commit", lambda each: each.first_after.commit, width=100, text=_between("commit", _COMMIT)),
        Column("version", "onnxruntime", lambda each: each.first_after.version, width=140, text=_between("version")),
        Column("before_ns", "before", attrgetter("before_ns"), NS, 80),
        Column("after_ns", "after", attrgetter("after_ns"), NS, 80),
        *(each._replace(width=140) if each.key == "change" else each for each in ratio_columns(_CHANGE)),
        Column("p_value", "p", attrgetter("p_value"), _P_VALUE),
    ]
    return Table([*_of_series(record), *(each.of(lambda row: row.part) for each in columns)], _rows(record, "changes"))


_CHANGE: Compared[ChangePoint] = Compared(
    name=lambda each: each.first_after.run,
    of=lambda each: Comparison.spelled(each, "ratio"),
    word=lambda each: "slower" if each.ratio > 1 else "faster",
    key="ratio",
    ratio="after / before",
    verdict="change",
    format=FACTOR,
)


def _day(change: ChangePoint) -> str:
    return change.first_after.started[:10]


def _between(field: str, most: int | None = None) -> Callable[[ChangePoint], str]:
    """What was there before and after; once if it is the same."""

    def text(change: ChangePoint) -> str:
        before, after = (getattr(point, field)[:most] for point in (change.last_before, change.first_after))
        return visible(after if before == after or not before else f"{before} → {after}")

    return text


# ---------------------------------------------------------------- groups


def groups_table(record: History, last: int = 0) -> Table[Row]:
    """The runs of every version, commit, machine or day; only the last ones of each series if a number is given."""
    columns: list[Column[HistoryGroup]] = [
        Column("name", record.by or "", attrgetter("name"), TEXT, room=12),
        Column("runs", "runs", attrgetter("runs"), WHOLE),
        Column("median_ns", "median", attrgetter("median_ns"), NS),
        Column("min_ns", "min", attrgetter("min_ns"), NS, 60),
        Column("max_ns", "max", attrgetter("max_ns"), NS, 60),
        Column("ratio", "/ first", attrgetter("ratio"), FACTOR),
    ]
    rows = _rows(record, "groups", last)
    return Table([*_of_series(record), *(each.of(lambda row: row.part) for each in columns)], rows)


# ---------------------------------------------------------------- points


def points_table(record: History) -> Table[Row]:
    """Every run of every series, in the order of the series."""
    rows = [row for each in record.series for row in _point_rows(each)]
    return Table([*_of_series(record), *_POINT_COLUMNS], rows)


def series_points_table(series: HistorySeries) -> Table[Row]:
    """The newest runs of one series."""
    return Table(_POINT_COLUMNS, _point_rows(series)[-MOST_POINTS:], link=lambda row: row.part.run)


def _point_rows(series: HistorySeries) -> list[Row]:
    times = {id(point): ns for point, ns in series.timed()}
    return [Row(series, point, times.get(id(point))) for point in series.points]


def _commit(point: HistoryPoint) -> str:
    return f"{visible(point.commit)}{' with local changes' if point.dirty else ''}"


_FIELDS: list[Column[HistoryPoint]] = [
    Column("run", "run", attrgetter("run")),
    Column("started", "when", attrgetter("started"), MOMENT, text=lambda each: each.started[:16].replace("T", " ")),
    *field_columns(HistoryPoint, ("time_ns", "yardstick_ns", "median_ns", "mean_ns")),
    Column("status", "status", attrgetter("status"), style=lambda each: STATUS_STYLES.get(each.status, "red")),
    Column("version", "onnxruntime", attrgetter("version")),
    Column("commit", "commit", attrgetter("commit"), text=_commit),
    *field_columns(HistoryPoint, ("dirty",)),
    Column(
        "fingerprint",
        "model file",
        attrgetter("fingerprint"),
        text=lambda each: visible(each.fingerprint[:_FINGERPRINT]),
    ),
]
_POINT_COLUMNS: list[Column[Row]] = [each.of(lambda row: row.part) for each in _FIELDS]
_POINT_COLUMNS.insert(2, for_screens("time", lambda row: row.ns, NS))
