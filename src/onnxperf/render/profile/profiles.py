"""Profiles of several variants: a page, time per operator with a column and a bar for each, and all of their nodes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from onnxperf.records.profile import Profile
from onnxperf.records.profiles import Profiles
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import BLUE, GREY, Chart, colors_of, microsecond_unit
from onnxperf.render.kit.column import NAME, US, Column, change_column
from onnxperf.render.kit.machine import cpu_text
from onnxperf.render.kit.page import Heading, Later, Page, Section, answered
from onnxperf.render.kit.table import Footer, Table
from onnxperf.render.profile.charts import ELSEWHERE
from onnxperf.render.profile.columns import Timed
from onnxperf.render.profile.tables import nodes_table
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, microseconds

_MOST_OPERATORS = 20
_DRAWN = 12


class OperatorTimes(NamedTuple):
    """The time of one operator type under each variant that has it."""

    op_name: str
    by_variant: dict[str, float]


class VariantNode(NamedTuple):
    """A node of one variant."""

    variant: str
    row: Timed[Any]


def profiles_page(record: Profiles) -> Page:
    """A column per variant, a row per operator, and what they add up to."""
    cpu = [cpu_text(record.machine)] if record.machine is not None else []
    facts = [*cpu, count(len(record.variants), "variant"), *_iterations(record)]
    return [
        Heading(record.model, facts),
        Section("Variants", [shown_operators_table(record)] if record.operators else [], "screen"),
        Section("Variants", Later(lambda: _on_page(record)), "page"),
        *answered(record.answer, record.notes, record.interrupted),
    ]


def _on_page(record: Profiles) -> list[Any]:
    """Two variants with each change in its row; of more, a bar for each."""
    if len(record.variants) != 2:
        return [*whole_charts(record), *(each._replace(on="page") for each in operators_charts(record))]
    table = shown_operators_table(record)
    before, after = (_time_under(each.model) for each in record.variants)
    return [table._replace(columns=[*table.columns, change_column(before, after, table.rows)])] if table.rows else []


def _iterations(record: Profiles) -> list[str]:
    fewest = min((each.iterations for each in record.variants), default=0)
    return [f"{count(fewest, 'iteration')} each"]


# ---------------------------------------------------------------- tables


def operators_table(record: Profiles) -> Table[OperatorTimes]:
    """Time per operator in the usual inference, in microseconds; a column for each variant."""
    names, variants = [each.model for each in record.variants], record.variants
    columns: list[Column[OperatorTimes]] = [
        Column("op_name", "operator", lambda row: row.op_name, NAME, room=16),
        *(Column(name, name_of(name), _time_under(name), US, breaks=True) for name in names),
    ]
    footers = [Footer({"": "total", **{each.model: each.usual_nodes_us for each in variants}})]
    runs = {each.model: each.usual_run_us for each in variants}
    if all(runs.values()):
        footers.append(Footer({"": "measured inference", **runs}, in_files=False))
    unprofiled = {each.model: each.unprofiled_ns / 1e3 for each in variants if each.unprofiled_ns}
    if len(unprofiled) == len(variants):
        footers.append(Footer({"": "a call without the profiler", **unprofiled}, "", in_files=False))
    return Table(columns, _rows(record), "Time per operator", footers=footers)


def shown_operators_table(record: Profiles) -> Table[OperatorTimes]:
    """The same with as many rows as a screen has room for."""
    table = operators_table(record)
    rest = table.rows[_MOST_OPERATORS:]
    if not rest:
        return table
    times = {each.model: math.fsum(row.by_variant.get(each.model, 0.0) for row in rest) for each in record.variants}
    others = Footer({"": count(len(rest), "other operator"), **times}, "", in_files=False)
    return table._replace(rows=table.rows[:_MOST_OPERATORS], footers=[others, *table.footers])


def _rows(record: Profiles) -> list[OperatorTimes]:
    known = {
        each.model: {operator.op_name: operator.usual_us for operator in each.operators} for each in record.variants
    }
    return [
        OperatorTimes(name, {variant: times[name] for variant, times in known.items() if name in times})
        for name in record.operators
    ]


def _time_under(variant: str) -> Callable[[OperatorTimes], float | None]:
    return lambda row: row.by_variant.get(variant)


def variant_nodes_table(record: Profiles) -> Table[VariantNode]:
    """The executed nodes of all variants, each with the share of its own inference."""
    tables = {each.model: nodes_table(each) for each in record.variants}
    rows = [VariantNode(variant, row) for variant, table in tables.items() for row in table.rows]
    longest = max((table.columns for table in tables.values()), key=len, default=())
    variant: Column[VariantNode] = Column("variant", "variant", lambda each: each.variant, NAME)
    return Table([variant, *(column.of(lambda each: each.row) for column in longest)], rows, "Time per node")


# ---------------------------------------------------------------- charts


def whole_charts(record: Profiles) -> list[Chart]:
    """The usual inference of each variant, and its time in nodes."""
    variants = record.variants
    if not variants:
        return []
    runs, nodes = [each.usual_run_us or 0.0 for each in variants], [each.usual_nodes_us for each in variants]
    series = [BarSeries("in nodes", nodes, list(map(microseconds, nodes)), BLUE)]
    if all(runs):
        series.insert(0, BarSeries("inference", runs, list(map(microseconds, runs)), GREY))
    summary = f"The usual inference of {count(len(variants), 'variant')}. Profiles have no verdict: a race has."
    picture = bars([each.model for each in variants], series, "time", microsecond_unit([*runs, *nodes]))
    return [bars_chart("Usual inference", summary, picture, ELSEWHERE, on="page")]


def operators_charts(record: Profiles) -> list[Chart]:
    """A bar for each variant per operator."""
    rows = _rows(record)[:_DRAWN]
    if not rows:
        return []
    colors = colors_of(each.model for each in record.variants)
    series = [_series(each, rows, colors[each.model]) for each in record.variants]
    summary = (
        f"Time per operator in the usual inference under {count(len(series), 'variant')}; the most in one of them "
        f"takes {name_of(rows[0].op_name)}."
    )
    unit = microsecond_unit([us for each in series for us in each.values])
    picture = bars([row.op_name for row in rows], series, "time per inference", unit)
    return [bars_chart("Time per operator", summary, picture, shown_operators_table(record))]


def _series(profile: Profile, rows: list[OperatorTimes], color: int) -> BarSeries:
    times = [row.by_variant.get(profile.model, 0.0) for row in rows]
    return BarSeries(profile.model, times, [microseconds(us) if us else "" for us in times], color)
