"""Memory of two sides, each in several fresh processes: whether one needs less than the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from onnxperf.records.comparison import Comparison, Verdict

PROCESSES = 5
"""Of each side: that all five of one need less than all five of the other by chance happens in 0.8 % (2 of 252 orders),
so that six comparisons together stay below 5 %. Of four it would be 3 %."""
_APART = "the processes of one side differ too much from each other"


def weighed(before: Sequence[int], after: Sequence[int], min_effect: float) -> Comparison:
    """Bytes that processes of both sides needed: the medians' ratio, and the range from all of one to all of the other.

    The range has every ratio of two processes in it. It is no interval of a mean, as bytes are not noisy like times:
    they come in steps (an arena that grew once more), which five processes either share or do not. A difference
    is claimed only if all processes agree on it, so that one odd process hides a difference, but makes up none.
    """
    if not before or not after:
        return Comparison(verdict="undecided", reason="it was not measured")
    first, second = ([max(each, 1) for each in side] for side in (before, after))  # a model may need nothing more
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
