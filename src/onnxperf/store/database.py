"""The store of runs: one transaction per finished case, so that no measurement is ever lost."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, Row, delete, select, update
from sqlalchemy.exc import OperationalError

from onnxperf.errors import BadOption, DamagedRun, StoreError
from onnxperf.records.base import Document, Status
from onnxperf.records.decode import newest_version
from onnxperf.records.history import StoredSubject
from onnxperf.records.race import Bench, Case
from onnxperf.records.runs import KeptRun, RunStatus
from onnxperf.store import histories, migrations, retry, rows, schema
from onnxperf.store.connect import connect, explained, location, place_of
from onnxperf.store.documents import from_document, kinds, plain, to_document
from onnxperf.store.histories import SeriesSearch
from onnxperf.store.merge import find_run, merge
from onnxperf.store.owner import state_of, this_process
from onnxperf.store.portable import (
    CaseRow,
    RunRow,
    read_cases,
    read_run,
    whole_run,
)
from onnxperf.store.retry import Patience, retried
from onnxperf.store.rows import Trouble
from onnxperf.store.run_figures import figures_of

T = TypeVar("T")

NEWEST = "last"
_NO_TROUBLE = Trouble()
_NO_TAGS: Mapping[str, str] = {}


def open_store(where: str | Path | None = None, reading: bool = False, patience: Patience | None = None) -> Store:
    """Open a store, which is created if missing, and upgraded if old.

    `where` is a file or a URL; else ONNXPERF_STORE, else a file in the user's data directory. For `reading`, the file
    and its folder may be read-only. `patience` is how long transient failures are retried.
    """
    url = location(where)
    store = Store(connect(url, reading), place_of(url), patience)
    try:
        store.bring_up_to_date()
    except BaseException:
        store.close()
        raise
    return store


class Store:
    """Runs in a database; all failures are StoreErrors, and unknown ids BadOptions."""

    def __init__(self, engine: Engine, place: str, patience: Patience | None = None) -> None:
        self._engine = engine
        self._patience = patience or Patience(retry.PATIENCE_S)
        self.place = place

    def bring_up_to_date(self) -> None:
        """Apply the missing steps of the schema."""

        def version() -> int:
            with self.reading() as connection:
                return migrations.version_of(connection, self.place)

        if retried(version, self._patience) < len(migrations.STEPS):
            self._write(lambda connection: migrations.migrate(connection, self.place))

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

    def resume_run(self, run: str) -> None:
        """Make this process the owner; rejected while another one is, or may be."""

        def resume(connection: Connection) -> None:
            row = self._row(connection, run)
            owner = rows.owner_in(row)
            state = "dead" if owner == this_process() else state_of(owner)
            if owner is not None and state != "dead":
                raise StoreError(f"run {run} belongs to process {owner.pid} on {owner.host}, which is {state}")
            rows.give_up_running(connection, row.id)
            values = {"owner": to_document(this_process()), "status": "running", "finished": None}
            connection.execute(update(schema.runs).where(schema.runs.c.id == row.id).values(**values))

        self._write(resume)

    def tag_run(self, run: str, tags: Mapping[str, str]) -> None:
        """Set tags of a run, replacing those with the same names."""
        self._write(lambda connection: rows.write_tags(connection, self._row(connection, run).id, tags))

    def keep(
        self,
        record: Struct,
        kind: str,
        status: RunStatus = "ok",
        answer: str = "",
        topic: str = "",
        tags: Mapping[str, str] = _NO_TAGS,
    ) -> str:
        """Save a whole finished run in one transaction: a Bench with its cases, or another record.

        The list of runs shows `answer` and `topic` (what it is about).
        """
        return self.merge(*whole_run(record, kind, status, answer, topic, tags))

    def merge(self, run: RunRow, cases: Iterable[CaseRow] = ()) -> str:
        """Write the parts of a run that the store lacks; returns its name here. Writing the same twice changes nothing.

        `cases` may be read more than once.
        """
        return self._write(lambda connection: merge(connection, run, cases))

    def add(self, run: RunRow, cases: Iterable[CaseRow]) -> str | None:
        """Write a new run with all its cases, or nothing; returns its name here, or None if it exists already."""

        def add(connection: Connection) -> str | None:
            return None if find_run(connection, run) is not None else merge(connection, run, cases)

        return self._write(add)

    def delete(self, run: str) -> None:
        """Delete a run and everything in it, unless its process is running."""
        with self.reading() as connection:
            row = self._row(connection, run)
        owner = rows.owner_in(row)
        if owner is not None and owner != this_process() and state_of(owner) == "alive":
            raise StoreError(f"run {run} is still running (process {owner.pid}); stop it first")
        self._write(lambda connection: connection.execute(delete(schema.runs).where(schema.runs.c.id == row.id)))

    # ---------------------------------------------------------------- reading

    def runs(
        self, limit: int | None = None, kind: str | None = None, tags: Mapping[str, str] = _NO_TAGS
    ) -> list[KeptRun]:
        """Runs without their measurements, newest first; optionally of one kind, and with all of these tags."""
        conditions = () if kind is None else (schema.runs.c.kind == kind,)
        with self.reading() as connection:
            found = rows.kept_runs(connection, limit, *conditions, *map(rows.has_tag, tags.items()))
            figures = figures_of(connection, [run.id for run in found])
        return [replace(run, **figures[run.id]._asdict()) if run.id in figures else run for run in found]

    def names(self) -> list[str]:
        """The names of all runs, oldest first, even if other parts of them are damaged."""
        with self.reading() as connection:
            oldest = select(schema.runs.c.name).order_by(schema.runs.c.started, schema.runs.c.id)
            return list(connection.execute(oldest).scalars())

    def find(self, text: str) -> KeptRun:
        """The run with that id, or the only one whose id starts with it; `last` is the newest."""
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
            raise BadOption(f"several run ids start with {text!r}: {', '.join(run.id for run in found)}")
        raise BadOption(f"no run {text!r} in the store {self.place}; list them with: onnxperf runs")

    def load(self, run: str) -> Bench:
        """The record of a run with cases, including all raw blocks, restored exactly."""
        record = self.load_record(run)
        if not isinstance(record, Bench):
            kind = type(record).__name__
            raise BadOption(f"run {run} is not a race (record: {kind}); print it with: onnxperf runs show {run}")
        return record

    def load_record(self, run: str) -> Document:
        """The record of a run, of any kind."""
        with self.reading() as connection, _named(run):
            row = self._row(connection, run)
            if row.record_type == Bench.__name__:
                record: Document = rows.read_bench(connection, row)
            elif row.record_type in kinds():
                record = from_document(row.record, kinds()[row.record_type])
            else:
                raise StoreError(f"a {row.record_type}, which this onnxperf cannot read; use a newer onnxperf")
        newest = newest_version(type(record))
        if record.version > newest:
            raise DamagedRun(
                f"run {run} has format version {record.version}, but this onnxperf reads up to {newest}; "
                "use a newer onnxperf"
            )
        return record

    def cases_of(self, run: str) -> dict[str, Status]:
        """Every case by key, in the order of the plan; `running` with a dead owner becomes `pending`."""
        with self.reading() as connection:
            row = self._row(connection, run)
            dead = state_of(rows.owner_in(row)) == "dead"
            ours = select(schema.cases.c.key, schema.cases.c.status).where(schema.cases.c.run == row.id)
            found = connection.execute(ours.order_by(schema.cases.c.id))
            return {case.key: "pending" if dead and case.status == "running" else case.status for case in found}

    def finished_cases(self, run: str) -> dict[str, Case]:
        """The last result of every finished case, by key, in the order of the plan."""
        with self.reading() as connection, _named(run):
            return rows.finished_cases(connection, self._row(connection, run).id)

    def row_of(self, run: str) -> RunRow:
        """A run without its cases, to update it."""
        with self.reading() as connection:
            return read_run(connection, self._row(connection, run))

    def portable(
        self, names: Iterable[str], damaged: dict[str, str] | None = None
    ) -> Iterator[tuple[RunRow, list[CaseRow]]]:
        """Complete runs, one after the other; unreadable ones are added to `damaged`, with the reason."""
        with self.reading() as connection:
            for name in names:
                try:
                    row = self._row(connection, name)
                    found = read_run(connection, row, whole=True), list(read_cases(connection, row.id))
                except (TypeError, ValueError, AttributeError, OperationalError) as error:
                    # SQLite stores anything in any column, and reading fails for texts that are not UTF-8.
                    if damaged is None or (isinstance(error, OperationalError) and "UTF-8" not in str(error.orig)):
                        raise
                    damaged[name] = str(error.orig if isinstance(error, OperationalError) else error)
                    continue
                yield found

    def histories(
        self, models: Collection[str], fingerprint: str | None = None, since: str = ""
    ) -> list[StoredSubject]:
        """Times of models with these labels, or this fingerprint, in all races since a point in time."""
        with self.reading() as connection:
            return histories.stored_subjects(connection, models, fingerprint, since)

    def newest_models(self, wanted: SeriesSearch, most: int) -> tuple[list[str], int]:
        """The labels of the models measured last, and how many others there are."""
        with self.reading() as connection:
            return histories.newest_models(connection, wanted, most)

    def newest_histories(self, wanted: SeriesSearch) -> list[StoredSubject]:
        """Times of all models, or of some, in their newest runs."""
        with self.reading() as connection:
            return histories.newest_subjects(connection, wanted)

    def labels(self) -> list[str]:
        """The labels of all raced models."""
        with self.reading() as connection:
            return histories.labels(connection)

    # ---------------------------------------------------------------- transactions

    def _write(self, step: Callable[[Connection], T]) -> T:
        """Run a step in a transaction, with retries after transient failures."""

        def once() -> T:
            with self.writing() as connection:
                return step(connection)

        return retried(once, self._patience)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A writing transaction; it ends with the block, and is rolled back by an exception."""
        with explained(self.place), self._engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A snapshot of the whole store, whatever other processes write meanwhile."""
        level = {"isolation_level": "REPEATABLE READ"} if self._engine.dialect.name == "postgresql" else {}
        with explained(self.place), self._engine.connect() as connection:
            yield connection.execution_options(reading=True, **level)

    def _row(self, connection: Connection, run: str) -> Row[Any]:
        row = connection.execute(select(schema.runs).where(schema.runs.c.name == plain(run))).first()
        if row is None:
            raise BadOption(f"no run {run!r} in the store {self.place}; list them with: onnxperf runs")
        return row


@contextlib.contextmanager
def _named(run: str) -> Iterator[None]:
    """Add the run to the messages of errors."""
    try:
        yield
    except StoreError as error:
        raise DamagedRun(f"run {run} cannot be read: {error}") from error
