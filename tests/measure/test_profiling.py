"""Sessions that record themselves, called in turn with others."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf.errors import WorkerLost
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.profiling import most_iterations, shares, take_turns
from onnxperf.records.options import Recording
from onnxperf.records.trace import EVENT_CAP
from tests.measure.fakes import FakeMachine, lost, raising, spec_of

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


@pytest.mark.parametrize(("call_ns", "calls"), [(1_000, 100), (20_000_000, 50), (900_000_000, 5)])
def test_unless_asked_otherwise_a_trace_lasts_about_a_second(call_ns: int, calls: int) -> None:
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
