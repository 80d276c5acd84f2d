"""What the runs of a store say about a model over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

from msgspec import Struct

from onnxperf.records.base import Findings, Scalar, Status
from onnxperf.records.numbers import Amount, Count

By = Literal["version", "commit", "machine", "day"]
TimeMeasure = Literal["undisturbed", "median", "mean"]
FEWEST_POINTS = 8
"""Averages over runs from which on a series can have a change point."""
_MEASURED = ("ok", "differs")


class TimeOrigin(Struct, frozen=True, kw_only=True):
    """Where and how a time was measured: what is compared only with its like."""

    cpu: str = ""
    """Model of the processor."""
    cores: Count = 0
    """Physical cores."""
    logical_cpus: Count = 0
    """Logical processors."""
    onnxruntime: str = ""
    """Version of onnxruntime in the environment of the run, where installed."""
    dims: dict[str, Count] = {}
    """Dimensions of the case."""
    conditions: dict[str, Scalar] = {}
    """What was really used: providers, threads, versions…"""


class HistoryPoint(Struct, frozen=True, gc=False):
    """One run in a history."""

    run: str
    """Id of the run."""
    started: str
    """When it began: ISO 8601, UTC."""
    median_ns: Amount | None = None
    """Median time of single calls; null if it was not measured."""
    mean_ns: Amount | None = None
    """Mean time of a call in timed blocks; null if it was not measured."""
    status: Status = "ok"
    """How it ended; what failed is no point of the trend."""
    version: str = ""
    """Version of onnxruntime that was used, or that was installed beside another runtime."""
    commit: str = ""
    """Commit of the repository in which it was run, where known."""
    dirty: bool = False
    """Files of the repository had been changed since that commit."""
    fingerprint: str = ""
    """What identifies the file of the model; empty if not known."""
    time_ns: Amount | None = None
    """Undisturbed time of a call; null if it was not measured."""
    yardstick_ns: Amount | None = None
    """Undisturbed time of the yardstick next to it; null if it was not measured."""


Timed = list[tuple[HistoryPoint, float]]
"""Points with their times."""


def timed_points(points: Sequence[HistoryPoint], measure: TimeMeasure, yardstick_ns: float | None = None) -> Timed:
    """The points that have this time, with it; what failed has none, whatever it measured before.

    With `yardstick_ns`, times are those of a machine on which the yardstick takes so long.
    """
    times = _times(points, measure, yardstick_ns)
    return [(point, ns) for point, ns in zip(points, times, strict=True) if ns is not None and 0 < ns < math.inf]


def timed_count(points: Sequence[HistoryPoint], measure: TimeMeasure, yardstick_ns: float | None = None) -> int:
    """How many those are."""
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
    """What runs share that are averaged: the day, the commit, the version and the file of the model."""
    return point.started[:10], point.commit, point.dirty, point.version, point.fingerprint


class StoredSubject(Struct, frozen=True, kw_only=True):
    """A subject of one name in all its runs, as the store has it."""

    name: str
    """Its name in its races."""
    model: str
    """Label of its model."""
    runtime: str
    """ort, numpy, reference…"""
    call: str
    """Call style; empty if the runtime has only one."""
    origin: TimeOrigin
    """Where and how it was measured."""
    points: tuple[HistoryPoint, ...]
    """Its runs, the oldest first."""


class ChangePoint(Struct, frozen=True, kw_only=True):
    """A place where the times of a series change."""

    index: Count
    """Place of the first point after it, among those with a time."""
    last_before: HistoryPoint
    """The last run before it."""
    first_after: HistoryPoint
    """The first run after it."""
    before_ns: Amount
    """Geometric mean of the times since the change before it; outliers count as three deviations."""
    after_ns: Amount
    """The same up to the change after it."""
    ratio: Amount
    """After / before: above 1 is slower."""
    ratio_low: Amount | None = None
    """Lower end of its 95 % interval, which knows that the times resemble their neighbors."""
    ratio_high: Amount | None = None
    """Upper end of that interval."""
    p_value: Amount
    """Of Welch's test on the logarithms with the same error, times the number of places that were searched."""


class HistoryGroup(Struct, frozen=True, kw_only=True):
    """The runs of one version, commit, machine or day."""

    name: str
    """Which one."""
    runs: Count
    """Points with a time."""
    median_ns: Amount
    """Median of their times."""
    min_ns: Amount
    """The smallest."""
    max_ns: Amount
    """The largest."""
    ratio: Amount
    """Median / that of the first group: above 1 is slower."""


class HistorySeries(Struct, frozen=True, kw_only=True):
    """Runs that differ only in when they took place, and in which versions."""

    name: str
    """Runtime, call style, and what sets it apart from the other series."""
    model: str
    """Label of the model; of several labels of one file, the newest."""
    machine: str
    """The processor and its cores; empty where machines are compared."""
    runtime: str
    """ort, numpy, reference…"""
    call: str = ""
    """Call style, where the runtime has several."""
    dims: dict[str, Count] = {}
    """Dimensions of the case."""
    conditions: dict[str, Scalar] = {}
    """What was really used, without versions."""
    measure: TimeMeasure = "median"
    """Which time: the undisturbed one; for older runs, the median of single calls or the mean of blocks."""
    yardstick_ns: Amount | None = None
    """Median time of the yardstick, if times are relative to it: each is multiplied by this / the yardstick's time in
    its own run. Null if times are as measured."""
    points: tuple[HistoryPoint, ...] = ()
    """In their order: by time, or by version and time, with what is averaged together; those that failed are among
    them."""
    averages: Count = 0
    """Averages of times over the runs of one day, commit, version and file of the model."""
    changes: tuple[ChangePoint, ...] = ()
    """Where these averages change."""
    yardstick_changes: tuple[ChangePoint, ...] = ()
    """Where the times of the yardstick itself change: with the machine, or with what all models share."""
    noise: Amount | None = None
    """Relative deviation of the times from the level between two changes; null if there are too few."""
    correlation: Amount | None = None
    """How much an average resembles the one before it, between two changes: 0 if it does not, near 1 if it hardly
    differs; null if there are too few."""
    groups: tuple[HistoryGroup, ...] = ()
    """Where the history is ordered by version, commit, machine or day."""
    answer: str = ""
    """What that says, in one sentence."""

    def timed(self) -> Timed:
        """The points that have a time, with it."""
        return timed_points(self.points, self.measure, self.yardstick_ns)

    def runs(self) -> int:
        """How many those are."""
        return timed_count(self.points, self.measure, self.yardstick_ns)

    def failures(self) -> int:
        """Points that have no time of any kind."""
        timed = {id(point) for measure in get_args(TimeMeasure) for point, _ in timed_points(self.points, measure)}
        return len(self.points) - len(timed)


class History(Findings, frozen=True, kw_only=True):
    """What `onnxperf history` found."""

    model: str
    """What was asked for."""
    by: By | None = None
    """How runs are ordered and grouped; null: each run by its time."""
    min_effect: Amount = 0.01
    """Smallest relative change that is called one."""
    series: tuple[HistorySeries, ...] = ()
    """One per machine, subject and dimensions."""
