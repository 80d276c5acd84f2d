"""Two runs compared on a page: speedups of the second over the first, through what both share."""

from __future__ import annotations

from onnxperf.records.runs import ComparedSubject, RunComparison
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.web.forest import (
    GREY,
    VERDICT_COLOURS,
    Forest,
    ForestMark,
    estimate_cells,
    forest_chart,
    has_marks,
)
from onnxperf.render.web.old_base import Section
from onnxperf.wording.names import dims_text, name_of, visible
from onnxperf.wording.numbers import count, duration

MOST_SUBJECTS = 60
"""Subjects that the chart shows; the table has all."""


def compare_sections(comparison: RunComparison) -> list[Section]:
    """A row per subject that both runs have."""
    judged = [row for row in comparison.rows if row.speedup is not None]
    forest = Forest([_estimate(row) for row in judged[:MOST_SUBJECTS]])
    if not has_marks(forest):
        return []
    summary = (
        f"Speedups of {count(len(judged), 'subject')} in {comparison.second} over {comparison.first}, with 95 % "
        "intervals; right of 1 the second run is faster. The runs were not measured in turn."
    )
    rest = len(judged) - MOST_SUBJECTS
    summary += f" The {count(rest, 'last subject')} are only in the table." if rest > 0 else ""
    axis = f"speedup of {comparison.second} over {comparison.first}"
    return [Section("Speedups", [forest_chart("Second run over first", summary, axis, [forest], _table(comparison))])]


def _estimate(row: ComparedSubject) -> ForestMark:
    names = row.first if row.first == row.second else f"{row.first}, then {row.second}"
    place = ", ".join(filter(None, [names, dims_text(row.dims)]))
    word = "yardstick" if row.verdict == "baseline" else row.verdict or "no verdict"
    times = f"{duration(row.first_ns)} in the first run, {duration(row.second_ns)} in the second"
    more = "\n".join(filter(None, [times, visible(row.reason)]))
    colour = VERDICT_COLOURS.get(row.verdict or "", GREY)
    return ForestMark(place, row.speedup, row.speedup_low, row.speedup_high, colour, word, more)


def _table(comparison: RunComparison) -> Table:
    columns = [Column("subject", left=True), Column("speedup"), Column("95 % interval"), Column("verdict", left=True)]
    columns += [Column("first"), Column("second"), Column("model", left=True), Column("why", left=True)]
    rows = []
    for row in comparison.rows:
        times = (duration(row.first_ns), duration(row.second_ns))
        rows.append(Row([*estimate_cells(_estimate(row)), *times, name_of(row.model), visible(row.reason)]))
    return without_empty(Table(columns, rows))
