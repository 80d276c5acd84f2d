"""Matrices of a sweep: a cell per case, colored by which subject wins or by its time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from onnxperf.records.race import Case
from onnxperf.records.sweep import Duel, SweepModel, SweepPanel, SweepRow, subject_in, subjects_of, values_of, word_of
from onnxperf.render.charts.base import GREY, Chart, Filter, Layer
from onnxperf.render.charts.matrix import Matrix, MatrixCell, MatrixLegend
from onnxperf.render.kit.column import NAME, Column, for_screens
from onnxperf.render.kit.comparison import Compared, ratio_columns
from onnxperf.render.kit.table import Table
from onnxperf.render.race.subjects import Look, looks_of
from onnxperf.render.race.sweep_cells import (
    MODEL,
    RIVAL,
    SUBJECT,
    Place,
    chosen_chart,
    compared,
    ends_of_duel,
    looks_in,
    panels_for,
    place_columns,
    times_table,
)
from onnxperf.wording.names import name_of, shortened, visible
from onnxperf.wording.numbers import NOTHING, count, duration, interval, ratio
from onnxperf.wording.spans import in_one, kind_of

WHO_WINS = "Who is faster where"
_EVERYBODY = "all: who wins"
_OF_MODELS = "models with one size"
_MOST_ROWS = 100
"""Rows and columns of a matrix up to which it is drawn."""
_STRONGEST, _WEAKEST = math.log2(3.0), math.log2(1.25)
"""Logarithms of how many times as fast a subject is where its color is full: at the latest, and at the earliest."""
_PALEST, _FASTEST, _FULL = 0.25, 0.1, 0.9
"""Part of the full color that a win has at least, so that it does not look like no win; of the shortest time; and at
most."""
_EQUAL, _UNDECIDED = 0.12, 0.3
"""Strengths of grey, which means no winner."""
_MOST_REASONS, _REASON = 3, 72
"""Reasons in a legend, and their characters."""
Looks = Mapping[str, Look]


class _Cell(NamedTuple):
    """Where a subject of a case stands in a matrix."""

    row: int
    column: int
    place: Place


class _Frame(NamedTuple):
    """The cells of one matrix, and the words on its sides."""

    panel: str
    name: str
    """The subject of all cells; empty if rows or columns are subjects."""
    row_name: str
    rows: Sequence[str]
    column_name: str
    columns: Sequence[str]
    cells: Sequence[_Cell]

    @property
    def fits(self) -> bool:
        """Whether it has cells, and not too many of them."""
        return bool(self.cells) and max(len(self.rows), len(self.columns)) <= _MOST_ROWS

    def only(self, what: str) -> dict[str, str]:
        """What select boxes call it."""
        return {MODEL: self.panel} | ({what: name_of(self.name)} if self.name else {})

    def matrix(self, cells: Sequence[MatrixCell], legend: Sequence[MatrixLegend]) -> Matrix:
        """The picture."""
        return Matrix(
            row_name=name_of(self.row_name) if self.row_name else "",
            column_name=name_of(self.column_name) if self.column_name else "",
            rows=[name_of(each) for each in self.rows],
            columns=[name_of(each) for each in self.columns],
            cells=cells,
            legend=legend,
        )

    def edges(self, cell: _Cell, winners: Mapping[tuple[int, int], str]) -> dict[str, Any]:
        """Whether another subject wins in the next cell; only sizes have neighbors."""
        here = winners.get((cell.row, cell.column), "")
        if not here or not self.row_name or not self.column_name:
            return {}
        beyond = {"right": (cell.row, cell.column + 1), "below": (cell.row + 1, cell.column)}
        return {edge: True for edge, other in beyond.items() if winners.get(other, here) != here}


def _frames(panels: Sequence[SweepPanel], names_of: Callable[[SweepPanel], Sequence[str]]) -> list[_Frame]:
    """A matrix per panel and subject over two dimensions; over one or none, subjects are its rows or columns."""
    found: list[_Frame] = []
    for panel in panels:
        if len(panel.dims) == 2:
            found += [_over_two(panel, name) for name in names_of(panel)]
        elif panel.dims:
            found.append(_over_one(panel, names_of(panel)))
    found.append(_of_models([panel for panel in panels if not panel.dims], names_of))
    return [each for each in found if each.fits]


def _over_two(panel: SweepPanel, name: str) -> _Frame:
    down, across = panel.dims
    rows, columns = values_of(panel.cases, down), values_of(panel.cases, across)
    cells = [
        _Cell(rows.index(case.dims[down]), columns.index(case.dims[across]), Place(panel.title, case, name))
        for case in panel.cases
        if down in case.dims and across in case.dims
    ]
    return _Frame(panel.title, name, down, list(map(str, rows)), across, list(map(str, columns)), cells)


def _over_one(panel: SweepPanel, names: Sequence[str]) -> _Frame:
    (dim,) = panel.dims
    columns = values_of(panel.cases, dim)
    cells = [
        _Cell(row, columns.index(case.dims[dim]), Place(panel.title, case, name))
        for case in panel.cases
        if dim in case.dims
        for row, name in enumerate(names)
    ]
    return _Frame(panel.title, "", "", names, dim, list(map(str, columns)), cells)


def _of_models(panels: Sequence[SweepPanel], names_of: Callable[[SweepPanel], Sequence[str]]) -> _Frame:
    columns = list(dict.fromkeys(name for panel in panels for name in names_of(panel)))
    cells = [
        _Cell(row, columns.index(name), Place(panel.title, panel.cases[0], name))
        for row, panel in enumerate(panels)
        for name in names_of(panel)
        if subject_in(panel.cases[0], name) is not None
    ]
    return _Frame(_OF_MODELS, "", "", [panel.title for panel in panels], "", columns, cells)


# ---------------------------------------------------------------- who is faster where


class _Judged(NamedTuple):
    """A case, and the baseline of most cases of its model."""

    row: SweepRow
    baseline: str

    def duel(self, name: str) -> Duel:
        """A subject against that baseline; without a speedup, why there is none."""
        found = self.row.duels.get(name)
        if found is not None and (found.speedup is None or self.row.against == self.baseline):
            return found
        case = self.row.case
        words = (word_of(case, subject_in(case, each)) for each in (name, self.baseline))
        return Duel(None, None, next(filter(None, words), NOTHING))


Judge = Callable[[Case, str], Duel]


def _judged_in(models: Sequence[SweepModel]) -> dict[int, _Judged]:
    """What was concluded about each case, by its id."""
    return {id(row.case): _Judged(row, each.baseline or "") for each in models for row in each.rows}


def map_charts(panels: Sequence[SweepPanel], models: Sequence[SweepModel], every: bool = False) -> list[Chart]:
    """Speedups against the baseline, colored by verdict.

    A file shows the usual rival of each panel; `every` rival, and who wins among several, are on a page.
    """
    judged, looks = _judged_in(models), looks_in(models)

    def rivals(panel: SweepPanel) -> list[str]:
        baseline = judged[id(panel.cases[0])].baseline
        return [name for name in subjects_of(panel.cases) if name != baseline]

    def shown(panel: SweepPanel) -> Sequence[str]:
        return rivals(panel) if every or panel.pair is None or len(panel.dims) < 2 else panel.pair[1:]

    def judge(case: Case, name: str) -> Duel:
        return judged[id(case)].duel(name)

    frames = [frame for frame in _frames(panels, shown) if _is_compared(frame, judge)]
    if not frames:
        return []
    layers = [Layer(_duel_map(frame, judge, _baseline_of(frame, judged), looks), frame.only(RIVAL)) for frame in frames]
    several = every and len({frame.name for frame in frames if frame.name}) > 1
    if several:
        maps = {frame.panel: frame for frame in frames if frame.name}
        layers += [Layer(_winner_map(each, judged, looks), {MODEL: each.panel, RIVAL: ""}) for each in maps.values()]
    drawn, rest = panels_for(layers, every)
    boxes = [Filter(MODEL, (), 0), Filter(RIVAL, (), 1, _EVERYBODY if several else "")]
    against = {_baseline_of(frame, judged) for frame in frames}
    summary = _map_summary(frames, judge, against) + rest
    table = duels_table(_places_of(frames), lambda place: _in_row(place, judged[id(place.case)].row))
    return [chosen_chart(_map_title(frames, against), summary, drawn, boxes, table)]


def crossover_charts(panel: SweepPanel) -> list[Chart]:
    """A map of two subjects over two dimensions of a model."""
    if panel.pair is None:
        raise AssertionError("a map compares two subjects")
    baseline, rival = panel.pair
    down, across = panel.dims

    def judge(case: Case, _name: str) -> Duel:
        return panel.duels[case.dims[down], case.dims[across]]

    frame, against = _over_two(panel, rival), {baseline}
    layer = Layer(_duel_map(frame, judge, baseline, looks_of(panel.cases)))
    table = duels_table(_places_of([frame]), lambda place: (judge(place.case, rival), baseline))
    return [Chart(_map_title([frame], against), _map_summary([frame], judge, against), [layer], table)]


def suits_map(panel: SweepPanel) -> bool:
    """Whether a panel has two dimensions and two subjects that were compared, and not too many sizes."""
    return (
        len(panel.dims) == 2
        and any(duel.speedup for duel in panel.duels.values())
        and max(len(values_of(panel.cases, dim)) for dim in panel.dims) <= _MOST_ROWS
    )


def _is_compared(frame: _Frame, judge: Judge) -> bool:
    return any(judge(cell.place.case, cell.place.name).speedup for cell in frame.cells)


def _baseline_of(frame: _Frame, judged: Mapping[int, _Judged]) -> str:
    return judged[id(frame.cells[0].place.case)].baseline


def _places_of(frames: Sequence[_Frame]) -> list[Place]:
    every = [cell.place for frame in frames for cell in frame.cells]
    return list({(id(place.case), place.name): place for place in every}.values())


def _map_title(frames: Sequence[_Frame], against: Iterable[str]) -> str:
    rivals, baselines = {place.name for place in _places_of(frames)}, set(against)
    if len(rivals) > 1 or len(baselines) > 1:
        return WHO_WINS
    return f"Speedup of {name_of(*rivals)} against {name_of(*baselines)}"


def _map_summary(frames: Sequence[_Frame], judge: Judge, against: Iterable[str]) -> str:
    baselines, places = list(against), _places_of(frames)
    base = name_of(baselines[0]) if len(baselines) == 1 else "the baseline"
    verdicts = Counter(judge(place.case, place.name).verdict or "not compared" for place in places)
    found = ", ".join(f"{number} {word}" for word, number in verdicts.most_common())
    summary = (
        f"Speedups against {base} in {_cases_text(frames)}, with 95 % CI ({found}). Cells have the color of who is "
        "faster, the stronger the larger the difference."
    )
    if "not compared" in verdicts:
        summary += " Cells with a word have no time."
    return summary + (" Thick lines are where the winner changes." if any(frame.name for frame in frames) else "")


def _cases_text(frames: Sequence[_Frame]) -> str:
    return count(len({id(cell.place.case) for frame in frames for cell in frame.cells}), "case")


# ---------------------------------------------------------------- one rival, or several at one size


def _duel_map(frame: _Frame, judge: Judge, baseline: str, looks: Looks) -> Matrix:
    duels = [judge(cell.place.case, cell.place.name) for cell in frame.cells]
    strongest = _strongest(duels)
    winners = {
        (cell.row, cell.column): cell.place.name if duel.verdict == "faster" else baseline
        for cell, duel in zip(frame.cells, duels, strict=True)
        if duel.decided
    }
    cells = [
        MatrixCell(
            row=cell.row,
            column=cell.column,
            words=_duel_words(cell.place, duel, baseline),
            **_duel_look(duel, looks[winners.get((cell.row, cell.column), baseline)].color, strongest),
            **frame.edges(cell, winners),
        )
        for cell, duel in zip(frame.cells, duels, strict=True)
    ]
    return frame.matrix(cells, _duel_legend(frame, baseline, duels, set(winners.values()), looks))


def _strongest(duels: Iterable[Duel]) -> float:
    """The logarithm of the speedup, or of its inverse, at which a color is full."""
    widest = max((abs(math.log2(duel.speedup)) for duel in duels if duel.speedup and duel.decided), default=0.0)
    return min(max(widest, _WEAKEST), _STRONGEST)


def _strength(speedup: float, strongest: float) -> float:
    return round(_PALEST + (_FULL - _PALEST) * min(abs(math.log2(speedup)) / strongest, 1.0), 3)


def _duel_look(duel: Duel, color: int, strongest: float) -> dict[str, Any]:
    if not duel.speedup:
        return {"text": duel.word or NOTHING, "failed": True}
    ends = ends_of_duel(duel)
    small = interval(*ends) if ends else ""
    if duel.decided:
        strength = _strength(duel.speedup, strongest)
        return {"text": ratio(duel.speedup), "small": small, "color": color, "strength": strength, "bold": True}
    if duel.verdict == "equivalent":
        return {"text": ratio(duel.speedup), "small": small, "strength": _EQUAL}
    return {"text": f"{ratio(duel.speedup)} ?", "small": small, "strength": _UNDECIDED}


def _duel_words(place: Place, duel: Duel, baseline: str) -> str:
    lines = [f"{name_of(place.name)} against {name_of(baseline)}"]
    if duel.speedup:
        ends = ends_of_duel(duel)
        lines += [f"{ratio(duel.speedup)} {duel.verdict or ''}", f"95 % CI {interval(*ends)}" if ends else ""]
        lines += [visible(duel.reason) if duel.verdict == "undecided" else ""]
    elif not place.word:
        lines.append(Place(place.panel, place.case, baseline).failure)
    return place.told(*lines)


def _duel_legend(
    frame: _Frame, baseline: str, duels: Sequence[Duel], winners: set[str], looks: Looks
) -> list[MatrixLegend]:
    # Of two subjects, both are named even if neither wins.
    names = [frame.name, baseline] if frame.name else [name for name in looks if name in winners]
    found = [MatrixLegend(f"{name_of(name)} is faster", looks[name].color, _FULL) for name in names]
    if any(duel.verdict == "equivalent" for duel in duels):
        found.append(MatrixLegend("equally fast", GREY, _EQUAL))
    found += [MatrixLegend(text, GREY, _UNDECIDED) for text in _undecided_texts(duels)]
    if any(not duel.speedup for duel in duels):
        found.append(MatrixLegend("not compared", failed=True))
    return found


def _undecided_texts(duels: Iterable[Duel]) -> list[str]:
    """Why cells are undecided, the most frequent reason first."""
    found: dict[str, list[str]] = {}
    for duel in duels:
        if duel.verdict == "undecided":
            found.setdefault(kind_of(duel.reason), []).append(duel.reason)
    reasons = sorted(found.values(), key=len, reverse=True)
    texts = [
        f"? undecided in {count(len(alike), 'cell')}: {shortened(visible(in_one(alike)), _REASON)}"
        for alike in reasons[:_MOST_REASONS]
    ]
    rest = sum(map(len, reasons[_MOST_REASONS:]))
    return [*texts, f"? undecided in {count(rest, 'cell')} for other reasons"] if rest else texts


# ---------------------------------------------------------------- who wins among several


def _winner_map(frame: _Frame, judged: Mapping[int, _Judged], looks: Looks) -> Matrix:
    """Who wins in each case, a color per subject."""
    rows = [judged[id(cell.place.case)].row for cell in frame.cells]
    strongest = _strongest([row.duel for row in rows])
    winners = {
        (cell.row, cell.column): row.winner
        for cell, row in zip(frame.cells, rows, strict=True)
        if row.winner is not None
    }
    cells = [
        MatrixCell(
            row=cell.row,
            column=cell.column,
            words=_winner_words(cell.place, row),
            **_winner_look(row, looks, strongest),
            **frame.edges(cell, winners),
        )
        for cell, row in zip(frame.cells, rows, strict=True)
    ]
    won = set(winners.values())
    legend = [MatrixLegend(f"{name_of(name)} wins", look.color, _FULL) for name, look in looks.items() if name in won]
    if len(winners) < len(rows):
        legend.append(MatrixLegend("no winner", GREY, _UNDECIDED))
    return frame.matrix(cells, legend)


def _winner_look(row: SweepRow, looks: Looks, strongest: float) -> dict[str, Any]:
    speedup, ends = row.duel.speedup, ends_of_duel(row.duel)
    if row.winner is None:
        return {"text": f"{ratio(speedup)} ?" if speedup else NOTHING, "strength": _UNDECIDED}
    return {
        "text": name_of(row.winner),
        "small": interval(*ends) if ends else "",
        "color": looks[row.winner].color,
        "strength": _strength(speedup or 1.0, strongest),
        "bold": True,
    }


def _winner_words(place: Place, row: SweepRow) -> str:
    wins = "no winner" if row.winner is None else f"{name_of(row.winner)} wins"
    if row.rival is None:
        return place.told(wins)
    return f"{_duel_words(place._replace(name=row.rival), row.duel, row.against or '')}\n{wins}"


# ---------------------------------------------------------------- the table of duels


def duels_table(places: Sequence[Place], judged: Callable[[Place], tuple[Duel, str | None]]) -> Table[Place]:
    """Every rival in every case against its baseline, with the reason if that is undecided or missing."""
    by = Compared[Place](
        name=lambda place: place.name,
        of=lambda place: compared(judged(place)[0]),
        word=lambda place: judged(place)[0].verdict or judged(place)[0].word,
    )
    columns: list[Column[Place]] = [
        *place_columns(RIVAL, places),
        for_screens("against", lambda place: judged(place)[1], NAME),
        *ratio_columns(by),
        for_screens("why", lambda place: place.reason or judged(place)[0].reason, room=20, folds=True),
    ]
    return Table(columns, places)


def _in_row(place: Place, row: SweepRow) -> tuple[Duel, str | None]:
    return row.duels.get(place.name) or Duel(None, None, place.word), row.against


# ---------------------------------------------------------------- times


def times_charts(panels: Sequence[SweepPanel], models: Sequence[SweepModel], every: bool = False) -> list[Chart]:
    """The time of every case and subject, the slower the stronger its color."""
    frames = _frames(panels, lambda panel: subjects_of(panel.cases))
    if not frames:
        return []
    looks = looks_in(models)
    layers, rest = panels_for([Layer(_time_map(frame, looks), frame.only(SUBJECT)) for frame in frames], every)
    places = _places_of(frames)
    known = [place.ns for place in places if place.ns is not None]
    span = f", from {duration(min(known))} to {duration(max(known))}" if known else ""
    summary = (
        f"Time of a call in {_cases_text(frames)}{span}; the slower, the stronger the color, on a logarithmic scale."
    )
    if len(known) < len(places):
        summary += " Cells with a word have no time."
    boxes = [Filter(MODEL, (), 0), Filter(SUBJECT, (), 1)]
    return [chosen_chart("Time of a call", summary + rest, layers, boxes, times_table(places))]


def _time_map(frame: _Frame, looks: Looks) -> Matrix:
    known = [cell.place.ns for cell in frame.cells if cell.place.ns is not None]
    cells = [_time_cell(cell, known, looks) for cell in frame.cells]
    color = looks[frame.cells[0].place.name].color
    ends = [(min(known), _FASTEST), (max(known), _FULL)] if known else []
    return frame.matrix(cells, [MatrixLegend(duration(ns), color, strength) for ns, strength in ends])


def _time_cell(cell: _Cell, known: Sequence[float], looks: Looks) -> MatrixCell:
    place, ns = cell.place, cell.place.ns
    if ns is None:
        return MatrixCell(cell.row, cell.column, place.word or NOTHING, place.told(), failed=True)
    words = place.told(f"{name_of(place.name)}: {duration(ns)}")
    span = math.log(max(known) / min(known))
    strength = _FASTEST + (_FULL - _FASTEST) * (math.log(ns / min(known)) / span if span else 0.0)
    return MatrixCell(
        cell.row, cell.column, duration(ns), words, color=looks[place.name].color, strength=round(strength, 3)
    )
