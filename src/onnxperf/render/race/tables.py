"""The tables of a bench as files and notebooks have them."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median_low, stdev

from onnxperf.records.race import Bench, Subject
from onnxperf.records.sweep import dims_of
from onnxperf.render.kit.column import NUMBER, TEXT, WHOLE, Column, Format, for_files
from onnxperf.render.kit.table import Table
from onnxperf.render.race.subjects import Raced, subject_columns, subject_of
from onnxperf.wording.names import dims_text

_SIZE = Format(str, "whole", "0")
_SECONDS = Format(str, excel='0.000E+00 "s"')


def subjects_table(bench: Bench) -> Table[Raced]:
    """A row per subject of every case: model, dimensions, a column per dimension, then all that is known."""
    rows = _rows(bench)
    sizes = [Column(dim, dim, _size(dim), _SIZE) for dim in dims_of(bench.cases)]
    return Table([*_PLACE, *sizes, *(column.of(subject_of) for column in subject_columns(rows))], rows)


def classic_table(bench: Bench) -> Table[Raced]:
    """The classic table of notebooks, times in seconds of a call; then the place of the case, then our columns."""
    rows = _rows(bench)
    known = {column.key for column in _CLASSIC}
    own = [column for column in subject_columns(rows) if column.key and column.key not in (*known, "input_bytes")]
    place = [_CASE, *_PLACE] if len(bench.cases) > 1 else []
    return Table([*(each.of(subject_of) for each in _CLASSIC), *place, *(each.of(subject_of) for each in own)], rows)


def _rows(bench: Bench) -> list[Raced]:
    """Every subject with its case; a case that failed as a whole is a row without a name."""
    return [
        Raced(case, subject, place=place)
        for place, case in enumerate(bench.cases)
        for subject in case.subjects or (Subject(name="", status=case.status, reason=case.answer),)
    ]


def _size(dim: str) -> Callable[[Raced], int | None]:
    return lambda row: row.case.dims.get(dim)


_CASE: Column[Raced] = for_files("case", lambda row: row.place, _SIZE)
_PLACE: list[Column[Raced]] = [
    Column("model", "model", lambda row: row.case.model, TEXT),
    Column("dims", "dims", lambda row: dims_text(row.case.dims), TEXT),
]


# ---------------------------------------------------------------- the classic table


def _per_call(subject: Subject) -> list[float]:
    """Seconds of a call in each block."""
    return [block.per_call_ns / 1e9 for block in subject.blocks]


def _total(subject: Subject) -> float | None:
    return sum(block.duration_ns for block in subject.blocks) / 1e9 if subject.blocks else None


def _average(subject: Subject) -> float | None:
    total = _total(subject)
    return None if total is None else total / sum(block.calls for block in subject.blocks)


_CLASSIC: list[Column[Subject]] = [
    for_files("name", lambda subject: subject.name),
    for_files("average", _average, _SECONDS),
    for_files("deviation", lambda subject: stdev(_per_call(subject)) if len(subject.blocks) > 1 else None, _SECONDS),
    for_files("min_exec", lambda subject: min(_per_call(subject), default=None), _SECONDS),
    for_files("max_exec", lambda subject: max(_per_call(subject), default=None), _SECONDS),
    for_files("repeat", lambda subject: len(subject.blocks), WHOLE),
    for_files(
        "number", lambda subject: median_low(each.calls for each in subject.blocks) if subject.blocks else None, NUMBER
    ),
    for_files("ttime", _total, _SECONDS),
    for_files("context_size", lambda subject: subject.input_bytes, WHOLE),
]
"""`repeat` blocks of `number` calls, which took `ttime` together."""
