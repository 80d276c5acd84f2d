"""Stores to test: a file, and a PostgreSQL server of our own where its programs are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from onnxperf.store import Store, open_store
from onnxperf.store.schema import metadata


def postgres_programs() -> Path | None:
    """The folder of initdb and pg_ctl."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


class PostgresServer(NamedTuple):
    """A server of our own, and how it is stopped as a power cut would stop it, and started again."""

    url: str
    folder: Path
    control: Callable[..., None]

    def stop(self) -> None:
        self.control("-m", "immediate", "stop")

    def start(self) -> None:
        self.control("-w", "-o", f"-k {self.folder} -c listen_addresses='' -c fsync=off", "start")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server with an empty database; reached through a socket in a folder of its own, not over the network."""
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
        server = PostgresServer(f"postgresql://tester@/postgres?host={folder}", folder, partial(program, "pg_ctl"))
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def postgres_where(postgres: PostgresServer) -> Iterator[str]:
    """The address of a database without tables."""
    from sqlalchemy import create_engine

    yield postgres.url
    engine = create_engine(postgres.url.replace("postgresql:", "postgresql+psycopg:"))
    metadata.drop_all(engine)
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty place for a store."""
    if request.param == "sqlite":
        return str(tmp_path / "runs.sqlite")
    return str(request.getfixturevalue("postgres_where"))


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    with open_store(where) as opened:
        yield opened
