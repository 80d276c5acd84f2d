"""Stores of yesterday are brought up to date, and those of tomorrow refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import inspect

from onnxperf.errors import StoreError
from onnxperf.store import Store, migrations, open_store
from onnxperf.store.schema import metadata
from tests.render import examples


@pytest.fixture
def old_store(tmp_path: Path) -> Path:
    """A store of the version before the made-up ones of these tests, with one run."""
    path = tmp_path / "old.sqlite"
    with open_store(path) as store:
        store.keep(examples.bench(), "bench")
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


def test_the_tables_of_the_queries_are_those_of_the_steps(store: Store) -> None:
    made = {table: set(columns) for table, columns in shape(store).items()}
    assert made == {table.name: {column.name for column in table.columns} for table in metadata.sorted_tables}


def test_an_older_store_takes_the_steps_that_it_lacks(old_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = ("ALTER TABLE runs ADD COLUMN remark TEXT", "UPDATE runs SET remark = name")
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, extra))
    for _ in range(2):  # the second time there is nothing left to do
        with open_store(old_store) as store:
            assert "remark" in shape(store)["runs"]
            assert store.load(store.runs()[0].id).cases
    assert version(old_store) == len(migrations.STEPS)


def test_a_step_that_fails_leaves_the_store_as_it_was(old_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ("ALTER TABLE runs ADD COLUMN remark TEXT", "UPDATE nowhere SET remark = name")
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "STEPS", (*migrations.STEPS, broken))
        with pytest.raises(StoreError, match="no such table: nowhere"):
            open_store(old_store)
    with open_store(old_store) as store:
        assert "remark" not in shape(store)["runs"]
        assert store.load(store.runs()[0].id).cases


def test_a_newer_store_is_refused_in_one_line(old_store: Path) -> None:
    with closing(sqlite3.connect(old_store)) as connection, connection:
        connection.execute("UPDATE onnxperf_schema SET version = 99")
    with pytest.raises(StoreError, match="schema version 99, but this onnxperf reads up to") as caught:
        open_store(old_store)
    assert "\n" not in str(caught.value)


def test_tables_of_someone_else_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE runs (distance REAL)")
    with pytest.raises(StoreError, match="not onnxperf's"):
        open_store(path)
