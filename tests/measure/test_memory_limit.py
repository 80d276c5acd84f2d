"""A worker that needs more memory than it may is ended, soon, and alone."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import cloudpickle
import psutil
import pytest

from onnxperf.errors import WorkerLost
from onnxperf.measure.messages import FunctionSubject, WorkerSpec
from onnxperf.measure.process import ProcessWorker

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups are POSIX's")

MIB = 2**20
LIMIT = 400 * MIB
"""A worker has some 60 MiB before it does anything."""
NEVER_S = 60.0

Function = Callable[[], object]
Start = Callable[..., ProcessWorker]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts workers of one function; none outlives the test."""
    workers: list[ProcessWorker] = []

    def start_one(function: Function, limit: int | None = LIMIT, timeout_s: float = NEVER_S) -> ProcessWorker:
        subject = FunctionSubject(name="f", function=cloudpickle.dumps(function))
        workers.append(ProcessWorker(WorkerSpec(subjects=(subject,), threads=1, feeds={}), timeout_s, limit))
        workers[-1].wait_until_ready()
        workers[-1].load()
        return workers[-1]

    yield start_one
    for worker in workers:
        worker.close()


def touching(mib: int) -> Function:
    """A function that writes to so much memory, and gives it back."""

    def touch() -> int:
        return len(b"x" * (mib * 2**20))

    return touch


def touching_for_ever(mib: int) -> Function:
    """A function that writes to so much memory, and then never returns."""

    def touch() -> None:
        import threading

        held = b"x" * (mib * 2**20)
        threading.Event().wait()
        del held

    return touch


def test_a_call_that_touches_more_than_the_limit_ends_as_oom(start: Start) -> None:
    worker = start(touching(600))
    with pytest.raises(WorkerLost, match="more than the 400 MiB of --memory-limit") as lost:
        worker.prepare(0)
    assert lost.value.status == "oom"


def test_the_limit_is_noticed_within_a_call_and_long_before_the_timeout(start: Start) -> None:
    worker = start(touching_for_ever(600))
    begin = time.monotonic()
    with pytest.raises(WorkerLost) as lost:
        worker.prepare(0)
    assert lost.value.status == "oom"
    assert time.monotonic() - begin < NEVER_S / 4


def test_what_was_needed_only_for_a_moment_counts_as_well(start: Start) -> None:
    # It answers before anyone has looked, and has given the memory back by then.
    worker = start(touching(410), limit=None)
    worker.prepare(0)
    worker._memory_limit_bytes = LIMIT
    with pytest.raises(WorkerLost, match="of --memory-limit"):
        worker.warm_up(0, 1)


@pytest.mark.parametrize(("limit", "look_s"), [(LIMIT, 0.1), (None, 30.0)])
def test_whoever_watches_rarely_does_not_make_the_limit_lax(start: Start, limit: int | None, look_s: float) -> None:
    worker = start(touching(1), limit)
    worker.watch(lambda _pid: None, 30.0)
    assert worker._look_s == look_s


def test_a_step_that_needs_too_much_only_for_a_moment_is_over_the_limit(start: Start) -> None:
    worker = start(touching(410))
    worker.watch(lambda _pid: None, 30.0)
    with pytest.raises(WorkerLost, match="of --memory-limit"):
        worker.probe("first call")


def test_a_worker_that_is_over_its_limit_is_gone_afterwards(start: Start) -> None:
    worker = start(touching_for_ever(600))
    process = psutil.Process(worker._process.pid)
    with pytest.raises(WorkerLost):
        worker.prepare(0)
    assert not process.is_running()
    worker.close()  # as the race does, whatever happened before


@pytest.mark.parametrize("limit", [LIMIT, None])
def test_a_worker_below_its_limit_or_without_one_goes_on(start: Start, limit: int | None) -> None:
    worker = start(touching(100), limit)
    assert worker.prepare(0).first_call_ns > 0
    for _ in range(3):
        assert worker.time_block(0, 2, 0)[1] > 0


def test_memory_that_is_only_reserved_does_not_count(start: Start) -> None:
    def reserve() -> int:
        import mmap

        with mmap.mmap(-1, 4 * 2**30) as reserved:
            reserved[0] = 1
            return len(reserved)

    assert start(reserve).prepare(0).first_call_ns > 0


def test_a_limited_worker_that_hangs_still_ends_with_its_timeout(start: Start) -> None:
    worker = start(touching_for_ever(1), timeout_s=5.0)
    worker._timeout_s = 0.35  # starting may take longer than this
    with pytest.raises(WorkerLost, match="no answer within") as lost:
        worker.prepare(0)
    assert lost.value.status == "timeout"


def test_a_limited_worker_that_dies_has_crashed(start: Start) -> None:
    def die() -> None:
        import os

        os.abort()

    with pytest.raises(WorkerLost, match="SIGABRT") as lost:
        start(die).prepare(0)
    assert lost.value.status == "crashed"


def test_a_limit_that_not_even_the_start_fits_into_is_oom_too(start: Start) -> None:
    with pytest.raises(WorkerLost) as lost:
        start(touching(1), limit=5 * MIB)
    assert lost.value.status == "oom"
