"""Processes that go from race to race."""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from msgspec.structs import replace

from onnxperf.measure.messages import Load, ModelSubject, Prepare, TimeBlock, WorkerSpec
from onnxperf.measure.packing import pack_feeds
from onnxperf.measure.plan import GOOD_LAUNCHES
from onnxperf.measure.pool import Pool
from onnxperf.measure.process import CAN_FREEZE, ProcessWorker
from onnxperf.measure.race import Tools, race
from onnxperf.measure.worker_group import Launch, SubjectRun, WorkerGroup
from onnxperf.records.options import RaceOptions, SessionOptions
from onnxperf.records.race import MIN_UNITS
from tests.measure.fakes import FakeMachine, lost, spec_of
from tests.measure.processes import gone, state_of

START = partial(ProcessWorker, timeout_s=60.0)
MEGABYTE = 1 << 20


def pool_of(machine: FakeMachine, megabytes: int = 1 << 20) -> Pool:
    """A pool of fake processes, with so much memory left before the first of them."""
    start: Any = machine.launch
    return Pool(start, lambda: (megabytes - 100 * len(machine.workers)) * MEGABYTE, machine.clock)


def launch_all(machine: FakeMachine, launch: Launch, specs: Sequence[WorkerSpec], times: int) -> list[list[int]]:
    """Which processes the workers of a race get, launch after launch."""
    rows = []
    runs = [SubjectRun(spec, 0) for spec in specs]
    with WorkerGroup(runs, launch, 0, lambda _text: None) as group:
        for _ in range(times):
            group.start()
            rows.append([machine.workers.index(group._workers[id(spec)].home) for spec in specs])  # type: ignore[arg-type]
    return rows


def ort(name: str, threads: int = 1, memory_bytes: int = 0) -> WorkerSpec:
    return replace(spec_of("ort", name, memory_bytes=memory_bytes), threads=threads)


# ---------------------------------------------------------------- fake processes


@pytest.mark.parametrize("names", ["a", "ab", "abc", "abcd", "abcdefgh", "abcdefghijk"])
def test_every_subject_comes_through_all_processes_and_all_start_before_the_race(names: str) -> None:
    machine, number = FakeMachine(), max(GOOD_LAUNCHES, len(names))
    with pool_of(machine) as pool:
        specs = [ort(name) for name in names]
        rows = launch_all(machine, pool.launches(specs, RaceOptions()), specs, 2 * number)
        assert len(machine.workers) == number
        assert all(len(set(row)) == len(names) for row in rows)
        for column in zip(*rows, strict=True):
            assert set(Counter(column).values()) == {2}
        assert rows[:number] == rows[number:]  # so that a launch is as independent as its processes
    assert machine.all_closed


def test_kinds_change_processes_together() -> None:
    machine = FakeMachine()
    with pool_of(machine) as pool:
        specs = [ort("a"), ort("b", threads=2), spec_of("numpy", "c")]
        rows = launch_all(machine, pool.launches(specs, RaceOptions()), specs, 40)
        assert len({tuple(row) for row in rows}) == GOOD_LAUNCHES
        assert len(machine.workers) == 3 * GOOD_LAUNCHES


def test_the_next_race_goes_on_with_the_next_processes() -> None:
    machine = FakeMachine()
    with pool_of(machine) as pool:
        used = [launch_all(machine, pool.launches([ort("a")], RaceOptions()), [ort("a")], 3) for _ in range(3)]
        assert [row[0] for race in used for row in race] == [0, 1, 2, 3, 4, 5, 6, 7, 0]


@pytest.mark.parametrize(
    ("megabytes", "memory", "number"),
    [
        (10_000, 0, 8),
        (701, 0, 8),  # seven more than the one that is loaded
        (699, 0, 7),
        (400, 0, 5),
        (399, 0, 4),
        (10, 0, 1),
        (1_000, 700, 4),  # a model needs the rest
        (1_000, 10_000, 1),
    ],
)
def test_there_are_as_many_processes_as_memory_allows_up_to_eight(megabytes: int, memory: int, number: int) -> None:
    machine, spec = FakeMachine(), ort("a", memory_bytes=memory * MEGABYTE)
    with pool_of(machine, megabytes) as pool:
        launch_all(machine, pool.launches([spec], RaceOptions()), [spec], 10)
        assert len(machine.workers) == number


def test_what_starts_slowly_has_five_processes_and_later_cases_find_no_more() -> None:
    machine = FakeMachine(start_ns=2_000_000_000)
    with pool_of(machine) as pool:
        for _ in range(2):
            rows = launch_all(machine, pool.launches([ort("a")], RaceOptions()), [ort("a")], 10)
            assert len({row[0] for row in rows}) == len(machine.workers) == MIN_UNITS


@pytest.mark.parametrize(
    ("options", "number"),
    [
        ({"time": 0.2}, 1),  # 20 blocks of 10 ms with what comes before them
        ({"time": 0.3}, 8),
        ({"blocks": 19}, 1),
        ({"blocks": 20}, 8),
    ],
)
def test_a_race_too_short_for_launches_starts_only_what_it_uses(options: dict[str, Any], number: int) -> None:
    machine, spec = FakeMachine(), ort("a")
    with pool_of(machine) as pool:
        launch_all(machine, pool.launches([spec], RaceOptions(**options)), [spec], 1)
        assert len(machine.workers) == number


def test_beside_a_callable_all_workers_are_new_in_every_launch() -> None:
    machine = FakeMachine()
    specs = [ort("a"), replace(spec_of("ort", "f"), runtime="callable")]
    with pool_of(machine) as pool:
        rows = launch_all(machine, pool.launches(specs, RaceOptions()), specs, 7)
        assert len({worker for row in rows for worker in row}) == 14
        assert machine.all_closed


