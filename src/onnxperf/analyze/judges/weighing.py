"""Compare the memory of two sides, each in several fresh processes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from onnxperf.records.comparison import Comparison, Verdict

PROCESSES = 5
"""Processes per side: all five of one side need less than all five of the other by chance in 0.8 % (2 of 252 orders),
so six comparisons stay below 5 %. With four processes it would be 3 %."""
_APART = "the processes of one side differ too much from each other"


def weighed(before: Sequence[int], after: Sequence[int], min_effect: float) -> Comparison:
    """Compare the memory of processes of both sides: the ratio of medians, and the range of all ratios.

    The range contains every ratio of two processes. It is not an interval of a mean, because memory is not noisy like
    time: it changes in steps (an arena grows once more), which five processes either share or do not. A difference is
    claimed only if all processes agree, so a single outlier can hide a difference but not create one.
    """
    if not before or not after:
        return Comparison(verdict="undecided", reason="it was not measured")
    first, second = ([max(each, 1) for each in side] for side in (before, after))  # a model may need no more memory
    ratio, low, high = median(first) / median(second), min(first) / max(second), max(first) / min(second)
    verdict: Verdict = "undecided"
    if 1 / (1 + min_effect) < low and high < 1 + min_effect:
        verdict = "equivalent"
    elif (low > 1 or high < 1) and abs(math.log(ratio)) >= math.log1p(min_effect):
        verdict = "faster" if low > 1 else "slower"
    return Comparison(
        ratio=ratio,
        low=low,
        high=high,
        verdict=verdict,
        reason=_APART if verdict == "undecided" else "",
        before=median(before),
        after=median(after),
    )
