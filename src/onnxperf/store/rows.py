"""Converts records to rows and back, within the caller's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Row, delete, exists, func, insert, select, update

from onnxperf.errors import StoreError, masked
from onnxperf.records.base import Machine
from onnxperf.records.decode import DamagedRecord, decoded
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.records.rules import check_record, is_time
from onnxperf.records.runs import COMMIT, COMMIT_LENGTH, KeptRun
from onnxperf.store import schema
from onnxperf.store.blobs import unpack_blocks, unpack_times
from onnxperf.store.documents import from_document, plain, to_document
from onnxperf.store.owner import Owner, state_of

_UNFINISHED = ("pending", "running")
_TOPIC = "topic"
_FEW = 200
"""Number of runs that a query can name one by one."""
_NEVER = "1970-01-01T00:00:00.000000+00:00"


class Trouble(Struct, frozen=True, kw_only=True):
    """Details of a failed attempt."""

    reason: str = ""
    signal: int | None = None
    """Number of the signal that ended its process."""
    stderr_tail: str = ""


class RunHead(Struct, frozen=True):
    """A Bench without machine and cases."""

    version: int
    command: str


def time_of_day() -> str:
    """The current time, in the format of the tables."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def head_of(bench: Bench) -> str:
    """The rest of a bench after its machine and cases are moved to separate columns."""
    return to_document(RunHead(bench.version, bench.command))


def options_of(topic: str) -> str:
    """The topic, as the document in which `runs` finds it without reading records."""
    return to_document({_TOPIC: plain(topic)} if topic else {})


def versions_of(machine: Machine | None) -> str:
    """The versions of a machine as a separate document, which is easy to query."""
    return to_document(machine.versions if machine is not None else {})


# ---------------------------------------------------------------- writing


def write_tags(connection: Connection, run: int, tags: Mapping[str, str]) -> None:
    """Set tags of a run, replacing those with the same names."""
    named = {plain(name): plain(value) for name, value in tags.items()}
    connection.execute(delete(schema.tags).where(schema.tags.c.run == run, schema.tags.c.name.in_(named)))
    if named:
        values = [{"run": run, "name": name, "value": value} for name, value in named.items()]
        connection.execute(insert(schema.tags), values)


def give_up_running(connection: Connection, run: int) -> None:
    """Reset running cases whose process is gone to pending; their last attempt counts as crashed."""
    ours = select(schema.cases.c.id).where(schema.cases.c.run == run)
    stale = update(schema.attempts).where(schema.attempts.c.case.in_(ours), schema.attempts.c.status == "running")
    connection.execute(
        stale.values(status="crashed", reason="its process ended without a message", finished=time_of_day())
    )
    waiting = update(schema.cases).where(schema.cases.c.run == run, schema.cases.c.status == "running")
    connection.execute(waiting.values(status="pending"))


# ---------------------------------------------------------------- reading


def kept_runs(connection: Connection, limit: int | None, *conditions: Any) -> list[KeptRun]:
    """Runs, newest first: by start time, as spooled and imported runs are written later."""
    total = select(func.count()).where(schema.cases.c.run == schema.runs.c.id)
    done = total.where(schema.cases.c.status.not_in(_UNFINISHED))
    columns = (schema.runs, total.scalar_subquery().label("cases"), done.scalar_subquery().label("done"))
    newest_first = (schema.runs.c.started.desc(), schema.runs.c.id.desc())
    chosen = select(*columns).where(*conditions).order_by(*newest_first).limit(limit)
    found = connection.execute(chosen).all()
    numbers = [row.id for row in found]
    tags = _tags_of(connection, numbers) if found else {}
    return [_kept_run(row, tags.get(row.id, {})) for row in found]


def has_tag(tag: tuple[str, str]) -> Any:
    """The condition that a run has a tag; for a commit, a prefix is enough."""
    name, value = map(plain, tag)
    same = schema.tags.c.value == value
    if name == COMMIT:
        same = schema.tags.c.value.startswith(value[:COMMIT_LENGTH], autoescape=True)
    return exists().where(schema.tags.c.run == schema.runs.c.id, schema.tags.c.name == name, same)