def test_a_process_that_cannot_start_is_the_race_s_to_report() -> None:
    machine = FakeMachine(troubles={("ready", "ort", number): lost() for number in range(99)})
    run = SubjectRun(ort("a"), 0)
    with (
        pool_of(machine) as pool,
        WorkerGroup([run], pool.launches([run.spec], RaceOptions()), 0, lambda _text: None) as group,
    ):
        group.start()
        assert (run.status, run.reason) == ("crashed", "crashed for a test")
    assert machine.all_closed


def test_a_lost_process_is_replaced_in_its_place() -> None:
    machine, specs = FakeMachine(), [ort("a"), ort("b")]
    machine.troubles = {("time_block", "a", 5): lost()}
    with pool_of(machine) as pool:
        tools = Tools(launch=pool.launches(specs, RaceOptions()), settled=lambda _subjects: False, clock=machine.clock)
        race(specs, RaceOptions(time=5.0), tools)
        rows = launch_all(machine, pool.launches(specs, RaceOptions()), specs, GOOD_LAUNCHES)
        assert sorted(row[0] for row in rows) == [0, *range(2, GOOD_LAUNCHES + 1)]  # that of the second launch is gone
        assert len(machine.workers) == GOOD_LAUNCHES + 1


@pytest.mark.parametrize("time", [1.0, 2.0, 9.0, None])
def test_a_case_of_a_sweep_has_at_least_five_launches_in_any_time_that_has_room_for_them(time: float | None) -> None:
    machine = FakeMachine(start_ns=500_000_000, load_ns=1_000_000)
    specs = [ort("a"), spec_of("numpy", "b")]
    with pool_of(machine) as pool:
        for _ in range(3):
            options = RaceOptions(time=time)
            tools = Tools(launch=pool.launches(specs, options), settled=lambda _subjects: False, clock=machine.clock)
            end = race(specs, options, tools)
            for subject in end.subjects:
                launches = Counter(block.launch for block in subject.blocks)
                assert len(launches) >= MIN_UNITS
            pairs = {
                tuple(block.launch for block in blocks)
                for blocks in zip(*(s.blocks for s in end.subjects), strict=True)
            }
            assert len(pairs) == len({block.launch for block in end.subjects[0].blocks})


# ---------------------------------------------------------------- real processes


@pytest.fixture
def spec(linear_path: Path) -> WorkerSpec:
    return WorkerSpec(
        subjects=(ModelSubject(name="run", call="run"),),
        threads=1,
        feeds=pack_feeds({"X": np.ones((2, 10), np.float32)}),
        runtime="ort",
        model_label="linear",
        model_path=str(linear_path),
        session=SessionOptions(threads=1),
    )


def use(pool: Pool, spec: WorkerSpec, number: int = 2) -> int:
    worker = pool.take(spec, number)
    worker.wait_until_ready()
    worker.thaw()  # it may have been idle, and idle ones are frozen
    worker.ask(Load(worker.spec))
    worker.ask(Prepare(0))
    assert worker.ask(TimeBlock(0, 2, 0)).duration_ns > 0
    pid = worker.process.pid
    worker.close()
    return pid


def test_a_few_processes_take_turns_and_all_end_with_the_pool(spec: WorkerSpec) -> None:
    with Pool(START, lambda: 0) as pool:
        pids = [use(pool, spec) for _ in range(4)]
        assert len(set(pids)) == 2
        assert pids[:2] == pids[2:]
    assert not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.skipif(sys.platform == "win32", reason="interpreters lie elsewhere")
def test_an_idle_process_is_used_again_under_its_own_interpreter_only(
    spec: WorkerSpec,
) -> None:
    other = f"{Path(sys.executable).parent}/../bin/python"  # ours by another name
    with Pool(START, lambda: 0) as pool:
        first, *pids = [use(pool, each, 1) for each in (spec, replace(spec, python=other)) for _ in range(2)]
        assert pids == [first, pids[1], pids[1]]
        assert pids[1] != first


@pytest.mark.skipif(not CAN_FREEZE or sys.platform != "linux", reason="reads the state in /proc")
def test_an_idle_process_is_frozen_and_its_next_worker_thaws_it(spec: WorkerSpec) -> None:
    with Pool(START, lambda: 0) as pool:
        pids = [use(pool, spec) for _ in range(2)]
        assert [state_of(pid) for pid in pids] == ["T"] * 2
        worker = pool.take(spec, 2)
        worker.thaw()
        assert state_of(worker.process.pid) != "T"
        worker.freeze()
        assert state_of(worker.process.pid) == "T"
        worker.close()


def test_a_worker_that_never_became_ready_is_not_kept(spec: WorkerSpec) -> None:
    with Pool(START, lambda: 0) as pool:
        worker = pool.take(spec, 2)
        worker.close()
        assert gone(worker.process.pid)


def test_a_process_that_died_is_replaced(spec: WorkerSpec) -> None:
    with Pool(START, lambda: 0) as pool:
        first = pool.take(spec, 2)
        first.wait_until_ready()
        os.kill(first.process.pid, signal.SIGKILL)
        first.close()
        assert use(pool, spec) != first.process.pid


def interrupt(_pid: int) -> None:
    raise KeyboardInterrupt


def test_a_process_that_owes_an_answer_is_not_kept(spec: WorkerSpec) -> None:
    with Pool(START, lambda: 0) as pool:
        worker = pool.take(spec, 2)
        worker.wait_until_ready()
        worker.process.watch(interrupt, 0.0)
        with pytest.raises(KeyboardInterrupt):
            worker.ask(Load(spec))
        worker.close()
        assert not psutil.pid_exists(worker.process.pid)
