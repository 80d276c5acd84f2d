"""Reasons why a comparison is undecided, and what would decide it."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from onnxperf.records.comparison import Unit
from onnxperf.records.race import FEWEST_ROUNDS, LARGE_CLAIM, MIN_ROUNDS, MIN_UNITS, SMALL_CLAIM
from onnxperf.wording.numbers import count, significant

MIN_LAUNCHES = 3
"""Minimum number of launches for a claim below SMALL_CLAIM."""
_LONGEST_S = 600
"""Maximum proposed race time: conditions change during longer races."""


class Evidence(NamedTuple):
    """Amount of evidence of a comparison."""

    rounds: int
    launches: int
    set_ups: int
    span_s: float
    """Seconds from the first block to the start of the last."""

    @property
    def unit(self) -> Unit:
        """The independent unit: launches, or set-ups if there are too few launches."""
        return "launch" if self.launches >= MIN_UNITS else "set-up"

    @property
    def units(self) -> int:
        """Number of independent units."""
        return self.launches if self.unit == "launch" else self.set_ups

    @property
    def carries_estimate(self) -> bool:
        """Whether there is enough evidence for a small difference."""
        return self.rounds >= MIN_ROUNDS and self.units >= MIN_UNITS

    @property
    def carries_interval(self) -> bool:
        """Whether there is enough evidence for an interval."""
        return self.rounds >= FEWEST_ROUNDS and self.set_ups > 1

    def seconds_for(self, rounds: float) -> float | None:
        """Duration of so many rounds; None if there was only one."""
        return self.span_s / (self.rounds - 1) * rounds if self.rounds > 1 else None


def weaker(one: Evidence, other: Evidence) -> Evidence:
    """The weaker evidence, for a comparison of two comparisons."""
    return Evidence(
        min(one.rounds, other.rounds),
        min(one.launches, other.launches),
        min(one.set_ups, other.set_ups),
        max(one.span_s, other.span_s),
    )


def what_is_missing(evidence: Evidence, bounds: tuple[float, float] | None, min_effect: float) -> str:
    """Why there is no verdict (too few rounds or launches, or rounds that differ), and the time that may help."""
    rounds = evidence.rounds
    if rounds < MIN_ROUNDS:
        use = _use(evidence.seconds_for(MIN_ROUNDS))
        if rounds < FEWEST_ROUNDS or bounds is None:
            return f"{count(rounds, 'round')} {'is' if rounds == 1 else 'are'} too few: {use}"
        return f"{count(rounds, 'round')} decide only differences above {_percent(LARGE_CLAIM)}: {use}"
    if not evidence.carries_estimate:
        few = f"all rounds ran in {count(evidence.set_ups, 'session')}, too few to estimate their variation"
        return f"{few}: {_use(2 * evidence.span_s)}"
    low, high = bounds or (-math.inf, math.inf)
    band = math.log1p(min_effect)
    if evidence.launches < MIN_LAUNCHES and ((-band < low and high < band) or low > 0 or high < 0):
        few = f"needs {MIN_LAUNCHES} launches, not {evidence.launches}"
        return f"a claim below {_percent(SMALL_CLAIM)} {few}: {_use(None)}"
    needed_s = evidence.span_s * max(2.0, ((high - low) / band) ** 2) if band > 0 else math.inf
    if needed_s <= _LONGEST_S:
        return f"`time={math.ceil(needed_s)}` would probably decide"
    if high - low > math.log1p(LARGE_CLAIM):
        return "the rounds differ too much; close other programs and repeat"
    return (
        "this machine is too noisy now for such a small difference; close other programs or set a larger `min_effect`"
    )


def beyond(reason: str, used_s: float) -> str:
    """Adjust a reason so that the proposed time exceeds the used time, since starting workers takes time too."""

    def longer(found: re.Match[str]) -> str:
        return found[0] if int(found[1]) > used_s else f"`time={math.ceil(2 * used_s)}`"

    return re.sub(r"`time=(\d+)`", longer, reason)


def _use(seconds: float | None) -> str:
    return "use a longer `time`" if seconds is None else f"use `time={max(1, math.ceil(seconds))}`"


def _percent(share: float) -> str:
    return f"{significant(100 * share)} %"
