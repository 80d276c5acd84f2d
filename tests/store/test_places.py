"""Where a store is, and what is said when it cannot be there."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import Pool

from onnxperf.errors import BadOption, MissingExtra, OnnxperfError, StoreError, masked
from onnxperf.store import connect, is_missing, open_store, place_of, retry
from tests.render import examples
from tests.store.writing import start_run

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ONNXPERF_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(retry, "PATIENCE_S", 0.0)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_store_is_in_the_data_directory_unless_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_missing()
    with open_store(None) as store:
        assert store.place == str(home / "data" / "onnxperf" / "runs.sqlite")
    assert not is_missing()
    assert [path.name for path in home.iterdir()] == ["data"]  # nothing in the current folder
    monkeypatch.setenv("ONNXPERF_STORE", str(home / "mine.sqlite"))
    assert place_of(None) == str(home / "mine.sqlite")
    assert place_of("other.sqlite") == str(home / "other.sqlite")


def test_a_file_can_be_named_by_a_url_too(home: Path) -> None:
    assert place_of(f"sqlite:///{home}/a.sqlite") == str(home / "a.sqlite")


def test_a_password_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://me:secret@localhost:1/db"
    assert "secret" not in place_of(url)
    assert not is_missing(url)
    with pytest.raises(OnnxperfError) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["postgresql://me:secret@localhost:1/db", "postgresql://me@localhost:1/db?password=secret&connect_timeout=1"]
)
def test_no_password_is_in_a_run_or_in_a_message(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = f"onnxperf bench a.onnx --store {url}"
    bench = replace(examples.bench(), command=command)
    with open_store("runs.sqlite") as store:
        kept = store.keep(bench, "bench")
        started = start_run(store, command, "sweep", bench.machine, keys=["a"])
        assert [run.command for run in store.runs()] == [masked(command)] * 2
        assert [store.load(run).command for run in (kept, started)] == [masked(command)] * 2
    assert b"secret" not in Path("runs.sqlite").read_bytes()
    monkeypatch.setenv("ONNXPERF_STORE", url)
    assert "secret" not in place_of(None)
    with pytest.raises(OnnxperfError) as caught:
        open_store()
    assert "secret" not in str(caught.value)


def test_a_missing_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"\[postgres\]"):
        open_store("postgres://localhost/db")


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("mysql://secret@localhost/db", r"no store at mysql://…: expected a file, or postgresql://"),
        ("http://example.com", "expected a file"),
        ("postgresql://host:port/db", "expected a file"),
        ("sqlite://", "in memory would not be saved"),
        ("sqlite:///:memory:", "in memory would not be saved"),
        (".", "is a folder; use a file"),
        ("nowhere/runs.sqlite", "its folder does not exist"),
    ],
)
def test_what_is_no_place_for_a_store_is_refused(where: str, said: str) -> None:
    with pytest.raises((BadOption, StoreError), match=said):
        open_store(where)


def test_a_file_that_is_no_database_is_refused_and_left_alone(home: Path) -> None:
    file = home / "notes.txt"
    file.write_text("dear diary " * 100)
    with pytest.raises(StoreError, match="is not an SQLite database"):
        open_store(file)
    assert file.read_text() == "dear diary " * 100


def test_a_damaged_database_is_one_line(home: Path) -> None:
    with open_store("runs.sqlite") as store:
        for _ in range(20):
            run = store.keep(examples.bench(), "bench")
    data = bytearray(Path("runs.sqlite").read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    Path("runs.sqlite").write_bytes(data)
    with pytest.raises(StoreError) as caught, open_store("runs.sqlite") as store:
        store.load(run)
    assert "\n" not in str(caught.value)


@contextmanager
def limited(pragma: str) -> Iterator[None]:
    """SQLite is limited in this way in all connections that are made here."""

    def limit(raw: DBAPIConnection, _record: object) -> None:
        raw.cursor().execute(f"PRAGMA {pragma}")

    event.listen(Pool, "connect", limit)
    try:
        yield
    finally:
        event.remove(Pool, "connect", limit)


def test_a_full_disk_is_one_line_and_leaves_the_store_readable() -> None:
    with open_store("runs.sqlite") as store, limited("max_page_count = 1"):
        run = store.keep(examples.bench(), "bench")
        store.close()
        large = examples.bench(examples.case(examples.subject(call_ns=tuple(range(10**5)))))
        with pytest.raises(StoreError, match="the disk is full"):
            store.keep(large, "bench")
        assert store.load(run) == examples.bench()


def test_a_store_whose_journal_cannot_be_made_is_one_line(home: Path) -> None:
    (home / "runs.sqlite-journal").mkdir()
    with pytest.raises(StoreError, match="cannot be opened"):
        open_store("runs.sqlite")


def test_a_busy_store_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "BUSY_S", 0)
    with open_store("runs.sqlite") as store, closing(sqlite3.connect("runs.sqlite")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="is busy"):
            store.keep(examples.bench(), "bench")


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """Another process that reads a file which is not yet in WAL mode; SQLite itself does not wait for it."""
    monkeypatch.setattr(connect, "BUSY_S", 0)
    with closing(sqlite3.connect("runs.sqlite", isolation_level=None)) as other:
        other.execute("CREATE TABLE others (id INTEGER)")
        other.execute("BEGIN")
        other.execute("SELECT * FROM others").fetchall()
        yield other


def test_a_file_that_is_read_is_opened_once_its_reader_is_done(
    reader: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def sleep(pause_s: float) -> None:
        pauses.append(pause_s)
        if len(pauses) == 3:
            reader.execute("COMMIT")

    monkeypatch.setattr("time.sleep", sleep)
    with open_store("runs.sqlite") as store, closing(sqlite3.connect("runs.sqlite")) as fresh:
        assert store.runs() == []
        assert fresh.execute("PRAGMA journal_mode").fetchall() == [("wal",)]
    assert pauses == [0.0, 0.01, 0.03]


def test_a_file_that_is_always_read_is_busy(reader: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(StoreError, match="is busy"):
        open_store("runs.sqlite")


# ---------------------------------------------------------------- folders that cannot be written


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter: that of root is closed to the user that these tests switch to."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    for path in (folder, *folder.iterdir()):
        path.chmod(0o777)
    shutil.rmtree(folder)


SCRIPT = """
import os, sys
from onnxperf.api._keeping.kept_runs import keep
from onnxperf.results.bench import BenchResult
from tests.render.examples import bench

