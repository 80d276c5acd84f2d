"""A tuning as a page: a row per candidate, error against speed, the confirming race, and the winner as Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from onnxperf.records.comparison import Comparison
from onnxperf.records.race import Subject
from onnxperf.records.sweep import time_of
from onnxperf.records.tune import DEFAULTS, Goal, TuneChoice, TuneRow, Tuning
from onnxperf.render.charts.base import BLUE, GREY, PERCENT, PINK, VERDICT_COLORS, Chart, axis_of, chart
from onnxperf.render.charts.forest import forest_chart
from onnxperf.render.charts.plot import Plot, Series
from onnxperf.render.kit.column import BYTES, FLAG, NAME, NS, WHOLE, Column, Format, field_columns, for_files
from onnxperf.render.kit.comparison import VERDICT_STYLES, Compared, comparison_table, ratio_columns
from onnxperf.render.kit.machine import cpu_text
from onnxperf.render.kit.page import GAP, Heading, Line, Page, Part, Section, Verbatim, answered
from onnxperf.render.kit.table import On, Table
from onnxperf.render.race.sections import race_sections
from onnxperf.render.race.subjects import Raced, race_table, raced
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import count, percent_at_most, plain, ratio

MOST_DRAWN = 60
"""Candidates that the chart shows, the best ones; the table has all."""
ERROR = Format(percent_at_most, excel="0.0%")
_AMOUNTS: dict[Goal, str] = {"latency": "time", "cpu": "CPU time", "memory": "memory"}
_STAGES = {"alone": "", "longer": "finalist", "together": "combination"}
_VERDICTS = {"tuned": "chosen", "defaults": "no gain", "unconfirmed": "undecided", "unanswered": "undecided"}
_LESS = {"faster": "less", "slower": "more"}
"""Verdicts on CPU time and memory."""
_SEARCH = "The search: defaults / candidate, above 1 is better"
_RACE = "The confirming race, on fresh inputs"
_PROCESSES = "Fresh processes of both, on fresh inputs"


class Confirmed(NamedTuple):
    """What was compared with the defaults once more, apart from the search."""

    name: str
    compared: Comparison
    launches: int | None
    is_winner: bool = True
    """Not the combination with the parts that were left out, which was raced, too."""


TuneMark = TuneRow | Confirmed


def tune_page(record: Tuning) -> Page:
    """What each candidate gave, what the confirming race says, and what to do."""
    candidates: list[Part] = [*candidates_charts(record)] or ([_search_table(record)] if record.rows else [])
    confirmed = [_confirming_table(record)] if _confirmed(record) else []
    # On a page, the sections of the race show times; what they do not show is another goal.
    on: On = "screen" if record.goal == "latency" and record.confirmation is not None else "all"
    facts, cpu = _facts(record), [cpu_text(record.machine)] if record.machine is not None else []
    title = Line("The winner in Python", "bold", on="screen")
    program = [GAP, title, Verbatim(record.snippet)] if record.snippet else []
    return [
        Heading(record.model, [*facts, *cpu]),
        Section("Candidates", candidates),
        Section("Trade-off", error_charts(record), "page"),
        Section("Confirmation", confirmed, on),
        *answered(record.answer, record.notes, record.interrupted, _VERDICTS[record.outcome]),
        Section("The winner in Python", program),
        *(race_sections(record.confirmation, "Confirming race") if record.confirmation is not None else []),
    ]


def _facts(record: Tuning) -> list[str]:
    call = [f"call {record.call}"] if record.call else []
    dims = [dims_text(record.dims)] if record.dims else []
    spent = f"{plain(round(record.spent_s))} of {plain(record.budget_s)} s"
    return [*dims, f"tuning {record.goal}", *call, count(record.threads, "thread"), spent]


# ---------------------------------------------------------------- tables


def choices_table(record: Tuning) -> Table[TuneRow]:
    """Every candidate, in the order in which they were first tried."""
    return Table(_columns(record), record.rows)


def pareto_table(record: Tuning) -> Table[TuneRow]:
    """Candidates than which no other is both at least as good and at least as exact, the most exact first."""
    front = [row for row in record.rows if row.pareto]
    return Table(_columns(record), sorted(front, key=lambda row: (row.error or 0.0, -(row.speedup or 0.0))))


def confirmation_table(record: Tuning) -> Table[Raced]:
    """The subjects of the confirming race; none if there was none."""
    return race_table(raced({} if record.confirmation is None else {"": record.confirmation}))


def _search_table(record: Tuning) -> Table[TuneRow]:
    """The defaults, then the candidates: the best first, what was not measured last."""
    usual = TuneRow(choice=TuneChoice(name=DEFAULTS, knobs=()), status="ok", speedup=1.0, amount=record.default_amount)
    tried = [row for row in record.rows if row.was_tried]  # a note names the others
    rows = sorted(tried, key=lambda row: -(row.speedup or 0.0) if row.status == "ok" else 1.0)
    return Table(_columns(record), [usual, *rows], _SEARCH)


def _columns(record: Tuning) -> list[Column[TuneRow]]:
    by: Compared[Any] = _compared(record)
    *ratios, result = ratio_columns(by)
    return [
        Column("name", "candidate", lambda row: row.choice.name, NAME, room=22, folds=True),
        for_files("settings", lambda row: ", ".join(f"{name}={each}" for name, each in row.choice.settings.items())),
        *(each.of(lambda row: row.choice) for each in field_columns(TuneChoice, ("call", "runtime", "rewrite"))),
        for_files("approximate", lambda row: row.choice.approximate, FLAG),
        _amount_column(record),
        *ratios,
        Column("launches", "launches", lambda row: row.launches, WHOLE, 100, text=_launches),
        Column("error", "error", lambda row: row.error, ERROR, 60),
        result,
        Column("pareto", "Pareto front", lambda row: row.pareto, FLAG, 140, text=lambda row: "yes" * row.pareto),
        *field_columns(TuneRow, ("stage", "status", "reason", "dropped")),
    ]


def _amount_column(record: Tuning) -> Column[TuneRow]:
    """Times of candidates that did not race side by side would mislead: they are only in files."""
    if record.goal == "memory":
        return Column("amount", "memory", lambda row: row.amount, BYTES._replace(kind="number"), 80)
    return for_files("amount", lambda row: row.amount, NS)


def _launches(row: TuneRow) -> str:
    return WHOLE.shown(row.launches or None)


# ---------------------------------------------------------------- comparisons


def _compared(record: Tuning) -> Compared[TuneMark]:
    """How candidates and what was confirmed are read: defaults / own."""
    return Compared(
        name=_name,
        of=_comparison,
        word=partial(_word, record),
        ratio="ratio",
        verdict="result",
        axis=f"{_AMOUNTS[record.goal]} of the defaults / own",
        color=_color,
        style=partial(_style, record),
        tooltip=_tooltip,
    )


def _comparison(row: TuneMark) -> Comparison:
    # Its reason is its word, or a note.
    return row.compared if isinstance(row, Confirmed) else replace(Comparison.spelled(row, "speedup"), reason="")


def _name(row: TuneMark) -> str:
    if isinstance(row, TuneRow):
        return row.choice.name
    return f"{'confirmed' if row.compared.verdict == 'faster' else 'confirming race'}: {row.name}"


def _word(record: Tuning, row: TuneMark) -> str:
    if isinstance(row, Confirmed):
        verdict = row.compared.verdict or ""
        return verdict if record.goal == "latency" else _LESS.get(verdict, verdict)
    if row.choice.name == DEFAULTS:
        return "baseline"
    if row.status != "ok":
        return row.status
    if row.dropped:
        return row.reason if record.goal == "latency" else row.reason.replace("slower", "more")
    is_winner = record.winner is not None and row.choice.name == record.winner.name
    stage = "chosen" if is_winner and record.outcome == "tuned" else _STAGES[row.stage]
    return " · ".join(filter(None, [stage, "approximate" if row.choice.approximate else ""]))


def _style(record: Tuning, row: TuneMark) -> str:
    if isinstance(row, Confirmed) or row.choice.name == DEFAULTS:
        return VERDICT_STYLES.get(_word(record, row), "")
    if row.status != "ok" or row.dropped:
        return "dim"
    return VERDICT_STYLES.get(_word(record, row), "")  # a search proves nothing


def _color(row: TuneMark) -> int:
    if isinstance(row, Confirmed):
        return VERDICT_COLORS.get(row.compared.verdict or "", GREY)
    return GREY if row.dropped else PINK if row.choice.approximate else BLUE


def _tooltip(row: TuneMark) -> str:
    if isinstance(row, Confirmed):
        return "apart from the search, on fresh inputs"
    error = f"error {percent_at_most(row.error)}" if row.error is not None else ""
    return "\n".join(filter(None, [count(row.launches, "launch", "launches"), error]))


def _confirmed(record: Tuning) -> list[Confirmed]:
    """What may be the winner, and the same with the parts that gave no gain of their own."""
    if record.tried is None or record.gain is None:
        return []
    own = replace(Comparison.spelled(record, "gain"), before=record.before, after=record.after)
    subjects = {each.name: each for each in record.confirmation.subjects} if record.confirmation is not None else {}
    others = [each for name, each in subjects.items() if name not in (DEFAULTS, record.tried.name)]
    return [
        Confirmed(record.tried.name, own, _launches_of(subjects.get(record.tried.name))),
        *(_other(record, each) for each in others if record.goal == "latency"),
    ]


def _other(record: Tuning, subject: Subject) -> Confirmed:
    compared = replace(Comparison.spelled(subject, "speedup"), before=record.before, after=time_of(subject))
    return Confirmed(subject.name, compared, _launches_of(subject), is_winner=False)


def _launches_of(subject: Subject | None) -> int | None:
    return len({block.launch for block in subject.blocks}) or None if subject is not None else None


def _confirming_table(record: Tuning) -> Table[Confirmed]:
    by = _compared(record)
    is_memory = record.goal == "memory"
    confirmed: Compared[Confirmed] = Compared(
        name=lambda row: row.name,
        of=by.of,
        word=by.word,
        what="candidate",
        ratio=by.ratio,
        before=("before", "defaults"),
        after=("after", _AMOUNTS[record.goal]),
        amount=BYTES._replace(kind="number") if is_memory else NS,
        more=[Column("launches", "launches", lambda row: row.launches, WHOLE, 100)],
    )
    return comparison_table(confirmed, _confirmed(record), _PROCESSES if is_memory else _RACE)


# ---------------------------------------------------------------- charts


def _measured(record: Tuning) -> list[TuneRow]:
    """Candidates that may be compared, the best first."""
    rows = [row for row in record.rows if row.status == "ok" and row.speedup is not None]
    return sorted(rows, key=lambda row: -(row.speedup or 0.0))


def candidates_charts(record: Tuning) -> list[Chart]:
    """Every candidate with its interval, the best on top; above all, what was confirmed."""
    measured = _measured(record)
    marks: list[TuneMark] = [*(each for each in _confirmed(record) if each.is_winner), *measured]
    what, rest = _AMOUNTS[record.goal], len(marks) - MOST_DRAWN
    summary = (
        f"{what[0].upper()}{what[1:]} of the defaults / own for {count(len(measured), 'candidate')}, with 95 % "
        "intervals over launches; right of 1 is better. The best of many looks better than it is, so only the "
        "confirming race proves anything."
    )
    summary += f" The {count(rest, 'last candidate')} are only in the table." if rest > 0 else ""
    by, table = _compared(record), _search_table(record)
    return forest_chart("What each candidate gave", summary, by, marks[:MOST_DRAWN], record.min_effect, table)


def error_charts(record: Tuning) -> list[Chart]:
    """Candidates by error and speedup, with the line of those that no other beats in both."""
    rows = [row for row in _measured(record) if math.isfinite(row.error or 0.0)]
    if not any(row.error is not None for row in rows):
        return []
    exact = [row for row in rows if not row.choice.approximate]
    approximate = [row for row in rows if row.choice.approximate and row.error is not None]
    front = sorted((row for row in rows if row.pareto), key=lambda row: (_error(row), row.speedup or 0.0))
    line = Series("not beaten in both", [*map(_error, front)], [row.speedup for row in front], GREY, dash="dashed")
    picture = Plot(
        x=axis_of("largest error of an output", map(_error, rows), PERCENT, from_zero=True),
        y=axis_of(f"{_AMOUNTS[record.goal]} of the defaults / own", [row.speedup for row in rows]),
        series=[_points("exact", exact, BLUE), _points("approximate", approximate, PINK), *([line] if front else [])],
        tall=360,
    )
    limit = f" An error of {percent_at_most(record.max_error)} was allowed." if record.max_error is not None else ""
    summary = (
        f"{count(len(approximate), 'approximate candidate')} and {count(len(exact), 'exact one')} by largest error of "
        f"an output and by speedup; the line joins those that no other beats in both.{limit}"
    )
    return [chart("Error and speed", summary, picture, Table(_columns(record), rows), "page")]


def _points(name: str, rows: Sequence[TuneRow], color: int) -> Series:
    names = [name_of(row.choice.name) for row in rows]
    return Series(
        name,
        [*map(_error, rows)],
        [row.speedup for row in rows],
        color,
        "points",
        words=[
            f"{name}\n{ratio(row.speedup)}, error {percent_at_most(_error(row))}"
            for name, row in zip(names, rows, strict=True)
        ],
        labels=names if color == PINK else (),
    )


def _error(row: TuneRow) -> float:
    return row.error or 0.0
