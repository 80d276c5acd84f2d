"""Processes that go from race to race."""

from __future__ import annotations

import os
import signal
import sys
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from msgspec.structs import replace

from onnxperf.measure.messages import Load, ModelSubject, Prepare, TimeBlock, WorkerSpec
from onnxperf.measure.packing import pack_feeds
from onnxperf.measure.pool import PROCESSES, Pool
from onnxperf.measure.process import CAN_FREEZE, ProcessWorker
from onnxperf.records.options import SessionOptions
from tests.measure.processes import gone, state_of

START = partial(ProcessWorker, timeout_s=60.0)


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


def use(pool: Pool, spec: WorkerSpec) -> int:
    worker = pool.launch(spec)
    worker.wait_until_ready()
    worker.thaw()  # it may have been idle, and idle ones are frozen
    worker.ask(Load(worker.spec))
    worker.ask(Prepare(0))
    assert worker.ask(TimeBlock(0, 2, 0)).duration_ns > 0
    pid = worker.process.pid
    worker.close()
    return pid


def test_a_few_processes_take_turns_and_all_end_with_the_pool(spec: WorkerSpec) -> None:
    with Pool(START) as pool:
        pids = [use(pool, spec) for _ in range(2 * PROCESSES)]
        assert len(set(pids)) == PROCESSES
        assert pids[:PROCESSES] == pids[PROCESSES:]
    assert not any(psutil.pid_exists(pid) for pid in pids)


@pytest.mark.skipif(sys.platform == "win32", reason="interpreters lie elsewhere")
def test_an_idle_process_is_used_again_under_its_own_interpreter_only(
    spec: WorkerSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxperf.measure.pool.PROCESSES", 1)
    other = f"{Path(sys.executable).parent}/../bin/python"  # ours by another name
    with Pool(START) as pool:
        first, *pids = [use(pool, each) for each in (spec, replace(spec, python=other)) for _ in range(2)]
        assert pids == [first, pids[1], pids[1]]
        assert pids[1] != first


@pytest.mark.skipif(not CAN_FREEZE or sys.platform != "linux", reason="reads the state in /proc")
def test_an_idle_process_is_frozen_and_its_next_worker_thaws_it(spec: WorkerSpec) -> None:
    with Pool(START) as pool:
        pids = [use(pool, spec) for _ in range(PROCESSES)]
        assert [state_of(pid) for pid in pids] == ["T"] * PROCESSES
        worker = pool.launch(spec)
        worker.thaw()
        assert state_of(worker.process.pid) != "T"
        worker.freeze()
        assert state_of(worker.process.pid) == "T"
        worker.close()


def test_a_worker_that_never_became_ready_is_not_kept(spec: WorkerSpec) -> None:
    with Pool(START) as pool:
        worker = pool.launch(spec)
        worker.close()
        assert gone(worker.process.pid)


def test_a_process_that_died_is_replaced(spec: WorkerSpec) -> None:
    with Pool(START) as pool:
        first = pool.launch(spec)
        first.wait_until_ready()
        os.kill(first.process.pid, signal.SIGKILL)
        first.close()
        assert use(pool, spec) != first.process.pid


def interrupt(_pid: int) -> None:
    raise KeyboardInterrupt


def test_a_process_that_owes_an_answer_is_not_kept(spec: WorkerSpec) -> None:
    with Pool(START) as pool:
        worker = pool.launch(spec)
        worker.wait_until_ready()
        worker.process.watch(interrupt, 0.0)
        with pytest.raises(KeyboardInterrupt):
            worker.ask(Load(spec))
        worker.close()
        assert not psutil.pid_exists(worker.process.pid)


def test_a_process_of_a_callable_is_never_used_again(spec: WorkerSpec) -> None:
    with Pool(START) as pool:
        worker = pool.launch(replace(spec, runtime="callable", model_path=None))
        worker.wait_until_ready()
        worker.close()
        assert not psutil.pid_exists(worker.process.pid)
