"""A tuning on a page: what each candidate gave, error against speed, and the race that confirms the best one."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.tune import Goal, TuneRow, Tuning
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.web.forest import (
    BLUE,
    GREEN,
    GREY,
    PINK,
    VERDICT_COLOURS,
    Forest,
    ForestMark,
    estimate_cells,
    forest_chart,
    has_marks,
)
from onnxperf.render.web.old_base import Chart, Part, Section
from onnxperf.render.web.plots import ChartAxis
from onnxperf.render.web.sections.race import race_parts
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import count, interval, percent_at_most, ratio

_AMOUNTS: dict[Goal, str] = {"latency": "time", "cpu": "CPU time", "memory": "memory"}
_STAGES = {"alone": "alone", "longer": "alone, longer", "together": "together"}
MOST_CHOICES = 60
"""Candidates that the chart shows, the best ones; the table has all."""


def tune_sections(tuning: Tuning) -> list[Section]:
    """The search, its trade-off of error and speed, and the confirming race."""
    sections = [
        Section("Candidates", _choices(tuning)),
        Section("Error and speed", _front(tuning)),
        Section("Confirming race", race_parts(tuning.confirmation) if tuning.confirmation is not None else []),
    ]
    return [each for each in sections if each.parts]


# ---------------------------------------------------------------- candidates


def _choices(tuning: Tuning) -> list[Part]:
    """Every candidate with its interval, the best on top; above all, what was confirmed."""
    measured = sorted(
        (row for row in tuning.rows if row.speedup is not None and row.status == "ok"),
        key=lambda row: -(row.speedup or 0.0),
    )
    estimates = [*_confirmed(tuning), *map(_estimate, measured)]
    forest = Forest(estimates[:MOST_CHOICES], tuning.min_effect)
    if not has_marks(forest):
        return []
    what = _AMOUNTS[tuning.goal]
    rest = len(estimates) - MOST_CHOICES
    summary = (
        f"{what.capitalize() if what[0].islower() else what} of the defaults / own for "
        f"{count(len(measured), 'candidate')}, with 95 % intervals over launches; right of 1 is better. The best of "
        "many looks better than it is, so only the confirming race proves anything."
    )
    summary += f" The {count(rest, 'last candidate')} are only in the table." if rest > 0 else ""
    axis = f"{what} of the defaults / own"
    return [forest_chart("What each candidate gave", summary, axis, [forest], _table(tuning))]


def _confirmed(tuning: Tuning) -> list[ForestMark]:
    if tuning.tried is None or tuning.gain is None:
        return []
    word = "proven" if tuning.verdict == "faster" else tuning.verdict or "not proven"
    colour = GREEN if tuning.verdict == "faster" else VERDICT_COLOURS.get(tuning.verdict or "", GREY)
    name = f"confirmed: {tuning.tried.name}" if tuning.verdict == "faster" else f"confirming race: {tuning.tried.name}"
    return [ForestMark(name, tuning.gain, tuning.gain_low, tuning.gain_high, colour, word, "in a race of its own")]


def _estimate(row: TuneRow) -> ForestMark:
    colour = GREY if row.dropped else PINK if row.choice.approximate else BLUE
    error = f"error {percent_at_most(row.error)}" if row.error is not None else ""
    more = [f"{_STAGES[row.stage]}, {count(row.launches, 'launch', 'launches')}", error, visible(row.reason)]
    word = "dropped" if row.dropped else "approximate" if row.choice.approximate else _STAGES[row.stage]
    more_text = "\n".join(filter(None, more))
    return ForestMark(row.choice.name, row.speedup, row.speedup_low, row.speedup_high, colour, word, more_text)


def _table(tuning: Tuning) -> Table:
    columns = [Column("candidate", left=True), Column("ratio"), Column("95 % interval"), Column("result", left=True)]
    columns += [Column("launches"), Column("error"), Column("why", left=True)]
    rows = [Row([*estimate_cells(each), "", "", ""]) for each in _confirmed(tuning)]
    for row in tuning.rows:
        error = percent_at_most(row.error) if row.error is not None else ""
        result = row.status if row.status != "ok" else _estimate(row).word
        known = (
            (ratio(row.speedup), interval(row.speedup_low, row.speedup_high)) if row.speedup is not None else ("", "")
        )
        launches = str(row.launches) if row.launches else ""
        rows.append(Row([name_of(row.choice.name), *known, result, launches, error, visible(row.reason)]))
    return without_empty(Table(columns, rows))


# ---------------------------------------------------------------- error and speed


def _front(tuning: Tuning) -> list[Part]:
    """Approximate candidates by error and speedup, with the line of those that no other beats in both."""
    rows = [row for row in tuning.rows if row.status == "ok" and row.speedup is not None]
    if not any(row.error is not None for row in rows):
        return []
    front = sorted((row for row in rows if row.pareto), key=lambda row: (row.error or 0.0, row.speedup or 0.0))
    exact = [row for row in rows if not row.choice.approximate]
    approximate = [row for row in rows if row.choice.approximate and row.error is not None]
    groups = [_group("exact", exact, BLUE), _group("approximate", approximate, PINK)]
    limit = f" An error of {percent_at_most(tuning.max_error)} was allowed." if tuning.max_error is not None else ""
    summary = (
        f"{count(len(approximate), 'approximate candidate')} and {count(len(exact), 'exact one')} by largest error of "
        f"an output and by speedup; the line joins those that no other beats in both.{limit}"
    )
    data = {
        "x": ChartAxis("largest error of an output (%)", from_zero=True).data,
        "y": ChartAxis(f"{_AMOUNTS[tuning.goal]} of the defaults / own").data,
        "groups": groups,
        "front": [[100 * (row.error or 0.0), row.speedup] for row in front],
        "frontName": "not beaten in both",
    }
    return [Chart("scatter", "Error and speed", summary, data, _front_table(front, [*exact, *approximate]), 360)]


def _group(name: str, rows: Sequence[TuneRow], colour: int) -> dict[str, object]:
    points = [
        {
            "value": [100 * (row.error or 0.0), row.speedup],
            "name": name_of(row.choice.name),
            "words": f"{name_of(row.choice.name)}\n{ratio(row.speedup)}, error {percent_at_most(row.error or 0.0)}",
        }
        for row in rows
    ]
    return {"name": name, "colour": colour, "points": points, "labelled": colour == PINK}


def _front_table(front: Sequence[TuneRow], rows: Sequence[TuneRow]) -> Table:
    columns = [Column("candidate", left=True), Column("error"), Column("ratio"), Column("beaten by none", left=True)]
    chosen = {row.choice.name for row in front}
    cells = [
        [
            name_of(row.choice.name),
            percent_at_most(row.error) if row.error is not None else "",
            ratio(row.speedup),
            "yes" if row.choice.name in chosen else "",
        ]
        for row in rows
    ]
    return Table(columns, [Row(each) for each in cells])
