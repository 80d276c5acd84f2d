"""Whether memory grows with every call: a line through points, and a name for what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import median

from onnxperf.records.memory import Growth, GrowthKind

_NOTICEABLE_BYTES = 1 << 20
"""Growth below this is not mentioned: pages come and go, and Python takes its memory in pieces of this size."""
_QUARTERS = 4
LEAST_POINTS = _QUARTERS + 1
"""Fewer cannot separate a leak from what settles."""
_FAIR_SHARE = 0.5
"""What grows with every call grows in every quarter by at least this part of an even share."""
_ARENA_SHARE = 0.5
"""An arena that explains this part of a growth is its cause."""


def judge_growth(points: Sequence[tuple[int, int]], arena_bytes: Sequence[int] = ()) -> Growth | None:
    """What points of (calls, bytes) say; `arena_bytes` is what onnxruntime's arena held after the same calls."""
    if len(points) < LEAST_POINTS:
        return None
    calls, sizes = zip(*points, strict=True)
    grown = sizes[-1] - sizes[0]
    arena_grown = arena_bytes[-1] - arena_bytes[0] if arena_bytes else 0
    kind: GrowthKind = "none"
    if grown >= _NOTICEABLE_BYTES:
        kind = "leak" if _in_every_quarter(sizes) else "settling"
        if arena_grown >= _ARENA_SHARE * grown:
            kind = "arena"
    slope = _slope(points) if kind in ("none", "leak") else grown / (calls[-1] - calls[0])
    return Growth(kind=kind, bytes_per_call=slope, calls=calls, resident_bytes=sizes)


def _in_every_quarter(sizes: Sequence[int]) -> bool:
    last = len(sizes) - 1
    corners = [sizes[round(last * quarter / _QUARTERS)] for quarter in range(_QUARTERS + 1)]
    fair = _FAIR_SHARE * (corners[-1] - corners[0]) / _QUARTERS
    return all(corners[i + 1] - corners[i] >= fair for i in range(_QUARTERS))


def _slope(points: Sequence[tuple[int, int]]) -> float:
    """The median of the slopes between any two points (Theil and Sen): one jump does not move it."""
    return median((after - before) / (later - sooner) for (sooner, before), (later, after) in combinations(points, 2))
