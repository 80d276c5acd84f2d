"""A gate as a page: a row per limit and per control, as a table and as a chart, then the races."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnxperf.records.comparison import Comparison
from onnxperf.records.gate import Gate, GateControl, GateLimit
from onnxperf.render.charts.base import BLUE, VERDICT_COLORS, Chart
from onnxperf.render.charts.forest import forest_chart
from onnxperf.render.kit.column import FACTOR, Column
from onnxperf.render.kit.comparison import Compared, comparison_table
from onnxperf.render.kit.machine import cpu_text
from onnxperf.render.kit.page import Heading, Page, Part, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.render.race.sections import cases_sections, labels_of
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import count, duration, grouped, significant, size
from onnxperf.wording.verdicts import gate_word

GateRow = GateLimit | GateControl
_AMOUNTS: dict[str, Callable[[float], str]] = {
    "time": duration,
    "memory": size,
    "instructions": grouped,
    "error": significant,
}


def gate_page(record: Gate) -> Page:
    """Every limit and every control, then the answer and the races."""
    cpu = [cpu_text(record.machine)] if record.machine is not None else []
    sizes = {dims_text(each.dims) for each in _rows(record)}
    facts = [f"against {name_of(record.baseline)}", *(sizes if len(sizes) == 1 else ())]
    limits: list[Part] = [*limits_charts(record)] or ([limits_table(record)] if _rows(record) else [])
    races = cases_sections(labels_of(record.races), "Races") if record.races else []
    return [
        Heading(record.model, [*facts, *cpu]),
        Section("Limits", limits),
        *answered(record.answer, record.notes, record.interrupted, gate_word(record.outcome)),
        *races,
    ]


def limits_table(record: Gate) -> Table[GateRow]:
    """What was measured, what is accepted, and the outcome."""
    rows = _rows(record)
    alone = len({dims_text(each.dims) for each in rows}) == 1
    return _table(rows, COMPARED._replace(name=_measure) if alone else COMPARED)


def controls_table(record: Gate) -> Table[GateRow]:
    """The baseline against itself."""
    return _table(record.controls, COMPARED)


def _table(rows: Sequence[GateRow], by: Compared[GateRow]) -> Table[GateRow]:
    """Files keep the words of the record."""
    table = comparison_table(by, rows)
    columns = [each._replace(value=_outcome) if each.key == COMPARED.verdict else each for each in table.columns]
    return table._replace(columns=columns)


def limits_charts(record: Gate) -> list[Chart]:
    """Ratios with their intervals; an error of outputs is no ratio."""
    ratios = [each for each in record.limits if each.ratio is not None and each.measure != "error"]
    summary = (
        f"New / baseline of {count(len(ratios), 'limit')} with 95 % intervals, those of memory with the range "
        "of all processes; above 1 the new model takes more. A limit, the upright stroke of a row, is kept where all "
        "of the interval is left of it. "
        f"{_controls(record)}"
    )
    rows: Sequence[GateRow] = [*ratios, *record.controls]
    return forest_chart("Ratios and limits", summary, COMPARED, rows, table=limits_table(record))


def _rows(record: Gate) -> Sequence[GateRow]:
    return [*record.limits, *record.controls]


def _measure(row: GateRow) -> str:
    return row.measure if isinstance(row, GateLimit) else "control"


def _compared(row: GateRow) -> Comparison:
    sides = (row.baseline, row.new) if isinstance(row, GateLimit) else (None, None)
    return Comparison(
        ratio=row.ratio, low=row.ratio_low, high=row.ratio_high, reason=row.reason, before=sides[0], after=sides[1]
    )


def _outcome(row: GateRow) -> str:
    return row.outcome if isinstance(row, GateLimit) else "passed" if row.passed else "failed"


def _color(row: GateRow) -> int:
    is_control = isinstance(row, GateControl) and row.passed
    return BLUE if is_control else VERDICT_COLORS[_outcome(row)]


def _limit(row: GateRow) -> float | None:
    return row.limit if isinstance(row, GateLimit) else None


def _limit_text(row: GateRow) -> str:
    """With all of its digits; a control has none."""
    return "" if (limit := _limit(row)) is None else significant(limit, 4)


COMPARED: Compared[GateRow] = Compared(
    name=lambda row: " ".join(filter(None, [_measure(row), dims_text(row.dims)])),
    of=_compared,
    word=lambda row: gate_word(_outcome(row)),
    what="measure",
    key="ratio",
    ratio="new / baseline",
    verdict="outcome",
    limit=_limit,
    before=("baseline", "baseline"),
    after=("new", "new"),
    amount_text=lambda row, amount: _AMOUNTS[_measure(row)](amount),
    more=(Column("limit", "limit", _limit, FACTOR, text=_limit_text),),
    color=_color,
    tooltip=lambda row: "" if _limit(row) is None else f"limit {significant(_limit(row) or 0.0, 4)}",
)


def _controls(record: Gate) -> str:
    failed = sum(not each.passed for each in record.controls)
    if failed:
        return f"{count(failed, 'control')} failed: equal models were called different."
    return f"The control is the {'new model' if record.recorded else 'baseline'} against itself."
