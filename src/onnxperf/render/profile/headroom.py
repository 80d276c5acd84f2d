"""The headroom of a profile: tables of work, speed and what could be won, and nodes below the roofs of the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxperf.records.headroom import Headroom, Limit
from onnxperf.records.profile import NodeTime, Profile
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import BROWN, GREY, Chart, axis_of, chart, microsecond_unit
from onnxperf.render.charts.plot import Dash, Plot, Series
from onnxperf.render.kit.column import Column
from onnxperf.render.kit.table import Table
from onnxperf.render.profile.charts import ELSEWHERE, operator_colors
from onnxperf.render.profile.columns import (
    Timed,
    could_win_text,
    files_only,
    flop_per_byte,
    limit_columns,
    others_footer,
    rows_of,
    share_column,
    time_column,
    total_column,
    total_footer,
)
from onnxperf.render.profile.groups import TIMELESS
from onnxperf.render.profile.tables import (
    module_columns,
    node_columns,
    node_label,
    nodes_table,
    operator_columns,
    original_or_inserted,
    source_columns,
)
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, microseconds, per_second, percent, ratio, significant

MOST_OPERATORS = 10
"""Operators that a screen has at least."""
MOST_ROWS = 2_000
"""Rows of a table on a page."""
_BARS = 16
_LABELS = 6
"""Nodes with a name next to their point."""
_TALL = 440
_AROUND = (2.0, 3.0)
"""How far roofs reach beyond the outermost nodes, as a factor."""


# ---------------------------------------------------------------- tables


def headroom_tables(profile: Profile, top: int = MOST_ROWS, with_sources: bool = True) -> list[Table[Any]]:
    """Per operator, then what could win the most; none in a profile without limits."""
    if not has_headroom(profile):
        return []
    tables = [_operators_table(profile, max(top, MOST_OPERATORS))]
    if top:
        tables += [costly_headroom_table(profile, top), _modules_table(profile, top)]
        tables += [_sources_table(profile, top)] if with_sources and _is_changed(profile) else []
    return [table for table in tables if table.rows]


def has_headroom(profile: Profile) -> bool:
    """Whether something is known of what could be won."""
    return profile.headroom is not None and any(each.is_judged for each in profile.headroom.nodes)


def headroom_table(profile: Profile) -> Table[Timed[NodeTime]]:
    """All nodes, what could win the most first."""
    return costly_headroom_table(profile, len(profile.nodes))


def costly_headroom_table(profile: Profile, top: int) -> Table[Timed[NodeTime]]:
    """The nodes that could win the most."""
    rows = _ranked(profile, "nodes")
    table = _table(
        "The nodes that could win the most", [*node_columns(), time_column(), share_column(profile)], rows, top
    )
    known = {column.key for column in table.columns}
    more = [column for column in nodes_table(profile).columns if column.key not in known]
    return table._replace(columns=[*table.columns, *files_only(more)])


def _operators_table(profile: Profile, top: int) -> Table[Any]:
    rows = _ranked(profile, "operators")
    title = "Time per operator, and what could be won at best on this machine"
    table = _table(title, [*operator_columns(), time_column(), share_column(profile)], rows, top)
    return table._replace(footers=[*others_footer(rows[top:]), total_footer(rows_of(profile, "nodes"))])


def _modules_table(profile: Profile, top: int) -> Table[Any]:
    """Those inside are counted in each, so that rows do not add up."""
    columns = [*module_columns(), total_column("time")._replace(width=0)]
    table = _table("What could be won per module, those inside included", columns, _ranked(profile, "modules"), top)
    return table._replace(footers=[])


def _sources_table(profile: Profile, top: int) -> Table[Any]:
    rows = [row for row in _ranked(profile, "sources") if row.timed.group.kind not in TIMELESS]
    name, kind = source_columns()
    columns = [name._replace(text=original_or_inserted), kind, time_column()]
    return _table("What could be won in the original model", columns, rows, top)


def _is_changed(profile: Profile) -> bool:
    """Whether the executed nodes are other ones than those of the model."""
    return any(source.group.kind not in ("kept", *TIMELESS) for source in profile.sources)


def _ranked(profile: Profile, kind: Any) -> list[Timed[Any]]:
    """Rows with their limits, what could win the most first; what is not judged is last."""

    def order(row: Timed[Any]) -> tuple[bool, float, float]:
        limit = _limit(row)
        return not limit.is_judged, -limit.could_win_us, -limit.time_us

    return sorted(rows_of(profile, kind), key=order)


def _limit(row: Timed[Any]) -> Limit:
    if row.limit is None:
        raise AssertionError("a profile without limits has no headroom")
    return row.limit


def _table(title: str, names: Sequence[Column[Any]], rows: Sequence[Timed[Any]], top: int) -> Table[Any]:
    columns = [*names, *limit_columns(rows)]
    footers = [*others_footer(rows[top:]), total_footer(rows)]
    return Table(columns, rows[:top], title, link=lambda row: row.key, footers=footers)


# ---------------------------------------------------------------- the roofline


def roofline_charts(profile: Profile) -> list[Chart]:
    """Nodes below the roofs of the machine, and what each could gain; none if nothing is known of either."""
    headroom = profile.headroom
    if headroom is None:
        return []
    rows = _ranked(profile, "nodes")
    winning = [row for row in rows if _limit(row).could_win_us > 0]
    return [*roofline_chart(profile), *([_could_win(profile, headroom, rows, winning)] if winning else [])]


def roofline_chart(profile: Profile) -> list[Chart]:
    """Nodes below the roofs of the machine; a page has what each could gain in its tables."""
    if profile.headroom is None:
        return []
    rows = _ranked(profile, "nodes")
    placed = list(filter(_has_speed, rows))
    return [_roofline(profile, profile.headroom, rows, placed)] if placed else []


def _roofline(
    profile: Profile, headroom: Headroom, rows: Sequence[Timed[NodeTime]], shown: Sequence[Timed[NodeTime]]
) -> Chart:
    """A point for each node with counted operations: its speed over its operations per byte."""
    roofs = _roofs(headroom, shown)
    series = [*roofs, *_points(profile, shown)]
    picture = Plot(
        x=axis_of("operations per byte", [x for each in series for x in each.xs], log_from=1.0),
        y=axis_of("GFLOP/s", [y for each in series for y in each.ys], log_from=1.0),
        series=series,
        zooms=True,
        tall=_TALL,
    )
    peaks, hidden = headroom.peaks, [row for row in rows if not _has_speed(row)]
    summary = (
        f"Speed of {count(len(shown), 'node')} over their operations per byte, below what this machine reaches with "
        f"{count(peaks.threads, 'thread')}: {significant(peaks.gflop_per_s)} GFLOP/s of arithmetic, "
        f"{significant(peaks.memory_gb_per_s)} GB/s from memory. The area of a point is its time; "
        f"{percent(headroom.near_share)} of the time is within 1.5× of its limit."
    )
    if hidden:
        share = sum(_limit(row).time_us for row in hidden) / (headroom.whole.time_us or 1.0)
        summary += (
            f" {count(len(hidden), 'node')} without counted operations, or with disturbed times, are left out "
            f"({percent(share)} of the time)."
        )
    return chart("Roofline", summary, picture, ELSEWHERE)


def _has_speed(row: Timed[NodeTime]) -> bool:
    return bool(flop_per_byte(_limit(row)) and _limit(row).gflop_per_s)


def _points(profile: Profile, rows: Sequence[Timed[NodeTime]]) -> list[Series]:
    """A series for each operator that has a color, and one for the others."""
    colors = operator_colors(profile)
    longest = max((_limit(row).time_us for row in rows), default=0.0) or 1.0
    named = {(row.timed.path, row.timed.name) for row in rows[:_LABELS]}
    groups: dict[str | None, list[Timed[NodeTime]]] = {name: [] for name in [*colors, None]}
    for row in rows:
        groups[row.timed.op_name if row.timed.op_name in colors else None].append(row)
    return [
        Series(
            name="others" if name is None else name_of(name),
            xs=[flop_per_byte(_limit(row)) or 0.0 for row in members],
            ys=[_limit(row).gflop_per_s for row in members],
            color=GREY if name is None else colors[name],
            shape="points",
            words=list(map(_words, members)),
            sizes=[_limit(row).time_us / longest for row in members],
            keys=[name_of(row.key) for row in members],
            labels=[node_label(row.timed) if (row.timed.path, row.timed.name) in named else "" for row in members],
        )
        for name, members in groups.items()
        if members
    ]


def _words(row: Timed[NodeTime]) -> str:
    limit = _limit(row)
    far = "at its limit" if limit.ratio is not None and limit.ratio <= 1 else f"{ratio(limit.ratio)} its limit"
    return "\n".join(
        [
            f"{name_of(row.timed.name)} ({name_of(row.timed.op_name)})",
            f"{microseconds(limit.time_us)}, {far}, could win {microseconds(limit.could_win_us)}",
            f"{per_second(limit.gflop_per_s)} GFLOP/s, {significant(flop_per_byte(limit) or 0.0)} operations per byte",
        ]
    )


def _roofs(headroom: Headroom, rows: Sequence[Timed[NodeTime]]) -> list[Series]:
    """Lines of arithmetic, memory and cache, from the least to the most operations per byte of the nodes."""
    peaks = headroom.peaks
    ceiling, integers = peaks.gflop_per_s, peaks.int8_gop_per_s
    ridge = ceiling / peaks.memory_gb_per_s
    at = [flop_per_byte(_limit(row)) or 0.0 for row in rows]
    low, high = min([*at, ridge]) / _AROUND[0], max([*at, ridge]) * _AROUND[1]
    start = max(ceiling / peaks.cache_gb_per_s, low)
    roofs = [_roof(f"arithmetic {significant(ceiling)} GFLOP/s", (start, ceiling), (high, ceiling), "solid")]
    dashes: list[tuple[str, float, Dash]] = [
        ("memory", peaks.memory_gb_per_s, "dashed"),
        ("cache", peaks.cache_gb_per_s, "dotted"),
    ]
    for words, rate, dash in dashes:
        end = max(ceiling / rate, low)
        roofs.append(_roof(f"{words} {significant(rate)} GB/s", (low, low * rate), (end, end * rate), dash))
    if integers is not None and any((_limit(row).gflop_per_s or 0.0) > 1.001 * ceiling for row in rows):
        name = f"int8 {significant(integers)} GOP/s"
        roofs.append(_roof(name, (low, integers), (high, integers), "dashed", BROWN))
    return roofs


def _roof(name: str, start: tuple[float, float], end: tuple[float, float], dash: Dash, color: int = GREY) -> Series:
    xs, ys = zip(start, end, strict=True)
    return Series(name, xs, ys, color, dash=dash)


def _could_win(
    profile: Profile, headroom: Headroom, rows: Sequence[Timed[NodeTime]], winning: Sequence[Timed[NodeTime]]
) -> Chart:
    """A bar for each of the nodes that could gain the most."""
    kept, colors = winning[:_BARS], operator_colors(profile)
    series = BarSeries(
        name="",
        values=[_limit(row).could_win_us for row in kept],
        words=[could_win_text(_limit(row)) for row in kept],
        colors=[colors.get(row.timed.op_name, GREY) for row in kept],
    )
    whole = headroom.whole
    summary = (
        f"What the {count(len(kept), 'node')} at the top could win at best, against the peaks of this machine; all "
        f"{count(len(rows), 'node')} together {microseconds(whole.could_win_us)} of {microseconds(whole.time_us)}."
    )
    picture = bars(
        [node_label(row.timed) for row in kept],
        [series],
        "could be won per inference, at best",
        microsecond_unit(series.values),
        keys=[row.key for row in kept],
    )
    return bars_chart("Could be won at best", summary, picture, ELSEWHERE)
