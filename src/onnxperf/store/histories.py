"""Times of one model in all runs, read without their records."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, Select, exists, func, select

from onnxperf.records.base import Machine, Scalar
from onnxperf.records.history import HistoryPoint, Origin, StoredSubject
from onnxperf.records.race import Subject
from onnxperf.records.runs import COMMIT, DIRTY
from onnxperf.store import schema
from onnxperf.store.documents import from_document, plain, to_document


class _CasePart(msgspec.Struct, frozen=True):
    """The part of a case that a history needs."""

    dims: dict[str, int] = {}


class _SubjectPart(msgspec.Struct, frozen=True):
    """The part of a subject that a history needs."""

    conditions: dict[str, Scalar] = {}


class _Run(NamedTuple):
    """A run without its record."""

    name: str
    started: str
    commit: str
    dirty: bool


def origin_of(machine: Machine | None, dims: dict[str, int], conditions: dict[str, Scalar]) -> Origin:
    """Where and how a subject was measured."""
    if machine is None:
        return Origin(dims=dims, conditions=conditions)
    return Origin(
        cpu=machine.cpu,
        cores=machine.cores,
        logical_cpus=machine.logical_cpus,
        onnxruntime=machine.versions.get("onnxruntime", ""),
        dims=dims,
        conditions=conditions,
    )


def origin_text(machine: Machine | None, dims: dict[str, int], subject: Subject) -> str | None:
    """The same as a column has it; null where the machine is that of the run, which may not be known yet."""
    return None if machine is None else to_document(origin_of(machine, dims, subject.conditions))


def labels(connection: Connection) -> list[str]:
    """The labels of all models that were raced."""
    found = select(schema.subjects.c.model).where(schema.subjects.c.model.is_not(None)).distinct()
    return sorted(connection.execute(found).scalars())


def stored_subjects(
    connection: Connection, models: Collection[str], fingerprint: str | None = None, since: str = ""
) -> list[StoredSubject]:
    """All subjects of models with these labels, or with a label that a model of this fingerprint has had.

    `since` is a time of day as the tables have it.
    """
    known = set(map(plain, models))
    if fingerprint is not None:
        alike = select(schema.subjects.c.model).where(schema.subjects.c.fingerprint == fingerprint).distinct()
        known.update(filter(None, connection.execute(alike).scalars()))
    runs = _runs(connection, since)
    found: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    for row in connection.execute(_chosen(known, *_SERIES, *_POINT)).all():
        found.setdefault(tuple(row[: len(_SERIES)]), []).append(row[len(_SERIES) :])
    older = _older_origins(connection, known) if any(key[-1] is None for key in found) else {}
    made = [
        _subject(key, origin, times, runs)
        for key, rows in found.items()
        for origin, times in _by_origin(key[-1], rows, older)
    ]
    return [each for each in made if each.points]


_SERIES = tuple(schema.subjects.c[name] for name in ("name", "model", "runtime", "call", "origin"))
_POINT = (
    *(schema.subjects.c[name] for name in ("id", "median_ns", "mean_ns", "status", "fingerprint")),
    schema.cases.c.run,
)


def _chosen(models: Collection[str], *columns: Any) -> Select[Any]:
    """Subjects of these models in the last attempts; in SQLite, an index has all that is read of them."""
    later = schema.attempts.alias()
    again = exists().where(
        later.c.case == schema.attempts.c.case,
        later.c.number > schema.attempts.c.number,
        later.c.record.is_not(None),
    )
    joined = schema.subjects.join(schema.attempts).join(schema.cases)
    return select(*columns).select_from(joined).where(schema.subjects.c.model.in_(sorted(models)), ~again)


def _runs(connection: Connection, since: str) -> dict[int, _Run]:
    wanted = select(schema.tags.c.run, schema.tags.c.value)
    has_changes = (schema.tags.c.name == DIRTY) & (schema.tags.c.value == "yes")
    commits = {run: str(value) for run, value in connection.execute(wanted.where(schema.tags.c.name == COMMIT)).all()}
    dirty = set(connection.execute(select(schema.tags.c.run).where(has_changes)).scalars())
    found = select(schema.runs.c.id, schema.runs.c.name, schema.runs.c.started)
    return {
        run: _Run(name, started, commits.get(run, ""), run in dirty)
        for run, name, started in connection.execute(found.where(schema.runs.c.started >= since)).all()
    }


def _by_origin(
    text: str | None, rows: list[tuple[Any, ...]], older: dict[int, Origin]
) -> list[tuple[Origin, list[tuple[Any, ...]]]]:
    if text is not None:
        return [(from_document(text, Origin), rows)]
    apart: dict[str, tuple[Origin, list[tuple[Any, ...]]]] = {}
    for row in rows:
        origin = older[row[0]]
        apart.setdefault(to_document(origin), (origin, []))[1].append(row)
    return list(apart.values())


def _older_origins(connection: Connection, models: Collection[str]) -> dict[int, Origin]:
    """Those of subjects that older versions kept, from their records."""
    columns = (
        schema.subjects.c.id,
        schema.subjects.c.record.label("subject"),
        schema.attempts.c.record,
        func.coalesce(schema.attempts.c.machine, schema.runs.c.machine).label("machine"),
    )
    of_run = schema.cases.c.run == schema.runs.c.id
    chosen = _chosen(models, *columns).where(schema.subjects.c.origin.is_(None), of_run)
    return {
        row.id: origin_of(
            None if row.machine is None else from_document(row.machine, Machine),
            from_document(row.record, _CasePart).dims,
            from_document(row.subject, _SubjectPart).conditions,
        )
        for row in connection.execute(chosen)
    }


def _subject(key: tuple[str, ...], origin: Origin, rows: list[tuple[Any, ...]], runs: dict[int, _Run]) -> StoredSubject:
    name, model, runtime, call, _ = key
    version = str(origin.conditions.get("onnxruntime", origin.onnxruntime))
    points = [
        HistoryPoint(head.name, head.started, median, mean, status, version, head.commit, head.dirty, fingerprint or "")
        for _, median, mean, status, fingerprint, run in rows
        if (head := runs.get(run)) is not None
    ]
    points.sort(key=lambda each: each.started)
    return StoredSubject(name=name, model=model, runtime=runtime, call=call or "", origin=origin, points=tuple(points))