elsewhere, where = sys.argv[1:]
assert keep(BenchResult(bench()), store=elsewhere)  # imports all that root alone may be able to read
if os.getuid() == 0:
    os.setuid(65534)  # no folder stops root
print(keep(BenchResult(bench()), store=where))
"""


def keep_as_someone(where: Path, elsewhere: Path) -> str:
    """What `keep` says on stderr where the user is not root."""
    command = [sys.executable, "-c", SCRIPT, str(elsewhere / "other.sqlite"), str(where)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == "None\n"
    return result.stderr


@pytest.mark.skipif(os.name != "posix", reason="folders are protected otherwise there")
def test_a_folder_that_cannot_be_written_is_a_line_of_warning(open_folder: Path, home: Path) -> None:
    open_folder.chmod(0o555)
    said = keep_as_someone(open_folder / "runs.sqlite", home)
    assert said.startswith("onnxperf: this run was not saved: the store")
    assert "cannot be opened" in said
    assert said.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="files are protected otherwise there")
def test_a_file_that_cannot_be_written_is_a_line_of_warning(open_folder: Path, home: Path) -> None:
    file = open_folder / "runs.sqlite"
    open_store(file).close()
    file.chmod(0o444)
    open_folder.chmod(0o555)
    said = keep_as_someone(file, home)
    assert "is read-only" in said
    assert said.count("\n") == 1


READER = """
import os, sys
from onnxperf.api._keeping.kept_runs import load_result
from onnxperf.api.runs import runs

elsewhere, where = sys.argv[1:]
load_result("last", store=elsewhere)  # imports all that root alone may be able to read
if os.getuid() == 0:
    os.setuid(65534)
print(len(runs(store=where).record.runs), load_result("last", store=where).record.command)
"""


@pytest.mark.skipif(os.name != "posix", reason="folders are protected otherwise there")
@pytest.mark.parametrize("mode", [0o444, 0o666], ids=["read-only file", "writable file"])
def test_a_store_in_a_folder_that_cannot_be_written_is_read(open_folder: Path, home: Path, mode: int) -> None:
    file, other = open_folder / "runs.sqlite", home / "other.sqlite"
    for path in (file, other):
        with open_store(path) as store:
            store.keep(examples.bench(), "bench")
    file.chmod(mode)
    open_folder.chmod(0o555)
    command = [sys.executable, "-c", READER, str(other), str(file)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == f"1 {examples.bench().command}\n"
    assert result.stderr == ""


def test_a_data_directory_that_cannot_be_made_is_one_line(home: Path) -> None:
    (home / "data").write_text("a file in its place")
    with pytest.raises(StoreError, match="cannot be created"):
        open_store(None)
