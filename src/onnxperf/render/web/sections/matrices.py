"""Matrices of a sweep: a cell per case, coloured by which subject wins or by its time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from onnxperf.records.race import Case
from onnxperf.records.sweep import Duel, SweepPanel, SweepRow, dims_of, subject_in, subjects_of, time_of, values_of
from onnxperf.records.sweep import word_of as why_missing
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.web.forest import BLUE, GREEN, GREY, RED
from onnxperf.render.web.layers import Filter, Layer, layered
from onnxperf.render.web.old_base import Part
from onnxperf.wording.names import dims_text, name_of, visible
from onnxperf.wording.numbers import count, duration, interval, ratio

MODEL, RIVAL, SUBJECT = "model", "rival", "subject"
"""Names of select boxes; the columns of these values come first in the tables."""
_EVERYBODY = "all: who wins"
_ONE_SIZE = "models with one size"
_MOST_ROWS = 100
"""Rows and columns of a matrix up to which it is drawn."""
_STRONGEST, _WEAKEST = math.log2(3.0), math.log2(1.25)
"""Logarithms of how many times as fast a subject is where its colour is full: at the latest, and at the earliest."""
_PALEST, _FASTEST, _FULL = 0.25, 0.1, 0.9
"""Part of the full colour that a win has at least, so that it does not look like no win; of the shortest
time; and at most."""
_SUBJECT_COLOURS = 6
"""Colours of subjects; grey means no winner."""
_EQUAL, _UNDECIDED = (GREEN, 0.25), (GREY, 0.3)
Rows = Mapping[int, SweepRow]
"""What was concluded about each case, by its id."""
Cell = dict[str, object]


class _Place(NamedTuple):
    row: int
    column: int
    case: Case
    name: str
    """The subject that the cell is about."""


class _Frame(NamedTuple):
    """The cells of one matrix, the words on its sides, and for which choices it is shown."""

    model: str
    name: str
    """The subject of all cells; empty where rows are subjects."""
    sides: Mapping[str, object]
    places: Sequence[_Place]

    @property
    def is_map(self) -> bool:
        """Whether both sides are dimensions, so that neighbours are neighbours."""
        return bool(self.sides["columnName"] and self.sides["rowName"])


def _frames(panels: Sequence[SweepPanel], besides: Sequence[str] = ()) -> list[_Frame]:
    """A matrix per panel and subject over two dimensions; over one or none, its rows are subjects or models."""
    found: list[_Frame] = []
    alone = [panel for panel in panels if not panel.dims]
    for panel in panels:
        names = [name for name in subjects_of(panel.cases) if name not in besides]
        if len(panel.dims) == 2:
            found += [_over_two(panel, name) for name in names]
        elif panel.dims:
            found.append(_over_one(panel, names))
    if len(alone) > 1:
        found.append(_of_models(alone, besides))
    return [each for each in found if each.places and _fits(each)]


def _fits(frame: _Frame) -> bool:
    return max(place.row for place in frame.places) < _MOST_ROWS > max(place.column for place in frame.places)


def _over_two(panel: SweepPanel, name: str) -> _Frame:
    down, across = panel.dims
    rows, columns = values_of(panel.cases, down), values_of(panel.cases, across)
    places = [
        _Place(rows.index(case.dims[down]), columns.index(case.dims[across]), case, name)
        for case in panel.cases
        if down in case.dims and across in case.dims
    ]
    return _Frame(panel.title, name, _sides(down, rows, across, columns), places)


def _over_one(panel: SweepPanel, names: Sequence[str]) -> _Frame:
    columns = values_of(panel.cases, panel.dims[0])
    places = [
        _Place(row, columns.index(case.dims[panel.dims[0]]), case, name)
        for case in panel.cases
        if panel.dims[0] in case.dims
        for row, name in enumerate(names)
    ]
    return _Frame(panel.title, "", _sides("", map(name_of, names), panel.dims[0], columns), places)


def _of_models(panels: Sequence[SweepPanel], besides: Sequence[str]) -> _Frame:
    cases = [panel.cases[0] for panel in panels]
    names = [name for name in subjects_of(cases) if name not in besides]
    places = [
        _Place(row, column, case, name)
        for row, case in enumerate(cases)
        for column, name in enumerate(names)
        if subject_in(case, name) is not None
    ]
    return _Frame(_ONE_SIZE, "", _sides("", [panel.title for panel in panels], "", map(name_of, names)), places)


def _sides(down: str, rows: Iterable[object], across: str, columns: Iterable[object]) -> dict[str, object]:
    return {
        "rowName": name_of(down) if down else "",
        "columnName": name_of(across) if across else "",
        "rows": [str(each) for each in rows],
        "columns": [str(each) for each in columns],
    }


# ---------------------------------------------------------------- who is faster where


def winners(panels: Sequence[SweepPanel], rows: Rows) -> list[Part]:
    """Speedups against the baseline, coloured by verdict; of several rivals also who wins."""
    baselines = list(dict.fromkeys(panel.pair[0] for panel in panels if panel.pair))
    frames = _frames([panel for panel in panels if panel.pair], baselines[:1] if len(baselines) == 1 else ())
    frames = [frame for frame in frames if _is_compared(frame, rows)]
    if not frames:
        return []
    rivals = list(dict.fromkeys(frame.name for frame in frames if frame.name))
    maps = {frame.model: frame for frame in frames if frame.name}
    layers = [_winner_layer(frame, rows) for frame in maps.values()] if len(rivals) > 1 else []
    layers += [_duel_layer(frame, rows) for frame in frames]
    against = name_of(baselines[0]) if len(baselines) == 1 else "the baseline"
    summary = (
        f"Speedups against {against} in {_cases_text(frames)}, coloured by verdict, the stronger the larger; "
        "above 1 is faster. Cells with a word have no time: the table has the reason."
    )
    if maps:
        summary += " Thick lines are where the winner changes."
    filters = _filters(frames, RIVAL, _EVERYBODY if len(rivals) > 1 else "")
    title = "Who is faster where"
    return [layered("matrix", title, summary, {}, layers, filters, _duel_table(frames, rows), height=_height(layers))]


def _is_compared(frame: _Frame, rows: Rows) -> bool:
    """Whether at least one cell has a speedup."""
    duels = (rows[id(place.case)].duels.get(place.name) for place in frame.places)
    return any(duel is not None and duel.speedup for duel in duels)


def _cases_text(frames: Sequence[_Frame]) -> str:
    return count(len({id(place.case) for frame in frames for place in frame.places}), "case")


def _filters(frames: Sequence[_Frame], what: str, everything: str = "") -> list[Filter]:
    models = list(dict.fromkeys(frame.model for frame in frames))
    names = list(dict.fromkeys(name_of(frame.name) for frame in frames if frame.name))
    return [Filter(MODEL, models, column=0), Filter(what, names, column=1, everything=everything)]


def _height(layers: Sequence[Layer]) -> int:
    """Room for all rows, both sides and the legend."""
    rows = max(len(list(_many(layer.data["rows"]))) for layer in layers)
    legend = max(len(list(_many(layer.data["legend"]))) for layer in layers)
    return 90 + 20 * legend + max(30 * rows, 90)


def _many(several: object) -> Sequence[object]:
    return several if isinstance(several, list) else []


def _duel_layer(frame: _Frame, rows: Rows) -> Layer:
    found = [(place, rows[id(place.case)]) for place in frame.places]
    duels = [row.duels.get(place.name) for place, row in found]
    strongest = _strongest([duel for duel in duels if duel])
    cells = [
        _cell(place, _duel_words(row, place.name, duel)) | _duel_look(duel, place, strongest)
        for (place, row), duel in zip(found, duels, strict=True)
    ]
    sides = [duel.verdict if duel and duel.decided else None for duel in duels]
    against = next((row.against for _, row in found if row.against), None)
    only = {MODEL: frame.model} | ({RIVAL: name_of(frame.name)} if frame.name else {})
    legend = _duel_legend(frame.name, against or "", duels)
    return Layer(only, {**frame.sides, "cells": _parted(cells, sides, frame), "legend": legend})


def _strongest(duels: Sequence[Duel]) -> float:
    """The logarithm of the speedup, or of its inverse, at which a colour is full."""
    widest = max((abs(math.log2(duel.speedup)) for duel in duels if duel.speedup and duel.decided), default=0.0)
    return min(max(widest, _WEAKEST), _STRONGEST)


def _strength(speedup: float, strongest: float) -> float:
    return round(_PALEST + (_FULL - _PALEST) * min(abs(math.log2(speedup)) / strongest, 1.0), 3)


def _cell(place: _Place, words: str) -> Cell:
    return {"row": place.row, "column": place.column, "words": words}


def _duel_look(duel: Duel | None, place: _Place, strongest: float) -> Cell:
    if duel is None or not duel.speedup:
        word = duel.word if duel and duel.word else why_missing(place.case, subject_in(place.case, place.name))
        return _no_time(word or "–")  # noqa: RUF001
    text = ratio(duel.speedup)
    if not duel.decided:
        colour, strength = _EQUAL if duel.verdict == "equivalent" else _UNDECIDED
        return {"text": text if duel.verdict == "equivalent" else f"{text} ?", "colour": colour, "strength": strength}
    colour = BLUE if duel.verdict == "faster" else RED
    return {"text": text, "colour": colour, "strength": _strength(duel.speedup, strongest), "bold": True}


def _no_time(word: str) -> Cell:
    return {"text": word, "colour": GREY, "strength": 0.0, "failed": True}


def _duel_words(row: SweepRow, name: str, duel: Duel | None) -> str:
    lines = [_where(row.case), f"{name_of(name)} against {name_of(row.against or '')}"]
    if duel is not None and duel.speedup:
        lines.append(f"{ratio(duel.speedup)} {duel.verdict or ''}")
        lines += [f"95 % interval {interval(duel.low, duel.high)}"] if duel.low is not None else []
    return "\n".join(filter(None, [*lines, _reason(row.case, name, duel)]))


def _where(case: Case) -> str:
    return ", ".join(filter(None, [name_of(case.model), visible(dims_text(case.dims))]))


def _reason(case: Case, name: str, duel: Duel | None = None) -> str:
    subject = subject_in(case, name)
    word = why_missing(case, subject)
    reason = (subject.reason if subject is not None else case.answer) or (duel.reason if duel else "")
    return ": ".join(filter(None, [word, visible(reason)])) if word or (duel and duel.verdict == "undecided") else ""


def _duel_legend(rival: str, against: str, duels: Sequence[Duel | None]) -> list[Cell]:
    verdicts = {duel.verdict for duel in duels if duel}
    base = name_of(against)
    faster = f"{name_of(rival)} is faster" if rival else f"faster than {base}"
    slower = f"{base} is faster" if rival else f"slower than {base}"
    found = [{"words": faster, "colour": BLUE, "strength": _FULL}, {"words": slower, "colour": RED, "strength": _FULL}]
    if "equivalent" in verdicts:
        found.append({"words": "equally fast", "colour": _EQUAL[0], "strength": _EQUAL[1]})
    if "undecided" in verdicts:
        found.append({"words": "?: undecided", "colour": _UNDECIDED[0], "strength": _UNDECIDED[1]})
    return found


def _parted(cells: Sequence[Cell], sides: Sequence[object], frame: _Frame) -> list[Cell]:
    """The cells, with a line to the right or below where another side wins in the next one."""
    places = [(place.row, place.column) for place in frame.places]
    at = {place: side for place, side in zip(places, sides, strict=True) if side is not None and frame.is_map}
    return [cell | _edges(place, at) for place, cell in zip(places, cells, strict=True)]


def _edges(place: tuple[int, int], at: Mapping[tuple[int, int], object]) -> Cell:
    row, column = place
    next_to = {"right": (row, column + 1), "below": (row + 1, column)}
    return {edge: True for edge, other in next_to.items() if place in at and at.get(other, at[place]) != at[place]}


def _winner_layer(frame: _Frame, rows: Rows) -> Layer:
    """Who wins in each case, a colour per subject."""
    names = subjects_of([place.case for place in frame.places])
    found = [rows[id(place.case)] for place in frame.places]
    strongest = _strongest([row.duel for row in found])
    cells = [
        _cell(place, _winner_words(row)) | _winner_look(row, names, strongest)
        for place, row in zip(frame.places, found, strict=True)
    ]
    winning = {row.winner for row in found}
    legend: list[Cell] = [
        {"words": f"{name_of(name)} wins", "colour": place % _SUBJECT_COLOURS, "strength": _FULL}
        for place, name in enumerate(names)
        if name in winning
    ]
    if None in winning:
        legend.append({"words": "no winner", "colour": _UNDECIDED[0], "strength": _UNDECIDED[1]})
    sides = [row.winner for row in found]
    only = {MODEL: frame.model, RIVAL: ""}
    return Layer(only, {**frame.sides, "cells": _parted(cells, sides, frame), "legend": legend})


def _winner_look(row: SweepRow, names: Sequence[str], strongest: float) -> Cell:
    if row.winner is None:
        text = ratio(row.duel.speedup) if row.duel.speedup else ""
        return {"text": f"{text} ?" if text else "–", "colour": _UNDECIDED[0], "strength": _UNDECIDED[1]}  # noqa: RUF001
    strength = _strength(row.duel.speedup or 1.0, strongest)
    return {
        "text": name_of(row.winner),
        "colour": names.index(row.winner) % _SUBJECT_COLOURS,
        "strength": strength,
        "bold": True,
    }


def _winner_words(row: SweepRow) -> str:
    best = "" if row.rival is None else _duel_words(row, row.rival, row.duel)
    wins = "no winner" if row.winner is None else f"{name_of(row.winner)} wins"
    return "\n".join(filter(None, [best or _where(row.case), wins]))


def _duel_table(frames: Sequence[_Frame], rows: Rows) -> Table:
    places = list({(id(place.case), place.name): (frame, place) for frame in frames for place in frame.places}.values())
    dims = dims_of([place.case for _, place in places])
    columns = [Column(MODEL, left=True), Column(RIVAL, left=True), *(Column(name_of(dim)) for dim in dims)]
    columns += [Column("against", left=True), Column("speedup"), Column("95 % interval"), Column("verdict", left=True)]
    columns.append(Column("why", left=True))
    drawn = []
    for frame, place in places:
        row = rows[id(place.case)]
        duel = row.duels.get(place.name) or Duel(None, None)
        sizes = (str(place.case.dims.get(dim, "")) for dim in dims)
        judged = (ratio(duel.speedup), interval(duel.low, duel.high), duel.verdict or duel.word)
        why = _reason(place.case, place.name, duel)
        drawn.append(Row([frame.model, name_of(place.name), *sizes, name_of(row.against or ""), *judged, why]))
    return Table(columns, drawn)


# ---------------------------------------------------------------- times


def times(panels: Sequence[SweepPanel]) -> list[Part]:
    """The time of every case and subject, the slower the stronger its colour."""
    frames = _frames(panels)
    if not frames:
        return []
    layers = [_time_layer(frame) for frame in frames]
    summary = (
        f"Medians of single calls in {_cases_text(frames)}; the slower, the stronger the colour, on a logarithmic "
        "scale. Cells with a word have no time."
    )
    filters = _filters(frames, SUBJECT)
    title = "Time of a call"
    return [layered("matrix", title, summary, {}, layers, filters, _time_table(frames), height=_height(layers))]


def _time_layer(frame: _Frame) -> Layer:
    found = [(place, time_of(subject_in(place.case, place.name))) for place in frame.places]
    known = [ns for _, ns in found if ns is not None]
    cells = [_time_cell(place, ns, known) for place, ns in found]
    ends = [(min(known), _FASTEST), (max(known), _FULL)] if known else []
    legend = [{"words": duration(ns), "colour": BLUE, "strength": strength} for ns, strength in ends]
    only = {MODEL: frame.model} | ({SUBJECT: name_of(frame.name)} if frame.name else {})
    return Layer(only, {**frame.sides, "cells": cells, "legend": legend})


def _time_cell(place: _Place, ns: float | None, known: Sequence[float]) -> Cell:
    lines = [_where(place.case), f"{name_of(place.name)}: {duration(ns)}", _reason(place.case, place.name)]
    cell = _cell(place, "\n".join(filter(None, lines)))
    if ns is None:
        return cell | _no_time(why_missing(place.case, subject_in(place.case, place.name)) or "–")  # noqa: RUF001
    span = math.log(max(known) / min(known))
    strength = _FASTEST + (_FULL - _FASTEST) * (math.log(ns / min(known)) / span if span else 0.0)
    return cell | {"text": duration(ns), "colour": BLUE, "strength": round(strength, 3)}


def _time_table(frames: Sequence[_Frame]) -> Table:
    places = [(frame, place) for frame in frames for place in frame.places]
    dims = dims_of([place.case for _, place in places])
    columns = [Column(MODEL, left=True), Column(SUBJECT, left=True), *(Column(name_of(dim)) for dim in dims)]
    columns += [Column("time"), Column("why", left=True)]
    rows = []
    for frame, place in places:
        sizes = (str(place.case.dims.get(dim, "")) for dim in dims)
        ns = time_of(subject_in(place.case, place.name))
        rows.append(Row([frame.model, name_of(place.name), *sizes, duration(ns), _reason(place.case, place.name)]))
    return Table(columns, rows)
