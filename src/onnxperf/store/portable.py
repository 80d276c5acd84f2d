"""Runs as plain rows that belong to no store yet: to be written, spooled or bundled."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Row, select

from onnxperf.errors import StoreError, masked
from onnxperf.records.base import Machine, Status
from onnxperf.records.numbers import Amount
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.records.runs import RunStatus
from onnxperf.records.sweep import time_of
from onnxperf.store import rows, schema
from onnxperf.store.blobs import pack_blocks, pack_times
from onnxperf.store.documents import kinds, plain, to_document
from onnxperf.store.histories import origin_text
from onnxperf.store.names import new_name, new_uid
from onnxperf.store.owner import this_process
from onnxperf.store.rows import Trouble

S = TypeVar("S", bound=Struct)
_Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
_Uid = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
_Tags = Annotated[
    dict[Annotated[str, Meta(max_length=1000)], Annotated[str, Meta(max_length=2000)]], Meta(max_length=1000)
]
_NO_TROUBLE = Trouble()


class SubjectRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A subject, with its raw times packed by `blobs`."""

    position: _Int32
    name: str
    model: str | None
    fingerprint: str | None
    runtime: str
    call: str | None
    status: str
    reason: str
    verdict: str | None
    numbers: dict[str, Amount | None]
    record: str
    blocks: bytes
    call_times: bytes
    origin: str | None = None


class AttemptRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An attempt at a case; `record` is null until it is finished."""

    uid: _Uid | None
    started: str
    number: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
    """Counted from 1; 0 means next after the last one."""
    status: Status = "running"
    reason: str = ""
    signal: _Int32 | None = None
    stderr_tail: str = ""
    finished: str | None = None
    machine: str | None = None
    versions: str = "{}"
    record: str | None = None
    subjects: tuple[SubjectRow, ...] = ()


class CaseRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A case with its attempts, in order."""

    key: str
    status: Status
    attempts: tuple[AttemptRow, ...] = ()


