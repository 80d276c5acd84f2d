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
from onnxperf.records import EVENT_CAP, Recording
from tests.measure.fakes import Yard, crew_of

PLAIN = crew_of("plain", "plain")
TRACED = replace(crew_of("traced", "traced"), recording=Recording(trace_prefix="t"))


@pytest.mark.parametrize("repeat", [1, 2, 6, 23, 111])
def test_a_trace_holds_exactly_as_many_calls_as_were_asked_for(repeat: int) -> None:
    yard = Yard()
    end = take_turns([PLAIN, TRACED], repeat, yard.launch)
    assert yard.recorded.get("traced", 1) == repeat
    assert len(end.turns[0].call_ns) == len(end.turns[1].call_ns) == repeat - 1
    assert end.turns[0].trace is None
    assert end.turns[1].trace == Path("traced.json")


def test_only_the_worker_at_its_turn_is_awake_and_all_are_closed_at_the_end() -> None:
    yard = Yard()
    take_turns([PLAIN, TRACED, replace(TRACED, runtime="other")], 30, yard.launch)
    assert yard.most_awake == 1
    assert yard.all_closed


def test_who_begins_changes_from_round_to_round_and_all_use_the_same_processors() -> None:
    yard = Yard()
    take_turns([PLAIN, TRACED], 5, yard.launch, cpus=(0, 1))
    assert yard.places == [
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
    yard = Yard(call_ns={"plain": call_ns, "traced": call_ns})
    take_turns([PLAIN, TRACED], None, yard.launch)
    assert yard.recorded["traced"] == calls


@pytest.mark.parametrize("specs", [[TRACED], [PLAIN, TRACED]])
def test_a_trace_never_gets_more_than_it_can_hold(specs: list[WorkerSpec]) -> None:
    yard = Yard()
    take_turns(specs, 500, yard.launch, most=most_iterations(EVENT_CAP // 20))
    assert yard.recorded["traced"] == 19


def test_what_was_recorded_before_ctrl_c_is_kept() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    yard = Yard(troubles={("call_each", "traced", 3): interrupt})
    end = take_turns([PLAIN, TRACED], 41, yard.launch)
    assert end.interrupted
    assert len(end.turns[1].call_ns) == 12
    assert end.turns[1].trace is not None
    assert yard.all_closed


def test_a_lost_worker_ends_the_others() -> None:
    def die() -> None:
        raise WorkerLost("crashed", "killed by SIGSEGV")

    yard = Yard(troubles={("prepare", "traced", 0): die})
    with pytest.raises(WorkerLost, match="SIGSEGV"):
        take_turns([PLAIN, TRACED], 5, yard.launch)
    assert yard.all_closed


@given(st.integers(0, 1000), st.integers(1, 20))
def test_shares_are_even_and_lose_nothing(total: int, parts: int) -> None:
    counts = shares(total, parts)
    assert sum(counts) == total
    assert max(counts) - min(counts) <= 1
