"""Finds and opens a store, and explains its failures in one line."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import platformdirs
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from onnxperf.errors import BadOption, StoreError, masked, required

VARIABLE = "ONNXPERF_STORE"
_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "sqlite+pysqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
BUSY_S = 30
"""Seconds for which SQLite waits for another writer; our transactions take milliseconds."""
_NOTICED = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # milliseconds
}
"""How soon libpq detects an unreachable server; the address may override it."""
_ELSEWHERE = "choose another one with `store` or ONNXPERF_STORE"
_MEANINGS = {
    "readonly": f"is read-only; {_ELSEWHERE}",
    "read-only": f"is read-only; {_ELSEWHERE}",
    "disk is full": f"cannot grow: the disk is full; free some space, or {_ELSEWHERE}",
    "disk i/o": f"cannot be written (the disk is full or faulty); {_ELSEWHERE}",
    "is locked": f"is busy: another process has been writing for {BUSY_S} s; retry, or {_ELSEWHERE}",
    "unable to open": f"cannot be opened: the file or its folder is not accessible; {_ELSEWHERE}",
    "not a database": f"is not an SQLite database; {_ELSEWHERE}",
    "malformed": f"is damaged; restore it from a copy, or {_ELSEWHERE}",
}


def location(where: str | Path | None) -> URL:
    """The address of a store: given, set in ONNXPERF_STORE, or a file in the user's data directory."""
    text = str(where or os.environ.get(VARIABLE) or default_file())
    if "://" not in text:
        return _file_url(text)
    try:
        url = make_url(text)
        driver = _DRIVERS[url.drivername]
    except (ArgumentError, KeyError, ValueError) as error:
        scheme = text.partition("://")[0]
        raise BadOption(f"no store at {scheme}://…: expected a file, or postgresql://user@host/database") from error
    if not driver.startswith("sqlite"):
        return url.set(drivername=driver)
    if url.database in (None, "", ":memory:"):
        raise BadOption(f"{text}: a store in memory would not be saved; use a file, such as sqlite:///runs.sqlite")
    return _file_url(str(url.database))


def default_file() -> Path:
    """The default store."""
    return platformdirs.user_data_path("onnxperf") / "runs.sqlite"


def place_of(where: str | Path | URL | None) -> str:
    """The address without secrets, for messages."""
    url = where if isinstance(where, URL) else location(where)
    return str(url.database) if _is_file(url) else masked(url.render_as_string(hide_password=True))


def is_missing(where: str | Path | None = None) -> bool:
    """Whether the store would be a new file."""
    url = location(where)
    try:
        return _is_file(url) and not Path(str(url.database)).exists()
    except OSError:  # an inaccessible folder: opening the store explains more
        return False


def connect(url: URL, reading: bool = False) -> Engine:
    """An engine with the transactions that the store needs; nothing is opened yet.

    For `reading`, the file may be read-only, in any place.
    """
    if _is_file(url):
        path = Path(str(url.database))
        _prepare_folder(path)
        if reading and path.is_file() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
            return _read_only(url, path)
        engine = create_engine(url, connect_args={"timeout": BUSY_S})
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    required("psycopg", "postgres")
    noticed = {name: value for name, value in _NOTICED.items() if name not in url.query}
    return create_engine(url, connect_args=noticed, pool_pre_ping=True)


@contextlib.contextmanager
def explained(place: str) -> Iterator[None]:
    """Turn every database failure into a one-line StoreError."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        message = str(cause)
        meaning = next((text for sign, text in _MEANINGS.items() if sign in message.lower()), None)
        first_line = next(iter(message.splitlines()), type(cause).__name__)
        raise StoreError(f"the store {place} {meaning or f'failed: {first_line}'}") from error


def _is_file(url: URL) -> bool:
    return url.get_backend_name() == "sqlite"


def _file_url(text: str) -> URL:
    path = Path(text).expanduser().absolute()
    if path.is_dir():
        raise BadOption(f"{path} is a folder; use a file for the store, such as {path / 'runs.sqlite'}")
    return URL.create("sqlite+pysqlite", database=str(path))


def _prepare_folder(path: Path) -> None:
    """Create the folder of the default store; any other folder must exist, as a typo would create it elsewhere."""
    try:
        if path == default_file():
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the folder {path.parent} cannot be created ({error.strerror}); {_ELSEWHERE}") from error
    if not path.parent.is_dir():
        raise StoreError(f"no store at {path}: its folder does not exist")


def _read_only(url: URL, path: Path) -> Engine:
    """A file in which SQLite cannot register readers: unless a writer left a log, it is read as it is."""
    log = path.with_name(f"{path.name}-wal")
    options = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    address = f"{path.as_uri()}?{options}"
    engine = create_engine(
        url,
        # Threads share connections through the pool, which lends each to one thread at a time.
        creator=lambda: sqlite3.connect(address, uri=True, timeout=BUSY_S, check_same_thread=False),
    )
    event.listen(engine, "connect", _leave_transactions)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _leave_transactions(raw: DBAPIConnection, _record: object) -> None:
    # Python's default start of transactions would turn readers into writers too late to wait for others.
    raw.isolation_level = None


def _set_up_sqlite(raw: DBAPIConnection, record: object) -> None:
    _leave_transactions(raw, record)
    cursor = raw.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")  # a saved case survives even a power failure
    _use_wal(raw)
    cursor.close()


def _use_wal(raw: DBAPIConnection) -> None:
    """Allow readers and a writer at the same time; if the file system does not support it, the journal mode stays.

    SQLite does not wait while the mode changes, so a second process at a new store has to retry.
    """
    cursor = raw.cursor()
    for pause_s in (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0):
        time.sleep(pause_s)
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
