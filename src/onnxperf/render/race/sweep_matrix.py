"""Matrices of a sweep: a cell per case and subject; here colored by the time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from onnxperf.records.sweep import SweepModel, SweepPanel, subject_in, subjects_of, values_of
from onnxperf.render.charts.base import GREY, Chart, Filter, Layer
from onnxperf.render.charts.matrix import Matrix, MatrixCell, MatrixLegend
from onnxperf.render.race.subjects import Look
from onnxperf.render.race.sweep_cells import (
    MODEL,
    SUBJECT,
    Place,
    boxed_chart,
    looks_in,
    panels_for,
    times_table,
)
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import NOTHING, count, duration

_OF_MODELS = "models with one size"
MOST_ROWS = 100
"""Rows and columns of a matrix up to which it is drawn."""
_FASTEST, FULL = 0.1, 0.9
"""Part of the full color that the shortest time has, and the longest."""
Looks = Mapping[str, Look]


class Cell(NamedTuple):
    """Where a subject of a case stands in a matrix."""

    row: int
    column: int
    place: Place


class Frame(NamedTuple):
    """The cells of one matrix, and the words on its sides."""

    panel: str
    name: str | None
    """The subject of all cells; none if rows or columns are subjects."""
    row_name: str
    rows: Sequence[str]
    column_name: str
    columns: Sequence[str]
    cells: Sequence[Cell]

    @property
    def is_map(self) -> bool:
        """Whether both sides are sizes, so that neighbors are neighbors."""
        return self.name is not None

    @property
    def fits(self) -> bool:
        """Whether it has cells, and not too many of them."""
        return bool(self.cells) and max(len(self.rows), len(self.columns)) <= MOST_ROWS

    def only(self, what: str) -> dict[str, str]:
        """What select boxes call it."""
        return {MODEL: self.panel} | ({} if self.name is None else {what: name_of(self.name)})

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

    def edges(self, cell: Cell, winners: Mapping[tuple[int, int], str | None]) -> dict[str, Any]:
        """Whether another subject wins in the next cell."""
        here = winners[cell.row, cell.column]
        beyond = {"right": (cell.row, cell.column + 1), "below": (cell.row + 1, cell.column)}
        others = {edge: winners.get(place) for edge, place in beyond.items()}
        return {
            edge: True for edge, other in others.items() if self.is_map and None not in (here, other) and other != here
        }


def frames_of(panels: Sequence[SweepPanel], names_of: Callable[[SweepPanel], Sequence[str]]) -> list[Frame]:
    """A matrix per panel and subject over two dimensions; over one or none, subjects are its rows or columns."""
    found: list[Frame] = []
    for panel in panels:
        if len(panel.dims) == 2:
            found += [over_two(panel, name) for name in names_of(panel)]
        elif panel.dims:
            found.append(_over_one(panel, names_of(panel)))
    alone = [panel for panel in panels if not panel.dims]
    # Next to others, a select box must be able to choose each.
    for group in [alone] if len(alone) == len(panels) else [[panel] for panel in alone]:
        found.append(_of_models(group, names_of))
    return [each for each in found if each.fits]


def over_two(panel: SweepPanel, name: str) -> Frame:
    """A subject over the two dimensions of a panel."""
    down, across = panel.dims
    rows, columns = values_of(panel.cases, down), values_of(panel.cases, across)
    cells = [
        Cell(rows.index(case.dims[down]), columns.index(case.dims[across]), Place(panel.title, case, name))
        for case in panel.cases
        if down in case.dims and across in case.dims
    ]
    return Frame(panel.title, name, down, list(map(str, rows)), across, list(map(str, columns)), cells)


def _over_one(panel: SweepPanel, names: Sequence[str]) -> Frame:
    (dim,) = panel.dims
    columns = values_of(panel.cases, dim)
    cells = [
        Cell(row, columns.index(case.dims[dim]), Place(panel.title, case, name))
        for case in panel.cases
        if dim in case.dims
        for row, name in enumerate(names)
    ]
    return Frame(panel.title, None, "", names, dim, list(map(str, columns)), cells)


def _of_models(panels: Sequence[SweepPanel], names_of: Callable[[SweepPanel], Sequence[str]]) -> Frame:
    columns = list(dict.fromkeys(name for panel in panels for name in names_of(panel)))
    cells = [
        Cell(row, columns.index(name), Place(panel.title, panel.cases[0], name))
        for row, panel in enumerate(panels)
        for name in names_of(panel)
        if subject_in(panel.cases[0], name) is not None
    ]
    title = panels[0].title if len(panels) == 1 else _OF_MODELS
    return Frame(title, None, "", [panel.title for panel in panels], "", columns, cells)


def places_of(frames: Sequence[Frame]) -> list[Place]:
    """The subjects and cases of all cells, each once."""
    every = [cell.place for frame in frames for cell in frame.cells]
    return list({(id(place.case), place.name): place for place in every}.values())


def cases_text(frames: Sequence[Frame]) -> str:
    """How many cases these are."""
    return count(len({id(cell.place.case) for frame in frames for cell in frame.cells}), "case")


# ---------------------------------------------------------------- times


def times_charts(panels: Sequence[SweepPanel], models: Sequence[SweepModel], every: bool = False) -> list[Chart]:
    """The time of every case and subject, the slower the stronger its color."""
    frames = frames_of(panels, lambda panel: subjects_of(panel.cases))
    if not frames:
        return []
    looks = looks_in(models)
    layers, rest = panels_for([Layer(_time_map(frame, looks), frame.only(SUBJECT)) for frame in frames], every)
    places = places_of(frames)
    known = [place.ns for place in places if place.ns is not None]
    span = f", from {duration(min(known))} to {duration(max(known))}" if known else ""
    summary = (
        f"Time of a call in {cases_text(frames)}{span}; the slower, the stronger the color, on a logarithmic scale."
    )
    if len(known) < len(places):
        summary += " Cells with a word have no time."
    boxes = [Filter(MODEL, (), 0), Filter(SUBJECT, (), 1)]
    return [boxed_chart("Time of a call", summary + rest, layers, boxes, times_table(places), len(models) > 1)]


def _time_map(frame: Frame, looks: Looks) -> Matrix:
    known = [cell.place.ns for cell in frame.cells if cell.place.ns is not None]
    cells = [_time_cell(cell, known, looks) for cell in frame.cells]
    names = {cell.place.name for cell in frame.cells}
    color = looks[names.pop()].color if len(names) == 1 else GREY
    ends = [(min(known), _FASTEST), (max(known), FULL)] if known else []
    return frame.matrix(cells, [MatrixLegend(duration(ns), color, strength) for ns, strength in ends])


def _time_cell(cell: Cell, known: Sequence[float], looks: Looks) -> MatrixCell:
    place, ns = cell.place, cell.place.ns
    if ns is None:
        return MatrixCell(cell.row, cell.column, place.word or NOTHING, place.told(), failed=True)
    words = place.told(f"{name_of(place.name)}: {duration(ns)}")
    span = math.log(max(known) / min(known))
    strength = _FASTEST + (FULL - _FASTEST) * (math.log(ns / min(known)) / span if span else 0.0)
    return MatrixCell(
        cell.row, cell.column, duration(ns), words, color=looks[place.name].color, strength=round(strength, 3)
    )
