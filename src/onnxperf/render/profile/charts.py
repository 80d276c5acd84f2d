"""The charts of a profile: time per operator, node and original node, and every inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxperf.records.profile import GroupKind, NodeTime, Profile, operator_link, sum_of
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    SUBJECT_COLORS,
    Chart,
    axis_of,
    chart,
    microsecond_unit,
)
from onnxperf.render.charts.plot import Level, Plot, Series, clipped, robust
from onnxperf.render.kit.table import Table
from onnxperf.render.profile.columns import Timed, rows_of
from onnxperf.render.profile.tables import (
    estimator,
    iteration_rows,
    iterations_table,
    node_label,
    operator_rows,
    operators_table,
    timed_sources,
)
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, grouped, mean_count, microseconds, percent, ratio

_OPERATORS, _NODES, _FIRST = 14, 20, 12
"""Bars of a chart."""
_ZOOMS = 60
"""Inferences from which on a reader may enlarge their chart."""
KIND_COLORS: dict[GroupKind, int] = {
    "kept": BLUE,
    "fused": GREEN,
    "inserted": ORANGE,
    "folded": SKY,
    "duplicate": PINK,
    "removed": BROWN,
    "unattributed": GREY,
}
ELSEWHERE: Table[Any] = Table([], [])
"""Behind a chart whose numbers stand in a table of their own on the same page."""


def operator_colors(profile: Profile) -> dict[str, int]:
    """A color for each of the most costly operators, the same in all charts; all others are gray."""
    costly = sorted(profile.operators, key=lambda each: -each.usual_us)
    return dict(zip((each.op_name for each in costly), SUBJECT_COLORS, strict=False))


def operator_legend(profile: Profile, present: set[str]) -> list[tuple[str, int]]:
    """The colors of the operators that a chart shows."""
    colors = operator_colors(profile)
    named = [(name_of(name), color) for name, color in colors.items() if name in present]
    return [*named, ("others", GREY)] if present - set(colors) else named


# ---------------------------------------------------------------- operators and nodes


def operators_charts(profile: Profile) -> list[Chart]:
    """A bar for each of the most costly operators; what is left is one bar."""
    rows = operator_rows(profile)
    if not rows:
        return []
    kept, rest = rows[:_OPERATORS], rows[_OPERATORS:]
    colors, first = operator_colors(profile), rows[0]
    words = [f"{_cost(row)}{_calls(row)}" for row in kept]
    others = [(count(len(rest), "other operator"), sum_of(row.timed for row in rest))] if rest else []
    series = BarSeries(
        name="",
        values=[row.timed.usual_us for row in kept] + [us for _, us in others],
        words=words + [_cost_of(us, first.whole_us) for _, us in others],
        colors=[colors.get(row.timed.op_name, GREY) for row in kept] + [GREY for _ in others],
    )
    summary = (
        f"Time of {count(len(rows), 'operator')} in the usual inference. {name_of(first.timed.op_name)} takes the "
        f"most: {_cost(first)} of the time in nodes."
    )
    names = [row.timed.op_name for row in kept] + [name for name, _ in others]
    keys = [row.key for row in kept] + ["" for _ in others]
    picture = bars(names, [series], "time per inference", microsecond_unit(series.values), keys=keys)
    return [bars_chart("Time per operator", summary, picture, operators_table(profile))]


def nodes_charts(profile: Profile, rows: Sequence[Timed[NodeTime]] | None = None, what: str = "node") -> list[Chart]:
    """A bar for each of the most costly nodes, in the color of its operator; `rows` are other nodes, or fewer."""
    costly = sorted(rows_of(profile, "nodes") if rows is None else rows, key=lambda row: -row.timed.usual_us)
    if not costly:
        return []
    kept, rest = costly[:_NODES], costly[_NODES:]
    colors, together = operator_colors(profile), sum_of(row.timed for row in kept)
    series = BarSeries(
        name="",
        values=[row.timed.usual_us for row in kept],
        words=[_cost(row) for row in kept],
        colors=[colors.get(row.timed.op_name, GREY) for row in kept],
    )
    takes = (
        f"The {count(len(kept), what)} that take the most time in the usual inference: together "
        f"{_cost_of(together, costly[0].whole_us)} of the time in nodes"
    )
    others = microseconds(sum_of(row.timed for row in rest))
    picture = bars(
        [node_label(row.timed) for row in kept],
        [series],
        "time per inference",
        microsecond_unit(series.values),
        keys=[row.key for row in kept],
        legend=operator_legend(profile, {row.timed.op_name for row in kept}),
    )
    summary = f"{takes}; the other {grouped(len(rest))} take {others}." if rest else f"{takes}."
    return [bars_chart(f"Time per {what}", summary, picture, ELSEWHERE, on="page")]


def _cost(row: Timed[Any]) -> str:
    return _cost_of(row.timed.usual_us, row.whole_us)


def _cost_of(us: float, whole_us: float) -> str:
    return f"{microseconds(us)}, {percent(us / whole_us if whole_us else None)}"


def _calls(row: Timed[Any]) -> str:
    calls = row.mean(row.timed.calls)
    return "" if calls == 1 else f", {mean_count(calls)} calls"


# ---------------------------------------------------------------- the original model


def sources_charts(profile: Profile) -> list[Chart]:
    """A bar for each of the most costly groups of original nodes, in the color of what became of them."""
    rows = [row for row in timed_sources(profile) if any(row.timed.self_us)]
    if all(row.timed.group.kind == "kept" for row in rows):
        return []
    kept = rows[:_NODES]
    groups = [row.timed.group for row in kept]
    series = BarSeries(
        name="",
        values=[row.timed.usual_us for row in kept],
        words=[_cost(row) for row in kept],
        colors=[KIND_COLORS[group.kind] for group in groups],
    )
    present = {group.kind for group in groups}
    picture = bars(
        [" > ".join((*group.path, " + ".join(group.sources or group.executed))) for group in groups],
        [series],
        "time per inference",
        microsecond_unit(series.values),
        keys=[row.key for row in kept],
        legend=[(kind, color) for kind, color in KIND_COLORS.items() if kind in present],
    )
    fused = sum_of(row.timed for row in rows if row.timed.group.kind == "fused")
    summary = (
        f"The {count(len(kept), 'group')} of original nodes that take the most time, of {grouped(len(rows))} in all; "
        f"all fused nodes together take {_cost_of(fused, rows[0].whole_us)} of the time in nodes."
    )
    return [bars_chart("Time per original node", summary, picture, ELSEWHERE, on="page")]


# ---------------------------------------------------------------- iterations


def iterations_charts(profile: Profile) -> list[Chart]:
    """How long each inference took, the first one first, and the usual time."""
    runs = profile.run_us
    if len(runs) < 3:
        return []
    unit, usual = microsecond_unit(runs), profile.usual_run_us or 0.0
    y = axis_of("time", [*robust(runs), usual], unit)
    words = [f"inference {number}: {microseconds(us)}" for number, us in enumerate(runs)]
    line = Series("inference", list(range(len(runs))), list(map(float, runs)), BLUE, words=words)
    inside, beyond = clipped(line, y, list(map(microseconds, runs)))
    picture = Plot(
        x=axis_of("inference, from 0", range(len(runs))),
        y=y,
        series=[inside],
        marks=beyond,
        levels=[Level(usual, f"usual {microseconds(usual)}")],
        zooms=len(runs) > _ZOOMS,
        tall=260,
    )
    summary = (
        f"{count(len(runs), 'inference')} in the trace: the first took {microseconds(runs[0])}, the others "
        f"{microseconds(min(runs[1:]))} to {microseconds(max(runs[1:]))}; the usual one, the {estimator(profile)}, "
        f"{microseconds(usual)}."
    )
    table = iterations_table(profile) if iteration_rows(profile) else ELSEWHERE
    return [chart("Every inference", summary, picture, table, on="page")]


def first_charts(profile: Profile) -> list[Chart]:
    """Two bars per operator: the first inference, which allocates and fills caches, and the usual one."""
    ranked = sorted(profile.operators, key=lambda each: -max(next(iter(each.self_us), 0), each.usual_us))
    if len(profile.run_us) < 3 or not ranked:
        return []
    kept, rest = ranked[:_FIRST], ranked[_FIRST:]
    rows = [(each.op_name, operator_link(each.op_name), float(each.self_us[0]), each.usual_us) for each in kept]
    if rest:
        firsts = float(sum(each.self_us[0] for each in rest))
        rows.append((count(len(rest), "other operator"), "", firsts, sum_of(rest)))
    names, keys, first, usual = (list(column) for column in zip(*rows, strict=True))
    series = [
        BarSeries("first inference", first, list(map(microseconds, first)), RED),
        BarSeries("usual inference", usual, list(map(microseconds, usual)), BLUE),
    ]
    summary = (
        "Time per operator in the first inference, which takes memory and fills caches, and in the usual one: "
        f"{microseconds(sum(first))} in nodes against {microseconds(sum(usual))}"
        f"{f', {ratio(sum(first) / sum(usual))}' if sum(usual) > 0 else ''}."
    )
    picture = bars(names, series, "time", microsecond_unit([*first, *usual]), keys=keys)
    return [bars_chart("First inference by operator", summary, picture, ELSEWHERE, on="page")]
