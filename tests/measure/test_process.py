"""Real workers: what they are given, how they stop, and how their end is reported."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import psutil
import pytest
from msgspec.structs import replace

from onnxperf.errors import BadInput, BadModel, SubjectError, WorkerLost
from onnxperf.measure import memory, process
from onnxperf.measure.messages import Load, ModelSubject, MoveTo, Prepare, TimeBlock, TimeEach, WarmUp, WorkerSpec
from onnxperf.measure.process import CAN_FREEZE, ProcessWorker, move_to, open_worker
from tests.measure.fakes import FakeMachine, solo
from tests.measure.processes import Function, Workers, gone, state_of

pytestmark = [
    pytest.mark.fresh_workers,
    pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups are POSIX's"),
]
freezing = pytest.mark.skipif(not CAN_FREEZE or sys.platform != "linux", reason="reads the state in /proc")


@pytest.fixture
def start() -> Iterator[Workers]:
    workers = Workers()
    yield workers
    workers.close()


# ---------------------------------------------------------------- a worker at work


def test_a_worker_calls_a_function_with_the_feeds_in_order(start: Workers, tmp_path: Path) -> None:
    seen = str(tmp_path / "seen")

    def remember(x: Any, y: Any) -> None:
        from pathlib import Path as P

        P(seen).write_text(f"{x.shape} {x.dtype} {y.tolist()}")

    worker = start(remember, X=np.ones((2, 3), np.float32), Y=np.array([4, 5]))
    worker.ask(Prepare(0))
    assert Path(seen).read_text() == "(2, 3) float32 [4, 5]"


def test_a_wrapper_stands_before_the_interpreter_and_fixes_the_order_of_sets(tmp_path: Path) -> None:
    wrapper = tmp_path / "wrapper"
    wrapper.write_text('#!/bin/sh\necho "$PYTHONHASHSEED" "$@"\nexit 3\n')
    wrapper.chmod(0o755)
    with (
        pytest.raises(WorkerLost) as raised,
        open_worker(replace(solo("f"), wrapper=(str(wrapper), "first")), timeout_s=60),
    ):
        pass
    assert raised.value.stderr.startswith(f"0 first {sys.executable} -P -m onnxperf.measure.worker ")


@pytest.mark.parametrize("answer", [b"\xc1\xc1", b"\x92\x01\xa2\xff\xfe", b"\x92\x01\x81\xa4type\xa4none"])
def test_a_worker_whose_answer_is_damaged_is_lost(start: Workers, answer: bytes) -> None:
    def answer_for_itself() -> None:
        import os
        import sys

        os.write(int(sys.argv[1]), len(answer).to_bytes(4, "big") + answer)

    worker = start(answer_for_itself)
    with pytest.raises(WorkerLost, match="its answer is damaged"):
        worker.ask(Prepare(0))


def test_times_come_back_in_nanoseconds_of_the_common_clock(start: Workers) -> None:
    worker = start(lambda: sum(range(100)))
    before = time.perf_counter_ns()
    assert worker.ask(Prepare(0)).first_call_ns > 0
    assert worker.ask(WarmUp(0, 1000)).call_ns > 0
    block = worker.ask(TimeBlock(0, 50, 1000))
    assert before < block.start_ns < block.start_ns + block.duration_ns < time.perf_counter_ns()
    assert len(worker.ask(TimeEach(0, 7, 0)).call_ns) == 7


@pytest.mark.parametrize("threads", [1, 3])
def test_thread_variables_are_set_before_anything_is_imported(start: Workers, tmp_path: Path, threads: int) -> None:
    seen = str(tmp_path / "seen")

    def remember() -> None:
        import os
        from pathlib import Path as P

        P(seen).write_text(" ".join(os.environ[f"{name}_NUM_THREADS"] for name in ("OMP", "OPENBLAS", "MKL")))

    start(remember, threads=threads).ask(Prepare(0))
    assert Path(seen).read_text() == f"{threads} {threads} {threads}"


def test_what_a_subject_prints_does_not_reach_our_output(start: Workers, capfd: pytest.CaptureFixture[str]) -> None:
    def chatter() -> None:
        import os
        import sys

        print("printed")
        print("complained", file=sys.stderr, flush=True)
        os.write(1, b"written")

    start(chatter).ask(Prepare(0))
    assert capfd.readouterr() == ("", "")


def test_subjects_of_one_worker_share_its_process(start: Workers, tmp_path: Path) -> None:
    seen = str(tmp_path / "seen")

    def remember() -> None:
        import os
        from pathlib import Path as P

        with P(seen).open("a") as file:
            file.write(f"{os.getpid()} ")

    worker = start(remember, remember)
    worker.ask(Prepare(0))
    worker.ask(Prepare(1))
    assert Path(seen).read_text().split() == [str(worker.pid)] * 2


# ---------------------------------------------------------------- freeze and thaw


@freezing
def test_a_frozen_worker_is_stopped_when_freeze_returns_and_goes_on_when_thawed(start: Workers) -> None:
    def spin() -> None:
        import threading
        import time

        def turn() -> None:
            while True:
                time.perf_counter_ns()

        for _ in range(2):
            threading.Thread(target=turn, daemon=True).start()

    worker = start(spin, nothing_local())
    worker.ask(Prepare(0))
    worker.ask(Prepare(1))
    for _ in range(20):
        worker.freeze()
        assert state_of(worker.pid) == "T"
        tasks = Path(f"/proc/{worker.pid}/task").iterdir()
        assert {(task / "stat").read_text().rpartition(")")[2].split()[0] for task in tasks} == {"T"}
        worker.thaw()
        assert state_of(worker.pid) != "T"
        assert worker.ask(WarmUp(1, 0)).call_ns >= 0


def nothing_local() -> Function:
    return lambda: None


@freezing
def test_freezing_twice_or_thawing_what_is_awake_does_no_harm(start: Workers) -> None:
    worker = start(nothing_local())
    worker.thaw()
    worker.freeze()
    worker.freeze()
    assert state_of(worker.pid) == "T"
    worker.thaw()
    assert worker.ask(Prepare(0)).first_call_ns >= 0


@freezing
def test_a_frozen_worker_can_be_closed(start: Workers) -> None:
    worker = start(nothing_local())
    worker.freeze()
    worker.close()
    assert gone(worker.pid)


@freezing
def test_freezing_a_worker_that_has_died_does_not_hang(start: Workers) -> None:
    worker = start(nothing_local())
    os.kill(worker.pid, signal.SIGKILL)
    worker.freeze()
    worker.thaw()
    with pytest.raises(WorkerLost, match="SIGKILL"):
        worker.ask(Prepare(0))


# ---------------------------------------------------------------- processors


CPUS = tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
binding = pytest.mark.skipif(len(CPUS) < 2 or sys.platform != "linux", reason="needs two processors, and /proc")


def threads_on(worker: ProcessWorker) -> list[str]:
    """For each thread of a worker, the processors that the kernel lets it use."""
    lists = []
    for task in Path(f"/proc/{worker.pid}/task").iterdir():
        lines = (task / "status").read_text().splitlines()
        lists += [line.split()[1] for line in lines if line.startswith("Cpus_allowed_list:")]
    return lists


def waiting_threads(count: int) -> Function:
    def call() -> None:
        import threading

        for _ in range(count):
            threading.Thread(target=threading.Event().wait, daemon=True).start()

    return call


@binding
def test_all_threads_of_a_worker_move_and_later_ones_follow(start: Workers) -> None:
    worker = start(waiting_threads(2))
    worker.ask(Prepare(0))
    assert len(threads_on(worker)) >= 3
    for cpu in (CPUS[0], CPUS[1], CPUS[0]):
        move_to(worker, (cpu,))
        assert set(threads_on(worker)) == {str(cpu)}
    before = len(threads_on(worker))
    worker.ask(Prepare(0))
    assert len(threads_on(worker)) == before + 2
    assert set(threads_on(worker)) == {str(CPUS[0])}


@binding
def test_only_the_worker_moves(start: Workers) -> None:
    move_to(start(nothing_local()), (CPUS[1],))
    assert tuple(sorted(os.sched_getaffinity(0))) == CPUS


def test_only_a_move_to_other_processors_is_requested() -> None:
    machine = FakeMachine()
    with machine.open_worker(solo("a")) as worker:
        for cpus in ((), (3,), (3,), (5,), (5,), (), (3,)):
            move_to(worker, cpus)
    assert machine.requests == [MoveTo((3,)), MoveTo((5,)), MoveTo((3,))]


@binding
def test_a_worker_that_died_is_lost_when_it_is_moved(start: Workers) -> None:
    worker = start(nothing_local())
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerLost, match="SIGKILL from outside"):
        move_to(worker, CPUS[:1])


# ---------------------------------------------------------------- set up again


def test_a_worker_can_be_loaded_and_prepared_again_in_the_same_process(start: Workers) -> None:
    worker = start(nothing_local())
    worker.ask(Prepare(0))
    pid = worker.pid
    worker.ask(Load(worker.spec))
    assert worker.ask(Prepare(0)).first_call_ns >= 0
    assert worker.ask(TimeBlock(0, 3, 0)).duration_ns >= 0
    assert worker.pid == pid
    assert psutil.pid_exists(worker.pid)


# ---------------------------------------------------------------- ends


def abort() -> Function:
    def call() -> NoReturn:
        import os

        os.abort()

    return call


def ended_by(name: str) -> Function:
    def call() -> None:
        import os
        import signal

        os.kill(os.getpid(), signal.Signals[name])

    return call


def exit_with(code: int, farewell: str = "") -> Function:
    def call() -> None:
        import os
        import sys

        print(farewell, file=sys.stderr, flush=True)
        os._exit(code)

    return call


def leave(code: int) -> Function:
    def call() -> None:
        import sys

        sys.exit(code)

    return call


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (abort(), "killed by SIGABRT"),
        (ended_by("SIGSEGV"), "killed by SIGSEGV"),
        (ended_by("SIGTERM"), "killed by SIGTERM"),
        (ended_by("SIGKILL"), "killed by SIGKILL from outside"),
        (exit_with(3), "its process ended with exit code 3"),
        (exit_with(0), "its process ended with exit code 0"),
        (leave(3), "its process ended with exit code 3"),
        (exit_with(4, "one\nlast words "), "its process ended with exit code 4: last words"),
    ],
)
def test_a_subject_that_ends_its_process_is_lost_with_a_reason(start: Workers, function: Function, reason: str) -> None:
    worker = start(function)
    with pytest.raises(WorkerLost) as lost:
        worker.ask(Prepare(0))
    assert lost.value.status == "crashed"
    assert lost.value.reason == reason
    assert gone(worker.pid)


def test_a_worker_killed_from_outside_between_two_requests_is_lost(start: Workers) -> None:
    worker = start(nothing_local())
    worker.ask(Prepare(0))
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerLost, match="SIGKILL from outside") as lost:
        worker.ask(TimeBlock(0, 1, 0))
    assert lost.value.status == "crashed"


def test_a_worker_killed_while_frozen_is_lost(start: Workers) -> None:
    worker = start(nothing_local())
    worker.freeze()
    os.kill(worker.pid, signal.SIGKILL)
    worker.thaw()
    with pytest.raises(WorkerLost, match="SIGKILL from outside"):
        worker.ask(Prepare(0))


def test_a_subject_that_hangs_is_lost_and_its_process_is_gone(start: Workers) -> None:
    def hang() -> None:
        import time

        time.sleep(3600)

    worker = start(hang, timeout_s=60.0)
    worker.timeout_s = 0.3  # starting up may take longer than this on a busy machine
    with pytest.raises(WorkerLost, match=r"no answer within 0\.3 s \(increase `timeout`\)") as lost:
        worker.ask(Prepare(0))
    assert lost.value.status == "timeout"
    assert gone(worker.pid)


def forking(file: str) -> Function:
    """A subject that starts a child, and writes its number to a file."""

    def call() -> None:
        import subprocess
        import sys
        from pathlib import Path as P

        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        P(file).write_text(str(child.pid))

    return call


def ending(how: str) -> Function:
    """A subject that ends its process in some way, or never returns."""

    def call() -> None:
        import os
        import time

        os.abort() if how == "crash" else time.sleep(3600)

    return call


def test_a_crash_is_seen_at_once_even_if_a_forked_child_lives_on(start: Workers, tmp_path: Path) -> None:
    file = str(tmp_path / "child")

    def fork_and_crash() -> None:
        import os
        import time
        from pathlib import Path as P

        child = os.fork()
        if child == 0:
            time.sleep(3600)
        P(file).write_text(str(child))
        os.abort()

    worker = start(fork_and_crash, timeout_s=30.0)
    with pytest.raises(WorkerLost, match="SIGABRT") as lost:
        worker.ask(Prepare(0))
    assert lost.value.status == "crashed"
    assert gone(int(Path(file).read_text()))


@pytest.mark.parametrize("how", ["close", "crash", "hang"])
def test_children_that_a_subject_starts_end_with_it(start: Workers, tmp_path: Path, how: str) -> None:
    file = tmp_path / "child"
    worker = start(forking(str(file)), ending(how))
    worker.ask(Prepare(0))
    if how != "close":
        worker.timeout_s = 0.3 if how == "hang" else 60.0
        with pytest.raises(WorkerLost):
            worker.ask(Prepare(1))
    worker.close()
    assert gone(int(file.read_text()))


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        ("ValueError('wrong')", "failed", "ValueError: wrong"),
        ("ValueError('two\\n   lines')", "failed", "ValueError: two lines"),
        ("KeyError('x')", "failed", "KeyError: 'x'"),
        ("MemoryError()", "oom", "MemoryError"),
        ("RuntimeError('std::bad_alloc')", "oom", "RuntimeError: std::bad_alloc"),
    ],
)
def test_an_exception_is_one_line_and_the_worker_lives_on(start: Workers, error: str, status: str, reason: str) -> None:
    def fail() -> None:
        raise eval(error)

    worker = start(fail, nothing_local())
    with pytest.raises(SubjectError) as failed:
        worker.ask(Prepare(0))
    assert not isinstance(failed.value, WorkerLost)
    assert (failed.value.status, failed.value.reason) == (status, reason)
    assert worker.ask(Prepare(1)).first_call_ns >= 0


def test_a_model_that_cannot_be_loaded_is_bad_input_and_the_worker_lives_on(tmp_path: Path) -> None:
    path = tmp_path / "no.onnx"
    path.write_bytes(b"no model")
    subjects = (ModelSubject(name="run", call="run"),)
    spec = WorkerSpec(subjects=subjects, threads=1, feeds={}, runtime="ort", model_path=str(path))
    with open_worker(spec, timeout_s=60.0) as worker:
        with pytest.raises(BadModel, match=r"onnxruntime .* cannot load the model"):
            worker.ask(Load(spec))
        assert psutil.pid_exists(worker.pid)


def test_closing_twice_does_no_harm(start: Workers) -> None:
    worker = start(nothing_local())
    worker.close()
    worker.close()
    assert gone(worker.pid)


@pytest.mark.parametrize(("kills", "status", "reason"), [(3, "crashed", "from outside"), (4, "oom", "out of memory")])
def test_a_kill_of_the_kernel_for_lack_of_memory_differs_from_another(
    start: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: int, status: str, reason: str
) -> None:
    monkeypatch.setattr(memory, "PROC", tmp_path)
    counts = tmp_path / "vmstat"
    counts.write_text("nr_free_pages 9\noom_kill 3\n")
    worker = start(ended_by("SIGKILL"))
    counts.write_text(f"nr_free_pages 9\noom_kill {kills}\n")
    with pytest.raises(WorkerLost, match=reason) as lost:
        worker.ask(Prepare(0))
    assert (lost.value.status, lost.value.signal) == (status, signal.SIGKILL)


@pytest.mark.parametrize("counts", [None, "nr_free_pages 9\n"], ids=["no file", "no such count"])
def test_where_the_kernel_does_not_count_its_kills_a_kill_came_from_outside(
    start: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: str | None
) -> None:
    monkeypatch.setattr(memory, "PROC", tmp_path)
    if counts is not None:
        (tmp_path / "vmstat").write_text(counts)
    with pytest.raises(WorkerLost, match="from outside"):
        start(ended_by("SIGKILL")).ask(Prepare(0))


@freezing
def test_where_processes_cannot_be_frozen_they_run_on_and_their_death_is_reported(
    start: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CAN_FREEZE", False)
    worker = start(nothing_local(), abort())
    worker.freeze()
    assert state_of(worker.pid) != "T"
    worker.thaw()
    assert worker.ask(Prepare(0)).first_call_ns >= 0
    with pytest.raises(WorkerLost, match="SIGABRT"):
        worker.ask(Prepare(1))


# ---------------------------------------------------------------- one way to open a worker


def test_an_opened_worker_is_ready_and_closed_at_the_end() -> None:
    with open_worker(solo("callable"), timeout_s=60.0) as worker:
        assert worker.idle
    assert gone(worker.pid)


def test_an_opened_worker_is_closed_whatever_happens() -> None:
    with pytest.raises(ZeroDivisionError), open_worker(solo("callable"), timeout_s=60.0) as worker:
        raise ZeroDivisionError
    assert gone(worker.pid)


def test_a_worker_that_does_not_start_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = psutil.Process().children()
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(WorkerLost, match="exit code 1"), open_worker(solo("callable"), timeout_s=60.0):
        pytest.fail("it cannot be ready")
    assert psutil.Process().children() == before


def test_after_an_interrupt_the_next_request_gets_its_own_reply(start: Workers) -> None:
    def fail() -> None:
        raise ValueError("of the interrupted call")

    def interrupt(_pid: int) -> None:
        raise KeyboardInterrupt

    worker = start(fail, nothing_local())
    worker.watch(interrupt, 0.0)
    with pytest.raises(KeyboardInterrupt):
        worker.ask(Prepare(0))
    assert not worker.idle
    worker.watch(lambda _pid: None, 0.0)
    assert worker.ask(Prepare(1)).first_call_ns >= 0
    assert worker.idle


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.EAGAIN, "end other processes, or raise their limit"), (errno.EACCES, f"Python is at {sys.executable!r}")],
)
def test_a_process_that_cannot_be_started_is_one_line(
    number: int, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(subprocess, "Popen", refuse)  # root is held to no limit on processes
    with pytest.raises(BadInput, match=re.escape(f"cannot start a process: {os.strerror(number)}; {advice}")):
        ProcessWorker(WorkerSpec(subjects=(), threads=1, feeds={}), 1.0)
