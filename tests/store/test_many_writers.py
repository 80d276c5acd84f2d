"""Many processes write to one store that comes and goes: every case is there exactly once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.store import (
    Spool,
    Store,
    begun_attempt,
    begun_run,
    finished_case,
    location,
    open_store,
    place_of,
    waiting,
)
from tests.depth import all_or
from tests.render import examples
from tests.store.conftest import PostgresServer
from tests.store.examples import sql
from tests.store.sweeping_child import WHOLE

ROOT = Path(__file__).parents[2]
WRITERS = 8


class Writer:
    """A process that sweeps, and what it has told."""

    def __init__(self, where: str, label: str, end: Path, spool: Path) -> None:
        self.label = label
        self.told: list[str] = []
        command = [sys.executable, "-m", "tests.store.sweeping_child", where, label, str(end)]
        variables = {**os.environ, "ONNXPERF_SPOOL": str(spool)}
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=variables)

    def listen(self, count: int | None = None) -> None:
        """Wait for so many more cases, or for its end."""
        assert self.process.stdout is not None
        lines = self.process.stdout if count is None else (self.process.stdout.readline() for _ in range(count))
        self.told += [line.strip() for line in lines]

    def kill(self) -> None:
        self.process.kill()
        self.listen()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ONNXPERF_SPOOL", str(tmp_path / "spool"))
    return tmp_path / "spool"


def check_store(store: Store, told: dict[str, list[str]]) -> None:
    """Every case that was told is there, in one attempt with all of its subjects; nothing else is."""
    runs = {run.command: run for run in store.runs()}
    assert set(runs) == {*told, *(f"{WHOLE} of {label}" for label in told)}
    for label, keys in told.items():
        assert store.cases_of(runs[label].id) == dict.fromkeys(keys, "ok")
        loaded = store.load(runs[label].id)
        assert sorted(case.dims["batch"] for case in loaded.cases) == list(range(len(keys)))
        assert runs[label].status == "ok"
    attempts = sql(store, 'SELECT "case", count(*) FROM attempts GROUP BY "case"')
    assert Counter(count for _, count in attempts) == {1: sum(map(len, told.values())) + len(told)}


@pytest.mark.slow
@pytest.mark.parametrize("away", all_or(["a moment"], ["a moment", "several cases"]))
def test_eight_writers_lose_and_double_nothing_when_the_server_is_restarted(
    postgres: PostgresServer, postgres_where: str, tmp_path: Path, spool: Path, away: str
) -> None:
    end = tmp_path / "end"
    with ExitStack() as stack:
        writers = [Writer(postgres_where, f"writer {number}", end, spool) for number in range(WRITERS)]
        for writer in writers:
            stack.callback(writer.kill)
        for writer in writers:
            writer.listen(6)
        postgres.stop()
        try:
            for writer in writers:
                writer.listen(2 if away == "several cases" else 0)  # they go on measuring, and their results wait
        finally:
            postgres.start()
        for writer in writers:
            writer.listen(4)
        end.touch()
        for writer in writers:
            writer.listen()
            assert writer.process.wait() == 0
    with RunWriter(postgres_where) as last:  # what waited when its process ended
        check_store(last.opened(), {writer.label: writer.told for writer in writers})
    assert waiting() == []


@pytest.mark.parametrize("moment", [1, 3, 8])
def test_what_waits_survives_the_kill_of_its_writer(tmp_path: Path, spool: Path, moment: int) -> None:
    where = tmp_path / "later" / "runs.sqlite"
    writer = Writer(str(where), "killed", tmp_path / "end", spool)
    writer.listen(moment)
    writer.kill()
    where.parent.mkdir()
    with RunWriter(where) as later:
        store = later.opened()
        (run,) = [run for run in store.runs() if run.command == "killed"]
        done = [key for key, status in store.cases_of(run.id).items() if status == "ok"]
        assert done in (writer.told, [*writer.told, str(len(writer.told))])  # one more may have been written
        assert len(store.load(run.id).cases) == len(done)
        assert run.status == "interrupted"
    assert waiting() == []
    assert not list(spool.rglob("*.damaged"))


FLUSH = """
import sys
from onnxperf.api._keeping.run_writer import RunWriter

print("ready", flush=True)
sys.stdin.readline()
with RunWriter(sys.argv[1]) as writer:
    writer.opened()
"""


def test_several_processes_that_write_what_waits_write_it_once(spool: Path, where: str) -> None:
    cases = [finished_case(str(number), examples.case(), None, attempt=begun_attempt()) for number in range(20)]
    run = begun_run(examples.bench(), "sweep")
    waits = Spool(location(where), place_of(where))
    for case in cases:
        waits.add(run, [case])
    command = [sys.executable, "-c", FLUSH, where]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    processes = [subprocess.Popen(command, cwd=ROOT, text=True, **pipes) for _ in range(4)]  # type: ignore[call-overload]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert sum(int(number) for number in re.findall(r"(\d+) results? that waited", "".join(said))) == 20
    with open_store(where) as store:
        assert set(store.cases_of(run.name)) == set(map(str, range(20)))
        assert sql(store, "SELECT count(*), max(number) FROM attempts") == [(20, 1)]
    assert waiting() == []
