"""Who races on, who is dropped, and which combinations are tried."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from onnxperf.records.tune import TuneChoice, TuneRow
from onnxperf.tuning import halving
from onnxperf.tuning.halving import Budget

SHUFFLENET = (1.31, 0.68, 1.29)
"""Three launches of which one says the opposite of the others."""


def choice(name: str, knob: str = "", **more: object) -> TuneChoice:
    return TuneChoice(name=name, knobs=(knob or name,), **more)  # type: ignore[arg-type]


def row(name: str, *speedups: float, **more: object) -> TuneRow:
    return TuneRow(choice=choice(name), status="ok", launch_speedups=speedups, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("speedups", "high", "reason"),
    [
        ((0.5, 0.5), 0.6, ""),
        ((0.01,), None, "slower"),
        ((0.01, 0.9), None, ""),
        ((0.5, 0.5, 0.5), 0.6, "slower"),
        ((0.9, 0.95, 0.99), 1.08, "slower in every launch"),
        ((1.002, 0.99, 1.004), 1.02, "no gain in any launch"),
        ((0.9, 0.95, 1.2), 1.4, ""),
        (SHUFFLENET, 2.0, ""),
        ((0.9, 0.95, 1.2, 0.9, 0.95, 0.9), 1.1, "no gain in most launches"),
        ((1.2, 1.2, 1.2), 1.3, ""),
    ],
)
def test_a_choice_is_dropped_for_a_reason_and_only_after_three_launches_or_where_it_is_hopeless(
    speedups: tuple[float, ...], high: float | None, reason: str
) -> None:
    assert halving.why_dropped(row("a", *speedups, speedup_high=high), 0.01) == reason


def test_one_launch_that_lies_far_off_does_not_hide_a_gain() -> None:
    assert halving.has_gain(row("threads=1", *SHUFFLENET), 0.01)
    assert not halving.has_gain(row("threads=1", 1.31, 1.29), 0.01)
    assert not halving.has_gain(row("threads=1", 1.3, 1.3, 1.3, dropped=True), 0.01)


@pytest.mark.parametrize(
    ("speedups", "low", "won"), [((1.2,) * 3, 1.1, True), ((1.2,) * 3, 0.9, False), ((1.002,) * 3, 1.001, False)]
)
def test_without_time_to_test_parts_only_those_count_that_won_clearly_alone(
    speedups: tuple[float, ...], low: float, won: bool
) -> None:
    assert halving.won_clearly(row("a", *speedups, speedup_low=low), 0.01) is won


def test_a_call_style_of_the_same_session_costs_less_than_a_process() -> None:
    style, other = choice("call=run-c", call="run-c"), choice("arena=off")
    assert halving.processes([]) == 1
    assert halving.processes([other]) == 2
    assert 1 < halving.processes([style]) < 1.5


def test_call_styles_of_the_same_session_come_first_and_need_no_process_of_their_own() -> None:
    style, both = choice("call=run-c", call="run-c"), choice("both", call="run-c", settings={"threads": "1"})
    others = [choice(f"knob {number}") for number in range(12)]
    order = halving.in_order([*others, both, style], 10_000.0)
    assert order[0] is style
    assert halving.side_by_side(order) == 9
    assert halving.side_by_side(order[-3:]) == 3
    late = halving.in_order([style, *others, both], 90e6)  # a call takes so long that its style hardly matters
    assert late[-1] is style
    assert halving.side_by_side(late) == 8


def test_of_many_the_better_half_goes_on_and_few_stay() -> None:
    rows = [row(f"{number}", *(1 + number / 100,) * 3) for number in range(10)]
    assert [each.choice.name for each in halving.halved(rows)] == ["9", "8", "7", "6", "5"]
    assert len(halving.halved(rows[:4])) == 4


def test_launches_that_disagree_count_less_than_those_that_agree_but_for_one() -> None:
    rows = [row("noisy", 0.7, 1.5, 3.0), row("threads=1", *SHUFFLENET), row("steady", 1.2, 1.2, 1.2)]
    assert [each.choice.name for each in halving.ranked(rows)] == ["threads=1", "steady", "noisy"]


SINGLES = [
    row("call=run-c", 1.2, 1.2, 1.2),
    row("arena=off", 1.004, 1.004, 1.004, dropped=True),
    row("threads=1", 1.3, 1.3, 1.3),
    row("spinning=0", 0.99, 0.99, 0.99, dropped=True),
    row("denormals=1", 1.1, 1.1),
]


def names(choices: Sequence[TuneChoice]) -> list[str]:
    return [each.name for each in choices]


def test_all_that_won_alone_and_all_that_did_not_lose_are_tried_at_once() -> None:
    assert names(halving.all_at_once(SINGLES, 0.01)) == [
        "call=run-c, threads=1",
        "call=run-c, arena=off, threads=1",
    ]
    assert names(halving.all_at_once(SINGLES[1:4], 0.01)) == ["arena=off, threads=1"]
    assert halving.all_at_once(SINGLES[2:], 0.01) == []


def test_what_is_much_slower_in_one_launch_is_not_joined_blindly() -> None:
    parallel = row("execution_mode=parallel", 1.05, 0.4, 1.03)
    assert names(halving.all_at_once([*SINGLES, parallel], 0.01)) == names(halving.all_at_once(SINGLES, 0.01))


def test_of_choices_that_exclude_each_other_the_better_one_is_tried_at_once_with_the_others() -> None:
    rivals = [TuneRow(choice=choice(name, "call"), launch_speedups=(1.25,) * 3, status="ok") for name in ("b", "a")]
    runtime = TuneRow(choice=choice("numpy", "runtime", runtime="numpy"), launch_speedups=(2.0,) * 3, status="ok")
    assert names(halving.all_at_once([*SINGLES, *rivals, runtime], 0.01))[0] == "call=run-c, threads=1, a"


def test_near_the_best_are_combinations_with_one_part_more_or_less_and_one_name_for_the_same_parts() -> None:
    assert names(halving.neighbours(SINGLES[2].choice, SINGLES, 0.01)) == ["call=run-c, threads=1"]
    all_three = halving.all_at_once(SINGLES, 0.01)[1]
    assert names(halving.neighbours(all_three, SINGLES, 0.01)) == [
        "call=run-c, threads=1",  # without the one that has the smallest gain alone
        "arena=off, threads=1",
        "call=run-c, arena=off",
    ]


def test_a_part_is_replaced_by_another_value_of_the_same_knob() -> None:
    rival = TuneRow(choice=choice("call=x", "call=run-c", call="x"), launch_speedups=(1.2,) * 3, status="ok")
    best = halving.all_at_once(SINGLES, 0.01)[0]
    assert "threads=1, call=x" in names(halving.neighbours(best, [*SINGLES, rival], 0.01))


def test_of_choices_that_are_hardly_apart_the_one_that_changes_least_is_best() -> None:
    single = row("threads=1", 1.3, 1.3, 1.3)
    both = TuneRow(choice=choice("both"), launch_speedups=(1.304,) * 3, status="ok")
    both = replace(both, choice=replace(both.choice, knobs=("threads", "arena")))
    assert halving.best_of([single, both], 0.01) is single
    assert halving.best_of([single, replace(both, launch_speedups=(1.32,) * 3)], 0.01) is not single
    assert halving.best_of([], 0.01) is None
    bound, plain = (
        TuneRow(choice=choice(name, "call", call=name), launch_speedups=(gain,) * 3, status="ok")
        for name, gain in (("io-binding-inplace", 1.304), ("run-c", 1.3))
    )
    assert halving.best_of([bound, plain], 0.01) is plain  # which asks nothing of a caller


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0.8, 1.4)), max_size=8), st.floats(0.0, 0.1))
def test_no_combination_changes_the_same_thing_twice_and_each_is_proposed_once(
    drawn: list[tuple[str, float]], min_effect: float
) -> None:
    singles = [
        TuneRow(
            choice=choice(f"{knob}={number}", knob, settings={knob: f"{number}"}),
            launch_speedups=(gain,) * 3,
            status="ok",
        )
        for number, (knob, gain) in enumerate(drawn)
    ]
    at_once = halving.all_at_once(singles, min_effect)
    best = halving.best_of(singles, min_effect)
    near = halving.neighbours(at_once[-1] if at_once else best.choice, singles, min_effect) if best is not None else []
    for proposed in (at_once, near):
        assert len(set(names(proposed))) == len(proposed)
        assert all(len(set(each.knobs)) == len(each.knobs) > 1 for each in proposed)


@pytest.mark.parametrize(
    ("error", "max_error", "may"), [(0.001, None, False), (0.001, 0.01, True), (0.02, 0.01, False), (None, 0.01, False)]
)
def test_an_approximate_choice_wins_only_within_the_error_that_was_allowed(
    error: float | None, max_error: float | None, may: bool
) -> None:
    approximate = TuneRow(choice=choice("int8", approximate=True), status="ok", error=error)
    assert halving.may_win(approximate, max_error) is may
    assert halving.may_win(row("exact", 1.1), None)
    assert not halving.may_win(TuneRow(choice=choice("a"), status="differs"), max_error)


def test_the_pareto_front_has_what_nothing_else_is_better_and_more_exact_than() -> None:
    rows = [
        row("exact", 1.1, error=0.0),
        row("float16", 1.5, error=0.001),
        row("int8 signed", 3.0, error=0.02),
        row("int8 unsigned", 2.0, error=0.03),
        TuneRow(choice=choice("failed"), status="failed"),
    ]
    assert halving.pareto_front(rows) == {"exact", "float16", "int8 signed"}


@pytest.mark.parametrize(("each_s", "alone", "together"), [(0.1, 39.6, 72.0), (4.0, 28.6, 52.0), (50.0, 22.0, 40.0)])
def test_the_confirming_race_has_its_time_and_more_where_launches_are_costly(
    each_s: float, alone: float, together: float
) -> None:
    budget = Budget(10.0, 100.0)
    assert budget.end_of("alone", each_s) == pytest.approx(10 + alone)
    assert budget.end_of("together", each_s) == pytest.approx(10 + together)
    assert budget.left(30.0) == 80.0
    assert budget.end_of("together", each_s) < budget.latest(each_s) < budget.end_s == 110.0
