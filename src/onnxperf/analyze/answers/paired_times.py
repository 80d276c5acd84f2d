"""Times beside a ratio that is paired: where the two do not agree, a sentence says why."""

from __future__ import annotations

from onnxperf.wording.numbers import factor

BY_YARDSTICK = "is that of undisturbed times by the yardstick"
"""What a ratio is between runs that were not measured in turn."""


def note_on_times(
    before: float | None,
    after: float | None,
    low: float | None,
    high: float | None,
    sides: str = "before and after",
    why: str = "the gain is paired by launch",
) -> list[str]:
    """What to say where the times of both sides do not have the ratio that the interval of a gain claims."""
    if low is None or high is None or not before or not after or low <= before / after <= high:
        return []
    ratio = factor(before / after)
    return [f"the times {sides} have the ratio {ratio}: they include disturbances, {why}"]
