"""The store of runs: one transaction per finished case, so that nothing that was measured is ever lost."""

from __future__ import annotations

import contextlib
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, Row, delete, insert, select, update

from onnxperf.errors import BadOption, StoreError, masked
from onnxperf.records.base import Document, Machine, Status
from onnxperf.records.race import Bench, Case
from onnxperf.records.runs import KeptRun, RunStatus
from onnxperf.store import migrations, rows, schema
from onnxperf.store.connect import connect, explained, location, place_of
from onnxperf.store.documents import from_document, kinds, newest_version, plain, to_document
from onnxperf.store.owner import state_of, this_process
from onnxperf.store.rows import Trouble

S = TypeVar("S", bound=Struct)

NEWEST = "last"
_CONSONANTS = "bdfghjklmnprstvz"
_VOWELS = "aiou"
_SYLLABLES = 3
"""Names such as `lonuki`: a quarter of a million of them, which can be said and typed."""
_NO_TROUBLE = Trouble()


def open_store(where: str | Path | None = None, reading: bool = False) -> Store:
    """Open a store, which is made where there is none, and brought up to date where it is old.

    `where` is a file or a URL; else ONNXPERF_STORE, else a file in the user's data directory. For `reading`, the file
    and its folder need not be writable.
    """
    url = location(where)
    store = Store(connect(url, reading), place_of(url))
    try:
        store.bring_up_to_date()
    except BaseException:
        store.close()
        raise
    return store


