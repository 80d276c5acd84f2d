"""A gate as a page: a row per limit, a row per control, and the answer."""

from __future__ import annotations

from collections.abc import Callable

from onnxperf.records.gate import Gate, GateControl, GateLimit, GateOutcome
from onnxperf.render.kit.machine import cpu_text
from onnxperf.render.kit.page import Heading, Part, closing
from onnxperf.render.kit.table import Column, Row, Table, without_empty
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import count, duration, factor, grouped, interval, significant, size

_STYLES: dict[GateOutcome, str] = {"passed": "green", "failed": "red", "undecided": "yellow"}
_AMOUNTS: dict[str, Callable[[float], str]] = {
    "time": duration,
    "memory": size,
    "instructions": grouped,
    "error": significant,
}


def gate_page(record: Gate, answer: str) -> list[Part]:
    """Every limit and every control, then the answer."""
    cpu = [cpu_text(record.machine)] if record.machine is not None else []
    facts = [f"against {name_of(record.baseline)}", count(len(record.races), "race"), *cpu]
    tables = [gate_table(record)] if record.limits or record.controls else []
    return [Heading(record.model, facts), *tables, *closing(answer, record.notes, record.interrupted)]


def gate_table(record: Gate) -> Table:
    """What was measured, what is accepted, and the outcome."""
    columns = (
        Column("case", left=True, rank=1),
        Column("measure", left=True),
        Column("baseline", rank=2),
        Column("new", rank=2),
        Column("new / baseline"),
        Column("interval", rank=1),
        Column("limit"),
        Column("outcome", left=True),
    )
    limits = [Row(_limit(each), styles={7: _STYLES[each.outcome]}) for each in record.limits]
    controls = [Row(_control(each), styles={7: "green" if each.passed else "red"}) for each in record.controls]
    return without_empty(Table(columns, [*limits, *controls]))


def _limit(limit: GateLimit) -> tuple[str, ...]:
    amounts = [_amount(limit, each) for each in (limit.baseline, limit.new)]
    return (
        dims_text(limit.dims),
        limit.measure,
        *amounts,
        factor(limit.ratio) if limit.ratio is not None else "",
        interval(limit.ratio_low, limit.ratio_high) if limit.ratio_low is not None else "",
        significant(limit.limit, 4) if limit.limit is not None else "",
        limit.outcome,
    )


def _amount(limit: GateLimit, amount: float | None) -> str:
    return "" if amount is None else _AMOUNTS[limit.measure](amount)


def _control(control: GateControl) -> tuple[str, ...]:
    return (
        dims_text(control.dims),
        "control",
        "",
        "",
        factor(control.ratio) if control.ratio is not None else "",
        interval(control.ratio_low, control.ratio_high) if control.ratio_low is not None else "",
        "",
        "passed" if control.passed else "failed",
    )
