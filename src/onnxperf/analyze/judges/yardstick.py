"""Compare times of separate runs, each divided by the time of the yardstick in the same run."""

from __future__ import annotations

import math
from typing import NamedTuple

from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.pairing import QUICKEST, Reading, paired, reading_of, was_never_free
from onnxperf.analyze.judges.reasons import MIN_LAUNCHES
from onnxperf.analyze.judges.times import own_time
from onnxperf.records.race import ALPHA, MIN_ROUNDS, Case, Measurement

BETWEEN_RUNS = 0.01
"""Standard deviation of a model's time / the yardstick's time between two equal runs, beyond the variation of their
launches; determined by repeating runs (`benchmarks/gate.py`)."""
LARGE_DRIFT = 1.1
"""A larger change of the yardstick is reported: dividing by it assumes that all subjects changed equally."""
MOST_DRIFT = 1.5
"""Beyond this change, no limit is decided: the machine was in another state, which does not affect all models
equally."""


class RunChange(NamedTuple):
    """The log of second / first time of a subject in two runs, each divided by the yardstick's time."""

    estimate: st.Estimate
    drift: float
    """Time of the yardstick in the second run / in the first run."""

    @property
    def ratio(self) -> float:
        """Second time / first time."""
        return math.exp(self.estimate.value)

    def interval(self, alpha: float = ALPHA) -> tuple[float, float]:
        """Confidence interval of that ratio at level 1 - alpha."""
        low, high = self.estimate.interval(alpha)
        return math.exp(low), math.exp(high)


def weakness(subject: Measurement) -> str:
    """Why the undisturbed time of a subject is unknown; empty if it is known."""
    evidence = paired(subject, subject).evidence
    if evidence.rounds < MIN_ROUNDS or evidence.units < MIN_LAUNCHES:
        return "rests on too few rounds or launches: measure it again with a longer `time`"
    if was_never_free(subject):
        return "was disturbed by other programs in every call with several threads: use `threads=1`"
    return ""


def log_time(subject: Measurement, reading: Reading = QUICKEST) -> st.Estimate | None:
    """The logarithm of its undisturbed time; None if unknown."""
    return None if weakness(subject) else own_time(subject, reading.time_of)


def has_yardsticks(first: Case, second: Case) -> bool:
    """Whether both were measured with the same yardstick."""
    return first.yardstick is not None and second.yardstick is not None and _same(first.yardstick, second.yardstick)


def change_of(then: Measurement, now: Measurement, first: Case, second: Case) -> RunChange | None:
    """The change of time from a subject of the first run to one of the second; None if unknown."""
    if first.yardstick is None or second.yardstick is None:
        return None
    measured = (now, second.yardstick, then, first.yardstick)
    reading = reading_of(measured)  # the same for all, since otherwise one would have an advantage
    times = [log_time(each, reading) for each in measured]
    if None in times:
        return None
    ours, ours_by, theirs, theirs_by = [each for each in times if each is not None]
    difference = ours.minus(ours_by).minus(theirs.minus(theirs_by))
    return RunChange(_between_runs(difference), math.exp(ours_by.value - theirs_by.value))


def _same(one: Measurement, other: Measurement) -> bool:
    return (one.name, one.runtime, one.call) == (other.name, other.runtime, other.call)


def _between_runs(within: st.Estimate) -> st.Estimate:
    """An estimate including the error between runs, which is known and adds degrees of freedom."""
    whole = within.error**2 + BETWEEN_RUNS**2
    share = within.error**2 / whole
    freedom = min(within.freedom / share**2, 1000.0) if share else 1000.0
    return st.Estimate(within.value, math.sqrt(whole), int(freedom))
