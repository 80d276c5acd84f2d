"""A bisection as a page: every comparison along the row of candidates, and the operators behind the change."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NamedTuple

from onnxperf.records.bisect import BisectCandidate, Bisection, BisectStep, OperatorChange
from onnxperf.records.comparison import Comparison
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import BLUE, GREEN, GREY, ORANGE, RED, Chart, microsecond_unit
from onnxperf.render.charts.forest import forest_chart
from onnxperf.render.kit.column import BYTES, FACTOR, NAME, NS, TEXT, US, Column, Format, change_column, field_columns
from onnxperf.render.kit.comparison import Compared, ratio_columns
from onnxperf.render.kit.machine import cpu_text
from onnxperf.render.kit.page import Heading, Page, Part, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.render.race.sections import cases_sections
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, microseconds

_PURPOSES = {"ends": "ends", "search": "search", "repeat": "repeated"}
_SIDES = {"good": "as before", "bad": "changed", "undecided": "undecided"}
_COLORS = {"good": GREEN, "bad": RED, "undecided": ORANGE}
_WHAT = {"time": "time", "memory": "memory", "accuracy": "error"}


class NumberedStep(NamedTuple):
    """A comparison, with its place in the order in which they were made."""

    number: int
    step: BisectStep


def bisect_page(record: Bisection) -> Page:
    """Every comparison in the order in which it was made, the answer, and what is behind it."""
    steps: list[Part] = [*steps_charts(record)] or ([steps_table(record)] if record.steps else [])
    races = {f"{row.number}: {name_of(row.step.candidate)}": row.step.race for row in _numbered(record)}
    raced = {label: race for label, race in races.items() if race is not None}
    what = count(len(record.candidates), "candidate") if record.candidates else f"{record.good} and {record.bad}"
    facts = [f"bisecting {record.over} by {record.by}", what]
    cpu = [cpu_text(record.machine)] if record.machine is not None else []
    return [
        Heading(record.model, [*facts, *cpu]),
        Section("Comparisons", steps),
        Section("Operators behind it", operators_charts(record), "page"),
        *answered(record.answer, record.notes, record.interrupted, _verdict(record)),
        *(cases_sections(raced, "Races") if raced else []),
    ]


def _verdict(record: Bisection) -> str:
    """What the last comparison says of a cause, or why there is none."""
    if record.outcome not in ("found", "range"):
        return {"same": "equivalent", "other way": ""}.get(record.outcome, "undecided")
    if record.by == "accuracy":
        return "differs"
    return "slower" if (record.steps[-1].ratio or 1.0) > 1 else "faster"


def _numbered(record: Bisection) -> list[NumberedStep]:
    return [NumberedStep(number, step) for number, step in enumerate(record.steps, 1)]


# ---------------------------------------------------------------- comparisons


def steps_table(record: Bisection) -> Table[NumberedStep]:
    """A row per comparison."""
    what = "part" if record.over == "nodes" else "candidate"
    columns = [
        _column("purpose", "comparison", width=80, text=lambda row: f"{row.number} {_PURPOSES[row.step.purpose]}"),
        _column("candidate", what, NAME, room=18),
        _column("base", "against", room=18),
        _column("base_amount", "before", _amount(record), 80),
        _column("amount", "after", _amount(record), 80),
        *ratio_columns(_compared(record)),
        _column("differs", "difference of outputs", width=100, room=20, cut=True),
        _column("reason", "why", width=100, room=20, cut=True),
        *(each.of(attrgetter("step")) for each in field_columns(BisectStep, ("side", "verdict"))),
    ]
    return Table(columns, _numbered(record))


def _column(key: str, heading: str, format: Format = TEXT, width: int = 0, **more: Any) -> Column[NumberedStep]:
    return Column(key, heading, attrgetter(f"step.{key}"), format, width, **more)


def _amount(record: Bisection) -> Format:
    return BYTES._replace(kind="number") if record.by == "memory" else NS


def _compared(record: Bisection) -> Compared[NumberedStep]:
    """How the steps are read: candidate / what was good before it."""
    return Compared(
        name=lambda row: f"{row.number}: {name_of(row.step.candidate)}",
        of=lambda row: Comparison.spelled(row.step, "ratio"),
        word=lambda row: _SIDES[row.step.side],
        key="ratio",
        ratio="ratio",
        verdict="result",
        format=FACTOR,
        axis=f"{_WHAT[record.by]} of the candidate / before",
        color=lambda row: _COLORS[row.step.side],
        tooltip=lambda row: _tooltip(row.step, _amount(record)),
    )


def _tooltip(step: BisectStep, amount: Format) -> str:
    against = f"{_PURPOSES[step.purpose]}, against {name_of(step.base)}" if step.base else _PURPOSES[step.purpose]
    known = step.amount is not None
    amounts = f"{amount.shown(step.base_amount)} before, {amount.shown(step.amount)} after" if known else ""
    return "\n".join(filter(None, [against, amounts, step.differs]))


def steps_charts(record: Bisection) -> list[Chart]:
    """The comparisons that have a ratio, in the order of the candidates."""
    place = {each.name: number for number, each in enumerate(record.candidates)}
    known = [row for row in _numbered(record) if row.step.ratio is not None]
    rows = sorted(known, key=lambda row: place.get(row.step.candidate, len(place)))
    summary = (
        f"{count(len(rows), 'comparison')} among {count(len(place), 'candidate')}, in the order of the candidates, "
        f"numbered as they were made: {_WHAT[record.by]} of the candidate divided by that of an earlier good one, with "
        "95 % intervals; left of 1 is less."
    )
    by, table = _compared(record), steps_table(record)
    return forest_chart("Along the candidates", summary, by, rows, table=table)


# ---------------------------------------------------------------- candidates and operators


def candidates_table(record: Bisection) -> Table[BisectCandidate]:
    """Where the change was searched."""
    return Table(field_columns(BisectCandidate), record.candidates)


def operators_table(record: Bisection) -> Table[OperatorChange]:
    """Time per operator in the last good and in the first bad candidate."""
    columns = [
        Column("op_name", "operator", attrgetter("op_name"), NAME),
        Column("before_us", "before", attrgetter("before_us"), US),
        Column("after_us", "after", attrgetter("after_us"), US),
        change_column(attrgetter("before_us"), attrgetter("after_us"), record.operators),
    ]
    return Table(columns, record.operators)


def operators_charts(record: Bisection) -> list[Chart]:
    """The same as bars; the answer names the first ones."""
    changes = record.operators
    if not changes:
        return []
    sides = {
        "before": ([each.before_us for each in changes], GREY),
        "after": ([each.after_us for each in changes], BLUE),
    }
    series = [BarSeries(name, us, [*map(microseconds, us)], color) for name, (us, color) in sides.items()]
    unit = microsecond_unit([us for each in series for us in each.values])
    picture = bars([each.op_name for each in changes], series, "time per inference", unit)
    summary = (
        f"Time of {count(len(changes), 'operator')} per inference in {name_of(record.good)} (before) and in "
        f"{name_of(record.bad)} (after), from profiles of both."
    )
    return [bars_chart("Operators before and after", summary, picture, operators_table(record))]
