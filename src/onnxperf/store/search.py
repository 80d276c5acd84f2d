"""Runs found by words and filters, page by page, without a look into their records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Select, func, or_, select

from onnxperf.records.runs import KeptRun
from onnxperf.store import rows, schema
from onnxperf.store.documents import plain
from onnxperf.store.owner import state_of

_WORDS = 8
"""Words of a search beyond which the rest is ignored: each one reads every run."""
_TAGS = 40
"""Tags that are offered, the most frequent first: of commits there are as many as runs."""
_CPU = '{"cpu":'
"""How the document of a machine begins."""
_AFTER_CPU = ',"vector_extensions"'
_TOPIC = '%"topic":"%'
_ESCAPE = "\\"


class RunSearch(Struct, frozen=True, kw_only=True):
    """What runs must have; an empty text asks for nothing."""

    text: str = ""
    """Words that all occur in the id, the command, the answer, the topic or a tag, in any case."""
    kind: str = ""
    """bench, sweep, profile, check…"""
    status: str = ""
    """ok, failed, running, interrupted…"""
    machine: str = ""
    """Model of the processor."""
    tag: str = ""
    """A tag as name=value, or only its name."""


class FoundRun(Struct, frozen=True, kw_only=True):
    """A run in a list."""

    run: KeptRun
    """The run without what it measured."""
    machine: str = ""
    """Model of the processor; empty where that is unknown."""


class FoundRuns(Struct, frozen=True, kw_only=True):
    """One page of the runs that were searched for."""

    runs: tuple[FoundRun, ...] = ()
    """The newest first."""
    total: int = 0
    """All that were found, on every page."""


class FilterValues(Struct, frozen=True, kw_only=True):
    """What the runs of a store can be filtered by."""

    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    """Models of processors."""
    tags: tuple[str, ...] = ()
    """As name=value, the most frequent ones."""


class KnownModel(Struct, frozen=True, kw_only=True):
    """A model that races of the store have measured."""

    model: str
    """Its label."""
    subjects: int
    """How often it was measured."""


def search_runs(connection: Connection, wanted: RunSearch, limit: int = 50, offset: int = 0) -> FoundRuns:
    """A page of the runs that have all that is wanted, the newest first."""
    run = schema.runs.c
    conditions = _conditions(connection, wanted)
    total = connection.execute(select(func.count()).select_from(schema.runs).where(*conditions)).scalar_one()
    newest_first = (run.started.desc(), run.id.desc())
    chosen = select(run.id).where(*conditions).order_by(*newest_first).limit(limit).offset(offset)
    ids = list(connection.execute(chosen).scalars())
    runs = rows.kept_runs(connection, None, run.id.in_(ids)) if ids else []
    return FoundRuns(runs=tuple(with_machines(connection, runs)), total=int(total))


def with_machines(connection: Connection, runs: Sequence[KeptRun]) -> list[FoundRun]:
    """Runs with the processors on which they were measured."""
    run, names = schema.runs.c, [each.id for each in runs]
    machines = select(run.name, _cpu(connection)).where(run.name.in_(names))
    cpus = {name: _text(cpu) for name, cpu in connection.execute(machines)}
    return [FoundRun(run=each, machine=cpus.get(each.id, "")) for each in runs]


def filter_values(connection: Connection) -> FilterValues:
    """What there is to choose from."""
    run, tag = schema.runs.c, schema.tags.c

    def values(query: Select[Any]) -> list[Any]:
        return list(connection.execute(query).scalars())

    frequent = select(tag.name + "=" + tag.value).group_by(tag.name, tag.value).order_by(func.count().desc(), tag.name)
    cpus = {_text(value) for value in values(select(_cpu(connection)).distinct())}
    statuses = {*values(select(run.status).distinct()), *(["interrupted"] if _lost(connection) else [])}
    return FilterValues(
        kinds=tuple(sorted(values(select(run.kind).distinct()))),
        statuses=tuple(sorted(statuses)),
        machines=tuple(sorted(cpus - {""})),
        tags=tuple(values(frequent.limit(_TAGS))),
    )


def known_models(connection: Connection) -> list[KnownModel]:
    """The models of all races, by name."""
    label = schema.subjects.c.model
    counted = select(label, func.count()).where(label.is_not(None)).group_by(label).order_by(label)
    return [KnownModel(model=model, subjects=number) for model, number in connection.execute(counted)]


def _conditions(connection: Connection, wanted: RunSearch) -> list[ColumnElement[bool]]:
    run = schema.runs.c
    conditions = [_holds(word) for word in plain(wanted.text).split()[:_WORDS]]
    if wanted.kind:
        conditions.append(run.kind == plain(wanted.kind))
    if wanted.machine:
        conditions.append(run.machine.startswith(f"{_CPU}{json.dumps(wanted.machine)},", autoescape=True))
    if wanted.tag:
        name, mark, value = plain(wanted.tag).partition("=")
        named = select(schema.tags.c.run).where(schema.tags.c.name == name)
        conditions.append(rows.has_tag((name, value)) if mark else run.id.in_(named))
    if wanted.status:
        conditions.append(_has_status(connection, plain(wanted.status)))
    return conditions


def _holds(word: str) -> ColumnElement[bool]:
    """Whether a run has a word somewhere."""
    run, tag = schema.runs.c, schema.tags.c
    tagged = select(tag.run).where((tag.name + "=" + tag.value).icontains(word, autoescape=True))
    in_topic = _TOPIC + _literally(json.dumps(word)[1:-1]) + "%"  # as the document spells it
    return or_(
        *(column.icontains(word, autoescape=True) for column in (run.name, run.command, run.answer)),
        run.options.ilike(in_topic, escape=_ESCAPE),
        run.id.in_(tagged),
    )


def _literally(text: str) -> str:
    """A text in which LIKE finds no sign of its own."""
    for sign in (_ESCAPE, "%", "_"):
        text = text.replace(sign, _ESCAPE + sign)
    return text


def _has_status(connection: Connection, status: str) -> ColumnElement[bool]:
    """The status as lists show it: a run whose process is gone is interrupted, whatever its row says."""
    run = schema.runs.c
    if status == "interrupted":
        return or_(run.status == status, run.id.in_(_lost(connection)))
    if status == "running":
        return (run.status == status) & run.id.not_in(_lost(connection))
    return run.status == status


def _lost(connection: Connection) -> list[int]:
    """Runs that were never finished, and whose process is gone."""
    running = connection.execute(select(schema.runs).where(schema.runs.c.status == "running"))
    return [row.id for row in running if state_of(rows.owner_in(row)) == "dead"]


def _cpu(connection: Connection) -> ColumnElement[str]:
    """The model of the processor as JSON: what the document of the machine begins with, so nothing is parsed."""
    position = func.strpos if connection.dialect.name == "postgresql" else func.instr
    machine, start = schema.runs.c.machine, len(_CPU) + 1
    cpu: ColumnElement[str] = func.substr(machine, start, func.abs(position(machine, _AFTER_CPU) - start))
    return cpu


def _text(value: str | None) -> str:
    """A JSON text as it reads; empty for what is none."""
    try:
        text = json.loads(value or "")
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""