class Store:
    """Runs in a database; all failures are StoreErrors, and unknown ids BadOptions."""

    def __init__(self, engine: Engine, place: str) -> None:
        self._engine = engine
        self.place = place

    def bring_up_to_date(self) -> None:
        """Take the steps that the schema lacks."""
        with self.reading() as connection:
            version = migrations.version_of(connection, self.place)
        if version < len(migrations.STEPS):
            with self.writing() as connection:
                migrations.migrate(connection, self.place)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        """The store, which is closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close all connections."""
        self.close()

    # ---------------------------------------------------------------- writing

    def start_run(self, command: str, kind: str, machine: Machine, keys: Iterable[str] = ()) -> str:
        """Begin a run of cases, which belongs to this process; `keys` plans its cases, in their order."""
        bench = Bench(machine=machine, command=command, cases=())
        with self.writing() as connection:
            number, run = _add_run(connection, bench, kind)
            rows.plan_cases(connection, number, keys)
        return run

    def resume_run(self, run: str) -> None:
        """Make this process the owner; refused while another one is, or may be."""
        with self.writing() as connection:
            row = self._row(connection, run)
            owner = rows.owner_in(row)
            state = "dead" if owner == this_process() else state_of(owner)
            if owner is not None and state != "dead":
                raise StoreError(f"run {run} belongs to process {owner.pid} on {owner.host}, which is {state}")
            rows.give_up_running(connection, row.id)
            values = {"owner": to_document(this_process()), "status": "running", "finished": None}
            connection.execute(update(schema.runs).where(schema.runs.c.id == row.id).values(**values))

    def mark_running(self, run: str, key: str) -> None:
        """Mark a case as begun."""
        with self.writing() as connection:
            rows.begin_attempt(connection, rows.plan_case(connection, self._row(connection, run).id, key))

    def keep_case(
        self, run: str, key: str, case: Case, machine: Machine | None = None, trouble: Trouble = _NO_TROUBLE
    ) -> None:
        """Keep a finished case; when this returns, nothing that happens to this process can lose it."""
        with self.writing() as connection:
            rows.write_case(connection, self._row(connection, run).id, key, case, machine, trouble)

    def give_up_case(self, run: str, key: str, reason: str) -> None:
        """What ran a case is gone: its attempt has crashed, and the case waits again."""
        with self.writing() as connection:
            rows.give_up_running(connection, self._row(connection, run).id, reason, key)

    def finish_run(self, run: str, status: RunStatus, machine: Machine, answer: str = "", topic: str = "") -> None:
        """End a run; `machine` is the one after the last case."""
        with self.writing() as connection:
            values = {"machine": to_document(machine), "versions": rows.versions_of(machine)}
            ended = {"answer": plain(answer), "options": rows.options_of(topic), **values}
            _end_run(connection, self._row(connection, run).id, status, **ended)

    def keep(self, record: Struct, kind: str, status: RunStatus = "ok", answer: str = "", topic: str = "") -> str:
        """Keep a whole run that has ended, in one transaction: a Bench with its cases, or another record.

        `answer` and `topic`, what was measured, are what the list of runs shows.
        """
        with self.writing() as connection:
            number, run = _add_run(connection, record, kind)
            if isinstance(record, Bench):
                for key, case in _keyed(record.cases).items():
                    rows.write_case(connection, number, key, case, record.machine, _NO_TROUBLE)
            _end_run(connection, number, status, answer=plain(answer), options=rows.options_of(topic))
        return run

    def delete(self, run: str) -> None:
        """Delete a run with everything in it, unless its process is running."""
        with self.writing() as connection:
            row = self._row(connection, run)
            owner = rows.owner_in(row)
            if owner is not None and owner != this_process() and state_of(owner) == "alive":
                raise StoreError(f"run {run} is still running (process {owner.pid}); stop it first")
            connection.execute(delete(schema.runs).where(schema.runs.c.id == row.id))

    # ---------------------------------------------------------------- reading

    def runs(self, limit: int | None = None, kind: str | None = None) -> list[KeptRun]:
        """Runs without what they measured, the newest first."""
        conditions = () if kind is None else (schema.runs.c.kind == kind,)
        with self.reading() as connection:
            return rows.kept_runs(connection, limit, *conditions)

    def find(self, text: str) -> KeptRun:
        """The run of that id, or the only one whose id starts so; `last` is the newest."""
        name = schema.runs.c.name
        with self.reading() as connection:
            if text == NEWEST:
                found = rows.kept_runs(connection, 1)
            else:
                wanted = plain(text.lower())
                exact = rows.kept_runs(connection, 1, name == wanted)
                found = exact or (
                    rows.kept_runs(connection, 9, name.startswith(wanted, autoescape=True)) if wanted else []
                )
        if len(found) == 1:
            return found[0]
        if found:
            raise BadOption(f"several runs start with {text!r}: {', '.join(run.id for run in found)}")
        raise BadOption(f"no run {text!r} in the store {self.place}; onnxperf runs lists them")

    def load(self, run: str) -> Bench:
        """The record of a run of cases with all its raw blocks, exactly as it was."""
        record = self.load_record(run)
        if not isinstance(record, Bench):
            kind = type(record).__name__
            raise BadOption(f"run {run} is not a race (it holds: {kind}); `onnxperf runs show {run}` prints it")
        return record

    def load_record(self, run: str) -> Document:
        """The record of a run, whatever it is."""
        with self.reading() as connection, _named(run):
            row = self._row(connection, run)
            if row.record_type == Bench.__name__:
                record: Document = rows.read_bench(connection, row)
            elif row.record_type in kinds():
                record = from_document(row.record, kinds()[row.record_type])
            else:
                raise StoreError(f"a {row.record_type}, which this onnxperf cannot read; use a newer one")
        newest = newest_version(type(record))
        if record.version > newest:
            raise StoreError(
                f"run {run} has format version {record.version}, and this onnxperf reads up to {newest}; "
                "use a newer one"
            )
        return _without_password(record)  # older versions kept it

    def cases_of(self, run: str) -> dict[str, Status]:
        """Every case by its key, in the order of the plan; `running` with a dead owner is `pending` again."""
        with self.reading() as connection:
            row = self._row(connection, run)
            dead = state_of(rows.owner_in(row)) == "dead"
            ours = select(schema.cases.c.key, schema.cases.c.status).where(schema.cases.c.run == row.id)
            found = connection.execute(ours.order_by(schema.cases.c.id))
            return {case.key: "pending" if dead and case.status == "running" else case.status for case in found}

    # ---------------------------------------------------------------- transactions

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write; it ends with the block, and an exception takes it back."""
        with explained(self.place), self._engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """One picture of the whole store, whatever other processes write meanwhile."""
        level = {"isolation_level": "REPEATABLE READ"} if self._engine.dialect.name == "postgresql" else {}
        with explained(self.place), self._engine.connect() as connection:
            yield connection.execution_options(reading=True, **level)

    def _row(self, connection: Connection, run: str) -> Row[Any]:
        row = connection.execute(select(schema.runs).where(schema.runs.c.name == plain(run))).first()
        if row is None:
            raise BadOption(f"no run {run!r} in the store {self.place}; onnxperf runs lists them")
        return row


def _add_run(connection: Connection, record: Struct, kind: str) -> tuple[int, str]:
    if not isinstance(record, Bench) and type(record).__name__ not in kinds():
        raise StoreError(f"a {type(record).__name__} cannot be kept; only: Bench, {', '.join(sorted(kinds()))}")
    record = _without_password(record)
    machine: Machine | None = getattr(record, "machine", None)
    name = _new_name(connection)
    values = {
        "name": name,
        "kind": kind,
        "command": plain(str(getattr(record, "command", ""))),
        "started": rows.time_of_day(),
        "status": "running",
        "answer": "",
        "owner": to_document(this_process()),
        "machine": None if machine is None else to_document(machine),
        "versions": rows.versions_of(machine),
        "options": "{}",
        "record_type": type(record).__name__,
        "record": rows.head_of(record) if isinstance(record, Bench) else to_document(record),
    }
    number = connection.execute(insert(schema.runs).values(**values).returning(schema.runs.c.id)).scalar_one()
    return int(number), name


def _without_password(record: S) -> S:
    """The record, whose command may name a database with its password."""
    return replace(record, command=masked(record.command)) if hasattr(record, "command") else record


def _end_run(connection: Connection, number: int, status: RunStatus, **more: str) -> None:
    values = {"status": status, "finished": rows.time_of_day(), "owner": None, **more}
    connection.execute(update(schema.runs).where(schema.runs.c.id == number).values(**values))


def _new_name(connection: Connection) -> str:
    syllables = _SYLLABLES
    while True:
        letters = ((secrets.choice(_CONSONANTS), secrets.choice(_VOWELS)) for _ in range(syllables))
        name = "".join(consonant + vowel for consonant, vowel in letters)
        if connection.execute(select(schema.runs.c.id).where(schema.runs.c.name == name)).first() is None:
            return name
        syllables += 1  # a crowded store gets longer names, and never searches for long


def _keyed(cases: Iterable[Case]) -> dict[str, Case]:
    """Cases by model and dimensions; a number sets apart what is there twice."""
    keyed: dict[str, Case] = {}
    seen: Counter[str] = Counter()
    for case in cases:
        key = to_document([case.model, case.dims])
        seen[key] += 1
        keyed[key if seen[key] == 1 else f"{key} {seen[key]}"] = case
    return keyed


@contextlib.contextmanager
def _named(run: str) -> Iterator[None]:
    """Name the run in the message of what fails."""
    try:
        yield
    except StoreError as error:
        raise StoreError(f"run {run} cannot be read: {error}") from error
