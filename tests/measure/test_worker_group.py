"""The workers of a race, with fake processes on the real interface."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.measure.messages import Load, WarmUp, WorkerSpec
from onnxperf.measure.worker_group import SubjectRun, WorkerGroup
from tests.measure.fakes import FakeMachine, lost, solo, spec_of

WARMUP_NS = 100_000_000


def group_of(machine: FakeMachine, specs: Sequence[WorkerSpec]) -> WorkerGroup:
    runs = [SubjectRun(spec, position) for spec in specs for position in range(len(spec.subjects))]
    return WorkerGroup(runs, machine.launch, WARMUP_NS, lambda _text: None)


def warm_ups(machine: FakeMachine) -> list[int]:
    return [request.duration_ns for request in machine.requests if isinstance(request, WarmUp)]


def test_all_processes_start_before_the_first_is_waited_for() -> None:
    machine, started = FakeMachine(), []
    machine.troubles = {("ready", "a", launch): lambda: started.append(len(machine.workers)) for launch in range(2)}
    with group_of(machine, [solo("a"), solo("b"), solo("c")]) as group:
        group.start()
        group.start()
    assert started == [3, 6]
    assert machine.all_closed


def test_only_the_first_launch_warms_up_at_length() -> None:
    machine = FakeMachine(call_ns={"a": 3_000.0})
    with group_of(machine, [solo("a")]) as group:
        for _ in range(3):
            group.start()
            assert group.runs[0].call_ns == 3_000.0
    assert warm_ups(machine) == [WARMUP_NS, WARMUP_NS // 10, WARMUP_NS // 10]


def test_a_subject_that_lost_its_worker_before_its_first_warm_up_still_has_one() -> None:
    machine = FakeMachine(troubles={("warm_up", "run", 0): lost()})
    with group_of(machine, [spec_of("ort", "run", "run-c")]) as group:
        group.start()
        assert [run.call_ns for run in group.alive()] == [1_000_000.0]
    assert warm_ups(machine) == [WARMUP_NS]


def test_every_set_up_in_a_running_worker_gets_other_blocks_of_memory_before_it() -> None:
    machine = FakeMachine()
    with group_of(machine, [solo("a"), solo("b")]) as group:
        group.start()
        group.set_up_again()
        group.set_up_again()
    sizes = [request.block_sizes for request in machine.requests if isinstance(request, Load)]
    assert sizes[:2] == [(), ()]  # a process that has just started lies elsewhere anyway
    assert len(set(sizes[2:])) == 4
    assert all(sizes[2:])


def test_a_process_of_a_pool_that_comes_back_is_another_set_up_elsewhere_in_memory_and_no_new_launch() -> None:
    machine = FakeMachine(homes=("one", "two", "three"))
    places = []
    with group_of(machine, [solo("a")]) as group:
        for _ in range(7):
            group.start()
            places.append((group.runs[0].launch, group.runs[0].set_up))
    assert places == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2)]
    sizes = [request.block_sizes for request in machine.requests if isinstance(request, Load)]
    assert len(set(sizes)) == 7
    assert all(sizes)
