"""Instructions beside times, as a table."""

from __future__ import annotations

from onnxperf.records.race import Case
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import NOTHING, grouped, ratio

HEADING = "Instructions per call"


def instruction_table(case: Case) -> Table:
    """One row for every subject whose instructions were counted: how many, and both verdicts side by side."""
    columns = (
        Column("name", left=True, room=12),
        Column("instructions", short="instr."),
        Column("of baseline", short="ratio"),
        Column("by instructions", left=True, short="by instr."),
        Column("by time", left=True),
    )
    rows = [
        Row(
            [
                name_of(subject.name),
                grouped(subject.instructions),
                ratio(subject.instruction_ratio),
                subject.instruction_verdict or NOTHING,
                subject.verdict or NOTHING,
            ]
        )
        for subject in case.subjects
        if subject.instructions is not None
    ]
    return Table(columns, rows, HEADING)
