"""Finds runs by words and filters, page by page, without reading their records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Select, Subquery, func, or_, select

from onnxperf.records.runs import BRANCH, COMMIT, KeptRun
from onnxperf.store import rows, schema
from onnxperf.store.documents import plain
from onnxperf.store.owner import state_of
from onnxperf.store.run_figures import RunFigures, best_subjects, figures_of

_WORDS = 8
"""Maximum number of words in a search; the rest is ignored, as each word scans every run."""
_TAGS = 40
"""Number of suggested tags, most frequent first: there are as many commits as runs."""
_CPU = '{"cpu":'
"""Prefix of a machine's document."""
_AFTER_CPU = ',"vector_extensions"'
_TOPIC = '%"topic":"%'
_ESCAPE = "\\"
SORTS = {
    "started": True,
    "time": False,
    "speedup": True,
    "verdict": True,
    "machine": False,
    "commit": False,
    "kind": False,
    "model": False,
    "status": False,
}
"""What lists can be sorted by, and whether the largest comes first by default."""
_NO_FIGURES = RunFigures()


class RunSearch(Struct, frozen=True, kw_only=True):
    """The criteria of a search; empty texts are ignored."""

    text: str = ""
    """Words that must all occur in the id, command, answer, topic or a tag, ignoring case."""
    kind: str = ""
    """bench, sweep, profile, check…"""
    status: str = ""
    """ok, failed, running, interrupted…"""
    machine: str = ""
    """Model of the processor."""
    tag: str = ""
    """A tag as name=value, or only its name."""
    topic: str = ""
    """Exact topic: the labels of its models, an equation or a function."""
    branch: str = ""
    """Git branch."""
    since: str = ""
    """Earliest start time, in the format of the tables."""


class FoundRun(Struct, frozen=True, kw_only=True):
    """A run in a list."""

    run: KeptRun
    """The run without its measurements."""
    machine: str = ""
    """Model of the processor; empty if unknown."""
    time_ns: float | None = None
    """Time of the fastest subject, in ns; null for runs that are not a race of one case."""
    speedup: float | None = None
    """Largest speedup over the baseline; null without a rival."""
    verdict: str = ""
    """Verdict on the subject with that speedup; empty without one."""


class FoundRuns(Struct, frozen=True, kw_only=True):
    """One page of the runs found."""

    runs: tuple[FoundRun, ...] = ()
    """In the requested order [default: newest first]."""
    total: int = 0
    """The number of runs on all pages."""


class FilterValues(Struct, frozen=True, kw_only=True):
    """Filter values for the runs of a store."""

    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    """Models of processors."""
    tags: tuple[str, ...] = ()
    """As name=value, the most frequent ones."""
    branches: tuple[str, ...] = ()
    """Git branches, the most frequent ones."""


class KnownModel(Struct, frozen=True, kw_only=True):
    """A model measured by races in the store."""

    model: str
    """Its label."""
    subjects: int
    """How often it was measured."""


def search_runs(
    connection: Connection,
    wanted: RunSearch,
    limit: int = 50,
    offset: int = 0,
    sort: str = "started",
    descending: bool | None = None,
) -> FoundRuns:
    """A page of the runs that meet all criteria, newest first unless sorted by something else."""
    run = schema.runs.c
    conditions = _conditions(connection, wanted)
    total = connection.execute(select(func.count()).select_from(schema.runs).where(*conditions)).scalar_one()
    figures = best_subjects() if sort in ("time", "speedup", "verdict") else None
    table = schema.runs if figures is None else schema.runs.outerjoin(figures, figures.c.run == run.id)
    key = _sort_key(connection, sort, figures)
    down = SORTS[sort] if descending is None else descending
    order = ((key.desc() if down else key.asc()).nulls_last(), run.started.desc(), run.id.desc())
    chosen = select(run.id, run.name).select_from(table).where(*conditions).order_by(*order).limit(limit).offset(offset)
    names = dict(connection.execute(chosen).all())
    runs = {each.id: each for each in rows.kept_runs(connection, None, run.id.in_(names))} if names else {}
    ordered = [runs[name] for name in names.values() if name in runs]
    return FoundRuns(runs=tuple(with_figures(connection, ordered)), total=int(total))


