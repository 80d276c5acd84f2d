"""A sweep as a page: a row per case, matrices, what is missing and why, which subject wins where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from onnxperf.records.race import Bench, Case
from onnxperf.records.sweep import (
    NOT_RUN,
    Estimate,
    SweepModel,
    SweepRow,
    cells_of,
    dims_of,
    rate_unit,
    subject_in,
    subjects_of,
    values_of,
    varying,
    word_of,
)
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.kit.page import GAP, INTERRUPTED, Heading, Line, Part
from onnxperf.render.race.page import STATUS_STYLES, VERDICT_STYLES, race_facts
from onnxperf.wording.names import dims_text, first_of, name_of, shortened
from onnxperf.wording.numbers import count, duration, interval, per_second, ratio, rough_time
from onnxperf.wording.spans import in_one, kind_of

MAX_LINES = 20
"""Lines of reasons or notes before the rest becomes a number."""
_MOST_NAMES = 4
"""Cases that a note names."""
_NAME = 18
_DIM = 12
"""Room for the name of a subject, and for that of a dimension, in a heading."""
_WINNER = "bold green"
_UNDECIDED = "?"
_TIMED = ("differs", "pending")
"""Words that stand beside a time."""
Cell = tuple[str, str]
"""A text and its style."""


def sweep_page(bench: Bench, models: Sequence[SweepModel]) -> list[Part]:
    """Heading, a row per case, matrices, reasons and winners of each model, and the notes of all."""
    subjects = [subject for case in bench.cases for subject in case.subjects]
    facts = [count(len(bench.cases), "case"), *race_facts(subjects, bench.machine)]
    parts: list[Part] = [Heading(", ".join(name_of(each.model) for each in models), facts)]
    for each in models:
        title = _title(each, several=len(models) > 1)
        parts.append(cases_table(each, title))
        parts += (_matrix(each, name) for name in subjects_of(each.cases) if len(varying(each.cases)) == 2)
        parts += _block(Line(line) for line in _limited(each.reasons, "reason"))
        winners = [Line(line, "bold") for line in _limited(each.winners, "stretch", "stretches")]
        parts += _block([*winners, *map(Line, [*_limited(each.undecided, "reason"), *each.notes])])
    if any(case.interrupted for case in bench.cases):
        parts += [GAP, INTERRUPTED]
    return parts + _block(Line(note, "dim") for note in notes_of(bench.cases))


def live_page(models: Sequence[SweepModel]) -> list[Part]:
    """The cases so far, as tables that fill in."""
    return [cases_table(each, name_of(each.model)) for each in models]


def plan_page(keys: Sequence[str], estimate: Estimate) -> list[Part]:
    """The cases of a sweep that is not run, and how long it would take on this machine."""
    total = Line(f"{count(len(keys), 'case')}, about {rough_time(estimate.total_s)} on this machine", "bold")
    named = {"racing": estimate.racing_s, "start-up": estimate.starting_s, "building models": estimate.building_s}
    parts = ", ".join(f"{name} {rough_time(seconds)}" for name, seconds in named.items() if seconds)
    how = [Line(f"{parts}; calls that take longer than 10 ms make it longer", "dim")] if parts else []
    return [*map(Line, keys), *([GAP] if keys else []), total, *how]


def _title(model: SweepModel, several: bool) -> str:
    """Which speedup the table of cases shows, and against what."""
    text = f"{name_of(model.model)}: time of a call" if several else "Time of a call"
    if not model.rivals or model.baseline is None:
        return text
    rival = name_of(model.rivals[0]) if len(model.rivals) == 1 else "the best rival"
    return f"{text}, paired speedup of {rival} against {name_of(model.baseline)}"


# ---------------------------------------------------------------- a row per case


def cases_table(model: SweepModel, title: str) -> Table:
    """A row per case: its dimensions, the time of each subject, and how the best rival does against the baseline.

    On a narrow console subjects continue in tables below, each with the dimensions.
    """
    dims, names = dims_of(model.cases), subjects_of(model.cases)
    columns = [Column(_short(dim, _DIM)) for dim in dims]
    columns += [Column(_short(name, _NAME)) for name in names]
    verdicts = _verdict_columns(model)
    columns += [column for column, _ in verdicts]
    rows = []
    for row in model.rows:
        cells: list[Cell] = [(str(row.case.dims.get(dim, "")), "") for dim in dims]
        cells += [_time(row, name) for name in names]
        cells += [cell(row) for _, cell in verdicts]
        rows.append(_row(cells))
    return Table(columns, rows, title, breaks=range(len(dims), len(dims) + max(len(names), 1)))


def _verdict_columns(model: SweepModel) -> list[tuple[Column, Callable[[SweepRow], Cell]]]:
    """The best rival against the baseline, and how many items a second the fastest gets through."""
    columns: list[tuple[Column, Callable[[SweepRow], Cell]]] = []
    if len(model.rivals) > 1:
        columns.append((Column("best rival", left=True, rank=1, room=8), lambda row: _rival(row, model.baseline)))
    if model.rivals:
        columns += [
            (Column("speedup"), lambda row: (ratio(row.duel.speedup), _verdict_style(row) or "dim")),
            (Column("95 % interval", rank=3), _interval),
            (Column("verdict", left=True), lambda row: (row.duel.verdict or "", _verdict_style(row))),
        ]
    columns.append((Column(rate_unit(model.cases), rank=2), lambda row: (per_second(row.rate), "")))
    return columns


def _rival(row: SweepRow, usual: str | None) -> Cell:
    rival = "" if row.rival is None else name_of(row.rival)
    # Where the usual baseline has no time, the speedup is against that of the case.
    return f"{rival} against {name_of(row.against or '')}" if rival and row.against != usual else rival, ""


def _verdict_style(row: SweepRow) -> str:
    return VERDICT_STYLES.get(row.duel.verdict or "", "")


def _interval(row: SweepRow) -> Cell:
    known = row.duel.low is not None and row.duel.high is not None
    return interval(row.duel.low, row.duel.high) if known else "", "dim"


def _time(row: SweepRow, name: str) -> Cell:
    """A time, or the word that stands in its place; outputs that differ and races that were interrupted have both."""
    subject = subject_in(row.case, name)
    word = word_of(row.case, subject)
    if subject is not None and not word:
        return duration(subject.time_ns), _WINNER if name in row.first else ""
    timed = subject is not None and word in _TIMED and subject.time_ns is not None
    text = f"{duration(subject.time_ns)} {word}" if timed and subject is not None else word
    return text, "dim" if word == NOT_RUN else STATUS_STYLES.get(word, "red")


def _matrix(model: SweepModel, name: str) -> Table:
    """The times of one subject over the two dimensions that vary, each with its verdict."""
    down, across = varying(model.cases)
    rows = {id(row.case): row for row in model.rows}
    cells, sizes = cells_of(model.cases, down, across), values_of(model.cases, across)
    columns = [Column(_short(down, _DIM)), *(Column(f"{_short(across, _DIM)}={size}") for size in sizes)]
    drawn = []
    for size in values_of(model.cases, down):
        found = [cells.get((size, other)) for other in sizes]
        times = [("", "") if case is None else _judged(rows[id(case)], name) for case in found]
        drawn.append(_row([(str(size), ""), *times]))
    undecided = any(_is_undecided(row, name) for row in model.rows)
    sign = f", {_UNDECIDED} undecided against {name_of(model.baseline or '')}" if undecided else ""
    return Table(columns, drawn, f"{name_of(name)}, time per call{sign}", optional=True)


def _judged(row: SweepRow, name: str) -> Cell:
    """A time in the colour of its verdict, with a sign where it is undecided."""
    text, style = _time(row, name)
    duel = row.duels.get(name)
    if duel is None or duel.speedup is None:
        return text, style
    sign = f" {_UNDECIDED}" if _is_undecided(row, name) else ""
    return text + sign, style or VERDICT_STYLES.get(duel.verdict or "", "")


def _is_undecided(row: SweepRow, name: str) -> bool:
    return name in row.duels and row.duels[name].verdict == "undecided"


def _row(cells: Sequence[Cell]) -> Row:
    return Row([text for text, _ in cells], styles={place: style for place, (_, style) in enumerate(cells) if style})


# ---------------------------------------------------------------- lines


def notes_of(cases: Sequence[Case]) -> list[str]:
    """What a reader must know, each note once, with the names of its cases where it is not true of all."""
    found: dict[str, dict[str, str]] = {}
    several = len({case.model for case in cases}) > 1
    for at, case in enumerate(cases):
        sizes = dims_text(case.dims)
        name = " ".join(filter(None, [name_of(case.model) if several or not sizes else "", sizes]))
        for note in dict.fromkeys(case.notes):
            found.setdefault(kind_of(note), {})[f"{at} {name}"] = note
    texts = []
    for notes in found.values():
        names = [key.partition(" ")[2] for key in notes]
        where = "" if len(notes) >= len(cases) else f" ({first_of(names, _MOST_NAMES)})"
        texts.append(f"{in_one(list(notes.values()))}{where}")
    return _limited(texts, "note")


def _limited(lines: Sequence[str], word: str, words: str = "") -> list[str]:
    if len(lines) <= MAX_LINES:
        return list(lines)
    left_out = count(len(lines) - MAX_LINES + 1, f"other {word}", f"other {words}" if words else "")
    return [*lines[: MAX_LINES - 1], f"and {left_out}"]


def _block(lines: Iterable[Line]) -> list[Part]:
    """Lines with a gap above them."""
    found: list[Part] = list(lines)
    return [GAP, *found] if found else []


def _short(name: str, room: int) -> str:
    return shortened(name_of(name), room)
