"""Times beside a ratio that is paired: where the two do not agree, a sentence says why."""

from __future__ import annotations

from onnxperf.wording.numbers import factor


def note_on_times(
    before: float | None,
    after: float | None,
    low: float | None,
    high: float | None,
    sides: str = "before and after",
    gain: str = "gain",
) -> list[str]:
    """What to say where the times of both sides do not have the ratio that the interval of a gain claims."""
    if low is None or high is None or not before or not after or low <= before / after <= high:
        return []
    ratio = factor(before / after)
    return [f"the times {sides} have the ratio {ratio}: they include disturbances, the {gain} is paired by launch"]
