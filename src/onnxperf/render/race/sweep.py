"""A sweep as a page: a row per case, which subject wins where, times over sizes, and what is missing and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from onnxperf.records.race import Bench, Case
from onnxperf.records.sweep import (
    NOT_RUN,
    Duel,
    Estimate,
    SweepModel,
    SweepPanel,
    SweepRow,
    cells_of,
    rate_unit,
    subject_in,
    subjects_of,
    time_of,
    values_of,
    varying,
)
from onnxperf.render.charts.base import Chart
from onnxperf.render.kit.column import FILES_ONLY, NUMBER, RATE, TEXT, Column, for_files, for_screens
from onnxperf.render.kit.comparison import VERDICT_STYLES, Compared, ratio_columns
from onnxperf.render.kit.page import GAP, INTERRUPTED, Answer, Heading, Line, Note, Page, Panes, Part, Section, Warn
from onnxperf.render.kit.table import On, Table
from onnxperf.render.race.page import race_facts
from onnxperf.render.race.sections import cases_sections, labels_of, links_in
from onnxperf.render.race.subjects import race_table, raced
from onnxperf.render.race.sweep_cells import (
    REASON,
    SIZE,
    SUBJECT,
    Place,
    compared,
    dim_columns,
    place_columns,
    short_dim,
    status_style,
)
from onnxperf.render.race.sweep_lines import lines_charts, lines_panes
from onnxperf.render.race.sweep_map import WHO_WINS, map_charts, suits_map
from onnxperf.render.race.sweep_matrix import times_charts
from onnxperf.wording.busy import is_busy_text
from onnxperf.wording.names import capital, dims_text, first_of, name_of, shortened
from onnxperf.wording.numbers import NOTHING, count, duration, ratio, rough_time
from onnxperf.wording.spans import in_one, kind_of
from onnxperf.wording.verdicts import faced, sign_of

MAX_LINES = 20
"""Lines of reasons or notes before the rest becomes a number."""
MOST_ANSWERS = 6
"""Stretches of sizes that are answers; of more, a page only has how many cases each subject wins."""
MOST_SUBJECTS = 3000
"""Subjects of all cases up to which a page has each of them."""
MOST_RACES = 12
"""Cases up to which a page has each race with its samples."""
_MOST_NAMES = 4
"""Cases that a note names."""
_NAME = 18
"""Room for the name of a subject in a heading."""
_WINNER_ROOM = 10
"""Room for it in a cell of a map."""
_WINNER = "bold green"
_ALL = "all"
"""Subjects of a case that failed as a whole."""
_TIMED = ("differs", "pending")
"""Words for a subject that has a time as well."""


def sweep_page(bench: Bench, models: Sequence[SweepModel], panels: Sequence[SweepPanel], answer: str) -> Page:
    """Heading, maps, a row per case, reasons, winners and notes; on HTML pages also charts and a few races."""
    subjects = [subject for case in bench.cases for subject in case.subjects]
    facts = [count(len(bench.cases), "case"), *race_facts(subjects, bench.machine)]
    tables = [part for each in models for part in _tables(each, several=len(models) > 1)]
    missing = missing_table(bench.cases)
    sections = [
        Section(WHO_WINS, [*map_charts(panels, models, every=True), *_selected(bench.cases)], "page"),
        Section("Times over sizes", [Panes(lines_panes(panels, models))], "page"),
        Section("Cases", tables),
        Section("What is missing", [missing] if missing.rows else [], "page"),
    ]
    races = cases_sections(labels_of(bench.cases))[1:] if len(bench.cases) <= MOST_RACES else []
    heading = Heading(", ".join(name_of(each.model) for each in models), facts)
    return [heading, *(each for each in sections if each.parts), *_told(bench, models, answer), *races]


def sweep_charts(panels: Sequence[SweepPanel], models: Sequence[SweepModel]) -> list[Chart]:
    """What a file shows of many cases: maps over two dimensions, lines over one, a matrix of models with one size."""
    alone = [panel for panel in panels if not panel.dims]
    maps = [panel for panel in panels if suits_map(panel)]
    others = [panel for panel in panels if panel.dims and not suits_map(panel)]
    of_models = map_charts(alone, models) or times_charts(alone, models)
    return [*map_charts(maps, models), *lines_charts(others, models), *of_models]


def live_page(models: Sequence[SweepModel]) -> Page:
    """The cases so far, as tables that fill in."""
    return [cases_table([each], name_of(each.model)) for each in models]


def plan_page(keys: Sequence[str], estimate: Estimate) -> Page:
    """The cases of a sweep that is not run, and how long it would take on this machine."""
    total = Line(f"{count(len(keys), 'case')}, about {rough_time(estimate.total_s)} on this machine", "bold")
    named = {"racing": estimate.racing_s, "start-up": estimate.starting_s, "building models": estimate.building_s}
    parts = ", ".join(f"{name} {rough_time(seconds)}" for name, seconds in named.items() if seconds)
    how = [Line(f"{parts}; calls that take longer than 10 ms make it longer", "dim")] if parts else []
    return [total, *how, *([GAP] if keys else []), *map(Line, keys)]


# ---------------------------------------------------------------- parts


def _selected(cases: Sequence[Case]) -> list[Part]:
    """Every subject of the case that is selected in the map; of all cases before one is."""
    rows = raced(labels_of(cases))
    return [race_table(rows)._replace(title="Subjects of a case")] if len(rows) <= MOST_SUBJECTS else []


def _tables(model: SweepModel, several: bool) -> list[Part]:
    """Over two dimensions a map, then a row per case, and what is missing and why."""
    maps, alone = _maps(model, several), len(subjects_of(model.cases)) == 1
    cases = cases_table([model], _title(model, several))
    reasons = [Line(line, on="screen") for line in _limited(model.reasons, "reason")]
    # The map of a single subject has its times already.
    return [*maps, cases._replace(on="page") if maps and alone else cases, *([GAP, *reasons] if reasons else [])]


def _title(model: SweepModel, several: bool) -> str:
    """Which speedup the table of cases shows, and against what."""
    text = f"{name_of(model.model)}: time of a call" if several else "Time of a call"
    if not model.rivals or model.baseline is None:
        return text
    rival = name_of(model.rivals[0]) if len(model.rivals) == 1 else "the best rival"
    return f"{text}, paired speedup of {rival} against {name_of(model.baseline)}"


def _told(bench: Bench, models: Sequence[SweepModel], answer: str) -> list[Part]:
    """How many cases each subject wins, the winners of stretches of sizes, if there is none, and the notes."""
    winners = _named(models, [each.winners for each in models], ", ")
    undecided = _named(models, [each.undecided for each in models], ": ")
    told: list[Part] = [INTERRUPTED] if any(case.interrupted for case in bench.cases) else []
    told += [Answer(answer, verdict_of(models))] if answer else []
    mapped = all(len(varying(each.cases)) == 2 for each in models)  # a terminal shows maps of these
    few = len(winners) <= MOST_ANSWERS and not mapped
    told += map(Answer, winners if few else ())
    on: On = "page" if mapped else "all"
    lines = [Line(line, "bold", on=on) for line in _limited(() if few else winners, "stretch", "stretches")]
    lines += [Line(line) for line in _limited(undecided, "reason")]
    told += [Section("Winners by size", lines)] if lines else []
    notes = [*_named(models, [each.notes for each in models], ": "), *notes_of(bench.cases)]
    told += [Warn(note) if is_busy_text(note) else Note(note) for note in notes]
    return [GAP, *told] if told else []


def verdict_of(models: Sequence[SweepModel]) -> str:
    """What the answer about all cases rests on."""
    rows = [row for each in models for row in each.rows]
    if not any(time_of(each) is not None for row in rows for each in row.case.subjects):
        return "failed"
    if any(row.winner is not None for row in rows):
        return "fastest"
    return "undecided" if any(row.duel.verdict == "undecided" for row in rows) else ""


def _named(models: Sequence[SweepModel], lines: Iterable[Sequence[str]], sign: str) -> list[str]:
    """The lines of all models, with their names if there are several."""
    several = len(models) > 1
    found = zip(models, lines, strict=True)
    return [f"{name_of(each.model)}{sign}{line}" if several else line for each, own in found for line in own]


def notes_of(cases: Sequence[Case]) -> list[str]:
    """What a reader must know, each note once, with the names of its cases where it is not true of all."""
    found: dict[str, dict[str, str]] = {}
    several = len({case.model for case in cases}) > 1
    for at, case in enumerate(cases):
        sizes = dims_text(case.dims).replace(", ", " ")
        name = " ".join(filter(None, [name_of(case.model) if several or not sizes else "", sizes]))
        for note in dict.fromkeys(case.notes):
            found.setdefault(kind_of(note), {})[f"{at} {name}"] = note
    texts = []
    for notes in found.values():
        names = [key.partition(" ")[2] for key in notes]
        text = in_one(list(notes.values()))
        everywhere = len(notes) >= len(cases) or is_busy_text(text)
        where = "" if everywhere else f" ({first_of(names, _MOST_NAMES)})"
        texts.append(f"{text}{where}")
    return _limited(texts, "note")


def _limited(lines: Sequence[str], word: str, words: str = "") -> list[str]:
    if len(lines) <= MAX_LINES:
        return list(lines)
    left_out = count(len(lines) - MAX_LINES + 1, f"other {word}", f"other {words}" if words else "")
    return [*lines[: MAX_LINES - 1], f"and {left_out}"]


# ---------------------------------------------------------------- a row per case


def cases_table(models: Sequence[SweepModel], title: str = "", per_1000: bool = False) -> Table[SweepRow]:
    """A row per case: sizes, the time of each subject, and how the best rival does against the baseline.

    Files have times in seconds, of one call or `per_1000` calls, and status, speedup and verdict of each subject. On a
    narrow console subjects continue in tables below, each with the sizes.
    """
    rows = [row for each in models for row in each.rows]
    cases, seconds = [row.case for row in rows], 1e-6 if per_1000 else 1e-9
    unit = "s per 1000 calls" if per_1000 else "s per call"
    columns: list[Column[SweepRow]] = [
        for_files("model", lambda row: row.case.model),
        *(column.of(lambda row: row.case) for column in dim_columns(cases)),
        for_files("unit", lambda _row: unit),
    ]
    names, rivals = subjects_of(cases), {name for row in rows for name in row.duels}
    for name in names:
        columns += [_time_column(name, seconds), for_files(f"{name} status", _status_of(name))]
        columns += _duel_columns(name) if name in rivals and len(names) > 1 else []
    columns += _best_columns(models, rate_unit(cases))
    links = links_in(cases)
    return Table(columns, rows, title, link=lambda row: links[id(row.case)])


def _time_column(name: str, seconds: float) -> Column[SweepRow]:
    def value(row: SweepRow) -> float | None:
        ns = _place(row, name).ns
        return None if ns is None else ns * seconds

    return Column(
        name,
        shortened(name_of(name), _NAME),
        value,
        NUMBER._replace(excel="General"),
        style=lambda row: _time_style(row, name),
        text=lambda row: _time_text(row, name),
        breaks=True,
    )


def _status_of(name: str) -> Callable[[SweepRow], str]:
    return lambda row: _place(row, name).word or "ok"


def _place(row: SweepRow, name: str) -> Place:
    return Place(row.case.model, row.case, name)


def _duel_columns(name: str) -> list[Column[SweepRow]]:
    """A rival against the baseline, for files."""
    by = Compared[SweepRow](
        name=lambda _row: name,
        of=lambda row: compared(row.duels.get(name) or Duel(None, None)),
        key=f"{name} speedup",
        verdict=f"{name} verdict",
    )
    return [column._replace(width=FILES_ONLY) for column in ratio_columns(by)]


def _best_columns(models: Sequence[SweepModel], rate: str) -> list[Column[SweepRow]]:
    """The best rival against the baseline, and how many items a second the fastest gets through, for screens."""
    usual = {id(row): each.baseline for each in models for row in each.rows}

    def rival(row: SweepRow) -> str:
        found = "" if row.rival is None else name_of(row.rival)
        # Where the usual baseline has no time, the speedup is against that of the case.
        return f"{found} against {name_of(row.against or '')}" if found and row.against != usual[id(row)] else found

    several = any(len(each.rivals) > 1 for each in models)
    by = Compared[SweepRow](name=rival, of=lambda row: compared(row.duel))
    return [
        *([for_screens("best rival", rival, room=10, width=60)] if several else []),
        *(column._replace(key="") for column in ratio_columns(by)),
        for_screens(rate, lambda row: row.rate, RATE, width=80),
    ]


def _time_text(row: SweepRow, name: str) -> str:
    """A time, or the word that stands in its place; outputs that differ and races that were interrupted have both."""
    subject, word = subject_in(row.case, name), _place(row, name).word
    if subject is None or (word and word not in _TIMED) or (word and subject.time_ns is None):
        return _marked(word)
    return f"{duration(subject.time_ns)} {sign_of(word) or word}".rstrip()


def _marked(word: str) -> str:
    """A word that stands in place of a time, behind its sign."""
    return f"{sign_of(word)} {word}".lstrip()


def _time_style(row: SweepRow, name: str) -> str:
    word = _place(row, name).word
    return status_style(word) if word else _WINNER if name in row.first else ""


# ---------------------------------------------------------------- maps


def _maps(model: SweepModel, several: bool) -> list[Table[int]]:
    """Over two dimensions who is fastest where, or the times of a single subject; a page has charts instead."""
    names = subjects_of(model.cases)
    if len(varying(model.cases)) != 2 or not names:
        return []
    down, across = varying(model.cases)
    rows = {id(row.case): row for row in model.rows}
    found = {place: rows[id(case)] for place, case in cells_of(model.cases, down, across).items()}
    columns: list[Column[int]] = [for_screens(short_dim(down), lambda size: size, SIZE)]
    for size in values_of(model.cases, across):
        columns.append(_map_column(names, size, short_dim(across), found))
    title = f"time of a call of {name_of(names[0])}" if len(names) == 1 else _map_title(model, names)
    title = f"{name_of(model.model)}: {title}" if several else capital(title)
    return [Table(columns, values_of(model.cases, down), title, on="screen")]


def _map_title(model: SweepModel, names: Sequence[str]) -> str:
    base = name_of(model.baseline or "")
    lead = "how much faster" if len(names) == 2 else f"how much faster than {base} ({base}: than the next)"
    return f"who is fastest, and {lead}"


def _map_column(names: Sequence[str], across: int, dim: str, rows: Mapping[tuple[int, int], SweepRow]) -> Column[int]:
    def text(size: int) -> str:
        row = rows.get((size, across))
        if row is None:
            return NOT_RUN
        return _time_text(row, names[0]) if len(names) == 1 else _lead_text(row)

    def style(size: int) -> str:
        row = rows.get((size, across))
        if row is None:
            return "dim"
        return _time_style(row, names[0]) if len(names) == 1 else _lead_style(row)

    return for_screens(f"{dim}={across}", lambda _size: None, TEXT, style=style, text=text, breaks=True)


def _lead_text(row: SweepRow) -> str:
    """The winner and its lead; without one, the sign of its verdict, or why nothing was compared."""
    duel = row.duel
    if row.winner is None or not duel.speedup:
        return faced(duel.verdict) if duel.verdict and duel.speedup else _marked(_why_no_duel(row))
    lead = duel.speedup if row.winner == row.rival else 1 / duel.speedup
    return f"{shortened(name_of(row.winner), _WINNER_ROOM)} {ratio(lead)}"


def _why_no_duel(row: SweepRow) -> str:
    """The word of the first subject that has no time."""
    words = [_place(row, name).word for name in subjects_of([row.case]) or [_ALL]]
    return next(filter(None, words), NOTHING)


def _lead_style(row: SweepRow) -> str:
    if row.winner is not None:
        return "green" if row.winner == row.rival else "bold"
    return VERDICT_STYLES.get(row.duel.verdict or "", "") if row.duel.speedup else status_style(_why_no_duel(row))


# ---------------------------------------------------------------- what is missing


def missing_table(cases: Sequence[Case]) -> Table[Place]:
    """Every subject that was not measured, or whose outputs differ, with the reason."""
    every = [Place(case.model, case, name) for case in cases for name in subjects_of([case]) or [_ALL]]
    missing = [place for place in every if place.word and (place.name != _ALL or place.case.status != "ok")]
    columns: list[Column[Place]] = [
        *place_columns(SUBJECT, missing),
        for_screens("status", lambda place: place.word, style=lambda place: status_style(place.word)),
        REASON,
    ]
    return Table(columns, missing)
