"""Merges rows into a store, within the caller's transaction: rows with a known unique name are not rewritten."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Row, Table, bindparam, func, insert, select, update

from onnxperf.store import schema
from onnxperf.store.documents import plain
from onnxperf.store.names import SYLLABLES, is_name, new_name
from onnxperf.store.portable import AttemptRow, CaseRow, RunRow, SubjectRow
from onnxperf.store.rows import write_tags

_RUN_COLUMNS = tuple(name for name in RunRow.__struct_fields__ if name not in ("name", "tags", "keys"))
_ATTEMPT_COLUMNS = tuple(name for name in AttemptRow.__struct_fields__ if name not in ("number", "subjects"))
_SUBJECT_COLUMNS = tuple(name for name in SubjectRow.__struct_fields__ if name != "numbers")
_AT_THE_END = ("status", "finished", "owner", "answer", "options", "machine", "versions")
"""Columns of a run that are known only when it ends."""
_AT_ONCE = 200
"""Number of cases written together: single statements would take far longer, and all may not fit into memory."""


def merge(connection: Connection, run: RunRow, cases: Iterable[CaseRow] = ()) -> str:
    """Write the parts of a run that the store lacks, its plan, its cases and its end; returns its name there."""
    found = find_run(connection, run)
    if found is None:
        number, name = _insert_run(connection, run)
    else:
        number, name = found.id, found.name
    _plan(connection, number, run.keys)
    if found is None:
        _insert_cases(connection, number, cases)
    else:
        for case in cases:
            _merge_case(connection, number, case)
    if found is not None and found.status == "running" and run.status != "running":
        ended = {column: getattr(run, column) for column in _AT_THE_END}
        connection.execute(update(schema.runs).where(schema.runs.c.id == number).values(**ended))
    return str(name)


def find_run(connection: Connection, run: RunRow) -> Row[Any] | None:
    """The run in this store, if it exists."""
    return connection.execute(select(schema.runs).where(schema.runs.c.uid == run.uid)).first()


def _insert_run(connection: Connection, run: RunRow) -> tuple[int, str]:
    name, syllables = run.name if is_name(run.name) else new_name(), SYLLABLES
    while connection.execute(select(schema.runs.c.id).where(schema.runs.c.name == name)).first() is not None:
        syllables += 1  # a crowded store gets longer names, so the search stays short
        name = new_name(syllables)
    values = {"name": name, **_columns(run, _RUN_COLUMNS)}
    number = connection.execute(insert(schema.runs).values(**values).returning(schema.runs.c.id)).scalar_one()
    if run.tags:
        write_tags(connection, number, run.tags)
    return int(number), name


def _plan(connection: Connection, run: int, keys: Iterable[str]) -> None:
    """Plan all cases that do not exist yet, in one statement."""
    wanted = list(keys)
    if not wanted:
        return
    there = set(connection.execute(select(schema.cases.c.key).where(schema.cases.c.run == run)).scalars())
    values = [{"run": run, "key": key, "status": "pending"} for key in map(plain, wanted) if key not in there]
    if values:
        connection.execute(insert(schema.cases), values)


def _insert_cases(connection: Connection, run: int, cases: Iterable[CaseRow]) -> None:
    """Write the cases of a newly inserted run: only its plan can exist, so nothing is looked up."""
    planned = select(schema.cases.c.key, schema.cases.c.id).where(schema.cases.c.run == run)
    numbers: dict[str, int] = {row.key: row.id for row in connection.execute(planned)}
    left = iter(cases)
    while chunk := list(islice(left, _AT_ONCE)):
        missing = [key for key in dict.fromkeys(plain(case.key) for case in chunk) if key not in numbers]
        values = [{"run": run, "key": key, "status": "pending"} for key in missing]
        numbers |= zip(missing, _inserted(connection, schema.cases, values), strict=True)
        attempts = [
            (attempt, {"case": numbers[plain(case.key)], "number": attempt.number or at, **_attempt_values(attempt)})
            for case in chunk
            for at, attempt in enumerate(case.attempts, 1)
        ]
        made = _inserted(connection, schema.attempts, [values for _, values in attempts])
        subjects = [
            _subject_values(number, subject)
            for number, (attempt, _) in zip(made, attempts, strict=True)
            for subject in attempt.subjects
        ]
        if subjects:
            connection.execute(insert(schema.subjects), subjects)
        ended = [{"number": numbers[plain(case.key)], "ended": case.status} for case in chunk if case.attempts]
        if ended:
            change = update(schema.cases).where(schema.cases.c.id == bindparam("number"))
            connection.execute(change.values(status=bindparam("ended")), ended)


def _inserted(connection: Connection, table: Table, values: Sequence[dict[str, Any]]) -> list[int]:
    """The numbers assigned to new rows, in order."""
    if not values:
        return []
    made = insert(table).returning(table.c.id, sort_by_parameter_order=True)
    return list(connection.execute(made, values).scalars())


def _merge_case(connection: Connection, run: int, case: CaseRow) -> None:
    key = plain(case.key)
    number = connection.execute(
        select(schema.cases.c.id).where(schema.cases.c.run == run, schema.cases.c.key == key)
    ).scalar()
    if number is None:
        made = insert(schema.cases).values(run=run, key=key, status="pending")
        number = connection.execute(made.returning(schema.cases.c.id)).scalar_one()
    written = [_merge_attempt(connection, number, attempt) for attempt in case.attempts]
    if any(written):
        connection.execute(update(schema.cases).where(schema.cases.c.id == number).values(status=case.status))


def _merge_attempt(connection: Connection, case: int, attempt: AttemptRow) -> bool:
    """Write an attempt, or the end of an existing one; False if nothing in it is new."""
    attempts = schema.attempts.c
    found = None
    if attempt.uid is not None:
        same = select(attempts.id, attempts.record, attempts.finished).where(
            attempts.uid == attempt.uid, attempts.case == case
        )
        found = connection.execute(same).first()
    values = _attempt_values(attempt)
    if found is None:
        last = connection.execute(select(func.max(attempts.number)).where(attempts.case == case)).scalar()
        made = insert(schema.attempts).values(case=case, number=attempt.number or (last or 0) + 1, **values)
        number = connection.execute(made.returning(attempts.id)).scalar_one()
    elif found.record is None and (attempt.record or (attempt.finished and not found.finished)):
        number = found.id
        connection.execute(update(schema.attempts).where(attempts.id == number).values(**values))
    else:
        return False
    if attempt.subjects:
        connection.execute(insert(schema.subjects), [_subject_values(number, each) for each in attempt.subjects])
    return True


def _attempt_values(attempt: AttemptRow) -> dict[str, Any]:
    return _columns(attempt, _ATTEMPT_COLUMNS)


def _subject_values(attempt: int, subject: SubjectRow) -> dict[str, Any]:
    columns = (*schema.SUBJECT_NUMBERS, *schema.HISTORY_NUMBERS)
    numbers = {column: subject.numbers.get(column) for column in columns}
    return {"attempt": attempt, **_columns(subject, _SUBJECT_COLUMNS), **numbers}


def _columns(row: RunRow | AttemptRow | SubjectRow, names: Iterable[str]) -> dict[str, Any]:
    """Values that every database accepts."""
    values = {name: getattr(row, name) for name in names}
    return {name: plain(value) if isinstance(value, str) else value for name, value in values.items()}
