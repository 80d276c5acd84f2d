"""Failures that pass are tried again for a bounded time, and what was written is not written again."""

from __future__ import annotations

import contextlib
import shutil
import socket
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from onnxperf.errors import StoreError
from onnxperf.store import Store, Trouble, open_store
from onnxperf.store.retry import Patience, is_passing, is_refusal, retried
from tests.render import examples
from tests.store.conftest import PostgresServer
from tests.store.examples import sql
from tests.store.writing import finish_run, keep_case, mark_running, start_run

CONNECTION_LOST = OperationalError("COMMIT", {}, psycopg.OperationalError("server closed the connection unexpectedly"))


def failure(cause: Exception | None) -> StoreError:
    error = StoreError("the store failed")
    error.__cause__ = cause
    return error


def postgres_error(state: str) -> DBAPIError:
    return OperationalError("INSERT", {}, psycopg.errors.lookup(state)("…"))


def sqlite_error(message: str) -> DBAPIError:
    return OperationalError("INSERT", {}, sqlite3.OperationalError(message))


@pytest.mark.parametrize(
    ("cause", "passes"),
    [
        (CONNECTION_LOST, True),
        (postgres_error("08006"), True),
        (postgres_error("40001"), True),
        (postgres_error("40P01"), True),
        (postgres_error("57P01"), True),
        (postgres_error("57P02"), True),
        (postgres_error("57P03"), True),
        (postgres_error("53300"), True),
        (postgres_error("23505"), True),
        (postgres_error("57014"), False),  # cancelled by the user
        (postgres_error("23502"), False),
        (postgres_error("42P01"), False),
        (postgres_error("53100"), False),  # a full disk
        (OperationalError("", {}, psycopg.OperationalError("FATAL:  password authentication failed")), False),
        (OperationalError("", {}, psycopg.OperationalError('FATAL:  database "x" does not exist')), False),
        (OperationalError("", {}, psycopg.OperationalError("connection refused")), True),
        (sqlite_error("database is locked"), True),
        (sqlite_error("attempt to write a readonly database"), False),
        (sqlite_error("no such table: runs"), False),
        (OSError("full"), False),
        (None, False),
    ],
    ids=lambda value: str(getattr(value, "orig", value)),
)
def test_what_passes_and_what_does_not(cause: Exception | None, passes: bool) -> None:
    assert is_passing(failure(cause)) == passes


def test_values_that_no_try_can_write_are_told_from_a_store_that_fails() -> None:
    wrong = IntegrityError("INSERT", {}, sqlite3.IntegrityError("NOT NULL constraint failed: runs.name"))
    assert is_refusal(failure(wrong))
    assert not is_refusal(failure(CONNECTION_LOST))