def _tags_of(connection: Connection, numbers: Sequence[int]) -> dict[int, dict[str, str]]:
    """Tags of these runs; if they are many, of all runs between the oldest and the newest."""
    found: dict[int, dict[str, str]] = {}
    columns = (schema.tags.c.run, schema.tags.c.name, schema.tags.c.value)
    few = len(numbers) <= _FEW
    ours = schema.tags.c.run.in_(numbers) if few else schema.tags.c.run.between(min(numbers), max(numbers))
    for number, name, value in connection.execute(select(*columns).where(ours)):
        found.setdefault(number, {})[name] = value
    return found


def owner_in(row: Row[Any]) -> Owner | None:
    """The process that writes a run; None once it is finished."""
    return None if row.owner is None else from_document(row.owner, Owner)


def read_bench(connection: Connection, row: Row[Any]) -> Bench:
    """A bench with all raw blocks; unfinished cases are left out."""
    head = from_document(row.record, RunHead)
    machine = from_document(row.machine, Machine)
    cases = tuple(finished_cases(connection, row.id).values())
    return Bench(version=head.version, command=head.command, machine=machine, cases=cases)


def finished_cases(connection: Connection, run: int) -> dict[str, Case]:
    """The result of every case's last finished attempt, by key, in the planned order."""
    return {key: _read_case(connection, attempt, record) for key, attempt, record in _last_finished(connection, run)}


def _kept_run(row: Row[Any], tags: dict[str, str]) -> KeptRun:
    lost = row.status == "running" and state_of(owner_in(row)) == "dead"
    options = from_document(row.options, dict[str, Any])
    fields = {
        "id": row.name,
        "kind": row.kind,
        "record": row.record_type,
        "command": row.command,
        "started": _time_in(row.started),
        "finished": None if row.finished is None else _time_in(row.finished),
        "status": "interrupted" if lost else row.status,
        "cases": row.cases,
        "cases_done": row.done,
        "answer": row.answer,
        "topic": str(options.get(_TOPIC, "")),
        "options": options,
        "tags": tags,
    }
    try:
        run = decoded(fields, KeptRun)
    except DamagedRecord as error:  # SQLite stores anything in any column
        raise StoreError(f"row {row.id} of the table of runs is damaged: {error}") from error
    return replace(run, command=masked(run.command), tags=dict(sorted(run.tags.items())))


def _time_in(text: object) -> str:
    """A time; invalid ones, accepted by older versions from a bundle, become 1970, so that the list still works."""
    return text if isinstance(text, str) and is_time(text) else _NEVER


def _last_finished(connection: Connection, run: int) -> list[tuple[str, int, str]]:
    """Key of each case, with number and record of its last finished attempt."""
    numbers = (
        select(schema.attempts.c.case, schema.cases.c.key, func.max(schema.attempts.c.number).label("number"))
        .join(schema.cases)
        .where(schema.cases.c.run == run, schema.attempts.c.record.is_not(None))
        .group_by(schema.attempts.c.case, schema.cases.c.key)
        .subquery()
    )
    same = (schema.attempts.c.case == numbers.c.case) & (schema.attempts.c.number == numbers.c.number)
    chosen = select(numbers.c.key, schema.attempts.c.id, schema.attempts.c.record).join(numbers, same)
    return [(row.key, row.id, row.record) for row in connection.execute(chosen.order_by(schema.attempts.c.case))]


def _read_case(connection: Connection, attempt: int, record: str) -> Case:
    ours = select(schema.subjects).where(schema.subjects.c.attempt == attempt)
    rows = connection.execute(ours.order_by(schema.subjects.c.position))
    case = replace(from_document(record, Case), subjects=tuple(_read_subject(row) for row in rows))
    try:
        check_record(case)
    except ValueError as error:
        raise StoreError(f"damaged: {error}") from error
    return case


def _read_subject(row: Row[Any]) -> Subject:
    try:
        blocks, times = unpack_blocks(row.blocks), unpack_times(row.call_times)
    except StoreError as error:
        raise StoreError(f"subject {row.name!r}: {error}") from error
    return replace(from_document(row.record, Subject), blocks=blocks, call_ns=times)
