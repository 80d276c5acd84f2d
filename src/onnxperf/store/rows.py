"""Records into rows and back, within a transaction of the caller."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Row, func, insert, select, update

from onnxperf.errors import StoreError, masked
from onnxperf.records.base import Machine
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.records.runs import KeptRun
from onnxperf.store import schema
from onnxperf.store.blobs import pack_blocks, pack_times, unpack_blocks, unpack_times
from onnxperf.store.documents import from_document, plain, to_document
from onnxperf.store.owner import Owner, state_of

_UNFINISHED = ("pending", "running")
_TOPIC = "topic"


class Trouble(Struct, frozen=True, kw_only=True):
    """What is known about an attempt that went wrong."""

    reason: str = ""
    signal: int | None = None
    """Number of the signal that ended its process."""
    stderr_tail: str = ""


class _Head(Struct, frozen=True):
    """A Bench without machine and cases."""

    version: int
    command: str


def time_of_day() -> str:
    """Now, as the tables have it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def head_of(bench: Bench) -> str:
    """What is left of a bench when machine and cases have gone to columns of their own."""
    return to_document(_Head(bench.version, bench.command))


def options_of(topic: str) -> str:
    """What was measured, as the document in which `runs` finds it without reading records."""
    return to_document({_TOPIC: plain(topic)} if topic else {})


def versions_of(machine: Machine | None) -> str:
    """The versions of a machine as a document of their own, which is easy to query."""
    return to_document(machine.versions if machine is not None else {})


# ---------------------------------------------------------------- writing


def plan_case(connection: Connection, run: int, key: str) -> int:
    """The number of a case, which is made where it is new."""
    found = connection.execute(
        select(schema.cases.c.id).where(schema.cases.c.run == run, schema.cases.c.key == plain(key))
    ).scalar()
    if found is not None:
        return int(found)
    made = insert(schema.cases).values(run=run, key=plain(key), status="pending")
    return int(connection.execute(made.returning(schema.cases.c.id)).scalar_one())


def plan_cases(connection: Connection, run: int, keys: Iterable[str]) -> None:
    """Plan all cases of a new run at once."""
    values = [{"run": run, "key": key, "status": "pending"} for key in dict.fromkeys(map(plain, keys))]
    if values:
        connection.execute(insert(schema.cases), values)


def begin_attempt(connection: Connection, case: int) -> int:
    """A new attempt at a case, running."""
    last = connection.execute(select(func.max(schema.attempts.c.number)).where(schema.attempts.c.case == case)).scalar()
    _set_status(connection, case, "running")
    values = {"number": (last or 0) + 1, "status": "running", "reason": "", "stderr_tail": "", "versions": "{}"}
    made = insert(schema.attempts).values(case=case, started=time_of_day(), **values)
    return int(connection.execute(made.returning(schema.attempts.c.id)).scalar_one())


def write_case(
    connection: Connection, run: int, key: str, case: Case, machine: Machine | None, trouble: Trouble
) -> None:
    """Keep what a case found: in the attempt that is running, or in a new one."""
    number = plan_case(connection, run, key)
    running = connection.execute(
        select(schema.attempts.c.id)
        .where(schema.attempts.c.case == number, schema.attempts.c.status == "running")
        .order_by(schema.attempts.c.number.desc())
    ).scalar()
    attempt = running if running is not None else begin_attempt(connection, number)
    ended = update(schema.attempts).where(schema.attempts.c.id == attempt)
    values = {
        "status": case.status,
        "reason": plain(trouble.reason),
        "signal": trouble.signal,
        "stderr_tail": plain(trouble.stderr_tail),
        "finished": time_of_day(),
        "machine": to_document(machine) if machine is not None else None,
        "versions": versions_of(machine),
        "record": to_document(replace(case, subjects=())),
    }
    connection.execute(ended.values(**values))
    if case.subjects:
        rows = [_subject_row(attempt, i, subject, case.fingerprint) for i, subject in enumerate(case.subjects)]
        connection.execute(insert(schema.subjects), rows)
    _set_status(connection, number, case.status)


def give_up_running(
    connection: Connection, run: int, reason: str = "its process ended without a message", key: str | None = None
) -> None:
    """Cases whose process is gone wait again, or one of them; what it had begun is an attempt that crashed."""
    chosen = [schema.cases.c.run == run, *([schema.cases.c.key == plain(key)] if key is not None else [])]
    ours = select(schema.cases.c.id).where(*chosen)
    stale = update(schema.attempts).where(schema.attempts.c.case.in_(ours), schema.attempts.c.status == "running")
    connection.execute(stale.values(status="crashed", reason=plain(reason), finished=time_of_day()))
    waiting = update(schema.cases).where(*chosen, schema.cases.c.status == "running")
    connection.execute(waiting.values(status="pending"))


