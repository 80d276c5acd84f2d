"""A sweep written step by step, as a command writes it: rows that the store merges."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select

from onnxperf.records.base import Machine
from onnxperf.records.race import Bench, Case
from onnxperf.records.runs import RunStatus
from onnxperf.store import (
    AttemptRow,
    CaseRow,
    Store,
    Trouble,
    begun_attempt,
    begun_run,
    ended_run,
    finished_case,
    schema,
)
from onnxperf.store.documents import plain

NO_TROUBLE = Trouble()


def start_run(store: Store, command: str, kind: str, machine: Machine, keys: Iterable[str] = ()) -> str:
    """Begin a run of cases, which belongs to this process."""
    return store.merge(begun_run(Bench(machine=machine, command=command, cases=()), kind, keys))


def mark_running(store: Store, run: str, key: str) -> None:
    """Begin an attempt at a case."""
    store.merge(store.row_of(run), [CaseRow(key=key, status="running", attempts=(begun_attempt(),))])


def keep_case(
    store: Store, run: str, key: str, case: Case, machine: Machine | None = None, trouble: Trouble = NO_TROUBLE
) -> None:
    """Finish the attempt that is running, or a new one."""
    attempt = _running(store, run, key) or begun_attempt()
    store.merge(store.row_of(run), [finished_case(key, case, machine, trouble, attempt=attempt)])


def finish_run(store: Store, run: str, status: RunStatus, machine: Machine, answer: str = "", topic: str = "") -> None:
    """End a run."""
    store.merge(ended_run(store.row_of(run), status, answer, topic, machine))


def _running(store: Store, run: str, key: str) -> AttemptRow | None:
    attempts, cases, runs = schema.attempts.c, schema.cases.c, schema.runs.c
    ours = select(attempts.uid, attempts.started).join(schema.cases, attempts.case == cases.id)
    named = ours.join(schema.runs, cases.run == runs.id).where(runs.name == run, cases.key == plain(key))
    with store.reading() as connection:
        found = connection.execute(named.where(attempts.status == "running").order_by(attempts.number.desc()))
        row = found.first()
    return None if row is None else AttemptRow(uid=row.uid, started=row.started)
