"""Nodes of two profiles, compared over launches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from benchmarks.diff_rates import simulated_rows
from onnxperf.analyze.judges.node_times import LaunchTimes, TimedPair, compare_times, compared_rows, launch_times
from onnxperf.records.comparison import Verdict
from onnxperf.records.diff import DiffRow
from onnxperf.records.profile import NodeTime, Profile, usual

NEAR = (1.0, 1.01, 0.99, 1.02, 0.98)
FAR = (1.0, 1.5, 0.7, 1.2, 0.8)


def pair(before: float, after: float, factors: Sequence[float] = NEAR, shown: float | None = None) -> TimedPair:
    """Launches of two nodes; what is shown of the second one may be something else."""
    times = (before,) * len(factors), tuple(after * each for each in factors)
    return TimedPair(*times, (before, after if shown is None else shown))


@pytest.mark.parametrize(
    ("tested", "verdict"),
    [
        (pair(100, 120), "slower"),
        (pair(120, 100), "faster"),
        (pair(100, 120, FAR), "undecided"),
        (pair(100, 120, NEAR[:4]), None),  # too few launches
        (pair(100, 120, ()), None),
        (pair(100, 104), "undecided"),  # below 5 %, where the memory lies decides
        (pair(100, 120, shown=102), "undecided"),  # a difference that the shown times do not have
        (pair(100, 120, shown=80), "undecided"),
        (pair(1, 2, (1.0,) * 5), "undecided"),  # the clock's last digit
        (pair(1, 3, (1.0,) * 5), "slower"),
        (pair(0, 0.9), "undecided"),
        (pair(0, 0), "undecided"),
        (pair(0, 40), "slower"),
        (pair(1, 1e9), "slower"),
    ],
)
def test_a_node_differs_only_beyond_its_launches(tested: TimedPair, verdict: Verdict | None) -> None:
    (found,) = compare_times([tested])
    assert found.verdict == verdict
    assert (found.unit, found.units) == ((None, None) if verdict is None else ("launch", 5))
    assert all(math.isfinite(each) for each in (found.ratio, found.low, found.high) if each is not None)


def test_the_interval_excludes_1_at_the_level_that_holm_leaves() -> None:
    tested = pair(100, 112, (1.0, 1.05, 0.96, 1.06, 0.94))
    logs = [math.log(before / after) for before, after in zip(tested.before_us, tested.after_us, strict=True)]
    p_value = float(ttest_1samp(logs, 0).pvalue)
    assert 0.05 / 10 < p_value < 0.05 / 3
    clear, unclear = pair(100, 200), pair(100, 100, FAR)
    for others, verdict in (
        ([], "slower"),
        ([unclear] * 2, "slower"),
        ([unclear] * 9, "undecided"),
        ([clear] * 9, "slower"),  # what is decided first leaves its share to the others
    ):
        found = compare_times([tested, *others])[0]
        assert found.verdict == verdict
        assert found.low is not None
        assert found.high is not None
        assert (found.low <= 1 <= found.high) == (verdict == "undecided")
    assert compare_times([tested], other_tests=9)[0].verdict == "undecided"


@pytest.mark.parametrize(
    ("launches", "self_us", "alike", "expected"),
    [
        ((), (9, 1, 1), (), ()),
        ((3, 2), (90, 10, 12, 20, 30), (), (11, 25)),  # the first inference of all is left out; two are the fewest
        ((9, 8), (99, *range(11, 19), *range(31, 39)), (), (11.5, 31.5)),  # the quickest quarter
        ((13,), (9, *[1, 2] * 6), (), (1.5,)),  # whole microseconds: averages, as the quickest are all alike
        ((1, 4), (9, 10, 10, 90, 90), (0, 0, 0, 1, 1), (9, 50)),  # each kind of iteration has its own quickest
        ((3, 2), (1, 2), (), (1.5, 0)),  # a damaged record
    ],
)
def test_a_launch_has_one_time_of_a_node(
    launches: tuple[int, ...], self_us: tuple[int, ...], alike: tuple[int, ...], expected: LaunchTimes
) -> None:
    profile = Profile(model="m", events=0, iterations=len(self_us), launches=launches, alike=alike)
    assert launch_times(profile, self_us) == pytest.approx(expected)


def profile_of(table: Sequence[Sequence[int]], launches: tuple[int, ...]) -> Profile:
    nodes = [
        NodeTime(name=f"n{number}", op_name="Add", calls=1, self_us=tuple(us), total_us=tuple(us), usual_us=usual(us),
                 usual_total_us=usual(us))
        for number, us in enumerate(table)
    ]  # fmt: skip
    return Profile(model="m", events=0, iterations=15, launches=launches, nodes=tuple(nodes))


tables = st.lists(st.lists(st.integers(-5, 10**12), min_size=15, max_size=15), max_size=3)


@given(tables, tables, st.sampled_from([(), (3,) * 5, (3,) * 4, (15,), (99, 99, 99, 99, 99)]))
def test_rows_of_any_times_are_a_record_that_can_be_read_back(
    before: list[list[int]], after: list[list[int]], launches: tuple[int, ...]
) -> None:
    rows = compared_rows(profile_of(before, (3,) * 5), profile_of(after, launches))
    assert msgspec.json.decode(msgspec.json.encode(rows), type=tuple[DiffRow, ...]) == rows
    both = [row for row in rows if row.side == "="]
    assert all(row.noise == (row.verdict not in ("faster", "slower")) for row in both)
    assert all((row.verdict is None) == (len(launches) < 5) for row in both)
    assert not any(row.noise or row.verdict for row in rows if row.side != "=")


def test_a_model_is_not_claimed_to_differ_from_itself_and_a_slower_node_is_found() -> None:
    """The rates are in benchmarks/diff_rates.py; these few diffs are always the same."""
    for seed in range(5):
        assert all(row.noise for row in simulated_rows(seed, nodes=20))
        assert [row.before_name for row in simulated_rows(seed, nodes=20, slower=1.2) if not row.noise] == ["n0"]
