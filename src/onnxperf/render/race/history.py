"""The history of a model as a page: a row per series, per change point and per group, and the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from onnxperf.records.history import FEWEST_POINTS, ChangePoint, History, HistorySeries
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import Heading, Part, closing
from onnxperf.wording.names import dims_text, name_of, visible
from onnxperf.wording.numbers import (
    NOTHING,
    count,
    duration,
    factor,
    grouped,
    hundredths,
    interval,
    percent,
    probability,
)

_COMMIT = 8
"""Characters of a commit in a table."""
MOST_ROWS = 36
"""Series, change points, or versions, commits and days of all series together, that a page shows."""


def history_page(record: History) -> list[Part]:
    """Series, change points, groups, and the answer."""
    runs = len({point.run for each in record.series for point in each.points})
    order = f"by {record.by}" if record.by else "by time"
    facts = [count(runs, "run"), count(len(record.series), "series", "series"), order, *_shared(record)]
    tables: dict[str, Table] = {record.by or "": group_table(record)}
    if record.by != "machine":
        tables = {"series": series_table(record), "change point": change_table(record), **tables}
    shown = [table._replace(rows=table.rows[:MOST_ROWS]) for table in tables.values() if table.rows]
    return [Heading(record.model, facts), *shown, *closing(record.answer, [*record.notes, *_left_out(record, tables)])]


def _left_out(record: History, tables: Mapping[str, Table]) -> Iterator[str]:
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


def _shared(record: History) -> list[str]:
    """Machine and case where all series have the same: they are above the tables then."""
    return [next(iter(values)) for values in _values(record) if len(values) == 1 and "" not in values]


def _values(record: History) -> list[set[str]]:
    machines = {visible(each.machine) for each in record.series}
    return [machines, {visible(dims_text(each.dims)) for each in record.series}]


def series_table(record: History) -> Table:
    """The first and the latest time of each series, and how much its times vary."""
    columns = (
        *_names(),
        Column("runs"),
        Column("failed"),
        Column("first"),
        Column("latest"),
        Column("noise", rank=1),
        Column("correlation", rank=2),
        Column("changes"),
    )
    return without_empty(Table(columns, [Row(_series(each, record)) for each in record.series]))


def _names() -> tuple[Column, ...]:
    return (
        Column("machine", left=True, room=12),
        Column("subject", left=True, room=12),
        Column("case", left=True, room=8),
    )


def _series(series: HistorySeries, record: History) -> tuple[str, ...]:
    times, failed = series.timed(), series.failures()
    return (
        *_named(series, record),
        grouped(len(times)),
        str(failed) if failed else "",
        duration(times[0][1]) if times else "",
        duration(times[-1][1]) if times else "",
        f"±{percent(series.noise)}" if series.noise is not None else "",
        hundredths(series.correlation) if series.correlation is not None else "",
        "" if record.by == "machine" else str(len(series.changes)) if _was_judged(series) else NOTHING,
    )


def _was_judged(series: HistorySeries) -> bool:
    return series.averages >= FEWEST_POINTS or bool(series.changes)


def _named(series: HistorySeries, record: History) -> tuple[str, str, str]:
    """Machine, subject and case, without what all series share."""
    machines, cases = _values(record)
    machine = visible(series.machine) if len(machines) > 1 else ""
    return machine, name_of(series.name), visible(dims_text(series.dims)) if len(cases) > 1 else ""


def change_table(record: History) -> Table:
    """When the times changed, between which runs, and by how much."""
    columns = (
        *_names(),
        Column("when", left=True),
        Column("from run", left=True, rank=2),
        Column("to run", left=True),
        Column("commit", left=True, rank=2),
        Column("onnxruntime", left=True, rank=3),
        Column("before", rank=1),
        Column("after", rank=1),
        Column("after / before"),
        Column("95 % interval"),
        Column("p"),
    )
    rows = [
        Row((*_named(series, record), *_change(each)), styles={10: "red" if each.ratio > 1 else "green"})
        for series in record.series
        for each in series.changes
    ]
    return _without_shared(Table(columns, rows), len(record.series))


def _change(change: ChangePoint) -> tuple[str, ...]:
    before, after = change.last_before, change.first_after
    return (
        datetime.fromisoformat(after.started).date().isoformat(),
        before.run,
        after.run,
        _between(before.commit[:_COMMIT], after.commit[:_COMMIT]),
        _between(before.version, after.version),
        duration(change.before_ns),
        duration(change.after_ns),
        factor(change.ratio),
        "" if change.ratio_low is None else interval(change.ratio_low, change.ratio_high),
        probability(change.p_value),
    )


def _between(before: str, after: str) -> str:
    """What was there before and after; once if it is the same."""
    return visible(after if before == after or not before else f"{before} → {after}")


def group_table(record: History) -> Table:
    """The runs of every version, commit, machine or day; of each series, the last ones."""
    columns = (
        *_names(),
        Column(record.by or "", left=True, room=12),
        Column("runs"),
        Column("median"),
        Column("min", rank=1),
        Column("max", rank=1),
        Column("/ first"),
    )
    rows = []
    for series in record.series:
        for each in series.groups[-_most_groups(record) :]:
            times = (duration(each.median_ns), duration(each.min_ns), duration(each.max_ns))
            cells = (*_named(series, record), visible(each.name), grouped(each.runs), *times, factor(each.ratio))
            rows.append(Row(cells))
    return _without_shared(Table(columns, rows), len(record.series))


def _without_shared(table: Table, series: int) -> Table:
    """Without the names of the series where there is only one."""
    if series == 1:
        table = table._replace(rows=[row._replace(cells=["", "", "", *row.cells[3:]]) for row in table.rows])
    return without_empty(table)
