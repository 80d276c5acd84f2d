"""Times of one model in all runs, queried without reading their records."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, Select, func, select

from onnxperf.errors import StoreError
from onnxperf.records.base import Machine, Scalar
from onnxperf.records.history import HistoryPoint, StoredSubject, TimeOrigin
from onnxperf.records.numbers import Count
from onnxperf.records.race import Subject
from onnxperf.records.rules import is_time
from onnxperf.records.runs import COMMIT, DIRTY
from onnxperf.store import schema
from onnxperf.store.documents import from_document, plain, to_document
from onnxperf.store.run_figures import is_repeated
from onnxperf.store.search import measured_under


class _CasePart(msgspec.Struct, frozen=True):
    """The part of a case that a history needs."""

    dims: dict[str, Count] = {}


class _SubjectPart(msgspec.Struct, frozen=True):
    """The part of a subject that a history needs."""

    conditions: dict[str, Scalar] = {}


_Run = tuple[str, str, str, bool]
"""When a run began, its name, its commit, and whether files had uncommitted changes."""


class _Kept(NamedTuple):
    """Points collected for identical subjects."""

    origin: TimeOrigin
    version: str
    points: list[HistoryPoint]


def origin_of(machine: Machine | None, dims: dict[str, int], conditions: dict[str, Scalar]) -> TimeOrigin:
    """The machine and conditions of a subject's measurement."""
    if machine is None:
        return TimeOrigin(dims=dims, conditions=conditions)
    return TimeOrigin(
        cpu=machine.cpu,
        cores=machine.cores,
        logical_cpus=machine.logical_cpus,
        onnxruntime=machine.versions.get("onnxruntime", ""),
        dims=dims,
        conditions=conditions,
    )


def origin_text(machine: Machine | None, dims: dict[str, int], subject: Subject) -> str | None:
    """The same as stored in a column; null if the machine is that of the run, which may not be known yet."""
    return None if machine is None else to_document(origin_of(machine, dims, subject.conditions))


def labels(connection: Connection) -> list[str]:
    """The labels of all raced models."""
    found = select(schema.subjects.c.model).where(schema.subjects.c.model.is_not(None)).distinct()
    return sorted(connection.execute(found).scalars())


def stored_subjects(
    connection: Connection, models: Collection[str], fingerprint: str | None = None, since: str = ""
) -> list[StoredSubject]:
    """All subjects of models with these labels, or with any label that a model with this fingerprint has had.

    `since` is a time in the format of the tables.
    """
    known = set(map(plain, models))
    if fingerprint is not None:
        alike = select(schema.subjects.c.model).where(schema.subjects.c.fingerprint == fingerprint).distinct()
        known.update(filter(None, connection.execute(alike).scalars()))
    of_models = schema.subjects.c.model.in_(sorted(known))
    return _collected(connection, of_models, _rows(connection, of_models, since))


