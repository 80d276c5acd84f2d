"""History of a model over the runs in a store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from msgspec import Struct

from onnxperf.records.base import Findings, Scalar, Status
from onnxperf.records.numbers import Amount, Count

By = Literal["version", "commit", "machine", "day"]
TimeMeasure = Literal["undisturbed", "median", "mean"]
FEWEST_POINTS = 8
"""Minimum number of averages in a series for detecting change points."""
_MEASURED = ("ok", "differs")


class TimeOrigin(Struct, frozen=True, kw_only=True):
    """Where and how a time was measured: only times with equal origins are compared."""

    cpu: str = ""
    """Processor model."""
    cores: Count = 0
    """Number of physical cores."""
    logical_cpus: Count = 0
    """Number of logical processors."""
    onnxruntime: str = ""
    """Version of onnxruntime in the environment of the run, if installed."""
    dims: dict[str, Count] = {}
    """Dimensions of the case."""
    conditions: dict[str, Scalar] = {}
    """Conditions actually in effect: providers, threads, versions…"""


class HistoryPoint(Struct, frozen=True, gc=False):
    """One run in a history."""

    run: str
    """Run id."""
    started: str
    """Start time: ISO 8601, UTC."""
    median_ns: Amount | None = None
    """Median time of single calls, in ns; null if not measured."""
    mean_ns: Amount | None = None
    """Mean time of a call in timed blocks, in ns; null if not measured."""
    status: Status = "ok"
    """Final status; failed runs are not part of the trend."""
    version: str = ""
    """Version of onnxruntime used, or installed alongside another runtime."""
    commit: str = ""
    """Git commit of the repository in which it ran; empty if unknown."""
    dirty: bool = False
    """Whether the repository had uncommitted changes."""
    fingerprint: str = ""
    """Hash that identifies the model file; empty if unknown."""
    time_ns: Amount | None = None
    """Undisturbed time of a call, in ns; null if not measured."""
    yardstick_ns: Amount | None = None
    """Undisturbed time of the yardstick in the same run, in ns; null if not measured."""


Timed = list[tuple[HistoryPoint, float]]
"""Points with their times."""


def timed_points(points: Sequence[HistoryPoint], measure: TimeMeasure, yardstick_ns: float | None = None) -> Timed:
    """The points with a time of this kind, and that time; failed runs have none.

    With `yardstick_ns`, times are scaled to a machine on which the yardstick takes that long.
    """
    times = _times(points, measure, yardstick_ns)
    return [(point, ns) for point, ns in zip(points, times, strict=True) if ns is not None and 0 < ns < math.inf]


def timed_count(points: Sequence[HistoryPoint], measure: TimeMeasure, yardstick_ns: float | None = None) -> int:
    """Number of points with a time of this kind."""
    return sum([ns is not None and 0 < ns < math.inf for ns in _times(points, measure, yardstick_ns)])


def _times(points: Sequence[HistoryPoint], measure: TimeMeasure, yardstick_ns: float | None) -> list[float | None]:
    if measure == "median":
        return [point.median_ns if point.status in _MEASURED else None for point in points]
    if measure == "mean":
        return [point.mean_ns if point.status in _MEASURED else None for point in points]
    if yardstick_ns is None:
        return [point.time_ns if point.status in _MEASURED else None for point in points]
    return [
        point.time_ns / point.yardstick_ns * yardstick_ns
        if point.status in _MEASURED and point.time_ns is not None and point.yardstick_ns
        else None
        for point in points
    ]


def sources(point: HistoryPoint) -> tuple[object, ...]:
    """Key of runs that are averaged: the day, the commit, the version and the model file."""
    return point.started[:10], point.commit, point.dirty, point.version, point.fingerprint


class StoredSubject(Struct, frozen=True, kw_only=True):
    """A subject in all its runs in the store."""

    name: str
    """Name of the subject."""
    model: str
    """Label of the model."""
    runtime: str
    """Runtime: ort, numpy, reference…"""
    call: str
    """Call style; empty if the runtime has only one."""
    origin: TimeOrigin
    """Where and how the subject was measured."""
    points: tuple[HistoryPoint, ...]
    """Runs, oldest first."""


class ChangePoint(Struct, frozen=True, kw_only=True):
    """A point at which the times of a series change."""

    index: Count
    """Index of the first point after the change, among the points with a time."""
    last_before: HistoryPoint
    """Last run before the change."""
    first_after: HistoryPoint
    """First run after the change."""
    before_ns: Amount
    """Geometric mean of the times since the previous change; outliers are clipped to three deviations."""
    after_ns: Amount
    """Geometric mean of the times up to the next change."""
    ratio: Amount
    """After / before; above 1 is slower."""
    ratio_low: Amount | None = None
    """Lower end of its 95 % confidence interval, which accounts for correlation between neighboring times."""
    ratio_high: Amount | None = None
    """Upper end of that interval."""
    p_value: Amount
    """p-value of Welch's test on the logarithms with the same error, multiplied by the number of positions searched."""