def _sort_key(connection: Connection, sort: str, figures: Subquery | None) -> ColumnElement[Any]:
    run, tag = schema.runs.c, schema.tags.c
    if figures is not None:
        return figures.c[{"time": "time_ns", "speedup": "speedup", "verdict": "rank"}[sort]]
    commit = select(tag.value).where(tag.run == run.id, tag.name == COMMIT).scalar_subquery()
    keys = {"machine": _cpu(connection), "commit": commit, "model": run.options}
    return keys[sort] if sort in keys else run[sort]


def with_figures(connection: Connection, runs: Sequence[KeptRun]) -> list[FoundRun]:
    """Runs with their processors, times and verdicts."""
    run, names = schema.runs.c, [each.id for each in runs]
    machines = select(run.name, _cpu(connection)).where(run.name.in_(names))
    cpus = {name: _text(cpu) for name, cpu in connection.execute(machines)}
    figures = figures_of(connection, names) if names else {}
    return [
        FoundRun(run=each, machine=cpus.get(each.id, ""), **figures.get(each.id, _NO_FIGURES)._asdict())
        for each in runs
    ]


def filter_values(connection: Connection) -> FilterValues:
    """The available filter values."""
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
        branches=tuple(values(_branches().limit(_TAGS))),
    )


def _branches() -> Select[Any]:
    tag = schema.tags.c
    return select(tag.value).where(tag.name == BRANCH).group_by(tag.value).order_by(func.count().desc(), tag.value)


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
    if wanted.topic:
        conditions.append(run.options == rows.options_of(wanted.topic))
    conditions += measured_under(wanted.machine, wanted.branch, wanted.since)
    if wanted.tag:
        name, mark, value = plain(wanted.tag).partition("=")
        named = select(schema.tags.c.run).where(schema.tags.c.name == name)
        conditions.append(rows.has_tag((name, value)) if mark else run.id.in_(named))
    if wanted.status:
        conditions.append(_has_status(connection, plain(wanted.status)))
    return conditions


def measured_under(machine: str, branch: str, since: str) -> list[ColumnElement[bool]]:
    """Conditions for the runs on a processor, of a branch, and since a time; empty texts are ignored."""
    run = schema.runs.c
    conditions: list[ColumnElement[bool]] = []
    if machine:
        conditions.append(run.machine.startswith(f"{_CPU}{json.dumps(machine)},", autoescape=True))
    if branch:
        conditions.append(rows.has_tag((BRANCH, branch)))
    if since:
        conditions.append(run.started >= since)
    return conditions


def _holds(word: str) -> ColumnElement[bool]:
    """Whether a run contains a word."""
    run, tag = schema.runs.c, schema.tags.c
    tagged = select(tag.run).where((tag.name + "=" + tag.value).icontains(word, autoescape=True))
    in_topic = _TOPIC + _literally(json.dumps(word)[1:-1]) + "%"  # escaped as in the document
    return or_(
        *(column.icontains(word, autoescape=True) for column in (run.name, run.command, run.answer)),
        run.options.ilike(in_topic, escape=_ESCAPE),
        run.id.in_(tagged),
    )


def _literally(text: str) -> str:
    """A text escaped for LIKE."""
    for sign in (_ESCAPE, "%", "_"):
        text = text.replace(sign, _ESCAPE + sign)
    return text


def _has_status(connection: Connection, status: str) -> ColumnElement[bool]:
    """The status as shown in lists: a run whose process is gone is interrupted, whatever its row contains."""
    run = schema.runs.c
    if status == "interrupted":
        return or_(run.status == status, run.id.in_(_lost(connection)))
    if status == "running":
        return (run.status == status) & run.id.not_in(_lost(connection))
    return run.status == status


def _lost(connection: Connection) -> list[int]:
    """Unfinished runs whose process is gone."""
    running = connection.execute(select(schema.runs).where(schema.runs.c.status == "running"))
    return [row.id for row in running if state_of(rows.owner_in(row)) == "dead"]


def _cpu(connection: Connection) -> ColumnElement[str]:
    """The model of the processor as JSON: the prefix of the machine's document, so nothing is parsed."""
    position = func.strpos if connection.dialect.name == "postgresql" else func.instr
    machine, start = schema.runs.c.machine, len(_CPU) + 1
    cpu: ColumnElement[str] = func.substr(machine, start, func.abs(position(machine, _AFTER_CPU) - start))
    return cpu


def _text(value: str | None) -> str:
    """The decoded JSON text; empty for other values."""
    try:
        text = json.loads(value or "")
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""
