"""What a call is made of, as a table."""

from __future__ import annotations

from onnxperf.records.race import Case, Split
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import duration, whole_percent

HEADING = "What a call is made of"
_BAR = 20
_SIGNS = "░█▒"
"""For preparing, computing and fetching."""


def split_table(case: Case) -> Table:
    """One row for every subject whose calls were divided: each part with its share, and all of them as a bar."""
    columns = (
        Column("name", left=True, room=12),
        *(Column(f"{sign} {part}") for sign, part in zip(_SIGNS, ("prepare", "compute", "fetch"), strict=True)),
        Column("", left=True, rank=1),
    )
    rows = [
        Row([name_of(subject.name), *_cells(subject.split), _bar(subject.split)])
        for subject in case.subjects
        if subject.split is not None
    ]
    return Table(columns, rows, HEADING)


def _cells(split: Split) -> list[str]:
    parts = (split.prepare_ns, split.compute_ns, split.fetch_ns)
    return [f"{duration(part)} {whole_percent(_share(part, split)):>5}" for part in parts]


def _bar(split: Split) -> str:
    prepared = round(_BAR * _share(split.prepare_ns, split))
    computed = round(_BAR * _share(split.prepare_ns + split.compute_ns, split))
    return _SIGNS[0] * prepared + _SIGNS[1] * (computed - prepared) + _SIGNS[2] * (_BAR - computed)


def _share(part_ns: float, split: Split) -> float:
    return part_ns / split.total_ns if split.total_ns else 0.0
