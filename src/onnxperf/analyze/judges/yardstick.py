"""Times of runs that were not measured in turn, each divided by the time of the yardstick in its own run."""

from __future__ import annotations

import math
from typing import NamedTuple

from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.pairing import QUICKEST, Reading, paired, reading_of, was_never_free
from onnxperf.analyze.judges.reasons import MIN_LAUNCHES
from onnxperf.analyze.judges.times import own_time
from onnxperf.records.race import ALPHA, MIN_ROUNDS, Case, Measurement

BETWEEN_RUNS = 0.01
"""How much the time of a model / that of the yardstick differs between two runs of the same (standard deviation),
beyond what their launches show; found by repeating runs (`benchmarks/gate.py`)."""
LARGE_DRIFT = 1.1
"""A yardstick that moved further than this is mentioned: dividing by it assumes that all subjects moved with it."""
MOST_DRIFT = 1.5
"""Beyond this, no limit is decided by it: the machine was in another state, which does not slow all models equally."""


class RunChange(NamedTuple):
    """A subject in two runs: second time / first time, each divided by that of the yardstick, as a logarithm."""

    estimate: st.Estimate
    drift: float
    """Time of the yardstick in the second run / in the first."""

    @property
    def ratio(self) -> float:
        """Second time / first time."""
        return math.exp(self.estimate.value)

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        """Where that ratio lies, except with probability alpha."""
        low, high = self.estimate.interval(alpha)
        return math.exp(low), math.exp(high)


def weakness(subject: Measurement) -> str:
    """Why the undisturbed time of a subject is not known; empty where it is."""
    evidence = paired(subject, subject).evidence
    if evidence.rounds < MIN_ROUNDS or evidence.units < MIN_LAUNCHES:
        return "rests on too few rounds or launches: measure it again with a longer `time`"
    if was_never_free(subject):
        return "was disturbed by other programs, and no call with several threads was free of them: use `threads=1`"
    return ""


def log_time(subject: Measurement, reading: Reading = QUICKEST) -> st.Estimate | None:
    """The logarithm of its undisturbed time; None where that is not known."""
    return None if weakness(subject) else own_time(subject, reading.time_of)


def has_yardsticks(first: Case, second: Case) -> bool:
    """Whether both were measured beside the same yardstick."""
    return first.yardstick is not None and second.yardstick is not None and _same(first.yardstick, second.yardstick)


def change_of(then: Measurement, now: Measurement, first: Case, second: Case) -> RunChange | None:
    """How much longer a subject of the second run takes than one of the first; None where that is not known."""
    if first.yardstick is None or second.yardstick is None:
        return None
    measured = (now, second.yardstick, then, first.yardstick)
    reading = reading_of(measured)  # the same of all, or one of them would gain
    times = [log_time(each, reading) for each in measured]
    if None in times:
        return None
    ours, ours_by, theirs, theirs_by = [each for each in times if each is not None]
    difference = ours.minus(ours_by).minus(theirs.minus(theirs_by))
    return RunChange(_between_runs(difference), math.exp(ours_by.value - theirs_by.value))


def _same(one: Measurement, other: Measurement) -> bool:
    return (one.name, one.runtime, one.call) == (other.name, other.runtime, other.call)


def _between_runs(within: st.Estimate) -> st.Estimate:
    """An estimate with the error that no launch of either run shows; that one is known, and adds freedom."""
    whole = within.error**2 + BETWEEN_RUNS**2
    share = within.error**2 / whole
    freedom = min(within.freedom / share**2, 1000.0) if share else 1000.0
    return st.Estimate(within.value, math.sqrt(whole), int(freedom))
