"""The time of an advice: facts come first, then the races of trials, then what is left for doubts and memory."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from onnxperf.analyze.judges.weighing import PROCESSES
from onnxperf.api._tuning.times import of_whole

_RACES = 0.8
"""Part of the time that is left after the facts for both races of trials; the rest repeats what is doubted."""
_STARTS = 2
"""Each of these races opens all of its sessions before its own time begins."""
_MOST_STARTING = 0.5
"""Part of that time which opening sessions may take, before races become too short to show anything."""
SHORTEST_S = 1.0
"""Of a race, however late it is; less only where less was requested for everything."""


@dataclass
class AdviceBudget:
    """A time that began when the function was called."""

    total_s: float
    start_s: float
    clock: Callable[[], float] = time.monotonic
    opening_s: float = 0.0
    """What starting a worker and opening its session takes, as the facts showed."""
    races_s: float = 0.0
    """What both races of trials may take, without their starts."""

    @property
    def left_s(self) -> float:
        """Seconds until the end; below 0 after it."""
        return self.start_s + self.total_s - self.clock()

    def begin_races(self, candidates: int) -> float:
        """The time of both races of so many candidates, without their starts."""
        left_s = _RACES * self.left_s
        starts_s = min(_STARTS * candidates * self.opening_s, _MOST_STARTING * left_s)
        self.races_s = max(left_s - starts_s, self._least_s)
        return self.races_s

    def repeat_s(self, candidates: int, weighed: int) -> float:
        """The time of one more race, before the memory of some of them is measured; 0 if there is none left."""
        left_s = self.left_s - candidates * self.opening_s - self.weighing_s(weighed)
        return left_s if left_s >= self._least_s else 0.0

    def weighing_s(self, candidates: int) -> float:
        """What measuring the memory of so many candidates takes, each in several processes."""
        return PROCESSES * candidates * self.opening_s

    def of_whole(self, reason: str) -> str:
        """A reason, in which a time that would decide the races is one for everything."""
        return of_whole(reason, self.races_s, self.total_s)

    @property
    def note(self) -> str:
        """That the time was too short; empty if it was not."""
        over_s = -self.left_s
        if over_s <= SHORTEST_S or over_s <= 0.1 * self.total_s:
            return ""
        return f"it took {math.ceil(over_s)} s longer than `time`, which is too short for this model: increase `time`"

    @property
    def _least_s(self) -> float:
        return min(SHORTEST_S, self.total_s)
