"""The race, with fake workers on the real interface and a clock that only they move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.errors import BadModel, SubjectError, WorkerLost
from onnxperf.measure import plan as planning
from onnxperf.measure.messages import Load, Loaded, TimeBlock, TimedBlock, WorkerSpec
from onnxperf.measure.race import RaceEnd, Tools, forgive_own_waits, into_batches, race
from onnxperf.measure.worker_group import SubjectRun
from onnxperf.records.options import RaceOptions
from onnxperf.records.race import Block, Measurement, Split
from tests.measure.fakes import CPU_FACTOR, FakeMachine, FakeWorker, lost, raising, solo, spec_of

MILLISECOND = 1_000_000
SHORT = 50_000
"""Calls that are timed one by one between blocks, not in them."""


def never(subjects: Sequence[Measurement]) -> bool:
    return False


def run(
    machine: FakeMachine,
    specs: Sequence[WorkerSpec],
    settled: Callable[[Sequence[Measurement]], bool] = never,
    memory_bytes: int | None = None,
    cpus: tuple[int, ...] = (),
    **options: Any,
) -> RaceEnd:
    """A race on a fake machine; whatever happens, no two workers were ever awake, and none is left."""
    tools = Tools(launch=machine.launch, settled=settled, clock=machine.clock, memory_bytes=memory_bytes, cpus=cpus)
    try:
        return race(specs, RaceOptions(**options), tools)
    finally:
        assert machine.most_awake <= 1
        assert machine.all_closed


def rounds_of(subject: Measurement) -> list[int]:
    return [block.round for block in subject.blocks]


# ---------------------------------------------------------------- the course of a race


def test_blocks_keep_round_position_launch_set_up_calls_and_start() -> None:
    machine = FakeMachine(call_ns={"a": 1_000_000, "b": 2_000_000})
    end = run(machine, [solo("a"), solo("b")], blocks=6, calls_per_block=4, warmup=0.0)
    a, b = end.subjects
    assert (a.name, b.name, end.interrupted, end.batches) == ("a", "b", False, 1)
    assert rounds_of(a) == rounds_of(b) == list(range(6))
    for mine, theirs in zip(a.blocks, b.blocks, strict=True):
        assert {mine.position, theirs.position} == {0, 1}
        assert (mine.start_ns < theirs.start_ns) == (mine.position < theirs.position)
    assert {block.position for block in a.blocks} == {0, 1}
    assert {(block.calls, block.launch, block.duration_ns) for block in a.blocks} == {(4, 0, 4_000_000)}
    assert [block.set_up for block in a.blocks] == [block.set_up for block in b.blocks] == [0] * 4 + [1] * 2
    assert {block.duration_ns for block in b.blocks} == {8_000_000}
    starts = sorted(block.start_ns for subject in end.subjects for block in subject.blocks)
    assert len(set(starts)) == 12


def test_records_name_the_subject_and_how_it_started() -> None:
    machine = FakeMachine(call_ns={"run": 5, "run-c": 7})
    end = run(machine, [spec_of("ort", "run", "run-c")], blocks=1, calls_per_block=1, warmup=0.0)
    fast, slow = end.subjects
    assert (fast.model, fast.runtime, fast.call, fast.status) == ("ort", "ort", "run", "ok")
    assert (fast.load_ns, fast.first_call_ns, slow.first_call_ns) == (10, 5, 7)
    assert slow.conditions == {"threads": 1, "prepared": "run-c"}
    assert machine.launches_of("ort") == 1


def test_a_single_subject_is_measured_alone() -> None:
    end = run(FakeMachine(), [solo("a")], blocks=3, calls_per_block=2)
    assert rounds_of(end.subjects[0]) == [0, 1, 2]


def test_the_warm_up_asked_for_comes_before_the_first_block_of_a_launch() -> None:
    machine = FakeMachine()
    end = run(machine, [solo("a")], blocks=1, calls_per_block=1, warmup=0.5)
    assert end.subjects[0].blocks[0].start_ns >= 500_000_000


def test_progress_is_reported_between_blocks_only_and_never_goes_back() -> None:
    machine = FakeMachine()
    reported: list[float] = []

    def progress(done: float, text: str) -> None:
        assert text
        # Only a worker that is starting up may be awake.
        assert not machine.awake or not text.startswith("round")
        reported.append(done)

    tools = Tools(launch=machine.launch, settled=never, clock=machine.clock, progress=progress)
    race([solo("a"), solo("b")], RaceOptions(time=2.0), tools)
    assert reported == sorted(reported)
    assert 0.0 <= reported[0] <= reported[-1] <= 1.0


def test_outputs_are_collected_once_and_only_where_requested() -> None:
    machine = FakeMachine(troubles={("prepare", "c", 0): lost()})
    specs = [spec_of("ort", "a", "b"), solo("c")]
    tools = Tools(launch=machine.launch, settled=never, clock=machine.clock, collect=True)
    end = race(specs, RaceOptions(blocks=20, calls_per_block=2, time=600.0), tools)
    assert end.outputs == ((["Y"], [0]), (["Y"], [1]), None)
    assert machine.launches_of("ort") == 5
    assert (machine.steps["compute", "a"], machine.steps["compute", "b"]) == (1, 1)
    assert run(FakeMachine(), specs, blocks=1, calls_per_block=1).outputs == (None, None, None)


def test_where_nothing_is_loaded_there_is_no_load_time() -> None:
    machine = FakeMachine(answers={Load: not_loading})
    subject = run(machine, [solo("a")], blocks=6, calls_per_block=2).subjects[0]
    assert (subject.load_ns, subject.first_call_ns, len(subject.blocks)) == (None, MILLISECOND, 6)


def not_loading(worker: FakeWorker, request: Load) -> Loaded:
    """A plain callable came with its data."""
    return replace(worker.load(request), load_ns=None)


# ---------------------------------------------------------------- what calls are made of


def test_calls_are_not_divided_unless_requested() -> None:
    machine = FakeMachine()
    end = run(machine, [spec_of("ort", "run")], blocks=6, calls_per_block=1)
    assert end.subjects[0].split is None
    assert ("split_each", "run") not in machine.steps


@pytest.mark.parametrize(("rounds", "times"), [(1, 1), (5, 1), (6, 2), (20, 4)])
def test_calls_are_divided_every_few_rounds_beginning_with_the_first(rounds: int, times: int) -> None:
    machine = FakeMachine(call_ns={"run": MILLISECOND, "run-c": 20 * MILLISECOND})
    end = run(machine, [spec_of("ort", "run", "run-c")], blocks=rounds, calls_per_block=1, split=True)
    fast, slow = end.subjects
    assert machine.steps["split_each", "run"] == machine.steps["split_each", "run-c"] == times
    assert fast.split == Split(prepare_ns=200_000, compute_ns=700_000, fetch_ns=100_000, calls=10 * times)
    assert slow.split == Split(prepare_ns=4_000_000, compute_ns=14_000_000, fetch_ns=2_000_000, calls=3 * times)


def test_a_callable_without_parts_races_on() -> None:
    end = run(FakeMachine(), [spec_of("ort", "run"), solo("skl")], blocks=2, calls_per_block=1, split=True)
    assert [subject.split is None for subject in end.subjects] == [False, True]
    assert [subject.status for subject in end.subjects] == ["ok", "ok"]


def test_a_subject_that_fails_while_it_is_divided_leaves_the_others_alone() -> None:
    machine = FakeMachine(troubles={("split_each", "run", 0): raising(SubjectError("failed", "no parts"))})
    end = run(machine, [spec_of("ort", "run", "run-c")], blocks=2, calls_per_block=1, split=True)
    assert [(subject.status, subject.reason) for subject in end.subjects] == [("failed", "no parts"), ("ok", "")]


# ---------------------------------------------------------------- looks, launches and set-ups


ROUND_NS = 2 * (11 * MILLISECOND + planning.WARM_NS + 300_000)
"""Two subjects with calls of 1 ms: a block of 11 of them each, after untimed ones."""


def timed_race(
    machine: FakeMachine, settled: Callable[[Sequence[Measurement]], bool] = never, rounds: float = 100.5
) -> RaceEnd:
    """A race of two subjects whose time is that of so many rounds."""
    return run(machine, [solo("a"), solo("b")], settled, time=rounds * ROUND_NS / 1e9, warmup=0.0)


def lengths(subject: Measurement, place: Callable[[Block], object]) -> list[int]:
    """How many blocks there are in each launch, or wherever they are placed."""
    return list(Counter(map(place, subject.blocks)).values())


@pytest.mark.parametrize(("start_s", "launches"), [(1, 5), (1.5, 8), (3, 5), (7.5, 4)])
def test_without_a_requested_time_workers_that_start_slowly_have_launches_enough(start_s: float, launches: int) -> None:
    machine = FakeMachine(start_ns=int(start_s * 1e9))  # two workers start one after the other here
    end = run(machine, [solo("a"), solo("b")], never, warmup=0.0)
    assert [len(lengths(subject, lambda block: block.launch)) for subject in end.subjects] == [launches] * 2


@pytest.mark.parametrize(
    ("start_ms", "launches", "longest"),
    [(0, 25, 4), (20, 18, 4), (150, 6, 8), (200, 5, 8), (300, 4, 8), (2000, 1, 98)],
)
def test_workers_are_launched_anew_as_often_as_the_time_allows(start_ms: int, launches: int, longest: int) -> None:
    machine = FakeMachine(start_ns=start_ms * MILLISECOND)  # two workers start one after the other here
    end = timed_race(machine)
    for subject in end.subjects:
        rounds = lengths(subject, lambda block: block.launch)
        assert (len(rounds), max(rounds)) == (launches, longest)
    assert (machine.launches_of("a"), machine.launches_of("b")) == (launches, launches)
    assert (machine.steps["warm_up", "a"], machine.steps["warm_up", "b"]) == (launches, launches)


@pytest.mark.parametrize("start_ms", [0, 20, 50, 100, 150])
def test_a_race_with_launches_takes_its_time_and_not_more(start_ms: int) -> None:
    machine = FakeMachine(start_ns=start_ms * MILLISECOND)
    begin = machine.clock()
    end = timed_race(machine)
    spent_ns = machine.clock() - begin - end.start_s * 1e9
    assert 0.85 * 100.5 * ROUND_NS < spent_ns <= 100.5 * ROUND_NS


def test_where_launches_are_too_costly_sessions_are_opened_anew_instead() -> None:
    machine = FakeMachine(start_ns=2_000 * MILLISECOND)
    end = timed_race(machine)
    for subject in end.subjects:
        assert {block.launch for block in subject.blocks} == {0}
        assert lengths(subject, lambda block: block.set_up) == [4] * 24 + [2]
    assert [worker.loads for worker in machine.workers] == [25, 25]
    assert {name: machine.steps["prepare", name] for name in "ab"} == {"a": 25, "b": 25}


@pytest.mark.parametrize(("load_ms", "rounds_per_set_up"), [(0, 4), (50, 4), (100, 6), (300, 10), (3000, 30)])
def test_costly_set_ups_last_longer(load_ms: int, rounds_per_set_up: int) -> None:
    machine = FakeMachine(start_ns=60_000 * MILLISECOND, load_ns=load_ms * MILLISECOND)
    for subject in timed_race(machine, rounds=1000.5).subjects:
        assert lengths(subject, lambda block: block.set_up)[0] == rounds_per_set_up


@pytest.mark.parametrize(("noise", "rounds"), [(None, 10), (0.1, 6), (2.0, 10), (4.0, 20), (100.0, 24)])
def test_the_first_launches_decide_how_long_the_others_are(noise: float | None, rounds: int) -> None:
    machine = FakeMachine(start_ns=300 * MILLISECOND)
    tools = Tools(launch=machine.launch, settled=never, clock=machine.clock, noise=lambda _subjects: noise)
    end = race([solo("a"), solo("b")], RaceOptions(time=20.0, warmup=0.0), tools)
    first, *_, last = lengths(end.subjects[0], lambda block: block.launch)
    assert (first, last) == (10, rounds)


@pytest.mark.parametrize(("slower", "rounds", "launches"), [(1.0, 10, 6), (3.0, 6, 5), (4.0, 4, 5)])
def test_where_rounds_take_longer_than_planned_launches_become_shorter_not_fewer(
    slower: float, rounds: int, launches: int
) -> None:
    machine = FakeMachine(start_ns=300 * MILLISECOND, slowdown=lambda _subject, _block: slower)
    tools = Tools(launch=machine.launch, settled=never, clock=machine.clock)
    end = race([solo("a"), solo("b")], RaceOptions(time=5.0, warmup=0.0), tools)
    found = lengths(end.subjects[0], lambda block: block.launch)
    assert (found[1:2], len(found)) == ([rounds], launches)


@pytest.mark.parametrize(
    ("options", "done", "calls", "singles", "longest_ns"),
    [
        ({}, 3, 3, 4, planning.LONGEST_BLOCK_NS),
        ({}, None, 220, 4, planning.LONGEST_BLOCK_NS),
        ({"calls_per_block": 7}, None, 7, 4, 0),
    ],
)
def test_a_block_that_ended_early_keeps_the_calls_it_had(
    options: dict[str, Any], done: int | None, calls: int, singles: int, longest_ns: int
) -> None:
    def answer(_worker: FakeWorker, request: TimeBlock) -> TimedBlock:
        assert request.longest_ns == longest_ns
        return TimedBlock(1, 30, quickest_ns=10.0, calls=done)

    machine = FakeMachine(call_ns={"a": SHORT}, answers={TimeBlock: answer})
    end = run(machine, [solo("a")], blocks=4, **options)
    assert {block.calls for block in end.subjects[0].blocks} == {calls}
    assert machine.steps["time_each", "a"] == singles


def test_call_styles_of_a_worker_are_set_up_together() -> None:
    machine = FakeMachine()
    end = run(machine, [spec_of("ort", "run", "run-c")], blocks=10, calls_per_block=2, warmup=0.0)
    assert [[block.set_up for block in subject.blocks] for subject in end.subjects] == [[0] * 4 + [1] * 4 + [2] * 2] * 2
    assert machine.steps["load", "ort"] == 3
    assert machine.steps["prepare", "run"] == machine.steps["prepare", "run-c"] == 3
    assert len(machine.workers) == 1


def test_load_and_first_call_are_medians_over_launches_and_set_ups_in_between_do_not_count() -> None:
    machine = FakeMachine(start_ns=200 * MILLISECOND)
    a, b = timed_race(machine).subjects
    assert (a.load_ns, b.load_ns) == (14, 15)  # workers 0, 2, 4, 6 and 8 took 10 to 18
    assert (a.first_call_ns, b.first_call_ns) == (MILLISECOND, MILLISECOND)


# ---------------------------------------------------------------- processors


def with_threads(spec: WorkerSpec, threads: int) -> WorkerSpec:
    return replace(spec, threads=threads)


@pytest.mark.parametrize(
    ("cpus", "threads", "rounds"),
    [
        ((), (1, 1), [()] * 4),  # where a process cannot be bound
        ((7,), (1, 1), [()] * 4),
        ((3, 5), (1, 1), [(3,), (5,), (3,), (5,)]),
        ((3, 5), (2, 2), [()] * 4),  # they use all of them anyway
        ((0, 1, 2), (2, 2), [(0, 1), (0, 2), (1, 2), (0, 1)]),
    ],
)
def test_all_subjects_of_a_round_run_on_the_same_processors_and_rounds_take_turns(
    cpus: tuple[int, ...], threads: tuple[int, int], rounds: list[tuple[int, ...]]
) -> None:
    assert places_of(cpus, threads) == {"a": rounds, "b": rounds}


@pytest.mark.parametrize(
    ("cpus", "threads", "of_a", "of_b"),
    [
        ((3, 5), (1, 2), [(3,), (5,), (3,), (5,)], [()] * 4),  # the second uses all of them
        ((0, 1, 2, 3), (1, 2), [(0,), (1,), (2,), (3,)], [(0, 1), (2, 3), (0, 1), (2, 3)]),
    ],
)
def test_a_subject_with_fewer_threads_than_another_has_fewer_processors(
    cpus: tuple[int, ...], threads: tuple[int, int], of_a: list[tuple[int, ...]], of_b: list[tuple[int, ...]]
) -> None:
    assert places_of(cpus, threads) == {"a": of_a, "b": of_b}


def places_of(cpus: tuple[int, ...], threads: tuple[int, int]) -> dict[str, list[tuple[int, ...]]]:
    """The processors on which two subjects of so many threads were timed, round by round."""
    machine = FakeMachine()
    specs = [with_threads(solo(name), each) for name, each in zip("ab", threads, strict=True)]
    run(machine, specs, cpus=cpus, blocks=4, calls_per_block=2)
    places = {name: [place for subject, place in machine.places if subject == name] for name in "ab"}
    assert [bool(machine.steps.get(("move_to", name))) for name in "ab"] == [any(places[name]) for name in "ab"]
    return places


def test_single_calls_are_timed_on_the_processors_of_their_round() -> None:
    machine = FakeMachine(call_ns={"a": SHORT})
    run(machine, [solo("a")], cpus=(3, 5), blocks=6, calls_per_block=2)
    assert [place for _, place in machine.places] == [(cpu,) for cpu in (3, 5, 3, 5, 3, 5) for _ in range(2)]
    assert machine.steps["time_each", "a"] == 6


def test_a_worker_lost_on_its_way_to_another_processor_takes_the_one_at_its_turn_with_it() -> None:
    machine = FakeMachine(troubles={("move_to", "b", 2): lost()})
    end = run(machine, [solo("a"), solo("b")], cpus=(3, 5), blocks=4, calls_per_block=2)
    assert [(s.status, len(s.blocks)) for s in end.subjects] == [("ok", 4), ("crashed", 2)]


# ---------------------------------------------------------------- looks


@pytest.mark.parametrize(("look", "rounds"), [(1, 36), (2, 100)])
def test_a_race_stops_at_the_look_where_it_is_settled(look: int, rounds: int) -> None:
    looks = count(1)
    seen: list[int] = []

    def settled(subjects: Sequence[Measurement]) -> bool:
        seen.append(len(subjects[0].blocks))
        return next(looks) == look

    end = timed_race(FakeMachine(), settled)
    assert seen == [36]  # a third of 25 launches; nothing has to be settled at the end
    assert [len(subject.blocks) for subject in end.subjects] == [rounds, rounds]
    assert [(subject.looks, subject.looks_planned) for subject in end.subjects] == [(look, 2)] * 2


# ---------------------------------------------------------------- single calls


def test_short_calls_are_timed_one_by_one_behind_each_block() -> None:
    machine = FakeMachine(call_ns={"a": SHORT})
    end = run(machine, [solo("a")], blocks=11, calls_per_block=5)
    assert len(end.subjects[0].blocks) == 11
    assert machine.steps["time_each", "a"] == 11
    assert end.subjects[0].call_ns == (SHORT,) * 550
    assert sum(calls for _, calls in end.subjects[0].call_launches) == 550


def test_single_calls_are_spread_over_the_whole_race() -> None:
    machine = FakeMachine(call_ns={"a": SHORT, "b": SHORT})
    rounds = len(timed_race(machine).subjects[0].blocks)
    assert machine.steps["time_each", "a"] == machine.steps["time_each", "b"] == rounds > 10


@pytest.mark.parametrize("call_ns", [100_000, 50_000_000])
def test_every_longer_call_in_a_block_is_timed(call_ns: int) -> None:
    machine = FakeMachine(call_ns={"a": call_ns})
    subject = run(machine, [solo("a")], time=5.0).subjects[0]
    assert len(subject.call_ns) == sum(block.calls for block in subject.blocks) > 20
    assert sum(subject.call_ns) == sum(block.duration_ns for block in subject.blocks)
    assert ("time_each", "a") not in machine.steps


# ---------------------------------------------------------------- CPU time and pauses


def test_blocks_have_the_cpu_time_that_their_worker_used() -> None:
    subject = run(FakeMachine(), [solo("a")], blocks=3, calls_per_block=2).subjects[0]
    assert [(block.cpu_ns, block.span_ns) for block in subject.blocks] == [(CPU_FACTOR * 2 * MILLISECOND, None)] * 3
    assert "every_s" not in subject.conditions


@pytest.mark.parametrize("call_ns", [SHORT, MILLISECOND])
def test_with_pauses_every_call_is_timed_and_a_block_has_at_least_three(call_ns: int) -> None:
    machine = FakeMachine(call_ns={"a": call_ns})
    subject = run(machine, [solo("a")], every=0.05, blocks=4).subjects[0]
    assert subject.call_ns == (call_ns,) * 12
    assert ("time_each", "a") not in machine.steps
    assert {(block.calls, block.duration_ns, block.span_ns) for block in subject.blocks} == {
        (3, 3 * call_ns, 150 * MILLISECOND)
    }
    assert subject.conditions["every_s"] == 0.05


def test_a_race_with_pauses_keeps_to_its_time() -> None:
    machine = FakeMachine(start_ns=50 * MILLISECOND)
    begin = machine.clock()
    end = run(machine, [solo("a"), solo("b")], every=0.05, time=20.0, warmup=0.0)
    spent_s = (machine.clock() - begin) / 1e9 - end.start_s
    assert 15.0 < spent_s <= 20.0
    assert all(len(subject.blocks) >= 20 for subject in end.subjects)


# ---------------------------------------------------------------- the time of a race


def test_a_race_on_a_machine_that_becomes_slower_ends_in_time_and_takes_its_last_look() -> None:
    machine = FakeMachine(slowdown=lambda _name, block: 1.0 if block < 25 else 8.0)
    end = timed_race(machine)
    assert all(25 < len(subject.blocks) < 60 for subject in end.subjects)
    assert [(subject.looks, subject.looks_planned) for subject in end.subjects] == [(2, 2)] * 2


def test_rounds_fixed_by_hand_are_all_run_however_long_they_take() -> None:
    machine = FakeMachine(slowdown=lambda _name, _block: 8.0)
    assert rounds_of(run(machine, [solo("a")], blocks=30, calls_per_block=2).subjects[0]) == list(range(30))


def test_what_a_plan_cannot_show_is_said_before_its_first_round() -> None:
    machine = FakeMachine(call_ns={"a": 1_000 * MILLISECOND})
    texts: list[str] = []
    tools = Tools(
        launch=machine.launch,
        settled=never,
        clock=machine.clock,
        progress=lambda _done, text: texts.append(text),
        warn=lambda plan: f"{plan.rounds} of {plan.needed} rounds",
    )
    end = race([solo("a")], RaceOptions(time=5.0), tools)
    rounds = [text for text in texts if text.startswith("round")]
    assert rounds == ["round 1 of at most 2; 2 of 3 rounds", "round 2 of at most 2; 2 of 3 rounds"]
    assert end.start_s == pytest.approx(1.1)  # its first call, and the warm-up


# ---------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("status", ["crashed", "timeout", "oom"])
@pytest.mark.parametrize("block", [0, 3])
def test_a_subject_whose_worker_is_lost_is_a_row_and_its_mates_finish(status: str, block: int) -> None:
    machine = FakeMachine(troubles={("time_block", "run-c", block): lost(status)})
    specs = [spec_of("ort", "run", "run-c", "ort-values"), solo("skl")]
    end = run(machine, specs, blocks=6, calls_per_block=2)
    run_, run_c, values, skl = end.subjects
    assert (run_c.status, run_c.reason) == (status, f"{status} for a test")
    assert rounds_of(run_c) == list(range(block))
    for mate in (run_, values, skl):
        assert mate.status == "ok"
        assert rounds_of(mate) == list(range(6))
    assert (machine.launches_of("ort"), machine.launches_of("skl")) == (2, 1)
    assert {b.launch for b in run_.blocks} <= {0, 1}
    assert run_.blocks[-1].launch == 1
    assert {b.launch for b in skl.blocks} == {0}
    assert [s.name for s in machine.workers[-1].spec.subjects] == ["run", "ort-values"]


@pytest.mark.parametrize("step", ["prepare", "warm_up"])
@pytest.mark.parametrize("culprit", ["run", "run-c", "ort-values"])
def test_a_worker_lost_before_the_race_takes_only_the_culprit_with_it(step: str, culprit: str) -> None:
    machine = FakeMachine(troubles={(step, culprit, 0): lost()})
    end = run(machine, [spec_of("ort", "run", "run-c", "ort-values"), solo("skl")], blocks=4, calls_per_block=2)
    for subject in end.subjects:
        assert subject.status == ("crashed" if subject.name == culprit else "ok")
        assert len(subject.blocks) == (0 if subject.name == culprit else 4)


def test_several_culprits_in_one_worker_fall_one_after_the_other() -> None:
    machine = FakeMachine(troubles={("prepare", "run", 0): lost(), ("time_block", "ort-values", 1): lost("oom")})
    end = run(machine, [spec_of("ort", "run", "run-c", "ort-values")], blocks=4, calls_per_block=2)
    assert [subject.status for subject in end.subjects] == ["crashed", "ok", "oom"]
    assert [len(subject.blocks) for subject in end.subjects] == [0, 4, 1]


def test_a_worker_lost_while_single_calls_are_timed_keeps_its_blocks() -> None:
    machine = FakeMachine(call_ns={"run-c": SHORT}, troubles={("time_each", "run-c", 0): lost()})
    end = run(machine, [spec_of("ort", "run", "run-c")], blocks=7, calls_per_block=2)
    assert [subject.status for subject in end.subjects] == ["ok", "crashed"]
    assert [len(subject.blocks) for subject in end.subjects] == [7, 1]


@pytest.mark.parametrize("step", ["prepare", "warm_up", "time_block", "time_each"])
@pytest.mark.parametrize("error", [SubjectError("failed", "no"), SubjectError("oom", "no"), BadModel("no")])
def test_a_subject_that_raises_fails_alone_and_its_worker_lives_on(step: str, error: Exception) -> None:
    machine = FakeMachine(call_ns={"run": SHORT}, troubles={(step, "run", 0): raising(error)})
    end = run(machine, [spec_of("ort", "run", "run-c")], blocks=6, calls_per_block=2)
    failed, mate = end.subjects
    assert (failed.status, failed.reason) == (getattr(error, "status", "failed"), "no")
    assert (mate.status, len(mate.blocks)) == ("ok", 6)
    assert len(machine.workers) == 1


@pytest.mark.parametrize("step", ["ready", "load"])
@pytest.mark.parametrize("error", [WorkerLost("timeout", "no"), SubjectError("failed", "no"), BadModel("no")])
def test_a_worker_that_does_not_load_fails_all_its_subjects_and_no_others(step: str, error: Exception) -> None:
    machine = FakeMachine(troubles={(step, "ort", 0): raising(error)})
    end = run(machine, [spec_of("ort", "run", "run-c"), solo("skl")], blocks=4, calls_per_block=2)
    status = getattr(error, "status", "failed")
    assert [(s.status, len(s.blocks)) for s in end.subjects] == [(status, 0), (status, 0), ("ok", 4)]
    assert end.subjects[0].reason == end.subjects[1].reason == "no"
    assert machine.launches_of("ort") == 1


def test_a_race_in_which_no_worker_starts_ends_at_once() -> None:
    machine = FakeMachine(troubles={("load", "a", 0): lost(), ("prepare", "b", 0): lost()})
    end = run(machine, [solo("a"), solo("b")])
    assert [subject.status for subject in end.subjects] == ["crashed", "crashed"]
    assert not any(step == "time_block" for step, _ in machine.steps)


def test_a_race_ends_when_the_last_subject_is_lost() -> None:
    machine = FakeMachine(troubles={("time_block", "a", 2): lost()})
    end = run(machine, [solo("a")], blocks=50, calls_per_block=2)
    assert len(end.subjects[0].blocks) == 2


def test_a_worker_lost_when_it_is_launched_again_keeps_what_it_measured() -> None:
    machine = FakeMachine(troubles={("load", "b", 2): lost("oom")})
    a, b = timed_race(machine).subjects
    assert (a.status, b.status, len(b.blocks)) == ("ok", "oom", 8)
    assert len(a.blocks) > 80


@pytest.mark.parametrize("error", [SubjectError("failed", "no"), SubjectError("oom", "no"), BadModel("no")])
def test_a_subject_that_raises_when_it_is_set_up_again_fails_alone(error: Exception) -> None:
    machine = FakeMachine(troubles={("prepare", "run", 1): raising(error)})
    failed, mate, other = run(
        machine, [spec_of("ort", "run", "run-c"), solo("skl")], blocks=8, calls_per_block=2
    ).subjects
    assert (failed.status, failed.reason, len(failed.blocks)) == (getattr(error, "status", "failed"), "no", 4)
    for subject in (mate, other):
        assert (subject.status, [block.set_up for block in subject.blocks]) == ("ok", [0] * 4 + [1] * 4)
    assert len(machine.workers) == 2


@pytest.mark.parametrize("culprit", ["run", "run-c", "ort-values"])
def test_a_worker_lost_when_it_is_set_up_again_takes_only_the_culprit_with_it(culprit: str) -> None:
    machine = FakeMachine(troubles={("prepare", culprit, 1): lost()})
    end = run(machine, [spec_of("ort", "run", "run-c", "ort-values"), solo("skl")], blocks=8, calls_per_block=2)
    *spec, skl = end.subjects
    for subject in spec:
        places = [(block.launch, block.set_up) for block in subject.blocks]
        if subject.name == culprit:
            assert (subject.status, places) == ("crashed", [(0, 0)] * 4)
        else:
            assert (subject.status, places) == ("ok", [(0, 0)] * 4 + [(1, 0)] * 4)  # in a new process
    assert [(block.launch, block.set_up) for block in skl.blocks] == [(0, 0)] * 4 + [(0, 1)] * 4
    assert (machine.launches_of("ort"), machine.launches_of("skl")) == (2, 1)


@pytest.mark.parametrize("error", [WorkerLost("timeout", "no"), SubjectError("oom", "no"), BadModel("no")])
def test_a_worker_that_does_not_load_again_fails_its_subjects_which_keep_what_was_measured(
    error: Exception,
) -> None:
    machine = FakeMachine(troubles={("load", "ort", 1): raising(error)})
    end = run(machine, [spec_of("ort", "run", "run-c"), solo("skl")], blocks=8, calls_per_block=2)
    status = getattr(error, "status", "failed")
    assert [(s.status, len(s.blocks)) for s in end.subjects] == [(status, 4), (status, 4), ("ok", 8)]
    assert end.subjects[0].reason == end.subjects[1].reason == "no"
    assert machine.launches_of("ort") == 1


def test_a_worker_lost_when_set_up_again_that_does_not_come_back_fails_all_its_subjects() -> None:
    machine = FakeMachine(troubles={("prepare", "run", 1): lost(), ("load", "ort", 2): lost("oom")})
    end = run(machine, [spec_of("ort", "run", "run-c"), solo("skl")], blocks=8, calls_per_block=2)
    assert [(s.status, len(s.blocks)) for s in end.subjects] == [("crashed", 4), ("oom", 4), ("ok", 8)]


def test_several_culprits_of_one_set_up_fall_one_after_the_other() -> None:
    machine = FakeMachine(troubles={("prepare", "run", 1): lost(), ("prepare", "ort-values", 1): lost("oom")})
    end = run(machine, [spec_of("ort", "run", "run-c", "ort-values")], blocks=8, calls_per_block=2)
    assert [(s.status, len(s.blocks)) for s in end.subjects] == [("crashed", 4), ("ok", 8), ("oom", 4)]


@pytest.mark.parametrize(("step", "blocks"), [("time_block", 3), ("time_each", 1), ("load", 0), ("warm_up", 0)])
def test_what_was_measured_before_an_interrupt_is_returned(step: str, blocks: int) -> None:
    before = 3 if step == "time_block" else 0
    machine = FakeMachine(call_ns={"b": SHORT}, troubles={(step, "b", before): raising(KeyboardInterrupt())})
    end = run(machine, [solo("a"), solo("b")], blocks=6, calls_per_block=2)
    assert end.interrupted
    assert len(end.subjects[1].blocks) == blocks
    assert blocks <= len(end.subjects[0].blocks) <= blocks + 1
    assert [subject.status for subject in end.subjects] == ["ok", "ok"]


@pytest.mark.parametrize("step", ["ready", "load", "prepare", "warm_up", "time_block", "time_each"])
def test_no_worker_is_left_after_an_unexpected_error(step: str) -> None:
    machine = FakeMachine(call_ns={"b": SHORT}, troubles={(step, "b", 0): raising(ZeroDivisionError("surprise"))})
    with pytest.raises(ZeroDivisionError, match="surprise"):
        run(machine, [solo("a"), solo("b")], blocks=6, calls_per_block=2)
    assert len(machine.workers) == 2


def test_no_worker_is_left_when_one_cannot_be_launched() -> None:
    machine = FakeMachine()

    def launch(spec: WorkerSpec) -> FakeWorker:
        if spec.runtime == "b":
            raise OSError("no more processes")
        return machine.launch(spec)

    tools = Tools(launch=launch, settled=never, clock=machine.clock)
    with pytest.raises(OSError, match="no more processes"):
        race([solo("a"), solo("b")], RaceOptions(), tools)
    assert machine.workers
    assert machine.all_closed


# ---------------------------------------------------------------- batches


def names_in(batches: list[list[SubjectRun]]) -> list[list[str]]:
    return [[run.name for run in batch] for batch in batches]


@pytest.mark.parametrize(
    ("memory_bytes", "baseline", "batches"),
    [
        (None, None, [["a", "b", "c", "d"]]),
        (100, None, [["a", "b", "c", "d"]]),
        (30, None, [["a", "b", "c"], ["a", "d"]]),
        (20, None, [["a", "b"], ["a", "c"], ["a", "d"]]),
        (1, None, [["a", "b"], ["a", "c"], ["a", "d"]]),  # the baseline needs a rival, fit or not
        (30, "c", [["c", "a", "b"], ["c", "d"]]),
    ],
)
def test_workers_that_do_not_fit_side_by_side_share_the_baseline(
    memory_bytes: int | None, baseline: str | None, batches: list[list[str]]
) -> None:
    runs = [SubjectRun(solo(name, memory_bytes=10), 0) for name in "abcd"]
    assert names_in(into_batches(runs, baseline, memory_bytes)) == batches


def test_only_the_baseline_of_its_worker_joins_later_batches() -> None:
    ort = spec_of("ort", "run", "run-c", memory_bytes=10)
    runs = [SubjectRun(ort, 0), SubjectRun(ort, 1), *(SubjectRun(solo(name, memory_bytes=10), 0) for name in "bc")]
    assert names_in(into_batches(runs, "run-c", 20)) == [["run", "run-c", "b"], ["run-c", "c"]]


def test_rounds_keep_counting_over_batches() -> None:
    machine = FakeMachine()
    specs = [solo(name, memory_bytes=10) for name in "abc"]
    end = run(machine, specs, memory_bytes=20, blocks=3, calls_per_block=2)
    a, b, c = end.subjects
    assert end.batches == 2
    assert rounds_of(a) == [0, 1, 2, 3, 4, 5]
    assert rounds_of(b) == [0, 1, 2]
    assert rounds_of(c) == [3, 4, 5]
    assert [block.launch for block in a.blocks] == [0, 0, 0, 1, 1, 1]


def test_workers_of_one_batch_are_gone_before_the_next_starts() -> None:
    machine = FakeMachine()
    open_at_launch: list[int] = []

    def launch(spec: WorkerSpec) -> FakeWorker:
        open_at_launch.append(sum(not worker.closed for worker in machine.workers))
        return machine.launch(spec)

    specs = [solo(name, memory_bytes=10) for name in "abcd"]
    tools = Tools(launch=launch, settled=never, clock=machine.clock, memory_bytes=20)
    race(specs, RaceOptions(blocks=2, calls_per_block=2), tools)
    assert max(open_at_launch) == 1


@pytest.mark.parametrize(
    ("others", "free"), [(None, 0), (0.01, 10), (0.3, 0)], ids=["not known", "left alone", "disturbed"]
)
def test_threads_that_wait_for_their_own_kind_are_not_disturbed(others: float | None, free: int) -> None:
    waiting = Block(round=0, position=0, launch=0, calls=1, start_ns=0, duration_ns=1, free_pieces=0)
    earlier, partly = replace(waiting, round=9), replace(waiting, free_pieces=3)
    run = SubjectRun(solo("a"), 0)
    run.pieces, run.blocks = 10, [earlier, waiting, partly]
    forgive_own_waits([run], [1], others)
    assert [block.free_pieces for block in run.blocks] == [0, free, 3]