def _set_status(connection: Connection, case: int, status: str) -> None:
    connection.execute(update(schema.cases).where(schema.cases.c.id == case).values(status=status))


def _subject_row(attempt: int, position: int, subject: Subject, fingerprints: Mapping[str, str]) -> dict[str, Any]:
    texts = {
        "name": subject.name,
        "model": subject.model,
        "fingerprint": fingerprints.get(subject.model) if subject.model is not None else None,
        "runtime": subject.runtime,
        "call": subject.call,
        "status": subject.status,
        "reason": subject.reason,
        "verdict": subject.verdict,
    }
    return {
        "attempt": attempt,
        "position": position,
        **{column: None if text is None else plain(text) for column, text in texts.items()},
        **{column: _number(getattr(subject, column)) for column in schema.SUBJECT_NUMBERS},
        "record": to_document(replace(subject, blocks=(), call_ns=())),
        "blocks": pack_blocks(subject.blocks),
        "call_times": pack_times(subject.call_ns),
    }


def _number(value: float | None) -> float | None:
    """A number that every database takes; the record beside it has the others."""
    try:
        return float(value) if value is not None and math.isfinite(value) else None
    except OverflowError:
        return None


# ---------------------------------------------------------------- reading


def kept_runs(connection: Connection, limit: int | None, *conditions: Any) -> list[KeptRun]:
    """Runs, the newest first."""
    total = select(func.count()).where(schema.cases.c.run == schema.runs.c.id)
    done = total.where(schema.cases.c.status.not_in(_UNFINISHED))
    columns = (schema.runs, total.scalar_subquery().label("cases"), done.scalar_subquery().label("done"))
    chosen = select(*columns).where(*conditions).order_by(schema.runs.c.id.desc()).limit(limit)
    return [_kept_run(row) for row in connection.execute(chosen)]


def owner_in(row: Row[Any]) -> Owner | None:
    """The process that writes a run; None once it is finished."""
    return None if row.owner is None else from_document(row.owner, Owner)


def read_bench(connection: Connection, row: Row[Any]) -> Bench:
    """A bench with all its raw blocks; cases that were never finished are left out."""
    head = from_document(row.record, _Head)
    machine = from_document(row.machine, Machine)
    cases = tuple(_read_case(connection, *attempt) for attempt in _last_finished(connection, row.id))
    return Bench(version=head.version, command=head.command, machine=machine, cases=cases)


def _kept_run(row: Row[Any]) -> KeptRun:
    lost = row.status == "running" and state_of(owner_in(row)) == "dead"
    options = from_document(row.options, dict[str, Any])
    return KeptRun(
        id=row.name,
        kind=row.kind,
        record=row.record_type,
        command=masked(row.command),
        started=row.started,
        finished=row.finished,
        status="interrupted" if lost else row.status,
        cases=row.cases,
        cases_done=row.done,
        answer=row.answer,
        topic=str(options.get(_TOPIC, "")),
        options=options,
    )


def _last_finished(connection: Connection, run: int) -> list[tuple[int, str]]:
    """Number and record of the last finished attempt of every case, in the order in which the cases were planned."""
    numbers = (
        select(schema.attempts.c.case, func.max(schema.attempts.c.number).label("number"))
        .join(schema.cases)
        .where(schema.cases.c.run == run, schema.attempts.c.record.is_not(None))
        .group_by(schema.attempts.c.case)
        .subquery()
    )
    same = (schema.attempts.c.case == numbers.c.case) & (schema.attempts.c.number == numbers.c.number)
    chosen = select(schema.attempts.c.id, schema.attempts.c.record).join(numbers, same)
    return [(row.id, row.record) for row in connection.execute(chosen.order_by(schema.attempts.c.case))]


def _read_case(connection: Connection, attempt: int, record: str) -> Case:
    ours = select(schema.subjects).where(schema.subjects.c.attempt == attempt)
    rows = connection.execute(ours.order_by(schema.subjects.c.position))
    return replace(from_document(record, Case), subjects=tuple(_read_subject(row) for row in rows))


def _read_subject(row: Row[Any]) -> Subject:
    try:
        blocks, times = unpack_blocks(row.blocks), unpack_times(row.call_times)
    except StoreError as error:
        raise StoreError(f"subject {row.name!r}: {error}") from error
    return replace(from_document(row.record, Subject), blocks=blocks, call_ns=times)
