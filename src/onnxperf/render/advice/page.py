"""Advice as a page: hazards with the largest gain first, then every trial, as a table and as a chart."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from onnxperf.records.advice import FASTER, Advice, Hazard, OperatorShare, Trial, TrialOutcome, Tried
from onnxperf.records.comparison import Comparison
from onnxperf.render.charts.base import BLUE, GREEN, GREY, ORANGE, PINK, Chart
from onnxperf.render.charts.forest import forest_chart
from onnxperf.render.kit.column import (
    FACTOR,
    NAME,
    RATIO,
    SHARE,
    TEXT,
    US,
    WHOLE,
    Column,
    field_columns,
    for_files,
    for_screens,
)
from onnxperf.render.kit.comparison import Compared, ratio_columns
from onnxperf.render.kit.machine import cpu_text
from onnxperf.render.kit.page import GAP, Heading, Line, Page, Part, Section, answered
from onnxperf.render.kit.table import Footer, Table
from onnxperf.render.profile.columns import share_heading
from onnxperf.render.race.sections import cases_sections
from onnxperf.wording.names import capital, dims_text, listed
from onnxperf.wording.numbers import count, ratio

_HEADINGS: dict[TrialOutcome, str] = {
    "gain": "What helps",
    "unexplained": "Faster for another reason",
    "trade": "Saves CPU time or memory, but is slower",
    "undecided": "Tried, undecided",
    "none": "Tried, no gain",
    "untried": "Found, but not tried",
}
_STYLES: dict[TrialOutcome, str] = {
    "gain": "green",
    "unexplained": "green",
    "trade": "yellow",
    "undecided": "yellow",
    "none": "",
    "untried": "",
}
_COLORS: dict[TrialOutcome, int] = {
    "gain": GREEN,
    "unexplained": GREEN,
    "trade": PINK,
    "undecided": ORANGE,
    "none": BLUE,
    "untried": GREY,
}
_OUTCOMES = {"none": "no gain", "unexplained": "faster"}
_STATUSES = {"failed": "not tried", "pending": "not tried"}
_RACES = ("first race", "second race", "third race")
_MOST_OPERATORS = 10


class ShownHazard(NamedTuple):
    """A hazard, the trial against it that counts, and both in sentences."""

    hazard: Hazard
    best: Tried | None
    result: str
    action: str

    @property
    def outcome(self) -> TrialOutcome:
        """What became of it."""
        return self.best.outcome if self.best is not None else "untried"


def advice_page(record: Advice, hazards: Sequence[ShownHazard]) -> Page:
    """Hazards with evidence, gain and remedy; all trials; the answer; where the time goes if nothing helped."""
    trials: list[Part] = [*trials_charts(record)] or ([_trials(record)] if record.tried else [])
    facts, cpu = _facts(record), [cpu_text(record.machine)] if record.machine is not None else []
    races = dict(zip(_RACES if len(record.races) > 1 else [""], record.races, strict=False))
    return [
        Heading(record.model, [*facts, *cpu]),
        Section("Candidates", trials),
        *(_hazards(outcome, [each for each in hazards if each.outcome == outcome]) for outcome in _HEADINGS),
        Section("Operators", [_operators(record)] if record.next_command else []),
        *answered(record.answer, record.notes, record.interrupted, _verdict(record)),
        *(cases_sections(races, "Races") if races else []),
    ]


def _verdict(record: Advice) -> str:
    """The best outcome of all candidates."""
    found = {each.outcome for each in record.tried}
    if found & {*FASTER}:
        return "gain"
    return next((each for each in ("trade", "undecided") if each in found), "")


def _facts(record: Advice) -> list[str]:
    numbers = [count(len(record.hazards), "hazard"), count(len(_distinct(record)), "candidate")]
    return [*filter(None, [dims_text(record.dims)]), *numbers]


# ---------------------------------------------------------------- hazards


def _hazards(outcome: TrialOutcome, hazards: Sequence[ShownHazard]) -> Section:
    heading = _HEADINGS[outcome]
    lines = [line for each in hazards for line in _lines(each)]
    return Section(heading, [GAP, Line(heading, "cyan", on="screen"), *lines] if lines else [])


def _lines(shown: ShownHazard) -> list[Line]:
    title, evidence = capital(shown.hazard.title), shown.hazard.evidence
    found = [Line(f"{title}: {evidence}.", "bold" if shown.action else "", 2)]
    if shown.result:
        found.append(Line(f"{capital(shown.result)}.", _STYLES[shown.outcome], 4))
    if shown.action:
        found.append(Line(f"{capital(shown.action)}.", "", 4))
    return found


def hazards_table(hazards: Sequence[ShownHazard]) -> Table[ShownHazard]:
    """A row per hazard with its best trial, the largest gain first; screens have sentences."""
    about, remedy = (
        field_columns(Hazard, ("kind", "title", "goal", "share")),
        field_columns(Hazard, ("evidence", "remedy")),
    )
    columns: list[Column[ShownHazard]] = [
        *(each.of(attrgetter("hazard")) for each in about),
        for_files("outcome", attrgetter("outcome")),
        for_files("trial", lambda row: row.best.trial.name if row.best else ""),
        for_files("speedup", lambda row: row.best.speedup if row.best else None, RATIO),
        *(each.of(attrgetter("hazard")) for each in remedy),
    ]
    return Table(columns, hazards)


# ---------------------------------------------------------------- trials


def tried_table(record: Advice) -> Table[Tried]:
    """A row per hazard and trial against it."""
    return Table(_columns(record), record.tried)


def _trials(record: Advice) -> Table[Tried]:
    """A row per trial, whatever hazards it is against."""
    rows = sorted(_distinct(record), key=lambda row: -(row.speedup or 0.0))
    return Table(_columns(record), rows)


def _distinct(record: Advice) -> list[Tried]:
    return list({each.trial.key: each for each in reversed(record.tried)}.values())[::-1]


def _columns(record: Advice) -> list[Column[Tried]]:
    titles = {hazard.kind: hazard.title for hazard in record.hazards}
    against: dict[object, list[str]] = {}
    for each in record.tried:
        against.setdefault(each.trial.key, []).append(titles.get(each.hazard, each.hazard))
    *ratios, result = ratio_columns(_COMPARED)
    return [
        Column("trial", "candidate", lambda row: row.trial.name, NAME, room=24),
        for_files("settings", lambda row: ", ".join(f"{name}={each}" for name, each in row.trial.settings.items())),
        *(each.of(attrgetter("trial")) for each in field_columns(Trial, ("call", "rewrite"))),
        for_screens("against", lambda row: listed(against[row.trial.key]), TEXT, width=100, room=14),
        *ratios,
        Column("cpu_ratio", "CPU time", attrgetter("cpu_ratio"), FACTOR, 80),
        Column("memory_ratio", "memory", attrgetter("memory_ratio"), FACTOR, 80),
        result,
        *field_columns(Tried, ("hazard", "status", "reason", "cpu_low", "cpu_high", "memory_low", "memory_high")),
        *field_columns(Tried, ("verdict", "outcome")),
    ]


def _word(tried: Tried) -> str:
    """What became of a trial."""
    if tried.outcome != "untried":
        dropped = tried.outcome == "none" and tried.verdict in (None, "undecided")
        return "dropped" if dropped else _OUTCOMES.get(tried.outcome, tried.outcome)
    words = "" if tried.status == "ok" else _STATUSES.get(tried.status, tried.status)
    return ": ".join(filter(None, [words, tried.reason if words else ""]))


def _tooltip(tried: Tried) -> str:
    amounts = {"CPU time": tried.cpu_ratio, "memory": tried.memory_ratio}
    return "\n".join(f"{name} {ratio(value)} of the usual" for name, value in amounts.items() if value is not None)


_COMPARED: Compared[Tried] = Compared(
    name=lambda row: row.trial.name,
    of=lambda row: Comparison.spelled(row, "speedup"),
    word=_word,
    verdict="result",
    color=lambda row: _COLORS[row.outcome],
    style=lambda row: _STYLES[row.outcome],
    tooltip=_tooltip,
)


def trials_charts(record: Advice) -> list[Chart]:
    """Every trial once, the fastest on top."""
    measured = [row for row in _distinct(record) if row.speedup is not None]
    trials = sorted(measured, key=lambda row: -(row.speedup or 0.0))
    helped = sum(each.outcome in FASTER for each in trials)
    summary = (
        f"Speedups of {count(len(trials), 'candidate')} over the session as it is, with 95 % CI for all "
        f"together; {helped} helped. Right of 1 is faster; a trade saves CPU time or memory and is slower."
    )
    return forest_chart("What each remedy gave", summary, _COMPARED, trials, table=_trials(record))


# ---------------------------------------------------------------- operators


def _operators(record: Advice) -> Table[OperatorShare]:
    """Where the time goes; what is left out is a row, and all rows add up."""
    columns = [
        Column("op_name", "operator", attrgetter("op_name"), NAME, room=18),
        Column("nodes", "nodes", attrgetter("nodes"), WHOLE, 60),
        Column("time_us", "time", attrgetter("time_us"), US),
        Column("share", share_heading(record.overhead), attrgetter("share"), SHARE),
    ]
    rest = record.operators[_MOST_OPERATORS:]
    footers = [_sum(count(len(rest), "other"), rest, "dim")] if rest else []
    footers.append(_sum("total", record.operators, "bold"))
    return Table(columns, record.operators[:_MOST_OPERATORS], "Where the time goes", footers=footers)


def _sum(name: str, several: Sequence[OperatorShare], style: str) -> Footer:
    sums = {key: sum(getattr(each, key) for each in several) for key in ("nodes", "time_us", "share")}
    return Footer({"": name, **sums}, style)
