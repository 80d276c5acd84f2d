"""Leaks, arenas, and what only settles."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.judges.growth import judge_growth
from onnxperf.records.memory import Growth

MB = 1 << 20


def growth_of(sizes: list[int], arena: tuple[int, ...] = (), every: int = 10) -> Growth:
    growth = judge_growth([(every * turn, size) for turn, size in enumerate(sizes)], arena)
    assert growth is not None
    return growth


@pytest.mark.parametrize(
    ("sizes", "kind", "per_call"),
    [
        ([100 * MB] * 20, "none", 0),
        ([100 * MB + turn * MB for turn in range(20)], "leak", MB / 10),
        ([100 * MB] * 5 + [140 * MB] * 15, "step", 0),
        ([100 * MB] * 5 + [120 * MB] * 5 + [140 * MB] * 10, "settling", 0),
        ([100 * MB] + [90 * MB] * 19, "none", 0),
        ([100 * MB + turn * 4096 for turn in range(20)], "none", 409.6),
    ],
)
def test_growth_has_a_name_and_a_slope(sizes: list[int], kind: str, per_call: float) -> None:
    growth = growth_of(sizes)
    assert growth.kind == kind
    assert growth.bytes_per_call == pytest.approx(per_call)


@pytest.mark.parametrize(
    ("sizes", "step"),
    [
        ([100 * MB] * 5 + [140 * MB] * 15, (40, 40 * MB)),
        ([100 * MB, *[140 * MB] * 19], (0, 40 * MB)),
        ([*[100 * MB] * 19, 140 * MB], (180, 40 * MB)),
        ([100 * MB] * 5 + [140 * MB + turn * 4096 for turn in range(15)], (40, 40 * MB)),
        ([100 * MB] * 5 + [120 * MB] * 5 + [140 * MB] * 10, (None, None)),
        ([100 * MB + turn * MB for turn in range(20)], (None, None)),
        ([100 * MB] * 20, (None, None)),
        ([100 * MB] * 5 + [140 * MB] * 5 + [100 * MB] * 10, (None, None)),
    ],
    ids=["once", "at once", "at last", "and pages", "twice", "always", "never", "given back"],
)
@pytest.mark.parametrize("arena", [(), (10 * MB, 50 * MB)])
def test_what_grows_once_is_a_step_and_not_a_growth_per_call(
    sizes: list[int], step: tuple[int | None, int | None], arena: tuple[int, ...]
) -> None:
    growth = growth_of(sizes, arena)
    assert (growth.step_calls, growth.step_bytes) == step
    if growth.step_bytes is not None:
        assert growth.kind == ("arena" if arena else "step")
        assert growth.bytes_per_call == 0


@pytest.mark.parametrize(
    ("arena", "kind"), [((10 * MB, 29 * MB), "arena"), ((10 * MB, 11 * MB), "leak"), ((), "leak"), ((5, 5), "leak")]
)
def test_an_arena_that_explains_the_growth_is_its_cause(arena: tuple[int, ...], kind: str) -> None:
    growth = growth_of([100 * MB + turn * MB for turn in range(20)], arena)
    assert (growth.kind, growth.bytes_per_call) == (kind, MB / 10)


@pytest.mark.parametrize(("points", "kind"), [(0, None), (1, None), (4, None), (5, "leak")])
def test_a_few_points_cannot_tell_a_leak_from_what_settles(points: int, kind: str | None) -> None:
    growth = judge_growth([(call, call * MB) for call in range(points)])
    assert (growth and growth.kind) == kind


@given(
    st.integers(200_000, 10 * MB),
    st.lists(st.integers(-20_000, 20_000), min_size=20, max_size=25),
)
def test_a_leak_is_found_within_five_percent_however_pages_come_and_go(leak: int, noise: list[int]) -> None:
    sizes = [200 * MB + called + more for called, more in zip(accumulate([leak] * len(noise)), noise, strict=True)]
    growth = growth_of(sizes, every=1)
    assert growth.kind == "leak"
    assert growth.bytes_per_call == pytest.approx(leak, rel=0.05)
