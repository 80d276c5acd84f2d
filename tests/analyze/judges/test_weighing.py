"""Memory of fresh processes, compared in one way."""

from __future__ import annotations

from itertools import combinations

import pytest

from onnxperf.analyze.judges.weighing import PROCESSES, weighed
from onnxperf.records.comparison import Verdict


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([100, 101, 102, 103, 104], [80, 81, 82, 83, 84], "faster"),
        ([80, 81, 82, 83, 84], [100, 101, 102, 103, 104], "slower"),
        ([1000] * 5, [1001, 1002, 1003, 1004, 1005], "equivalent"),
        ([1000, 1001, 1002, 1003, 1004], [1005, 1006, 1007, 1008, 1009], "equivalent"),
        ([100, 101, 102, 103, 104], [80, 81, 82, 83, 140], "undecided"),
        ([100, 110, 120, 130, 140], [105, 115, 125, 135, 145], "undecided"),
        ([0] * 5, [0] * 5, "equivalent"),
        ([0] * 5, [50] * 5, "slower"),
        ([], [100], "undecided"),
    ],
    ids=["less", "more", "equal", "less than the effect", "one odd", "mixed", "nothing", "from nothing", "unmeasured"],
)
def test_a_difference_is_one_that_all_processes_agree_on(before: list[int], after: list[int], verdict: Verdict) -> None:
    found = weighed(before, after, 0.01)
    assert found.verdict == verdict
    assert bool(found.reason) == (verdict == "undecided")
    assert weighed(after, before, 0.01).inverse().verdict == verdict


def test_the_range_has_every_ratio_of_two_processes_in_it() -> None:
    before, after = [100, 104, 102, 130, 101], [90, 95, 91, 97, 60]
    found = weighed(before, after, 0.01)
    ratios = [one / other for one in before for other in after]
    assert (found.low, found.high) == (min(ratios), max(ratios))
    assert (found.ratio, found.before, found.after) == (102 / 91, 102, 91)


def test_five_processes_of_each_side_disagree_by_chance_in_less_than_one_percent() -> None:
    """Every way to deal ten amounts to two equal sides."""
    amounts = {100 + 10 * each for each in range(2 * PROCESSES)}
    deals = [(list(own), list(amounts - set(own))) for own in combinations(sorted(amounts), PROCESSES)]
    alarms = [weighed(*deal, 0.01).verdict in ("faster", "slower") for deal in deals]
    assert sum(alarms) == 2
    assert sum(alarms) / len(deals) < 0.01