class Clock:
    """A clock that only sleeping moves on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def sleep(self, pause_s: float) -> None:
        self.pauses.append(pause_s)
        self.now += pause_s

    def patience(self, seconds: float) -> Patience:
        return Patience(seconds, lambda: self.now, self.sleep)


def failing(times: int, cause: Exception = CONNECTION_LOST) -> Callable[[], str]:
    left = iter(range(times))

    def step() -> str:
        if next(left, None) is not None:
            raise failure(cause)
        return "done"

    return step


def test_a_step_is_taken_again_until_it_succeeds_with_pauses_that_grow() -> None:
    clock = Clock()
    assert retried(failing(6), clock.patience(10.0)) == "done"
    assert len(clock.pauses) == 6
    assert clock.pauses[-1] > 4 * clock.pauses[0]
    assert max(clock.pauses) <= 1.0


def test_patience_ends() -> None:
    clock = Clock()
    with pytest.raises(StoreError):
        retried(failing(1000), clock.patience(5.0))
    assert 3.5 < clock.now <= 5.0


@pytest.mark.parametrize(("seconds", "cause"), [(0.0, CONNECTION_LOST), (5.0, postgres_error("42P01"))])
def test_what_does_not_pass_and_no_patience_are_one_try(seconds: float, cause: Exception) -> None:
    clock = Clock()
    with pytest.raises(StoreError):
        retried(failing(1, cause), clock.patience(seconds))
    assert clock.pauses == []


# ---------------------------------------------------------------- a commit whose answer is lost


def write_everything(store: Store) -> None:
    """Every kind of write, after each of which one thing more is there."""
    run = start_run(store, "onnxperf sweep", "sweep", examples.machine(), keys=["a", "b"])
    mark_running(store, run, "a")
    keep_case(store, run, "a", examples.case(), examples.machine(), Trouble(reason="slow"))
    keep_case(store, run, "b", examples.case(status="failed"))
    keep_case(store, run, "b", examples.case())
    finish_run(store, run, "ok", examples.machine(), "done")
    store.resume_run(run)
    finish_run(store, run, "failed", examples.machine(), "done again")
    store.delete(store.keep(examples.bench(), "bench"))
    store.keep(examples.bench(), "bench", answer="kept")


def counted(store: Store) -> list[object]:
    tables = ("runs", "cases", "attempts", "subjects")
    runs = sql(store, "SELECT kind, status, answer FROM runs ORDER BY id")
    cases = sql(store, "SELECT key, status FROM cases ORDER BY id")
    attempts = sql(store, "SELECT number, status, reason, finished IS NULL FROM attempts ORDER BY id")
    return [*(sql(store, f"SELECT count(*) FROM {table}") for table in tables), runs, cases, attempts]


def empty(store: Store) -> None:
    for run in store.runs():
        store.delete(run.id)


class LostAnswers:
    """Lets some transactions fail after they were committed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lost: set[int] = set()
        self.number = -1
        writing = Store.writing

        @contextlib.contextmanager
        def lossy(store: Store) -> Iterator[Connection]:
            with writing(store) as connection:
                yield connection
            self.number += 1
            if self.number in self.lost:
                raise failure(CONNECTION_LOST)

        monkeypatch.setattr(Store, "writing", lossy)


def patient_store(where: str) -> Store:
    return open_store(where, patience=Clock().patience(60.0))


def test_a_commit_whose_answer_is_lost_is_not_repeated(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = LostAnswers(monkeypatch)
    with patient_store(where) as store:
        start = answers.number
        write_everything(store)
        transactions = answers.number - start
        expected = counted(store)
        empty(store)
        answers.lost |= set(range(answers.number + 1, answers.number + 4 * transactions, 2))
        before = answers.number
        write_everything(store)
        assert answers.number - before == 2 * transactions  # each was taken twice
        answers.lost.clear()
        found = counted(store)
    assert found == expected


class LossyProxy:
    """Between a client and PostgreSQL: the connection breaks right after a commit, before its answer arrives."""

    def __init__(self, folder: Path, server: Path) -> None:
        self._server = server
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        self.every = 0
        self.commits = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server / ".s.PGSQL.5432"))
                threading.Thread(target=self._forward, args=(client, server), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        """Requests and answers take turns, as the driver waits for each answer."""
        back = threading.Thread(target=self._answer, args=(server, client), daemon=True)
        back.start()
        with contextlib.suppress(OSError):
            while data := client.recv(2**20):
                if b"COMMIT" in data:
                    self.commits += 1
                    if self.every and self.commits % self.every == 0:
                        client.shutdown(socket.SHUT_RDWR)  # the answer has no way back
                server.sendall(data)
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_WR)  # PostgreSQL ends once it has done what was asked
        back.join()
        client.close()
        server.close()

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        while True:
            try:
                data = server.recv(2**20)
            except OSError:
                return
            if not data:
                return
            with contextlib.suppress(OSError):
                client.sendall(data)


@pytest.fixture
def proxy(postgres: PostgresServer) -> Iterator[tuple[LossyProxy, str]]:
    folder = Path(tempfile.mkdtemp(prefix="px"))  # short: the name of a socket has room for 107 letters
    between = LossyProxy(folder, postgres.folder)
    yield between, f"postgresql://tester@/postgres?host={folder}"
    between.close()
    shutil.rmtree(folder)


def test_a_connection_that_breaks_at_every_second_commit_loses_and_doubles_nothing(
    proxy: tuple[LossyProxy, str], postgres_where: str
) -> None:
    between, address = proxy
    with open_store(postgres_where) as store, open_store(address, patience=Patience(60.0)) as through:
        write_everything(store)
        expected: Any = counted(store)
        empty(store)
        between.every = 2
        write_everything(through)
        assert between.commits > 12
        assert counted(store) == expected
