"""Stores to test: a file, and a PostgreSQL server of our own where its programs are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from onnxperf.store import Store, open_store
from onnxperf.store.schema import metadata


def postgres_programs() -> Path | None:
    """The folder of initdb and pg_ctl."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of an empty database; reached through a socket in a folder of its own, not over the network."""
    pytest.importorskip("psycopg")
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    user = "postgres" if os.getuid() == 0 else None  # it refuses to be run by root
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short: the name of a socket has room for 107 letters

    def program(name: str, *arguments: str) -> None:
        command = [str(programs / name), "-D", str(folder / "db"), *arguments]
        with (folder / "said").open("ab") as said:
            subprocess.run(command, check=True, user=user, cwd=folder, stdout=said, stderr=said)

    try:
        if user is not None:
            shutil.chown(folder, user)
        program("initdb", "-A", "trust", "-N", "-U", "tester")
        program("pg_ctl", "-w", "-o", f"-k {folder} -c listen_addresses='' -c fsync=off", "start")
        try:
            yield f"postgresql://tester@/postgres?host={folder}"
        finally:
            program("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty place for a store."""
    if request.param == "sqlite":
        yield str(tmp_path / "runs.sqlite")
        return
    from sqlalchemy import create_engine

    server: str = request.getfixturevalue("postgres_server")
    yield server
    engine = create_engine(server.replace("postgresql:", "postgresql+psycopg:"))
    metadata.drop_all(engine)
    engine.dispose()


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    with open_store(where) as opened:
        yield opened
