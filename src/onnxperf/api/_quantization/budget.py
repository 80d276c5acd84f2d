"""The time of a quantization: how much of it each stage may take, and what a race may be asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from onnxperf.records.profile import COMPARED_LAUNCHES

Stage = Literal["quantising", "ways", "explaining", "layers", "confirming"]
_ENDS: dict[Stage, float] = {"quantising": 0.5, "ways": 0.7, "explaining": 0.85, "layers": 0.8, "confirming": 1.0}
"""Part of the time after which each stage ends, however long those before it took."""
_MOST: dict[Stage, float] = {"ways": 0.2, "explaining": 0.15, "layers": 0.15}
"""Part of the time that a stage takes at most; what it leaves is for the confirming race."""
_START_S = 0.25
"""Starting a worker, without its session."""
_SHORTEST_RACE_S = 1.0


@dataclass(frozen=True)
class QuantizeBudget:
    """A time that began when the function was called."""

    start_s: float
    total_s: float
    clock: Callable[[], float] = time.monotonic

    def left_of(self, stage: Stage) -> float:
        """Seconds that a stage which begins now may take; below 0 if it is too late for it."""
        left_s = self.start_s + _ENDS[stage] * self.total_s - self.clock()
        return min(left_s, _MOST.get(stage, 1.0) * self.total_s)

    def launches(self, opening_s: float) -> int:
        """Launches in which both sides are profiled: one, which proves nothing about layers, if time is short."""
        enough_s = COMPARED_LAUNCHES * 2 * (_START_S + opening_s)
        return COMPARED_LAUNCHES if enough_s <= self.left_of("explaining") else 1

    def race_s(self, stage: Stage, models: int, opening_s: float) -> float:
        """The time to request of a race, which does not count its start, where each session takes so long to open."""
        return max(self.left_of(stage) - models * (_START_S + opening_s), _SHORTEST_RACE_S)
