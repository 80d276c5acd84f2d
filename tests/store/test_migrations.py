"""Stores of yesterday are brought up to date, and those of tomorrow refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import inspect

from onnxperf.errors import StoreError
from onnxperf.store import Store, migrations, open_store
from onnxperf.store.blobs import pack_blocks, pack_times
from onnxperf.store.documents import to_document
from onnxperf.store.schema import metadata
from tests.render import examples

VERSION_1 = """
CREATE TABLE onnxperf_schema (version INTEGER NOT NULL);
INSERT INTO onnxperf_schema VALUES (1);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, command TEXT NOT NULL,
    started TEXT NOT NULL, finished TEXT, status TEXT NOT NULL, answer TEXT NOT NULL, owner TEXT, machine TEXT,
    versions TEXT NOT NULL, options TEXT NOT NULL, record_type TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE cases (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run BIGINT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    key TEXT NOT NULL, status TEXT NOT NULL, UNIQUE (run, key));
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, "case" BIGINT NOT NULL REFERENCES cases (id) ON DELETE CASCADE,
    number INTEGER NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, signal INTEGER, stderr_tail TEXT NOT NULL,
    started TEXT NOT NULL, finished TEXT, machine TEXT, versions TEXT NOT NULL, record TEXT, UNIQUE ("case", number));
CREATE TABLE subjects (
    id INTEGER PRIMARY KEY AUTOINCREMENT, attempt BIGINT NOT NULL REFERENCES attempts (id) ON DELETE CASCADE,
    position INTEGER NOT NULL, name TEXT NOT NULL, model TEXT, fingerprint TEXT, runtime TEXT NOT NULL, call TEXT,
    status TEXT NOT NULL, reason TEXT NOT NULL, verdict TEXT, load_ns DOUBLE PRECISION,
    first_call_ns DOUBLE PRECISION, input_bytes DOUBLE PRECISION, mean_ns DOUBLE PRECISION,
    median_ns DOUBLE PRECISION, deviation_ns DOUBLE PRECISION, min_ns DOUBLE PRECISION, max_ns DOUBLE PRECISION,
    p90_ns DOUBLE PRECISION, p99_ns DOUBLE PRECISION, speedup DOUBLE PRECISION, speedup_low DOUBLE PRECISION,
    speedup_high DOUBLE PRECISION, record TEXT NOT NULL, blocks BLOB NOT NULL, call_times BLOB NOT NULL,
    UNIQUE (attempt, position));
INSERT INTO runs VALUES (7, 'lonuki', 'bench', 'onnxperf bench a.onnx', '2026-01-02T03:04:05.000000+00:00',
    '2026-01-02T03:05:05.000000+00:00', 'ok', 'fast', NULL, :machine, '{}', '{}', 'Bench',
    '{"version":1,"command":"onnxperf bench a.onnx"}');
INSERT INTO cases VALUES (3, 7, 'key', 'ok');
INSERT INTO attempts VALUES (4, 3, 1, 'ok', '', NULL, '', '2026-01-02T03:04:05.000000+00:00', NULL, NULL, '{}',
    '{"model":"a.onnx","dims":{"batch":8},"baseline":"run"}');
INSERT INTO subjects (attempt, position, name, runtime, status, reason, record, blocks, call_times) VALUES
    (4, 0, 'run', 'ort', 'ok', '', '{"name":"run","runtime":"ort","status":"ok"}', :blocks, :times);
"""
"""A store as version 1 made it; never to be changed."""
BLOCKS = examples.blocks(8430.0)


@pytest.fixture
def old_store(tmp_path: Path) -> Path:
    path = tmp_path / "old.sqlite"
    values = {"machine": to_document(examples.machine()), "blocks": pack_blocks(BLOCKS), "times": pack_times([1, 2])}
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in VERSION_1.split(";\n"):
            connection.execute(statement, {name: value for name, value in values.items() if f":{name}" in statement})
    return path


def shape(store: Store) -> dict[str, dict[str, object]]:
    """Tables and columns, as the database tells them."""
    with store.reading() as connection:
        seen = inspect(connection)
        tables = set(seen.get_table_names()) - {"sqlite_sequence"}
        return {t: {c["name"]: (str(c["type"]), c["nullable"]) for c in seen.get_columns(t)} for t in tables}


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT version FROM onnxperf_schema").fetchone()[0])


def test_a_store_of_version_1_becomes_the_current_one_and_keeps_its_runs(old_store: Path, tmp_path: Path) -> None:
    with open_store(old_store) as old, open_store(tmp_path / "new.sqlite") as new:
        assert shape(old) == shape(new)
        loaded = old.load("lonuki")
        assert old.keep(loaded, "bench") != "lonuki"
    assert (loaded.command, loaded.machine) == ("onnxperf bench a.onnx", examples.machine())
    assert loaded.cases[0].dims == {"batch": 8}
    assert loaded.cases[0].subjects[0].blocks == BLOCKS
    assert loaded.cases[0].subjects[0].call_ns == (1, 2)
    assert version(old_store) == len(migrations.STEPS)


def test_the_tables_of_the_queries_are_those_of_the_steps(store: Store) -> None:
    made = {table: set(columns) for table, columns in shape(store).items()}
    assert made == {table.name: {column.name for column in table.columns} for table in metadata.sorted_tables}


def test_an_older_store_takes_the_steps_that_it_lacks(old_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = ("ALTER TABLE runs ADD COLUMN remark TEXT", "UPDATE runs SET remark = name")
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, extra))
    for _ in range(2):  # the second time there is nothing left to do
        with open_store(old_store) as store:
            assert "remark" in shape(store)["runs"]
            assert store.load("lonuki").cases
    assert version(old_store) == len(migrations.STEPS)


def test_a_step_that_fails_leaves_the_store_as_it_was(old_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ("ALTER TABLE runs ADD COLUMN remark TEXT", "UPDATE nowhere SET remark = name")
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", (*migrations.STEPS, broken))
        with pytest.raises(StoreError, match="no such table: nowhere"):
            open_store(old_store)
    with open_store(old_store) as store:
        assert "remark" not in shape(store)["runs"]
        assert store.load("lonuki").cases


def test_a_newer_store_is_refused_in_one_line(old_store: Path) -> None:
    with closing(sqlite3.connect(old_store)) as connection, connection:
        connection.execute("UPDATE onnxperf_schema SET version = 99")
    with pytest.raises(StoreError, match="schema version 99, and this onnxperf reads up to") as caught:
        open_store(old_store)
    assert "\n" not in str(caught.value)


def test_tables_of_someone_else_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE runs (distance REAL)")
    with pytest.raises(StoreError, match="not onnxperf's"):
        open_store(path)