class Level(NamedTuple):
    """A stretch of a series without a change point."""

    first: int
    """Index of its first point with a time."""
    last: int
    """Index of its last point."""
    ns: float
    """Its time."""


class HistoryGroup(Struct, frozen=True, kw_only=True):
    """Runs of one version, commit, machine or day."""

    name: str
    """The version, commit, machine or day."""
    runs: Count
    """Number of points with a time."""
    median_ns: Amount
    """Median of their times, in ns."""
    min_ns: Amount
    """Smallest time, in ns."""
    max_ns: Amount
    """Largest time, in ns."""
    ratio: Amount
    """Median / median of the first group; above 1 is slower."""


class HistorySeries(Struct, frozen=True, kw_only=True):
    """Runs that differ only in their time and their versions."""

    name: str
    """Runtime, call style, and what distinguishes it from the other series."""
    model: str
    """Label of the model; if the file has several labels, the newest."""
    machine: str
    """Processor and cores; empty if machines are compared."""
    runtime: str
    """ort, numpy, reference…"""
    call: str = ""
    """Call style; empty if the runtime has only one."""
    dims: dict[str, Count] = {}
    """Dimensions of the case."""
    conditions: dict[str, Scalar] = {}
    """Conditions actually in effect, without versions."""
    measure: TimeMeasure = "median"
    """Kind of time: the undisturbed time; for older runs, the median of single calls or the mean of blocks."""
    yardstick_ns: Amount | None = None
    """Median time of the yardstick, in ns, if times are relative to it: each time is multiplied by this / the
    yardstick's time in the same run. Null if times are as measured."""
    points: tuple[HistoryPoint, ...] = ()
    """Points in order (by time, or by version and time), grouped as they are averaged; includes failed runs."""
    averages: Count = 0
    """Number of averages; one average covers the runs of one day, commit, version and model file."""
    changes: tuple[ChangePoint, ...] = ()
    """Change points of these averages."""
    yardstick_changes: tuple[ChangePoint, ...] = ()
    """Change points of the yardstick's own times, caused by the machine or something all models share."""
    level_ns: Amount | None = None
    """Level since the last change point, in ns: geometric mean of the times, with outliers clipped to three deviations;
    null if no run has a time, or if machines are compared."""
    noise: Amount | None = None
    """Relative deviation of the times from their level between two changes; null if there are too few."""
    correlation: Amount | None = None
    """Correlation of consecutive averages between two changes, from 0 (none) to 1; null if there are too few."""
    groups: tuple[HistoryGroup, ...] = ()
    """Groups, if the history is ordered by version, commit, machine or day."""
    answer: str = ""
    """The result in one sentence."""

    def timed(self) -> Timed:
        """The points with a time, and that time."""
        return timed_points(self.points, self.measure, self.yardstick_ns)

    def levels(self) -> list[Level]:
        """Where each level begins and ends among the points with a time, and its time."""
        last = self.runs() - 1
        if self.level_ns is None or last < 0:
            return []
        begins = [0, *(each.index for each in self.changes)]
        ends = [*(each.index - 1 for each in self.changes), last]
        times = [*(each.before_ns for each in self.changes[:1]), *(each.after_ns for each in self.changes)]
        return [Level(*each) for each in zip(begins, ends, times or [self.level_ns], strict=True)]

    def runs(self) -> int:
        """Number of points with a time."""
        return timed_count(self.points, self.measure, self.yardstick_ns)

    def failures(self) -> int:
        """Number of points without any time."""
        timed = {id(point) for measure in get_args(TimeMeasure) for point, _ in timed_points(self.points, measure)}
        return len(self.points) - len(timed)


class History(Findings, frozen=True, kw_only=True):
    """Result of `onnxperf history`."""

    model: str
    """Model as requested."""
    by: By | None = None
    """How runs are ordered and grouped; null for single runs ordered by time."""
    min_effect: Amount = 0.01
    """Smallest relative change that counts."""
    series: tuple[HistorySeries, ...] = ()
    """One series per machine, subject and set of dimensions."""
