"""The arithmetic of a race."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.measure import plan as planning
from onnxperf.records.options import RaceOptions
from onnxperf.records.race import MIN_ROUNDS

CALL_TIMES = st.floats(0, 1e12)
SUBJECTS = st.lists(CALL_TIMES, min_size=1, max_size=12)
COSTS = st.floats(0, 1e12)
MILLISECOND = 1e6


def plan_of(call_ns: Sequence[float], start_ns: float = 0.0, set_up_ns: float = 0.0, **options: Any) -> planning.Plan:
    return planning.make_plan(planning.Costs(start_ns, set_up_ns, tuple(call_ns)), RaceOptions(**options))


def launch_lengths(plan: planning.Plan) -> list[int]:
    """Rounds of each launch of a whole race."""
    rounds = range(plan.looks[-1])
    return list(Counter(number // plan.rounds_per_launch for number in rounds).values())


def race_s(call_ns: list[float], plan: planning.Plan) -> float:
    """Seconds of timed and untimed calls that a plan asks for, single calls aside."""
    turns = zip(call_ns, plan.calls, strict=True)
    round_ns = sum(calls * each + max(planning.WARM_NS, each) for each, calls in turns)
    return plan.looks[-1] * round_ns / 1e9


@given(CALL_TIMES)
def test_a_block_lasts_as_long_as_it_must_and_not_much_longer(call_ns: float) -> None:
    calls = planning.calls_per_block(call_ns)
    assert calls >= 1
    if call_ns >= 1:
        assert calls * call_ns >= planning.BLOCK_NS
        assert (calls - 1) * call_ns <= 1.2 * planning.BLOCK_NS


@pytest.mark.parametrize(
    ("call_ns", "calls"), [(1e9, 1), (11e6, 1), (10e6, 2), (1e6, 11), (1e3, 11_000), (0, 11_000_000)]
)
def test_calls_per_block_by_hand(call_ns: float, calls: int) -> None:
    assert planning.calls_per_block(call_ns) == calls


@given(st.integers(1, 100_000))
def test_looks_increase_to_the_last_round_and_none_comes_before_twelve_rounds(rounds: int) -> None:
    looks = planning.looks_at(rounds)
    assert looks[-1] == rounds
    assert all(a < b for a, b in pairwise(looks))
    assert len(looks) <= planning.LOOKS
    assert all(look >= 12 for look in looks[:-1])


@pytest.mark.parametrize(
    ("rounds", "looks"),
    [
        (1, (1,)),
        (12, (12,)),
        (13, (12, 13)),
        (20, (12, 14, 20)),
        (30, (12, 20, 30)),
        (33, (12, 22, 33)),
        (36, (12, 24, 36)),
        (60, (20, 40, 60)),
        (300, (100, 200, 300)),
    ],
)
def test_looks_by_hand(rounds: int, looks: tuple[int, ...]) -> None:
    assert planning.looks_at(rounds) == looks


@given(SUBJECTS, st.integers(1, 500), st.integers(1, 500))
def test_blocks_and_calls_fixed_by_hand_are_kept(call_ns: list[float], blocks: int, calls: int) -> None:
    plan = plan_of(call_ns, blocks=blocks, calls=calls)
    assert plan.looks == (blocks,)
    assert plan.calls == (calls,) * len(call_ns)


@given(SUBJECTS)
def test_every_plan_has_a_place_for_every_subject(call_ns: list[float]) -> None:
    plan = plan_of(call_ns)
    assert len(plan.calls) == len(plan.single_calls) == len(call_ns)
    assert plan.looks[-1] >= 1
    for each, calls in zip(call_ns, plan.single_calls, strict=True):
        assert (calls == 0) == (each >= 100_000)  # each call of a block is timed then


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=8))
def test_subjects_get_the_least_rounds_by_default_unless_that_takes_over_a_minute(call_ns: list[float]) -> None:
    plan = plan_of(call_ns)
    if plan.looks[-1] > plan.needed:
        assert race_s(call_ns, plan) <= 60
    # A round more would have cost: either there are enough rounds or a minute is nearly full.
    if plan.looks[-1] < MIN_ROUNDS:
        round_s = race_s(call_ns, plan) / plan.looks[-1]
        assert race_s(call_ns, plan) + 1.1 * round_s > 60


@pytest.mark.parametrize(("subjects", "needed"), [(1, 6), (2, 6), (3, 7), (4, 7), (5, 8), (7, 8), (8, 9), (30, 11)])
def test_more_comparisons_need_more_rounds_that_agree(subjects: int, needed: int) -> None:
    plan = plan_of([1e6] * subjects)
    assert plan.needed == needed
    assert subjects == 1 or 2.0 ** (1 - needed) <= 0.05 / (subjects - 1) < 2.0 ** (2 - needed) or needed == 6


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=8), COSTS, COSTS, st.integers(6, 200))
def test_an_interval_always_has_its_two_set_ups(
    call_ns: list[float], start_ns: float, set_up_ns: float, rounds: int
) -> None:
    plan = plan_of(call_ns, start_ns, set_up_ns, blocks=rounds)
    assert len(launch_lengths(plan)) > 1 or plan.rounds_per_set_up < planning.looks_at(rounds)[0]


def test_the_time_of_a_plan_includes_launches_and_set_ups() -> None:
    plan = plan_of([1e9], 10e9, 2e9, time=60.0)
    launches, rounds = len(launch_lengths(plan)), plan.looks[-1]
    set_ups = sum((length - 1) // plan.rounds_per_set_up for length in launch_lengths(plan))
    assert launches == 3
    assert plan.seconds_for(rounds) == pytest.approx(rounds * 2.0003 + (launches - 1) * 10 + set_ups * 2, rel=0.05)


@pytest.mark.parametrize(
    ("call_s", "time", "rounds"),
    [
        (0.1, None, 29),  # 0.2 s a turn with its untimed call: 6 s
        (0.5, None, 20),  # 20 s, but a verdict needs 20 rounds
        (2.0, None, 14),  # a minute is the end of patience
        (20.0, None, 6),  # but for the fewest rounds that decide anything
        (100.0, None, 1),  # unless they take over five
        ((60 / 14 - 0.0003) / 2 + 1e-9, None, 13),  # to the nanosecond
        (1.0, 20.003 + 1e-9, 10),  # 0.3 ms of messages a turn
        (1.0, 20.003 - 1e-8, 9),
        (0.5, 5.0, 4),  # an explicit time is honoured
        (0.5, 100.0, 99),
        (100.0, 1.0, 1),
    ],
)
def test_slow_subjects_by_hand(call_s: float, time: float | None, rounds: int) -> None:
    assert plan_of([call_s * 1e9], time=time).looks[-1] == rounds


@given(st.lists(st.floats(1, 1e7), min_size=1, max_size=6), st.floats(1, 600))
def test_an_explicit_time_is_honoured(call_ns: list[float], time: float) -> None:
    plan = plan_of(call_ns, time=time)
    spent = race_s(call_ns, plan)
    round_s = spent / plan.looks[-1]
    assert spent <= max(time, round_s)
    assert spent >= 0.75 * time - 2 * round_s  # the rest is for single calls, signals and messages


@pytest.mark.parametrize("call_ns", [1e3, 40e3])
def test_the_shortest_race_has_single_calls_enough_for_a_p99(call_ns: float) -> None:
    plan = plan_of([call_ns])
    assert MIN_ROUNDS // planning.SINGLES_EVERY * plan.single_calls[0] >= 662


# ---------------------------------------------------------------- launches and set-ups


@given(SUBJECTS, COSTS, COSTS, st.one_of(st.none(), st.floats(0.1, 600)), st.one_of(st.none(), st.integers(1, 500)))
def test_there_are_one_to_six_launches_and_only_the_last_may_be_short(
    call_ns: list[float], start_ns: float, set_up_ns: float, time: float | None, blocks: int | None
) -> None:
    plan = plan_of(call_ns, start_ns, set_up_ns, time=time, blocks=blocks)
    lengths = launch_lengths(plan)
    assert 1 <= len(lengths) <= 6
    assert all(length >= 6 for length in lengths[:-1])


@given(SUBJECTS, COSTS, st.floats(0.1, 600))
def test_launches_take_at_most_half_the_measuring_time_on_top(
    call_ns: list[float], start_ns: float, time: float
) -> None:
    launches = len(launch_lengths(plan_of(call_ns, start_ns, time=time)))
    assert launches == 1 or launches * start_ns <= 0.5 * time * 1e9


@pytest.mark.parametrize(
    ("start_s", "time", "launches"),
    [
        (0.0, 6.0, 6),
        (0.5, 6.0, 6),
        (0.51, 6.0, 5),
        (1.0, 6.0, 3),
        (1.0, None, 3),  # 6 s unless asked otherwise
        (1.01, 6.0, 2),
        (2.0, 6.0, 1),
        (100.0, 6.0, 1),
        (1.0, 60.0, 6),
    ],
)
def test_launches_by_hand(start_s: float, time: float | None, launches: int) -> None:
    plan = plan_of([MILLISECOND, MILLISECOND], start_s * 1e9, time=time)
    assert len(launch_lengths(plan)) == launches


@pytest.mark.parametrize(
    ("rounds", "lengths"),
    [
        (1, [1]),
        (10, [10]),
        (20, [7, 7, 6]),
        (25, [7, 7, 7, 4]),
        (60, [10] * 6),
        (61, [11] * 5 + [6]),
        (600, [100] * 6),
    ],
)
def test_cheap_launches_share_the_rounds(rounds: int, lengths: list[int]) -> None:
    assert launch_lengths(plan_of([MILLISECOND], blocks=rounds)) == lengths


def test_launches_do_not_depend_on_looks() -> None:
    plan = plan_of([MILLISECOND], 0.6e9, time=6.0)
    assert len(plan.looks) == planning.LOOKS
    assert len(launch_lengths(plan)) == 5


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=8), st.floats(0, 1e11))
def test_set_ups_take_at_most_a_fifth_of_the_time_and_last_at_least_five_rounds(
    call_ns: list[float], set_up_ns: float
) -> None:
    plan = plan_of(call_ns, set_up_ns=set_up_ns, time=1e6)  # long enough for two set-ups of any length
    assert plan.rounds_per_set_up >= 5
    if plan.rounds_per_set_up > 5:
        # What a round takes, seen from a budget that holds very many of them.
        round_ns = 1e16 / plan_of(call_ns, time=1e7).looks[-1]
        assert set_up_ns <= 0.2 * plan.rounds_per_set_up * round_ns * 1.001
        assert set_up_ns >= 0.2 * (plan.rounds_per_set_up - 1) * round_ns * 0.999


@pytest.mark.parametrize(
    ("set_up_ms", "rounds"),
    # A turn of a call of 1 s takes 2 s with its untimed call, and 0.3 ms of messages.
    [(0, 5), (1, 5), (2000, 5), (2001, 6), (4000, 10), (40_000, 100)],
)
def test_set_ups_by_hand(set_up_ms: float, rounds: int) -> None:
    assert plan_of([1e9], set_up_ns=set_up_ms * MILLISECOND, time=1000.0).rounds_per_set_up == rounds


# ---------------------------------------------------------------- processors


@pytest.mark.parametrize(
    ("cpus", "threads", "rounds"),
    [
        ((), 1, [(), ()]),
        ((0,), 1, [(), ()]),
        ((0, 1), 1, [(0,), (1,), (0,), (1,)]),
        ((0, 1), 2, [(), ()]),
        ((0, 1), 5, [(), ()]),
        ((3, 5, 9), 1, [(3,), (5,), (9,), (3,)]),
        ((3, 5, 9), 2, [(3, 5), (3, 9), (5, 9), (3, 5)]),
        ((0, 1, 2, 3), 2, [(0, 1), (2, 3), (0, 1)]),
        ((0, 1, 2, 3), 3, [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]),
    ],
)
def test_processors_by_hand(cpus: tuple[int, ...], threads: int, rounds: list[tuple[int, ...]]) -> None:
    assert [planning.processors_of(number, cpus, threads) for number in range(len(rounds))] == rounds


@given(st.lists(st.integers(0, 255), min_size=2, max_size=32, unique=True), st.data())
def test_every_processor_gets_its_share_of_rounds(cpus: list[int], data: st.DataObject) -> None:
    threads = data.draw(st.integers(1, len(cpus) - 1))
    rounds = [planning.processors_of(number, cpus, threads) for number in range(len(cpus))]
    assert all(len(set(used)) == threads and set(used) <= set(cpus) for used in rounds)
    assert Counter(cpu for used in rounds for cpu in used) == dict.fromkeys(cpus, threads)


# ---------------------------------------------------------------- orders


@given(st.integers(1, 9), st.integers(0, 2**32))
def test_every_order_names_everyone_once(subjects: int, seed: int) -> None:
    for order in islice(planning.balanced_orders(subjects, seed), 40):
        assert sorted(order) == list(range(subjects))
        assert {type(place) for place in order} == {int}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("subjects", range(2, 10))
def test_everyone_follows_everyone_else_equally_often(subjects: int, seed: int) -> None:
    cycle = subjects * (1 + subjects % 2)
    orders = list(islice(planning.balanced_orders(subjects, seed), cycle))
    follows = Counter(pair for order in orders for pair in pairwise(order))
    assert len(follows) == subjects * (subjects - 1)
    assert len(set(follows.values())) == 1
    places = Counter((place, subject) for order in orders for place, subject in enumerate(order))
    assert len(set(places.values())) == 1


def test_orders_depend_on_the_seed_alone() -> None:
    first, again, other = (list(islice(planning.balanced_orders(5, seed), 20)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@given(SUBJECTS)
def test_dividing_calls_takes_its_part_of_the_time(call_ns: list[float]) -> None:
    plain, split = plan_of(call_ns, time=60.0), plan_of(call_ns, time=60.0, split=True)
    assert set(plain.split_calls) == {0}
    assert min(split.split_calls) >= 3
    assert split.looks[-1] <= plain.looks[-1]
    assert (split.calls, split.single_calls) == (plain.calls, plain.single_calls)
