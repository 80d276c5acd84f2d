"""The difference that a race of a subject against itself could mistake for a real one."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.analyze.judges.comparison import compare
from onnxperf.records.race import MIN_ROUNDS, Measurement

COMMON_CLAIM = 0.01
"""The default minimum effect of a bench."""
VERY_NOISY = 0.03
TINY_EFFECT = 1e-6
"""No minimum effect: the interval is the result."""


def noise_band(subjects: Sequence[Measurement], interrupted: bool = False) -> float | None:
    """The largest distance of the speedup's interval from 1: the difference that equal subjects could appear to have.

    It includes the estimate itself, which should be 0, and the width of the interval, as in a bench of that length.
    None if the race was not complete.
    """
    if interrupted or any(each.status != "ok" or len(each.blocks) < MIN_ROUNDS for each in subjects):
        return None
    rival = compare(subjects, subjects[0].name, TINY_EFFECT)[-1]
    if rival.speedup_low is None or rival.speedup_high is None:
        return None
    return max(abs(rival.speedup_low - 1), abs(rival.speedup_high - 1))
