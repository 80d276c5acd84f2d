"""How small a difference a race of a subject against itself could still mistake for one."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.analyze.judges.comparison import compare
from onnxperf.records.race import MIN_ROUNDS, Measurement

COMMON_CLAIM = 0.01
"""The minimum effect of a bench unless another is requested."""
VERY_NOISY = 0.03
TINY_EFFECT = 1e-6
"""No claim is too small here: what the interval says is the result."""


def noise_band(subjects: Sequence[Measurement], interrupted: bool = False) -> float | None:
    """The larger distance of the speedup's interval from 1: what two equal subjects could be taken for.

    It includes the estimate itself, which should be 0, and the width of the interval, as a bench of that length
    would see it. None when the race was not complete.
    """
    if interrupted or any(each.status != "ok" or len(each.blocks) < MIN_ROUNDS for each in subjects):
        return None
    rival = compare(subjects, subjects[0].name, TINY_EFFECT)[-1]
    if rival.speedup_low is None or rival.speedup_high is None:
        return None
    return max(abs(rival.speedup_low - 1), abs(rival.speedup_high - 1))
