"""A worker that needs more memory than it may is ended, soon, and alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from onnxperf.errors import WorkerLost
from onnxperf.measure.memory import resident_bytes
from onnxperf.measure.messages import Prepare, ProbeStep, TimeBlock, WarmUp
from onnxperf.measure.process import ProcessWorker
from tests.measure.processes import Function, Workers

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups are POSIX's")

MIB = 2**20
LIMIT = 400 * MIB
"""A worker has some 60 MiB before it does anything."""

Start = partial[ProcessWorker]


@pytest.fixture
def start() -> Iterator[Start]:
    workers = Workers()
    yield partial(workers, limit=LIMIT)
    workers.close()


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
    with pytest.raises(WorkerLost, match="more than the 419 MB of `memory_limit`") as lost:
        worker.ask(Prepare(0))
    assert lost.value.status == "oom"


def test_the_limit_is_noticed_within_a_call_at_the_first_look_that_shows_more(start: Start) -> None:
    worker = start(touching_for_ever(600))
    looks_above: list[int] = []

    def look(pid: int) -> None:
        assert not looks_above, "the limit was not noticed"
        looks_above.extend(size for size in [resident_bytes(pid)] if size > LIMIT + 50 * MIB)

    worker.watch(look, 0.01)
    with pytest.raises(WorkerLost) as lost:
        worker.ask(Prepare(0))
    assert lost.value.status == "oom"


def test_what_was_needed_only_for_a_moment_counts_as_well(start: Start) -> None:
    # It answers before the first look, and has given the memory back by then.
    worker = start(touching(410), limit=None)
    worker.ask(Prepare(0))
    worker.memory_limit_bytes = LIMIT
    with pytest.raises(WorkerLost, match="of `memory_limit`"):
        worker.ask(WarmUp(0, 1))


def waiting_for(file: Path) -> Function:
    """A function that returns when there is such a file."""
    name = str(file)

    def wait() -> None:
        from pathlib import Path as P

        while not P(name).exists():
            pass

    return wait


def test_rare_looks_of_the_caller_do_not_make_the_limit_lax(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "looked at"
    worker = start(waiting_for(file))
    worker.watch(lambda _pid: file.touch(), 1e6)
    assert worker.ask(Prepare(0)).first_call_ns > 0


def test_without_a_limit_the_caller_decides_how_often_to_look(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "looked at"
    worker = start(waiting_for(file), limit=None)
    worker.watch(lambda _pid: file.touch(), 1e6)
    worker.timeout_s = 0.35  # starting may take longer than this
    with pytest.raises(WorkerLost) as lost:
        worker.ask(Prepare(0))
    assert lost.value.status == "timeout"


def test_a_step_that_needs_too_much_only_for_a_moment_is_over_the_limit(start: Start) -> None:
    worker = start(touching(410))
    worker.watch(lambda _pid: None, 30.0)
    with pytest.raises(WorkerLost, match="of `memory_limit`"):
        worker.ask(ProbeStep("first call"))


def test_a_worker_that_is_over_its_limit_is_gone_afterwards(start: Start) -> None:
    worker = start(touching_for_ever(600))
    process = psutil.Process(worker.pid)
    with pytest.raises(WorkerLost):
        worker.ask(Prepare(0))
    assert not process.is_running()
    worker.close()  # as the race does, whatever happened before


@pytest.mark.parametrize("limit", [LIMIT, None])
def test_a_worker_below_its_limit_or_without_one_goes_on(start: Start, limit: int | None) -> None:
    worker = start(touching(100), limit=limit)
    assert worker.ask(Prepare(0)).first_call_ns > 0
    for _ in range(3):
        assert worker.ask(TimeBlock(0, 2, 0)).duration_ns > 0


def test_memory_that_is_only_reserved_does_not_count(start: Start) -> None:
    def reserve() -> int:
        import mmap

        with mmap.mmap(-1, 4 * 2**30) as reserved:
            reserved[0] = 1
            return len(reserved)

    assert start(reserve).ask(Prepare(0)).first_call_ns > 0


def test_a_limited_worker_that_hangs_still_ends_with_its_timeout(start: Start) -> None:
    worker = start(touching_for_ever(1), timeout_s=5.0)
    worker.timeout_s = 0.35  # starting may take longer than this
    with pytest.raises(WorkerLost, match="no answer within") as lost:
        worker.ask(Prepare(0))
    assert lost.value.status == "timeout"


def test_a_limited_worker_that_dies_has_crashed(start: Start) -> None:
    def die() -> None:
        import os

        os.abort()

    with pytest.raises(WorkerLost, match="SIGABRT") as lost:
        start(die).ask(Prepare(0))
    assert lost.value.status == "crashed"


def test_a_limit_that_not_even_the_start_fits_into_is_oom_too(start: Start) -> None:
    with pytest.raises(WorkerLost) as lost:
        start(touching(1), limit=5 * MIB)
    assert lost.value.status == "oom"