class SeriesSearch(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs the histories of all models consist of; empty texts are ignored."""

    models: tuple[str, ...] = ()
    """Labels of the only models; empty for all."""
    machine: str = ""
    """Model of the processor."""
    branch: str = ""
    """Git branch."""
    since: str = ""
    """Earliest start time, in the format of the tables."""
    newest: int | None = None
    """Maximum number of runs of a subject; null for all."""


def newest_models(connection: Connection, wanted: SeriesSearch, most: int) -> tuple[list[str], int]:
    """The labels of the models measured (or imported) last, at most so many, and how many others there are."""
    label, under = schema.subjects.c.model, measured_under(wanted.machine, wanted.branch, wanted.since)
    last = func.max(schema.subjects.c.attempt)
    chosen = select(label).where(label > "")
    if under:
        joined = schema.subjects.join(schema.attempts).join(schema.cases).join(schema.runs)
        chosen = chosen.select_from(joined).where(*under)
    found = list(connection.execute(chosen.group_by(label).order_by(last.desc())).scalars())
    return found[:most], len(found[most:])


def newest_subjects(connection: Connection, wanted: SeriesSearch) -> list[StoredSubject]:
    """Subjects of all models in their newest runs."""
    label = schema.subjects.c.model
    of_models = label.in_(sorted(map(plain, wanted.models))) if wanted.models else label > ""
    newest_first = (schema.runs.c.started.desc(), schema.subjects.c.id.desc())
    by_label = (label, *_SERIES)  # in the order of the index
    place = func.row_number().over(partition_by=by_label, order_by=newest_first).label("place")
    of_run = schema.cases.c.run == schema.runs.c.id
    under = measured_under(wanted.machine, wanted.branch, wanted.since)
    run = schema.runs.c
    ranked = _chosen(of_models, *_SERIES, *_POINT, run.started, run.name.label("run_name"), place)
    ranked_runs = ranked.where(of_run, *under).subquery()
    series = [ranked_runs.c[column.name] for column in (*_SERIES, *_POINT)]
    tags = [_tag_of(ranked_runs.c.run, name) for name in (COMMIT, DIRTY)]
    chosen = select(*series, ranked_runs.c.started, ranked_runs.c.run_name, *tags)
    if wanted.newest is not None:
        chosen = chosen.where(ranked_runs.c.place <= wanted.newest)

    def found() -> Iterator[tuple[Any, _Run]]:
        for part in connection.execute(chosen).partitions(_PART):
            for row in part:
                *own, started, name, commit, dirty = row
                if is_time(started):
                    yield own, (started, name, commit or "", dirty == "yes")

    return _collected(connection, of_models, found(), strict=False)


def _tag_of(run: Any, name: str) -> Any:
    tag = schema.tags.alias()
    return select(tag.c.value).where(tag.c.run == run, tag.c.name == name).scalar_subquery()


def _collected(
    connection: Connection, of_models: Any, found: Iterator[tuple[Any, _Run]], strict: bool = True
) -> list[StoredSubject]:
    """Rows of subjects and their runs as series of points; damaged ones are left out unless `strict`."""
    of_runs = cache(lambda: _origins_of_runs(connection, of_models, strict))
    kept_by: dict[tuple[Any, ...], _Kept] = {}
    for row, (started, run, commit, dirty) in found:
        name, model, runtime, call, text, number, median, mean, status, file, *times, _ = row
        known = of_runs().get(number, (None, None)) if text is None else (text, None)
        key = (name, model, runtime, call, known[0])
        kept = kept_by.get(key)
        if kept is None:
            origin = known[1] or _origin_in(known[0], strict)
            if origin is None:
                continue
            kept = kept_by[key] = _Kept(origin, str(origin.conditions.get("onnxruntime", origin.onnxruntime)), [])
        if not strict and not all(each is None or isinstance(each, int | float) for each in (median, mean, *times)):
            continue  # SQLite stores anything in any column
        point = HistoryPoint(run, started, median, mean, status, kept.version, commit, dirty, file or "", *times)
        kept.points.append(point)
    return [_subject(key, kept) for key, kept in kept_by.items() if kept.points]


def _origin_in(text: str | None, strict: bool) -> TimeOrigin | None:
    try:
        return None if text is None else from_document(text, TimeOrigin)
    except StoreError:
        if strict:
            raise
        return None


def _rows(connection: Connection, of_models: Any, since: str) -> Iterator[tuple[Any, _Run]]:
    """Subjects with their runs, in chunks: with all rows in memory, garbage collection takes as long as the query.

    Runs are read one by one only if most of the store is about other models.
    """
    ours = select(func.count()).where(of_models)
    all_runs = select(func.count()).select_from(schema.runs)
    few = connection.execute(ours).scalar_one() < connection.execute(all_runs).scalar_one() / 2
    runs = {} if few else _runs(connection, since)
    for part in connection.execute(_chosen(of_models, *_SERIES, *_POINT)).partitions(_PART):
        if few:
            runs |= _runs(connection, since, {row[-1] for row in part} - runs.keys())
        yield from ((row, runs[row[-1]]) for row in part if row[-1] in runs)


_PART = 500
_SERIES = tuple(schema.subjects.c[name] for name in ("name", "model", "runtime", "call", "origin"))
_POINT = (
    *(schema.subjects.c[name] for name in ("id", "median_ns", "mean_ns", "status", "fingerprint")),
    *(schema.subjects.c[name] for name in schema.HISTORY_NUMBERS),
    schema.cases.c.run,
)


def _chosen(of_models: Any, *columns: Any) -> Select[Any]:
    """Subjects of these models in the last attempts; in SQLite, an index covers all columns that are read."""
    joined = schema.subjects.join(schema.attempts).join(schema.cases)
    return select(*columns).select_from(joined).where(of_models, ~is_repeated())


def _runs(connection: Connection, since: str, numbers: Collection[int] | None = None) -> dict[int, _Run]:
    """All runs, or these, unless they began before `since`."""
    run, tag = schema.runs.c, schema.tags.c
    tagged = select(tag.run, tag.value).where(*([] if numbers is None else [tag.run.in_(numbers)]))
    has_changes = (tag.name == DIRTY) & (tag.value == "yes")
    commits = dict(connection.execute(tagged.where(tag.name == COMMIT)).all())
    dirty = dict(connection.execute(tagged.where(has_changes)).all())
    found = select(run.id, run.started, run.name).where(run.started >= since)
    chosen = found if numbers is None else found.where(run.id.in_(numbers))
    return {
        number: (started, name, commits.get(number, ""), number in dirty)
        for number, started, name in connection.execute(chosen).all()
        if is_time(started)
    }


def _origins_of_runs(connection: Connection, of_models: Any, strict: bool) -> dict[int, tuple[str, TimeOrigin]]:
    """Origins of subjects measured on the machine of their run, each with the text stored for others."""
    columns = (
        schema.subjects.c.id,
        schema.subjects.c.record.label("subject"),
        schema.attempts.c.record,
        func.coalesce(schema.attempts.c.machine, schema.runs.c.machine).label("machine"),
    )
    of_run = schema.cases.c.run == schema.runs.c.id
    chosen = _chosen(of_models, *columns).where(schema.subjects.c.origin.is_(None), of_run)
    found: dict[int, tuple[str, TimeOrigin]] = {}
    for row in connection.execute(chosen):
        try:
            origin = origin_of(
                None if row.machine is None else from_document(row.machine, Machine),
                from_document(row.record, _CasePart).dims,
                from_document(row.subject, _SubjectPart).conditions,
            )
        except StoreError:
            if strict:
                raise
            continue
        found[row.id] = to_document(origin), origin
    return found


def _subject(key: tuple[Any, ...], kept: _Kept) -> StoredSubject:
    name, model, runtime, call, _ = key
    points = tuple(sorted(kept.points, key=attrgetter("started")))
    return StoredSubject(name=name, model=model, runtime=runtime, call=call or "", origin=kept.origin, points=points)
