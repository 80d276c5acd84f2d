"""A tuning as a page: a row per candidate, the confirming race, the answer, and the winner as Python."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.race import Subject
from onnxperf.records.sweep import time_of
from onnxperf.records.tune import DEFAULTS, Goal, TuneRow, Tuning
from onnxperf.render.kit.machine import cpu_text
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import GAP, Heading, Part, Verbatim, closing
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import count, duration, factor, interval, plain, significant, size

_AMOUNTS: dict[Goal, str] = {"latency": "time", "cpu": "CPU", "memory": "memory"}
_STAGES = {"alone": "alone", "longer": "alone, longer", "together": "together"}
_RESULTS = {"differs": "outputs differ"}
_STYLES = {"dropped": "dim", "kept": "", "better": "green"}
_SEARCH = "The search: defaults / candidate, above 1 is better; the best of many looks better than it is"
_RACE = "The confirming race, on fresh inputs"
_PROCESSES = "Fresh processes of both, on fresh inputs"
_RATIO, _RESULT = 2, 6
"""Places of the coloured columns."""


def tune_page(record: Tuning, answer: str) -> list[Part]:
    """What each candidate gave, what the confirming race says, and what to do."""
    return [
        Heading(record.model, _facts(record)),
        *([_search(record)] if record.rows else []),
        *([_confirmation(record)] if record.tried is not None and record.gain is not None else []),
        *closing(answer, record.notes, record.interrupted),
        *_program(record),
    ]


def _facts(record: Tuning) -> list[str]:
    cpu = [cpu_text(record.machine)] if record.machine is not None else []
    call = [f"call {record.call}"] if record.call else []
    dims = [dims_text(record.dims)] if record.dims else []
    spent = f"{plain(round(record.spent_s))} of {plain(record.budget_s)} s"
    return [*dims, f"tuning {record.goal}", *call, count(record.threads, "thread"), spent, *cpu]


def _search(record: Tuning) -> Table:
    columns = (
        Column("candidate", left=True, room=22, folds=True),
        Column(_AMOUNTS[record.goal] if record.goal == "memory" else "", rank=2),
        Column("ratio"),
        Column("interval", rank=3),
        Column("launches", rank=4),
        Column("error", rank=1),
        Column("result", left=True, room=12, cut=True),
    )
    usual = Row([DEFAULTS, _seen(record, record.default_amount), factor(1.0), "", "", "", "baseline"])
    rows = [usual, *(_row(record, each) for each in _ordered(record.rows))]
    return without_empty(Table(columns, rows, title=_SEARCH))


def _ordered(rows: Sequence[TuneRow]) -> list[TuneRow]:
    """The best first; what was not measured last."""
    return sorted(rows, key=lambda row: -(row.speedup or 0.0) if row.status == "ok" else 1.0)


def _row(record: Tuning, row: TuneRow) -> Row:
    known = row.speedup is not None
    cells = (
        name_of(row.choice.name),
        _seen(record, row.amount),
        factor(row.speedup) if known else "",
        interval(row.speedup_low, row.speedup_high) if row.speedup_low is not None else "",
        str(row.launches) if known else "",
        significant(row.error) if row.error is not None else "",
        _result(row, record.goal),
    )
    is_better = row.status == "ok" and not row.dropped and (row.speedup or 0.0) >= 1 + record.min_effect
    style = _STYLES["dropped" if row.dropped or row.status != "ok" else "better" if is_better else "kept"]
    return Row(cells, styles={_RATIO: style, _RESULT: style} if style else {})


def _result(row: TuneRow, goal: Goal) -> str:
    if row.status != "ok":
        return _RESULTS.get(row.status, row.status)
    if row.dropped:
        return row.reason if goal == "latency" else row.reason.replace("slower", "more")
    return " · ".join(filter(None, [_STAGES[row.stage], "approximate" if row.choice.approximate else ""]))


def _confirmation(record: Tuning) -> Table:
    columns = (
        Column("", left=True, room=22, folds=True),
        Column(_AMOUNTS[record.goal]),
        Column("ratio"),
        Column("interval", rank=1),
        Column("launches", rank=2),
        Column("verdict", left=True),
    )
    tried = name_of(record.tried.name) if record.tried is not None else ""
    style = {"faster": "green", "slower": "red", "undecided": "yellow"}.get(record.verdict or "", "")
    rows = [
        Row([DEFAULTS, _amount(record, record.before), factor(1.0), "", "", "baseline"]),
        Row(
            [
                tried,
                _amount(record, record.after),
                factor(record.gain),
                interval(record.gain_low, record.gain_high) if record.gain_low is not None else "",
                _launches(record),
                _verdict(record),
            ],
            styles={2: style, 5: style} if style else {},
        ),
        *_others(record),
    ]
    return without_empty(Table(columns, rows, title=_RACE if record.goal != "memory" else _PROCESSES))


def _others(record: Tuning) -> list[Row]:
    """The combination with the parts that were left out, which was raced, too."""
    known = (DEFAULTS, record.tried.name if record.tried is not None else "")
    subjects = record.confirmation.subjects if record.confirmation is not None and record.goal == "latency" else ()
    return [
        Row(
            [name_of(each.name), duration(time_of(each)), factor(each.speedup), _interval(each), "", each.verdict or ""]
        )
        for each in subjects
        if each.name not in known
    ]


def _interval(subject: Subject) -> str:
    return interval(subject.speedup_low, subject.speedup_high) if subject.speedup_low is not None else ""


def _launches(record: Tuning) -> str:
    subjects: Sequence[Subject] = record.confirmation.subjects if record.confirmation is not None else ()
    blocks = subjects[-1].blocks if subjects else ()
    return str(len({block.launch for block in blocks})) if blocks else ""


def _verdict(record: Tuning) -> str:
    words = {"memory": {"faster": "less", "slower": "more"}, "cpu": {"faster": "less", "slower": "more"}}
    return words.get(record.goal, {}).get(record.verdict or "", record.verdict or "")


def _seen(record: Tuning, value: float | None) -> str:
    """An amount in the search: times of candidates that did not race side by side would mislead."""
    return size(value) if record.goal == "memory" and value is not None else ""


def _amount(record: Tuning, value: float | None) -> str:
    return size(value) if record.goal == "memory" else duration(value)


def _program(record: Tuning) -> list[Part]:
    return [GAP, Verbatim(record.snippet)] if record.snippet else []
