"""What was kept survives its process, and processes do not stand in each other's way."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from onnxperf.store import open_store
from tests.render import examples
from tests.store.writing import keep_case

ROOT = Path(__file__).parents[2]


def child(where: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.store.writing_child", where, *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, "TZ": "UTC"})


@pytest.mark.parametrize("moment", [0, 1, 4, 9])
def test_every_case_that_was_kept_survives_a_kill_and_is_there_once(where: str, moment: int) -> None:
    with child(where) as process:
        assert process.stdout is not None
        run = process.stdout.readline().strip()
        printed = [process.stdout.readline().strip() for _ in range(moment)]
        process.kill()
        printed += process.stdout.read().split()  # what it still said before the signal arrived
    with open_store(where) as store:
        cases = store.cases_of(run)
        done = [key for key, status in cases.items() if status == "ok"]
        # One more may have been kept, and not yet printed, when the signal came; another may have just begun.
        assert done in (printed, [*printed, str(len(printed))])
        assert set(cases.values()) <= {"ok", "pending"}
        assert len(cases) <= len(done) + 1
        assert [case.dims["batch"] for case in store.load(run).cases] == [int(key) for key in done]
        assert store.find(run).status == "interrupted"
        store.resume_run(run)
        keep_case(store, run, str(len(done)), examples.case())
        assert len(store.load(run).cases) == len(done) + 1
    if "://" not in where:
        with closing(sqlite3.connect(where)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_processes_that_write_different_runs_into_a_new_store_lose_nothing(where: str) -> None:
    count = 8
    with child(where, str(count)) as first, child(where, str(count)) as second, open_store(where) as store:
        while first.poll() is None or second.poll() is None:
            store.runs()  # a reader at the same time
        assert (first.returncode, second.returncode) == (0, 0)
        runs = store.runs()
        assert [run.status for run in runs] == ["ok", "ok"]
        for run in runs:
            assert [case.dims["batch"] for case in store.load(run.id).cases] == list(range(count))


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.sqlite") as store, open_store(tmp_path / "runs.sqlite") as other:
        run = store.keep(examples.bench(), "bench")
        with store.writing() as connection:
            connection.exec_driver_sql("DELETE FROM runs")
            assert other.load(run) == examples.bench()
        assert other.runs() == []
