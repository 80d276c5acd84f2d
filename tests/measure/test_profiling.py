"""Sessions that record themselves, called in turn with others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf.errors import WorkerLost
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.profiling import most_iterations, shares, take_launches, take_turns
from onnxperf.records.options import Recording
from onnxperf.records.trace import EVENT_CAP
from tests.measure.fakes import FakeMachine, FakeWorker, lost, raising, spec_of

PLAIN = spec_of("plain", "plain")
TRACED = replace(spec_of("traced", "traced"), recording=Recording(trace_prefix="t"))


@pytest.mark.parametrize("repeat", [1, 2, 6, 23, 111])
def test_a_trace_holds_exactly_as_many_calls_as_were_asked_for(repeat: int) -> None:
    machine = FakeMachine()
    end = take_turns([PLAIN, TRACED], repeat, machine.launch)
    assert machine.recorded.get("traced", 1) == repeat
    assert len(end.turns[0].call_ns) == len(end.turns[1].call_ns) == repeat - 1
    assert end.turns[0].trace is None
    assert end.turns[1].trace == Path("traced.json")


def test_only_the_worker_at_its_turn_is_awake_and_all_are_closed_at_the_end() -> None:
    machine = FakeMachine()
    take_turns([PLAIN, TRACED, replace(TRACED, runtime="other")], 30, machine.launch)
    assert machine.most_awake == 1
    assert machine.all_closed


def test_the_order_changes_from_round_to_round_and_all_use_the_same_processors() -> None:
    machine = FakeMachine()
    take_turns([PLAIN, TRACED], 5, machine.launch, cpus=(0, 1))
    assert machine.places == [
        ("plain", (0,)),
        ("traced", (0,)),
        ("traced", (1,)),
        ("plain", (1,)),
        ("plain", (0,)),
        ("traced", (0,)),
        ("traced", (1,)),
        ("plain", (1,)),
    ]


@pytest.mark.parametrize(
    ("call_ns", "calls"), [(1_000, 151), (20_000_000, 75), (900_000_000, 31), (2_000_000_000, 15), (60_000_000_000, 3)]
)
def test_unless_asked_otherwise_a_trace_has_30_iterations_that_count_and_fewer_only_if_these_took_too_long(
    call_ns: int, calls: int
) -> None:
    machine = FakeMachine(call_ns={"plain": call_ns, "traced": call_ns})
    take_turns([PLAIN, TRACED], None, machine.launch)
    assert machine.recorded["traced"] == calls


@pytest.mark.parametrize("specs", [[TRACED], [PLAIN, TRACED]])
def test_a_trace_never_gets_more_than_it_can_hold(specs: list[WorkerSpec]) -> None:
    machine = FakeMachine()
    take_turns(specs, 500, machine.launch, most=most_iterations(EVENT_CAP // 20))
    assert machine.recorded["traced"] == 19


def test_what_was_recorded_before_ctrl_c_is_kept() -> None:
    machine = FakeMachine(troubles={("time_each", "traced", 3): raising(KeyboardInterrupt())})
    end = take_turns([PLAIN, TRACED], 41, machine.launch)
    assert end.interrupted
    assert len(end.turns[1].call_ns) == 12
    assert end.turns[1].trace is not None
    assert machine.all_closed


BOTH = [TRACED, replace(TRACED, runtime="other", subjects=spec_of("other", "other").subjects)]


@pytest.mark.parametrize(
    ("repeat", "counts"),
    [(10, [9]), (11, [2, 2, 2, 2, 2]), (23, [4, 5, 5, 4, 4]), (None, [30, 30, 30, 30, 30])],
)
def test_launches_are_processes_of_their_own_and_have_the_calls_that_were_asked_for_together(
    repeat: int | None, counts: list[int]
) -> None:
    machine = FakeMachine()
    prefixes: list[str | None] = []

    def launch(spec: WorkerSpec) -> FakeWorker:
        prefixes.append(spec.recording.trace_prefix if spec.recording else None)
        return machine.launch(spec)

    ends = take_launches(BOTH, repeat, launch)
    # all but the first call of a launch; of the first launch, that one counts, too
    assert [[len(turns.call_ns) for turns in end.turns] for end in ends] == [[each] * 2 for each in counts]
    assert repeat is None or sum(counts) + 1 == repeat
    assert len(prefixes) == 2 * len(counts)
    assert machine.most_awake == 1
    assert machine.all_closed
    assert len(set(prefixes)) == len(counts)


def test_launches_begin_with_each_side_in_turn_and_turns_keep_the_order_of_specs() -> None:
    machine = FakeMachine()
    ends = take_launches(BOTH, 11, machine.launch)
    starts = [machine.places[4 * number][0] for number in range(5)]
    assert starts == ["traced", "other", "traced", "other", "traced"]
    assert all([turns.trace for turns in end.turns] == [Path("traced.json"), Path("other.json")] for end in ends)


@pytest.mark.parametrize(("trouble", "launches"), [(("prepare", "other", 0), 0), (("prepare", "other", 2), 2)])
def test_ctrl_c_while_a_launch_starts_keeps_those_before(trouble: tuple[str, str, int], launches: int) -> None:
    machine = FakeMachine(troubles={trouble: raising(KeyboardInterrupt())})
    if launches == 0:
        with pytest.raises(KeyboardInterrupt):
            take_launches(BOTH, 20, machine.launch)
        return
    ends = take_launches(BOTH, 20, machine.launch)
    assert [end.interrupted for end in ends] == [False] * (launches - 1) + [True]
    assert machine.all_closed


def test_a_lost_worker_ends_the_others() -> None:
    machine = FakeMachine(troubles={("prepare", "traced", 0): lost()})
    with pytest.raises(WorkerLost, match="crashed for a test"):
        take_turns([PLAIN, TRACED], 5, machine.launch)
    assert machine.all_closed


@given(st.integers(0, 1000), st.integers(1, 20))
def test_shares_are_even_and_lose_nothing(total: int, parts: int) -> None:
    counts = shares(total, parts)
    assert sum(counts) == total
    assert max(counts) - min(counts) <= 1
