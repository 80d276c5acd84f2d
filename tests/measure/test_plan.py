"""The arithmetic of a race."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf.measure import plan as planning
from onnxperf.records.options import RaceOptions
from onnxperf.records.race import FEWEST_ROUNDS, MIN_ROUNDS, MIN_UNITS

CALL_TIMES = st.floats(0, 1e12)
SUBJECTS = st.lists(CALL_TIMES, min_size=1, max_size=12)
COSTS = st.floats(0, 1e12)
MILLISECOND = 1e6


def plan_of(call_ns: Sequence[float], start_ns: float = 0.0, set_up_ns: float = 0.0, **options: Any) -> planning.Plan:
    return planning.make_plan(planning.Costs(start_ns, set_up_ns, tuple(call_ns)), RaceOptions(**options))


def launch_lengths(plan: planning.Plan) -> list[int]:
    """Rounds of each launch of a whole race."""
    per_launch = plan.rounds_per_unit * plan.units_per_launch
    return list(Counter(number // per_launch for number in range(plan.rounds)).values())


def race_s(call_ns: list[float], plan: planning.Plan) -> float:
    """Seconds of timed and untimed calls that a plan asks for, single calls aside."""
    turns = zip(call_ns, plan.calls, strict=True)
    round_ns = sum(calls * each + max(planning.WARM_NS, each) for each, calls in turns)
    return plan.rounds * round_ns / 1e9


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


@pytest.mark.parametrize(
    ("call_ns", "every_ns", "calls"), [(1e3, 50e6, 3), (1e9, 50e6, 3), (1e3, 1e6, 11), (2e6, 1e6, 6), (0, 1e5, 110)]
)
def test_calls_per_block_with_pauses_by_hand(call_ns: float, every_ns: float, calls: int) -> None:
    assert planning.calls_per_block(call_ns, int(every_ns)) == calls


@pytest.mark.parametrize(("every", "calls", "seconds"), [(0.05, None, 0.2033), (0.05, 9, 0.5033), (2.0, None, 8.0033)])
def test_a_block_with_pauses_takes_its_calls_and_one_pause_more(
    every: float, calls: int | None, seconds: float
) -> None:
    assert planning.block_seconds(RaceOptions(every=every, calls_per_block=calls)) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("units", "looks"),
    [(1, (1,)), (5, (5,)), (6, (6,)), (7, (6, 7)), (16, (6, 16)), (18, (6, 18)), (19, (7, 19)), (300, (100, 300))],
)
def test_there_is_a_look_after_a_third_unless_that_is_too_early_and_one_at_the_end(
    units: int, looks: tuple[int, ...]
) -> None:
    assert planning.looks_at(units) == looks
    assert planning.looks_at(units, is_fixed=True) == (units,)


@given(SUBJECTS, st.integers(1, 500), st.integers(1, 500))
def test_blocks_and_calls_fixed_by_hand_are_kept(call_ns: list[float], blocks: int, calls: int) -> None:
    plan = plan_of(call_ns, blocks=blocks, calls_per_block=calls)
    assert (plan.rounds, len(plan.looks), plan.is_fixed) == (blocks, 1, True)
    assert plan.calls == (calls,) * len(call_ns)


@given(SUBJECTS)
def test_every_plan_has_a_place_for_every_subject(call_ns: list[float]) -> None:
    plan = plan_of(call_ns)
    assert len(plan.calls) == len(plan.single_calls) == len(call_ns)
    assert plan.rounds >= 1
    assert plan.looks[-1] == math.ceil(plan.rounds / plan.rounds_per_unit)
    for each, calls in zip(call_ns, plan.single_calls, strict=True):
        assert (calls == 0) == (each >= 100_000)  # each call of a block is timed then


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=8))
def test_subjects_get_the_least_rounds_by_default_unless_that_takes_over_a_minute(call_ns: list[float]) -> None:
    plan = plan_of(call_ns)
    if plan.rounds > plan.needed:
        assert race_s(call_ns, plan) <= 60
    # A round more would have cost: either there are enough rounds or a minute is nearly full.
    if plan.rounds < MIN_ROUNDS:
        round_s = race_s(call_ns, plan) / plan.rounds
        assert race_s(call_ns, plan) + 1.1 * round_s > 60


@given(SUBJECTS, COSTS, COSTS)
def test_the_fewest_rounds_that_decide_are_the_same_for_all_races(
    call_ns: list[float], start_ns: float, set_up_ns: float
) -> None:
    plan = plan_of(call_ns, start_ns, set_up_ns)
    assert plan.needed == FEWEST_ROUNDS
    fewest_s = FEWEST_ROUNDS * plan.round_ns / 1e9
    assert plan.rounds >= FEWEST_ROUNDS or fewest_s > 300 * (1 - 1e-9)


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=8), COSTS, COSTS, st.integers(6, 200))
def test_an_interval_always_has_its_two_set_ups_and_a_small_claim_its_five(
    call_ns: list[float], start_ns: float, set_up_ns: float, rounds: int
) -> None:
    plan = plan_of(call_ns, start_ns, set_up_ns, blocks=rounds)
    assert plan.looks[-1] >= (MIN_UNITS if rounds >= MIN_ROUNDS else 2)


@given(SUBJECTS, COSTS, COSTS, st.one_of(st.none(), st.floats(0.1, 600)), st.integers(1, 500))
def test_the_time_of_a_plan_includes_launches_and_set_ups(
    call_ns: list[float], start_ns: float, set_up_ns: float, time: float | None, rounds: int
) -> None:
    plan = plan_of(call_ns, start_ns, set_up_ns, time=time, blocks=rounds)
    launches, units = len(launch_lengths(plan)), plan.looks[-1]
    renewals_ns = (launches - 1) * start_ns + (units - launches) * set_up_ns
    assert plan.seconds_for(rounds) == pytest.approx((rounds * plan.round_ns + renewals_ns) / 1e9)


@pytest.mark.parametrize(
    ("call_s", "time", "rounds"),
    [
        (0.1, None, 44),  # 0.2 s a turn with its untimed call: 9 s
        (0.5, None, 20),  # 20 s, but a verdict needs 20 rounds
        (2.0, None, 14),  # a minute is the end of patience
        (20.0, None, FEWEST_ROUNDS),  # but for the fewest rounds that decide anything
        (100.0, None, 1),  # unless they take over five
        ((60 / 14 - 0.0003) / 2 + 1e-9, None, 13),  # to the nanosecond
        (1.0, 20.003 + 1e-9, 10),  # 0.3 ms of messages a turn
        (1.0, 20.003 - 1e-8, 9),
        (0.5, 5.0, 4),  # an explicit time is honoured
        (0.5, 100.0, 96),  # whole launches
        (100.0, 1.0, 1),
    ],
)
def test_slow_subjects_by_hand(call_s: float, time: float | None, rounds: int) -> None:
    assert plan_of([call_s * 1e9], time=time).rounds == rounds


@given(st.lists(st.floats(1, 1e7), min_size=1, max_size=6), st.floats(1, 600))
def test_an_explicit_time_is_honoured(call_ns: list[float], time: float) -> None:
    plan = plan_of(call_ns, time=time)
    spent = race_s(call_ns, plan)
    round_s = spent / plan.rounds
    assert spent <= max(time, round_s)
    # The rest is for single calls, signals and messages, and less than a unit is left at the end.
    assert spent >= 0.7 * time - (plan.rounds_per_unit + 1) * round_s


@pytest.mark.parametrize("call_ns", [1e3, 40e3])
def test_the_shortest_race_has_single_calls_enough_for_a_p99(call_ns: float) -> None:
    plan = plan_of([call_ns])
    assert MIN_ROUNDS * plan.single_calls[0] >= 662


# ---------------------------------------------------------------- launches and set-ups


@given(SUBJECTS, COSTS, COSTS, st.one_of(st.none(), st.floats(0.1, 600)), st.one_of(st.none(), st.integers(1, 500)))
def test_a_unit_has_four_rounds_and_only_the_last_may_be_shorter(
    call_ns: list[float], start_ns: float, set_up_ns: float, time: float | None, blocks: int | None
) -> None:
    plan = plan_of(call_ns, start_ns, set_up_ns, time=time, blocks=blocks)
    assert plan.rounds_per_unit >= 4
    assert 1 <= len(launch_lengths(plan)) <= plan.looks[-1]


@given(st.lists(st.floats(1, 1e8), min_size=1, max_size=12), st.floats(0, 1e10), COSTS, st.floats(0.1, 600))
def test_launches_are_the_units_where_five_fit_into_the_time_and_they_keep_to_it(
    call_ns: list[float], start_ns: float, set_up_ns: float, time: float
) -> None:
    plan = plan_of(call_ns, start_ns, set_up_ns, time=time)
    shortest_ns = 4 * start_ns + MIN_ROUNDS * plan.round_ns
    if shortest_ns <= time * 1e9 * (1 - 1e-9):
        assert plan.units_per_launch == 1
        assert plan.seconds_for(plan.rounds) <= time * (1 + 1e-9)
        assert len(launch_lengths(plan)) == plan.looks[-1] >= MIN_UNITS


@given(SUBJECTS, COSTS, COSTS, st.floats(0.1, 600))
def test_a_requested_time_is_kept_whatever_launches_and_set_ups_cost(
    call_ns: list[float], start_ns: float, set_up_ns: float, time: float
) -> None:
    plan = plan_of(call_ns, start_ns, set_up_ns, time=time)
    assert plan.rounds == 1 or plan.seconds_for(plan.rounds) <= time * (1 + 1e-9)


@pytest.mark.parametrize(
    ("set_up_s", "time", "rounds_each", "units"),
    # A round of two subjects takes 28.6 ms.
    [
        (6.0, 300.0, 30, 44),
        (6.0, 30.0, 30, 5),
        (6.0, 25.0, 7, 5),  # shorter, so that there are five
        (6.0, 24.0, 52, 4),  # too little for a fifth: the others take its time
        (6.0, 2.0, 69, 1),
    ],
)
def test_set_ups_by_hand(set_up_s: float, time: float, rounds_each: int, units: int) -> None:
    plan = plan_of([MILLISECOND, MILLISECOND], 1e12, set_up_s * 1e9, time=time)
    assert (plan.rounds_per_unit, plan.looks[-1]) == (rounds_each, units)


@pytest.mark.parametrize(
    ("start_s", "time", "launches", "units"),
    # A round of two subjects takes 28.6 ms.
    [
        (0.0, 9.0, 78, 78),
        (0.1, 9.0, 42, 42),
        (0.3, 9.0, 17, 17),
        (0.3, None, 17, 17),  # 9 s unless asked otherwise
        (1.0, 9.0, 8, 8),  # shorter ones, so that there are eight
        (2.0, 9.0, 5, 5),
        (2.2, 9.0, 4, 20),  # five do not fit
        (3.0, 9.0, 3, 24),
        (7.0, 9.0, 2, 16),
        (7.3, 9.0, 1, 79),  # too little would be left for rounds
        (100.0, 9.0, 1, 79),
        (1.0, 60.0, 45, 45),
        (2.2, None, 8, 8),  # a default time may be exceeded: up to half a minute for eight,
        (4.5, None, 5, 5),  # up to a minute for five,
        (13.0, None, 5, 5),
        (15.0, None, 4, 76),  # and for fewer
        (25.0, None, 2, 78),
        (60.0, None, 1, 79),
    ],
)
def test_launches_by_hand(start_s: float, time: float | None, launches: int, units: int) -> None:
    plan = plan_of([MILLISECOND, MILLISECOND], start_s * 1e9, time=time)
    assert (len(launch_lengths(plan)), plan.looks[-1]) == (launches, units)


@given(st.lists(st.floats(1, 1e9), min_size=1, max_size=6), st.floats(0, 1e11), st.floats(0, 1))
def test_without_a_requested_time_there_are_five_launches_where_a_minute_has_room_for_them(
    call_ns: list[float], start_ns: float, part: float
) -> None:
    plan = plan_of(call_ns, start_ns, part * start_ns)
    launches, seconds = len(launch_lengths(plan)), plan.seconds_for(plan.rounds)
    if (4 * start_ns + MIN_ROUNDS * plan.round_ns) / 1e9 <= 60 * (1 - 1e-9):
        assert launches >= MIN_UNITS
        assert plan.units_per_launch == 1
    if plan.rounds > plan.needed:
        assert seconds <= 60 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("start_s", "time", "blocks", "launches"),
    [(3.0, None, 20, 5), (3.0, None, 500, 5), (13.0, None, 20, 3), (3.0, 9.0, 20, 3), (0.3, None, 500, 21)],
)
def test_requested_rounds_are_shared_by_five_launches_where_their_time_allows_it(
    start_s: float, time: float | None, blocks: int, launches: int
) -> None:
    plan = plan_of([MILLISECOND, MILLISECOND], start_s * 1e9, time=time, blocks=blocks)
    assert len(launch_lengths(plan)) == launches
    assert plan.rounds == blocks


@pytest.mark.parametrize(
    ("rounds", "lengths"),
    [(1, [1]), (10, [10]), (19, [19]), (20, [4] * 5), (25, [4] * 6 + [1]), (60, [4] * 15)],
)
def test_cheap_launches_share_the_rounds(rounds: int, lengths: list[int]) -> None:
    assert launch_lengths(plan_of([MILLISECOND], blocks=rounds)) == lengths


@pytest.mark.parametrize(
    ("renewal", "noise", "rounds"),
    [
        (0, 2.0, 4),
        (1, 2.0, 4),
        (4, 2.0, 4),
        (4.1, 2.0, 6),
        (100, 2.0, 20),
        (100, 1.0, 10),
        (100, 0.1, 10),  # less is not believed
        (100, 5.0, 50),
        (100, math.inf, 50),  # nor is more
    ],
)
def test_a_unit_is_longer_where_renewals_are_costly_or_rounds_noisy(renewal: float, noise: float, rounds: int) -> None:
    assert planning.rounds_between(renewal, 1.0, noise) == rounds


@pytest.mark.parametrize(
    ("left_s", "noise", "rounds_each", "rounds", "looks"),
    [
        (7.0, 2.0, 8, 50 + 8 * 12, (6, 17)),  # 0.34 s of renewal and 8 rounds of 30 ms
        (7.0, None, 8, 50 + 8 * 12, (6, 17)),
        (7.0, 4.0, 14, 50 + 14 * 9, (6, 14)),
        (2.0, 5.0, 10, 50 + 10 * 3, (6, 8)),  # shorter, so that there are eight launches
        (0.1, 2.0, 8, 50, (5,)),
        (-1.0, 2.0, 8, 50, (5,)),
    ],
)
def test_a_revised_plan_fills_the_time_that_is_left(
    left_s: float, noise: float | None, rounds_each: int, rounds: int, looks: tuple[int, ...]
) -> None:
    plan = replace(plan_of([MILLISECOND, MILLISECOND], 0.3e9, time=9.0), rounds_per_unit=10)
    revised = planning.revised(plan, left_s * 1e9, renewal_ns=0.34e9, round_ns=30e6, noise=noise)
    assert (revised.rounds_per_unit, revised.rounds, revised.looks) == (rounds_each, rounds, looks)
    assert (revised.renewal_ns, revised.round_ns) == (0.34e9, 30e6)


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
    assert split.rounds <= plain.rounds
    assert (split.calls, split.single_calls) == (plain.calls, plain.single_calls)
