"""Whether memory grows with every call: fit a line through points and classify the growth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import median

from onnxperf.records.memory import Growth, GrowthKind

_NOTICEABLE_BYTES = 1 << 20
"""Smaller growth is ignored: pages come and go, and Python allocates memory in pieces of this size."""
_QUARTERS = 4
LEAST_POINTS = _QUARTERS + 1
"""Minimum number of points to distinguish a leak from settling."""
_FAIR_SHARE = 0.5
"""Constant growth increases every quarter by at least this fraction of an even share."""
_STEP_SHARE = 0.8
"""A rise between two points that is at least this fraction of the growth counts as a single step."""
_ARENA_SHARE = 0.5
"""An arena that explains this fraction of the growth is its cause."""


def judge_growth(points: Sequence[tuple[int, int]], arena_bytes: Sequence[int] = ()) -> Growth | None:
    """Judge points of (calls, bytes); `arena_bytes` is the memory held by onnxruntime's arena after the same calls."""
    if len(points) < LEAST_POINTS:
        return None
    calls, sizes = zip(*points, strict=True)
    grown = sizes[-1] - sizes[0]
    if grown < _NOTICEABLE_BYTES:
        return Growth(kind="none", bytes_per_call=_slope(points), calls=calls, resident_bytes=sizes)
    throughout, step = _in_every_quarter(sizes), _largest_rise(sizes)
    kind: GrowthKind = "leak" if throughout else "settling"
    slope = _slope(points) if throughout else 0.0
    step_calls = step_bytes = None
    if not throughout and sizes[step + 1] - sizes[step] >= _STEP_SHARE * grown:
        kind, step_calls, step_bytes = "step", calls[step], sizes[step + 1] - sizes[step]
    if arena_bytes and arena_bytes[-1] - arena_bytes[0] >= _ARENA_SHARE * grown:
        kind, slope = "arena", grown / (calls[-1] - calls[0]) if throughout else 0.0
    return Growth(
        kind=kind,
        bytes_per_call=slope,
        step_calls=step_calls,
        step_bytes=step_bytes,
        calls=calls,
        resident_bytes=sizes,
    )


def _largest_rise(sizes: Sequence[int]) -> int:
    """The point after which memory grew the most."""
    return max(range(len(sizes) - 1), key=lambda at: sizes[at + 1] - sizes[at])


def _in_every_quarter(sizes: Sequence[int]) -> bool:
    last = len(sizes) - 1
    corners = [sizes[round(last * quarter / _QUARTERS)] for quarter in range(_QUARTERS + 1)]
    fair = _FAIR_SHARE * (corners[-1] - corners[0]) / _QUARTERS
    return all(corners[i + 1] - corners[i] >= fair for i in range(_QUARTERS))


def _slope(points: Sequence[tuple[int, int]]) -> float:
    """The median of the slopes between all pairs of points (Theil-Sen), which is robust against a single jump."""
    return median((after - before) / (later - sooner) for (sooner, before), (later, after) in combinations(points, 2))