class RunRow(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run without its cases."""

    uid: _Uid
    name: str
    """The preferred name, unless it is taken."""
    kind: str
    command: str
    started: str
    record_type: str
    record: str
    finished: str | None = None
    status: RunStatus = "running"
    answer: str = ""
    owner: str | None = None
    machine: str | None = None
    versions: str = "{}"
    options: str = "{}"
    tags: _Tags = {}
    keys: tuple[str, ...] = ()
    """Planned cases, in order."""


# ---------------------------------------------------------------- from records


def begun_run(record: Struct, kind: str, keys: Iterable[str] = (), tags: Mapping[str, str] | None = None) -> RunRow:
    """A run that belongs to this process; its unique name is chosen here, so that writing it twice is safe."""
    if not isinstance(record, Bench) and type(record).__name__ not in kinds():
        raise StoreError(f"a {type(record).__name__} cannot be saved; supported: Bench, {', '.join(sorted(kinds()))}")
    record = without_password(record)
    machine: Machine | None = getattr(record, "machine", None)
    return RunRow(
        uid=new_uid(),
        name=new_name(),
        kind=kind,
        command=plain(str(getattr(record, "command", ""))),
        started=rows.time_of_day(),
        owner=to_document(this_process()),
        machine=None if machine is None else to_document(machine),
        versions=rows.versions_of(machine),
        record_type=type(record).__name__,
        record=rows.head_of(record) if isinstance(record, Bench) else to_document(record),
        tags={plain(name): plain(value) for name, value in (tags or {}).items()},
        keys=tuple(dict.fromkeys(map(plain, keys))),
    )


def ended_run(run: RunRow, status: RunStatus, answer: str, topic: str, machine: Machine | None = None) -> RunRow:
    """The same run after its end; `machine` is the one after the last case."""
    after = {} if machine is None else {"machine": to_document(machine), "versions": rows.versions_of(machine)}
    return replace(
        run,
        status=status,
        finished=rows.time_of_day(),
        owner=None,
        answer=plain(answer),
        options=rows.options_of(topic),
        **after,
    )


def whole_run(
    record: Struct,
    kind: str,
    status: RunStatus = "ok",
    answer: str = "",
    topic: str = "",
    tags: Mapping[str, str] | None = None,
) -> tuple[RunRow, list[CaseRow]]:
    """A finished run, with the cases of a Bench."""
    run = begun_run(record, kind, tags=tags)
    cases = _keyed(record.cases) if isinstance(record, Bench) else {}
    machine: Machine | None = getattr(record, "machine", None)
    found = [finished_case(key, case, machine, attempt=begun_attempt()) for key, case in cases.items()]
    return ended_run(run, status, answer, topic), found


def begun_attempt(uid: str | None = None) -> AttemptRow:
    """An attempt that begins now."""
    return AttemptRow(uid=uid or new_uid(), started=rows.time_of_day())


def finished_case(
    key: str, case: Case, machine: Machine | None, trouble: Trouble = _NO_TROUBLE, *, attempt: AttemptRow
) -> CaseRow:
    """A case with the result of an attempt."""
    ended = replace(
        attempt,
        status=case.status,
        reason=plain(trouble.reason),
        signal=trouble.signal,
        stderr_tail=plain(trouble.stderr_tail),
        finished=rows.time_of_day(),
        machine=to_document(machine) if machine is not None else None,
        versions=rows.versions_of(machine),
        record=to_document(replace(case, subjects=())),
        subjects=tuple(_subject_row(at, each, case, machine) for at, each in enumerate(case.subjects)),
    )
    return CaseRow(key=plain(key), status=case.status, attempts=(ended,))


def lost_case(key: str, reason: str, attempt: AttemptRow) -> CaseRow:
    """A case that is pending again, as its process is gone."""
    crashed = replace(attempt, status="crashed", reason=plain(reason), finished=rows.time_of_day())
    return CaseRow(key=plain(key), status="pending", attempts=(crashed,))


def without_password(record: S) -> S:
    """The record without the database password that its command may contain."""
    return replace(record, command=masked(record.command)) if hasattr(record, "command") else record


def _subject_row(position: int, subject: Subject, case: Case, machine: Machine | None) -> SubjectRow:
    texts = {
        "name": subject.name,
        "model": subject.model,
        "fingerprint": case.fingerprint.get(subject.model) if subject.model is not None else None,
        "runtime": subject.runtime,
        "call": subject.call,
        "status": subject.status,
        "reason": subject.reason,
        "verdict": subject.verdict,
    }
    shown: dict[str, Any] = {column: None if text is None else plain(text) for column, text in texts.items()}
    return SubjectRow(
        position=position,
        **shown,
        numbers=_numbers(subject, case),
        record=to_document(replace(subject, blocks=(), call_ns=())),
        blocks=pack_blocks(subject.blocks),
        call_times=pack_times(subject.call_ns),
        origin=origin_text(machine, case.dims, subject),
    )


def _numbers(subject: Subject, case: Case) -> dict[str, float | None]:
    named = {column: getattr(subject, column) for column in schema.SUBJECT_NUMBERS}
    times = dict(zip(schema.HISTORY_NUMBERS, (time_of(subject), case.yardstick_ns), strict=True))
    return {column: _number(value) for column, value in (named | times).items()}


def _number(value: float | None) -> float | None:
    """A number that every database accepts; the record next to it has the others."""
    try:
        return float(value) if value is not None and math.isfinite(value) else None
    except OverflowError:
        return None


def _keyed(cases: Iterable[Case]) -> dict[str, Case]:
    """Cases by model and dimensions; duplicates are numbered."""
    keyed: dict[str, Case] = {}
    seen: Counter[str] = Counter()
    for case in cases:
        key = to_document([case.model, case.dims])
        seen[key] += 1
        keyed[key if seen[key] == 1 else f"{key} {seen[key]}"] = case
    return keyed


# ---------------------------------------------------------------- from a store


def read_run(connection: Connection, row: Row[Any], whole: bool = False) -> RunRow:
    """The row of a run; if `whole`, with its tags and the keys of its cases."""
    run = RunRow(**{name: getattr(row, name) for name in RunRow.__struct_fields__ if name not in ("tags", "keys")})
    if not whole:
        return run
    tags = connection.execute(select(schema.tags.c.name, schema.tags.c.value).where(schema.tags.c.run == row.id))
    keys = connection.execute(
        select(schema.cases.c.key).where(schema.cases.c.run == row.id).order_by(schema.cases.c.id)
    )
    return replace(run, tags={tag.name: tag.value for tag in tags}, keys=tuple(keys.scalars()))


def read_cases(connection: Connection, run: int) -> Iterator[CaseRow]:
    """The begun cases of a run, with all measurements, one after the other."""
    ours = select(schema.cases).where(schema.cases.c.run == run).order_by(schema.cases.c.id)
    for row in connection.execute(ours).all():
        begun = select(schema.attempts).where(schema.attempts.c.case == row.id).order_by(schema.attempts.c.number)
        attempts = tuple(_read_attempt(connection, attempt) for attempt in connection.execute(begun).all())
        if attempts:
            yield CaseRow(key=row.key, status=row.status, attempts=attempts)


def _read_attempt(connection: Connection, row: Row[Any]) -> AttemptRow:
    ours = select(schema.subjects).where(schema.subjects.c.attempt == row.id).order_by(schema.subjects.c.position)
    fields = {name: getattr(row, name) for name in AttemptRow.__struct_fields__ if name != "subjects"}
    return AttemptRow(subjects=tuple(_read_subject(subject) for subject in connection.execute(ours)), **fields)


def _read_subject(row: Row[Any]) -> SubjectRow:
    fields = {name: getattr(row, name) for name in SubjectRow.__struct_fields__ if name != "numbers"}
    numbers = {name: getattr(row, name) for name in (*schema.SUBJECT_NUMBERS, *schema.HISTORY_NUMBERS)}
    return SubjectRow(numbers=numbers, **fields)
