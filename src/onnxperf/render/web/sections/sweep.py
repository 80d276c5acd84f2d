"""A sweep on a page: which subject wins where, times over sizes and as matrices, and what is missing and why."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.race import Bench, Case
from onnxperf.records.sweep import SweepModel, SweepPanel, dims_of, word_of
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.web.old_base import Part, Section
from onnxperf.render.web.sections.matrices import times, winners
from onnxperf.render.web.sections.race import cases_sections, labels_of
from onnxperf.render.web.sections.sizes import curves
from onnxperf.wording.names import name_of, visible

MOST_RACES = 12
"""Cases up to which each race is shown with its samples."""


def sweep_sections(bench: Bench, models: Sequence[SweepModel], panels: Sequence[SweepPanel]) -> list[Section]:
    """What many cases say together; of a few, also each race."""
    rows = {id(row.case): row for each in models for row in each.rows}
    sections = [
        Section("Who is faster where", winners(panels, rows)),
        Section("Times over sizes", curves(panels)),
        Section("Times of every case", times(panels)),
        Section("What is missing", missing(bench.cases)),
    ]
    races = cases_sections(labels_of(bench.cases), "Races") if len(bench.cases) <= MOST_RACES else []
    return [*(each for each in sections if each.parts), *races]


def missing(cases: Sequence[Case]) -> list[Part]:
    """Every subject that was not measured, or whose outputs differ, with the reason."""
    dims = dims_of(cases)
    columns = [Column("model", left=True), *(Column(name_of(dim)) for dim in dims)]
    columns += [Column(heading, left=True) for heading in ("subject", "status", "reason")]
    rows = [
        Row(
            [name_of(case.model), *(str(case.dims.get(dim, "")) for dim in dims), *cells], styles={len(dims) + 2: "red"}
        )
        for case in cases
        for cells in _failures(case)
    ]
    return [without_empty(Table(columns, rows))] if rows else []


def _failures(case: Case) -> list[list[str]]:
    """Subject, status and reason; a case that failed as a whole has no subject."""
    if not case.subjects:
        return [["", case.status, visible(case.answer)]] if case.status != "ok" else []
    words = [(each, word_of(case, each)) for each in case.subjects]
    return [[name_of(each.name), word, visible(each.reason)] for each, word in words if word]
