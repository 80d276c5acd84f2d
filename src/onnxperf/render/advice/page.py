"""Advice as a page: hazards with the largest gain first, then every trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from onnxperf.records.advice import Advice, OperatorShare, TrialOutcome, Tried
from onnxperf.render.kit.machine import cpu_text
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import GAP, Heading, Line, Part, closing
from onnxperf.render.profile.tables import share_heading
from onnxperf.wording.names import capital, dims_text, listed, name_of
from onnxperf.wording.numbers import count, factor, grouped, interval, microseconds, percent

_HEADINGS: dict[TrialOutcome, str] = {
    "gain": "What helps",
    "unexplained": "Faster, but not because of the hazard",
    "trade": "What saves CPU time or memory, but is slower",
    "undecided": "Tried, undecided",
    "none": "Tried, no gain",
    "untried": "Seen, but not tried",
}
_STYLES: dict[TrialOutcome, str] = {
    "gain": "green",
    "unexplained": "yellow",
    "trade": "yellow",
    "undecided": "yellow",
    "none": "",
    "untried": "",
}
_RESULTS: dict[TrialOutcome, str] = {
    "gain": "gain",
    "unexplained": "unexplained",
    "trade": "trade",
    "undecided": "undecided",
    "none": "no gain",
    "untried": "",
}


_MOST_OPERATORS = 10


class ShownHazard(NamedTuple):
    """A hazard in sentences."""

    title: str
    evidence: str
    result: str
    action: str
    outcome: TrialOutcome


def advice_page(record: Advice, hazards: Sequence[ShownHazard], answer: str) -> list[Part]:
    """Hazards with evidence, gain and remedy; the table of all trials; the answer."""
    parts: list[Part] = [Heading(record.model, _facts(record))]
    for outcome, heading in _HEADINGS.items():
        chosen = [each for each in hazards if each.outcome == outcome]
        if chosen:
            parts += [GAP, Line(heading, "cyan")]
            parts += [line for each in chosen for line in _lines(each)]
    if record.tried:
        parts.append(_table(record))
    if record.next_command:  # nothing helped
        parts.append(_time_table(record))
    return [*parts, *closing(answer, record.notes, record.interrupted)]


def _facts(record: Advice) -> list[str]:
    trials = len({each.trial.key for each in record.tried})
    numbers = [count(len(record.hazards), "hazard"), count(trials, "trial")]
    cpu = [cpu_text(record.machine)] if record.machine is not None else []
    return [*filter(None, [dims_text(record.dims)]), *numbers, *cpu]


def _lines(hazard: ShownHazard) -> list[Line]:
    found = [Line(f"{capital(hazard.title)}: {hazard.evidence}.", "bold" if hazard.action else "", 2)]
    if hazard.result:
        found.append(Line(f"{capital(hazard.result)}.", _STYLES[hazard.outcome], 4))
    if hazard.action:
        found.append(Line(f"{capital(hazard.action)}.", "", 4))
    return found


def _table(record: Advice) -> Table:
    columns = (
        Column("trial", left=True, room=24),
        Column("against", left=True, room=14, rank=3),
        Column("speedup"),
        Column("interval", rank=1),
        Column("CPU time", rank=2),
        Column("memory", rank=2),
        Column("result", left=True, room=14, cut=True),
    )
    titles = {hazard.kind: hazard.title for hazard in record.hazards}
    sharing: dict[object, list[Tried]] = {}
    for each in record.tried:
        sharing.setdefault(each.trial.key, []).append(each)  # a trial against several hazards is one row
    rows = [_row(own[0], listed(titles.get(each.hazard, each.hazard) for each in own)) for own in sharing.values()]
    return without_empty(Table(columns, rows))


def _time_table(record: Advice) -> Table:
    """Where the time goes; what is left out is a row, and all rows add up."""
    share = share_heading(record.overhead)
    columns = (Column("operator", left=True, room=18), Column("nodes", rank=1), Column("time"), Column(share))
    shown, rest = record.operators[:_MOST_OPERATORS], record.operators[_MOST_OPERATORS:]
    rows = [Row(_time_cells(name_of(each.op_name), [each])) for each in shown]
    rows += [Row(_time_cells(count(len(rest), "other"), rest), "dim")] if rest else []
    rows.append(Row(_time_cells("total", record.operators), "bold"))
    return Table(columns, rows, "Where the time goes")


def _time_cells(name: str, several: Sequence[OperatorShare]) -> tuple[str, ...]:
    time_us, share = sum(each.time_us for each in several), sum(each.share for each in several)
    return name, grouped(sum(each.nodes for each in several)), microseconds(time_us), percent(share)


def _row(tried: Tried, against: str) -> Row:
    style = _STYLES[tried.outcome]
    return Row(_cells(tried, against), styles={6: style} if style else {})


def _cells(tried: Tried, against: str) -> tuple[str, ...]:
    measured = tried.speedup is not None
    return (
        name_of(tried.trial.name),
        against,
        factor(tried.speedup) if measured else "",
        interval(tried.speedup_low, tried.speedup_high) if tried.speedup_low is not None else "",
        factor(tried.cpu_ratio) if tried.cpu_ratio is not None else "",
        factor(tried.memory_ratio) if tried.memory_ratio is not None else "",
        _RESULTS[tried.outcome] or _why_untried(tried),
    )


def _why_untried(tried: Tried) -> str:
    if tried.status == "ok":
        return ""
    words = {"failed": "not tried", "pending": "not tried"}.get(tried.status, tried.status)
    return f"{words}: {tried.reason}" if tried.reason else words
