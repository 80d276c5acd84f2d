"""What a call is made of: a table and its notes, which the console, Markdown and HTML share."""

from __future__ import annotations

from onnxperf.records import Case, Split, Subject
from onnxperf.render.kit.table import Column, Row, Table
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import UNICODE, Marks, duration

HEADING = "What a call is made of"
_BAR = 20
_SIGNS = ("░█▒", ".#=")
"""For preparing, computing and fetching."""


def split_sheet(case: Case, marks: Marks = UNICODE, encoding: str = "utf-8") -> Table:
    """One row for every subject whose calls were divided: each part with its share, and all of them as a bar."""
    signs = _signs_for(encoding)
    columns = (
        Column("name", left=True, room=12),
        *(Column(f"{sign} {part}") for sign, part in zip(signs, ("prepare", "compute", "fetch"), strict=True)),
        Column("", left=True, rank=1),
    )
    rows = [
        Row([name_of(subject.name), *_cells(subject.split, marks), _bar(subject.split, signs)])
        for subject in case.subjects
        if subject.split is not None
    ]
    return Table(columns, rows)


def split_notes(case: Case, marks: Marks = UNICODE) -> list[str]:
    """What a reader of the table must know about single subjects."""
    if not any(subject.split for subject in case.subjects):
        return []
    return [
        f"{name_of(subject.name)}: {note}"
        for subject in case.subjects
        if subject.median_ns is not None and (note := _note(subject, marks))
    ]


def _note(subject: Subject, marks: Marks) -> str:
    if subject.split is None:
        return "a callable is only timed as a whole"
    if subject.parts_add_up:
        return ""
    takes = duration(subject.median_ns, marks)
    made_once = subject.call == "ort-values" or "framework" in subject.conditions
    if made_once and subject.split.total_ns > (subject.median_ns or 0):
        return f"its {takes} are on tensors made once; a caller with arrays pays for preparing and fetching on top"
    total = duration(subject.split.total_ns, marks)
    return f"its parts add up to {total}, and a call takes {takes}: they are no shares of it"


def _cells(split: Split, marks: Marks) -> list[str]:
    parts = (split.prepare_ns, split.compute_ns, split.fetch_ns)
    return [f"{duration(part, marks)} {100 * _share(part, split):3.0f} %" for part in parts]


def _bar(split: Split, signs: str) -> str:
    prepared = round(_BAR * _share(split.prepare_ns, split))
    computed = round(_BAR * _share(split.prepare_ns + split.compute_ns, split))
    return signs[0] * prepared + signs[1] * (computed - prepared) + signs[2] * (_BAR - computed)


def _share(part_ns: float, split: Split) -> float:
    return part_ns / split.total_ns if split.total_ns else 0.0


def _signs_for(encoding: str) -> str:
    """The signs that a stream with this encoding can show."""
    try:
        _SIGNS[0].encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return _SIGNS[1]
    return _SIGNS[0]
