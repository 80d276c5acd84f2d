"""Which iterations of a profile stand for the usual one."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def steady(values: Sequence[int]) -> Sequence[int]:
    """All iterations but the first, which pays for caches and first allocations, where two or more remain."""
    return values[1:] if len(values) >= 3 else values


def usual_us(values: Sequence[int]) -> float:
    """Median of the steady iterations; 0 where there is none.

    One interrupted iteration may double a mean. But of what runs only now and then, as branches do, the median may be
    0 and hide the cost: the mean tells it.
    """
    counted = steady(values)
    if not counted:
        return 0.0
    return float(median(counted)) or sum(counted) / len(counted)
