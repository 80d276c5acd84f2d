"""A bisection on a page: every comparison along the row of candidates, and the operators behind the change."""

from __future__ import annotations

from onnxperf.records.bisect import Bisection, BisectStep
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.web.bars import BarSeries, bars_data
from onnxperf.render.web.forest import GREEN, GREY, RED, YELLOW, Forest, ForestMark, forest_chart, has_marks
from onnxperf.render.web.old_base import Chart, Part, Section
from onnxperf.render.web.plots import ChartAxis
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import count, duration, duration_unit, factor, interval, microseconds, size

_SIDES = {"good": "as before", "bad": "changed", "undecided": "undecided"}
_COLOURS = {"good": GREEN, "bad": RED, "undecided": YELLOW}
_PURPOSES = {"ends": "the ends", "search": "the search", "repeat": "repeated"}
_WHAT = {"time": "time", "memory": "memory", "accuracy": "error"}


def bisect_sections(record: Bisection) -> list[Section]:
    """The comparisons in the order of the candidates, then what changed inside."""
    sections = [Section("Comparisons", _steps(record)), Section("Operators behind it", _operators(record))]
    return [each for each in sections if each.parts]


def _steps(record: Bisection) -> list[Part]:
    place = {each.name: number for number, each in enumerate(record.candidates)}
    numbered = sorted(enumerate(record.steps, 1), key=lambda each: place.get(each[1].candidate, len(place)))
    forest = Forest([_estimate(record, number, step) for number, step in numbered])
    if not has_marks(forest):
        return []
    what = _WHAT[record.by]
    summary = (
        f"{count(len(record.steps), 'comparison')} among {count(len(record.candidates), 'candidate')}, in the order of "
        f"the candidates, numbered as they were made: {what} of the candidate divided by that of an earlier good one, "
        "with intervals; left of 1 is less."
    )
    axis = f"{what} of the candidate / before"
    return [forest_chart("Along the candidates", summary, axis, [forest], _table(record))]


def _estimate(record: Bisection, number: int, step: BisectStep) -> ForestMark:
    shown = size if record.by == "memory" else duration
    amounts = f"{shown(step.base_amount)} before, {shown(step.amount)} after" if step.amount is not None else ""
    more = [f"comparison {number}, {_PURPOSES[step.purpose]}", amounts, visible(step.differs), visible(step.reason)]
    against = f"against {name_of(step.base)}" if step.base else ""
    more_text = "\n".join(filter(None, [against, *more]))
    name = f"{number}: {name_of(step.candidate)}"
    ends = (step.ratio_low, step.ratio_high)
    return ForestMark(name, step.ratio, *ends, _COLOURS.get(step.side, GREY), _SIDES[step.side], more_text)


def _table(record: Bisection) -> Table:
    columns = [Column("comparison"), Column("candidate", left=True), Column("against", left=True), Column("ratio")]
    columns += [Column("interval"), Column("result", left=True)]
    rows = [
        Row(
            [
                str(number),
                name_of(step.candidate),
                name_of(step.base) if step.base else "",
                factor(step.ratio),
                interval(step.ratio_low, step.ratio_high),
                _SIDES[step.side],
            ]
        )
        for number, step in enumerate(record.steps, 1)
    ]
    return Table(columns, rows)


def _operators(record: Bisection) -> list[Part]:
    """Time per operator in the last good and in the first bad candidate."""
    changes = record.operators
    if not changes:
        return []
    scale, unit = duration_unit(1e3 * max(max(each.before_us, each.after_us) for each in changes))
    sides = (("before", [each.before_us for each in changes], GREY), ("after", [each.after_us for each in changes], 0))
    parts = [
        BarSeries(name, [1e3 * us / scale for us in us_], [*map(microseconds, us_)], colour)
        for name, us_, colour in sides
    ]
    axis = ChartAxis(f"time per inference ({unit})", from_zero=True)
    columns = [Column("operator", left=True), Column("before"), Column("after")]
    cells = [[name_of(each.op_name), microseconds(each.before_us), microseconds(each.after_us)] for each in changes]
    summary = (
        f"Time of {count(len(changes), 'operator')} per inference in {name_of(record.good)} (before) and in "
        f"{name_of(record.bad)} (after), from profiles of both."
    )
    data = bars_data([each.op_name for each in changes], parts, axis)
    table = Table(columns, [Row(each) for each in cells])
    return [Chart("bars", "Operators before and after", summary, data, table, 110 + 44 * len(changes))]
