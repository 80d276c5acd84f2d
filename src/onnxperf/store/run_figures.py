"""Time, speedup and verdict of runs, queried without reading their records."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.json import decode
from sqlalchemy import Connection, Subquery, case, exists, func, select

from onnxperf.records.gate import GateOutcome
from onnxperf.store import schema

_RANKS = {"faster": 4, "equivalent": 3, "undecided": 2, "slower": 1}
"""Verdicts in the order in which lists are sorted by them."""


_AT_ONCE = 500
"""Runs of one query: databases limit the number of parameters."""


class RunFigures(NamedTuple):
    """What a race of one case found."""

    time_ns: float | None = None
    """Time of its fastest subject."""
    speedup: float | None = None
    """Largest speedup over the baseline; null without a rival."""
    verdict: str = ""
    """Verdict on the subject with that speedup."""


def figures_of(connection: Connection, runs: Collection[str]) -> dict[str, RunFigures]:
    """The figures of these runs, by name; those that have none are left out."""
    figures: dict[str, RunFigures] = {}
    names = sorted(runs)
    for start in range(0, len(names), _AT_ONCE):
        found = best_subjects(names[start : start + _AT_ONCE])
        named = select(schema.runs.c.name, found.c.time_ns, found.c.speedup, found.c.verdict)
        rows = connection.execute(named.join(found, found.c.run == schema.runs.c.id))
        figures |= {name: RunFigures(time_ns, speedup, verdict or "") for name, time_ns, speedup, verdict in rows}
    return figures


def best_subjects(runs: Collection[str] | None = None) -> Subquery:
    """A row for each race of one case, of all runs or of these: its shortest time, and its best rival."""
    subject, ours, attempt = schema.subjects.c, schema.cases.c, schema.attempts.c
    is_rival = case((subject.verdict == "baseline", 0), else_=1) * case((subject.speedup.is_(None), 0), else_=1)
    best_first = (is_rival.desc(), subject.speedup.desc(), subject.position)
    time_ns = func.coalesce(subject.time_ns, subject.median_ns, subject.mean_ns)
    ranked = (
        select(
            ours.run,
            func.min(time_ns).over(partition_by=ours.run).label("time_ns"),
            case((is_rival == 1, subject.speedup)).label("speedup"),
            case((is_rival == 1, subject.verdict)).label("verdict"),
            func.row_number().over(partition_by=ours.run, order_by=best_first).label("place"),
        )
        .select_from(schema.subjects.join(schema.attempts).join(schema.cases))
        .where(*_single(runs), ~is_repeated(), subject.status.in_(("ok", "differs")), attempt.record.is_not(None))
        .subquery()
    )
    columns = (ranked.c.run, ranked.c.time_ns, ranked.c.speedup, ranked.c.verdict)
    return select(*columns, case(_RANKS, value=ranked.c.verdict).label("rank")).where(ranked.c.place == 1).subquery()


def is_repeated() -> Any:
    """Whether a later attempt of the same case has a result."""
    later = schema.attempts.alias()
    return exists().where(
        later.c.case == schema.attempts.c.case,
        later.c.number > schema.attempts.c.number,
        later.c.record.is_not(None),
    )


def _single(runs: Collection[str] | None) -> list[Any]:
    """Runs of one case: several cases have no time in common."""
    case_run = schema.cases.c.run
    single = select(case_run).group_by(case_run).having(func.count() == 1)
    if runs is None:
        return [case_run.in_(single)]
    named = select(schema.runs.c.id).where(schema.runs.c.name.in_(sorted(runs)))
    return [case_run.in_(single.where(case_run.in_(named)))]


class _GatePart(Struct, frozen=True):
    """The part of a gate that a list needs."""

    outcome: GateOutcome


def outcomes_of(connection: Connection, runs: Collection[str]) -> dict[str, GateOutcome]:
    """Whether these gates passed, by name; unreadable ones are left out."""
    run = schema.runs.c
    records = select(run.name, run.record).where(run.name.in_(sorted(runs)))
    found: dict[str, GateOutcome] = {}
    for name, record in connection.execute(records):
        with contextlib.suppress(ValueError):  # damaged, or of a newer version
            found[name] = decode(record, type=_GatePart).outcome
    return found
