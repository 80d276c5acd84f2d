"""A bisection as a page: a row per comparison, the answer, and what was skipped."""

from __future__ import annotations

from onnxperf.records.bisect import Bisection, BisectStep
from onnxperf.render.kit.machine import cpu_text
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import Heading, Part, closing
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, duration, factor, interval, size

_PURPOSES = {"ends": "ends", "search": "search", "repeat": "repeated"}
_SIDES = {"good": "as before", "bad": "changed", "undecided": "undecided"}
_STYLES = {"good": "green", "bad": "red", "undecided": "yellow"}


def bisect_page(record: Bisection, answer: str) -> list[Part]:
    """Every comparison in the order in which it was made, then the answer."""
    table = [_table(record)] if record.steps else []
    return [Heading(record.model, _facts(record)), *table, *closing(answer, record.notes, record.interrupted)]


def _facts(record: Bisection) -> list[str]:
    what = count(len(record.candidates), "candidate") if record.candidates else f"{record.good} and {record.bad}"
    cpu = [cpu_text(record.machine)] if record.machine is not None else []
    return [f"bisecting {record.over} by {record.by}", what, *cpu]


def _table(record: Bisection) -> Table:
    amounts = ("before", "after") if record.by != "accuracy" else ("", "")
    columns = (
        Column("comparison", left=True, rank=1),
        Column("candidate" if record.over != "nodes" else "part", left=True, room=18),
        Column("against" if record.over != "nodes" else "", left=True, room=18),
        Column(amounts[0], rank=2),
        Column(amounts[1], rank=2),
        Column("ratio"),
        Column("interval", rank=3),
        Column("result", left=True),
    )
    rows = [Row(_cells(record, step), styles={7: _STYLES[step.side]}) for step in record.steps]
    return without_empty(Table(columns, rows))


def _cells(record: Bisection, step: BisectStep) -> tuple[str, ...]:
    shown = size if record.by == "memory" else duration
    amounts = ("", "") if step.amount is None else (shown(step.base_amount), shown(step.amount))
    known = step.ratio is not None
    return (
        _PURPOSES[step.purpose],
        name_of(step.candidate),
        name_of(step.base) if step.base else "",
        *amounts,
        factor(step.ratio) if known else "",
        interval(step.ratio_low, step.ratio_high) if known else "",
        _SIDES[step.side],
    )
