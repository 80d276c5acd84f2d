"""The time of a bisection: every comparison has its share of what is left, and at least what five launches need."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from onnxperf.records.bisect import Purpose
from onnxperf.records.race import MIN_ROUNDS, MIN_UNITS

_ENDS = 4.0
"""Shares of the first race: all later ones depend on its precision, and have what it leaves."""
_TURN_S = 0.0135
"""What a side takes in a round, unless its calls are long…"""
_CALLS_OF_A_TURN = 2.3
"""… then it takes two of them, and a little more."""
_MARGIN = 1.2
"""Machines slow down."""
_SHORTEST_S = 1.0
"""Of a race, however late it is; less only where less was requested for everything."""
_PROFILED_S = 3.0
"""What the calls of both sides take that are profiled in the end, without opening their sessions."""
_MOST_PROFILED = 0.15
"""Part of the time that is kept for it."""
_TOO_SHORT = "the time was too short for five launches of both sides: increase `time`"
_ENDED_EARLY = "the search ended early for lack of time: increase `time`"


@dataclass
class BisectBudget:
    """A time that began when the function was called; building environments does not count."""

    total_s: float
    start_s: float
    clock: Callable[[], float] = time.monotonic
    per_halving: float = 1.0
    """Comparisons that it takes to halve what is left."""
    profiles: bool = False
    """Whether both sides are profiled in the end."""
    notes: list[str] = field(default_factory=list)
    """What there was no time for."""
    _opening_s: float = 0.0
    """What opening both sides takes, as the last comparison showed."""
    _least_s: float = 0.0
    """What a comparison takes at least, as the last one showed."""
    _shares: float = 1.0
    """Into which the time is divided that is left…"""
    _own_shares: float = 1.0
    """… and how many of them the next comparison has."""

    @property
    def left_s(self) -> float:
        """Seconds until the end; below 0 after it."""
        return self.start_s + self.total_s - self.clock()

    def leave_out(self, seconds: float) -> None:
        """Do not count a time, such as that of building an environment."""
        self.start_s += seconds

    def has_time_for(self, purpose: Purpose, width: int) -> bool:
        """Plan the next comparison, where a change is among so many; False where only the last one can be afforded."""
        searches = self.per_halving * math.ceil(math.log2(max(width, 1)))
        self._own_shares = _ENDS if purpose == "ends" else 1.0
        self._shares = {"ends": _ENDS + searches + 1, "search": max(searches, 1.0) + 1, "repeat": 1.0}[purpose]
        if purpose != "search" or self.left_s - self._kept_s >= 2 * self._least_s:
            return True
        self._shares = 1.0
        self._note(_ENDED_EARLY)
        return False

    def began(self, opening_s: float, work_s: float) -> None:
        """A comparison begins: what opening both of its sides takes, and what has to be done besides."""
        self._opening_s, self._least_s = opening_s, opening_s + work_s

    def race_s(self, opening_s: float, call_s: float) -> float:
        """The time to request of the next race, which does not count its start."""
        launches_s = (MIN_UNITS - 1) * opening_s
        rounds_s = MIN_ROUNDS * 2 * max(_CALLS_OF_A_TURN * call_s, _TURN_S)
        least_s = _MARGIN * (launches_s + rounds_s)
        self.began(opening_s, least_s)
        free_s = self.left_s - opening_s
        share_s = self._own_shares * (self.left_s - self._kept_s) / self._shares - opening_s
        if free_s < least_s:
            self._note(_TOO_SHORT)
            return max(free_s, min(_SHORTEST_S, self.total_s))
        return max(share_s, least_s)

    def has_time_to_profile(self) -> bool:
        """Whether both sides can be profiled in several launches."""
        return self.left_s >= self._profiles_s

    @property
    def _kept_s(self) -> float:
        return min(self._profiles_s, _MOST_PROFILED * self.total_s) if self.profiles else 0.0

    @property
    def _profiles_s(self) -> float:
        return MIN_UNITS * self._opening_s + _PROFILED_S

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
