"""The runs of a model as series with change points."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby, pairwise
from operator import attrgetter
from statistics import median
from typing import Any, NamedTuple, get_args

from msgspec.structs import replace

from onnxperf.analyze.answers.history import history_answer, notes_on, series_answer
from onnxperf.analyze.judges.change_points import LevelChange, Levels, find_levels, without_outliers
from onnxperf.records.base import Scalar
from onnxperf.records.comparison import Comparison
from onnxperf.records.history import (
    FEWEST_POINTS,
    By,
    ChangePoint,
    History,
    HistoryGroup,
    HistoryPoint,
    HistorySeries,
    StoredSubject,
    Timed,
    TimeMeasure,
    TimeOrigin,
    sources,
    timed_count,
    timed_points,
)
from onnxperf.records.race import ALPHA
from onnxperf.wording.machines import cpu_name
from onnxperf.wording.names import dims_text
from onnxperf.wording.numbers import count

_VERSION = re.compile(r"\d+\.\d")
"""The start of a condition that is a library version: it changes between runs and is not a setting."""
_LARGEST_LOG = 40.0
_LONGEST_CACHED = 400
"""Values of a series whose levels are remembered."""


class _Key(NamedTuple):
    """Facts that are equal in all runs of a series."""

    machine: str
    runtime: str
    call: str
    dims: str
    conditions: tuple[tuple[str, Scalar], ...]
    environment: str
    """Version of onnxruntime in another environment, if it differs from that of the run."""
    subject: str = ""
    """Name of the subject, if a run has several subjects that are otherwise equal."""


def judge_history(
    model: str, stored: Sequence[StoredSubject], by: By | None, min_effect: float, limit: int | None = None
) -> History:
    """Series of a model with their change points, each limited to the newest `limit` runs."""
    grouped = _series(stored, by)
    made = [_made(key, several, by, limit) for key, several in grouped.items()]
    named = _named(made)
    judged = [_judged(each, by, min_effect, len(named)) for each in named]
    record = History(model=model, by=by, min_effect=min_effect, series=tuple(judged))
    return replace(record, answer=history_answer(record), notes=tuple(notes_on(record)))


# ---------------------------------------------------------------- series


def _series(stored: Sequence[StoredSubject], by: By | None) -> dict[_Key, list[StoredSubject]]:
    """All subjects by their key; subjects that failed before their conditions were known join similar ones."""
    found: dict[_Key, list[StoredSubject]] = {}
    for subject in stored:
        if subject.origin.conditions:
            found.setdefault(_key(subject, by), []).append(subject)
    apart: dict[_Key, list[StoredSubject]] = {}
    for key, several in found.items():
        apart.update(_split(key, several))
    for subject in stored:
        if not subject.origin.conditions:
            apart.setdefault(_home(subject, by, apart), []).append(subject)
    return apart


def _key(subject: StoredSubject, by: By | None) -> _Key:
    origin = subject.origin
    own = str(origin.conditions.get("onnxruntime", origin.onnxruntime))
    return _Key(
        "" if by == "machine" else machine_text(origin),
        subject.runtime,
        subject.call,
        dims_text(origin.dims),
        tuple(sorted(_settings(origin).items())),
        own if own != origin.onnxruntime and by != "version" else "",
    )


def _split(key: _Key, several: list[StoredSubject]) -> dict[_Key, list[StoredSubject]]:
    """Split by subject name if one run has several subjects that are otherwise equal."""
    if len({each.name for each in several}) == 1:
        return {key: several}
    runs = [(point.run, point.version) for each in several for point in each.points]
    if len(set(runs)) == len(runs):
        return {key: several}
    apart: dict[_Key, list[StoredSubject]] = {}
    for subject in several:
        apart.setdefault(key._replace(subject=subject.name), []).append(subject)
    return apart


def _home(subject: StoredSubject, by: By | None, series: Iterable[_Key]) -> _Key:
    """The series of a subject with unknown conditions, because it failed or was called from Python."""
    key = _key(subject, by)
    alike = [each for each in series if each[:4] == key[:4]]
    return max(alike, key=lambda each: (each.subject == subject.name, each.environment == ""), default=key)


def _settings(origin: TimeOrigin) -> dict[str, Scalar]:
    return {name: value for name, value in origin.conditions.items() if not _VERSION.match(str(value))}


def machine_text(origin: TimeOrigin) -> str:
    """Processor and cores as text."""
    if not origin.cpu:
        return ""
    logical = f" ({origin.logical_cpus} logical)" if origin.logical_cpus != origin.cores else ""
    return f"{cpu_name(origin.cpu)}, {count(origin.cores, 'core')}{logical}"


def _newest(several: Sequence[StoredSubject], limit: int | None) -> list[HistoryPoint]:
    points = [point for subject in several for point in subject.points]
    if len(several) > 1:
        points.sort(key=attrgetter("started"))
    return points if limit is None else points[-limit:]


def _made(key: _Key, several: Sequence[StoredSubject], by: By | None, limit: int | None) -> HistorySeries:
    newest = max(several, key=lambda each: each.points[-1].started)
    points = _newest(several, limit)
    measure, yardstick_ns = _measure(points, by)
    groups: list[HistoryGroup] = []
    if by is None:
        points = _together(points, sources)
    else:
        group_of = _group_of(several, by)
        points = _together(_ordered(points, by, group_of), lambda each: (group_of(each), sources(each)))
        groups = list(_groups(points, group_of, lambda some: timed_points(some, measure, yardstick_ns)))
    own = [key.subject] if key.subject else []
    environment = [f"onnxruntime {key.environment}"] if key.environment else []
    return HistorySeries(
        name=", ".join([" ".join(filter(None, [key.runtime, key.call])), *environment, *own]),
        model=newest.model,
        machine=key.machine,
        runtime=key.runtime,
        call=key.call,
        dims=newest.origin.dims,
        conditions=dict(key.conditions),
        measure=measure,
        yardstick_ns=yardstick_ns,
        points=tuple(points),
        groups=tuple(groups),
    )


def _named(made: Sequence[HistorySeries]) -> list[HistorySeries]:
    """Add to names the settings in which a series differs from others of its runtime."""
    named = []
    for each in made:
        alike = [other.conditions for other in made if other.runtime == each.runtime]
        differing = {
            name: value
            for name, value in each.conditions.items()
            if any(other.get(name, value) != value for other in alike)
        }
        words = [f"{name}={value}" for name, value in differing.items()]
        named.append(replace(each, name=", ".join([each.name, *words])))
    return sorted(named, key=lambda each: (each.machine, each.runtime, tuple(each.dims.values())))


# ---------------------------------------------------------------- orders and groups


def _group_of(several: Sequence[StoredSubject], by: By) -> Callable[[HistoryPoint], str]:
    """The name of the group of a point."""
    if by == "machine":
        machines = [(machine_text(each.origin) or "unknown machine", each.points) for each in several]
        names = {id(point): name for name, points in machines for point in points}
        return lambda point: names[id(point)]
    groups: dict[By, Callable[[HistoryPoint], str]] = {
        "version": lambda point: point.version or "unknown version",
        "commit": lambda point: point.commit or "no commit",
        "day": lambda point: point.started[:10],
    }
    return groups[by]


def _ordered(points: list[HistoryPoint], by: By, group_of: Callable[[HistoryPoint], str]) -> list[HistoryPoint]:
    """Order by time within each group; commits are ordered by their first measurement."""
    if by == "version":
        order = cache(version_order)
        return sorted(points, key=lambda each: (order(each.version), each.version))
    return sorted(points, key=group_of) if by == "machine" else _together(points, group_of)


def _together(points: Sequence[HistoryPoint], key_of: Callable[[HistoryPoint], object]) -> list[HistoryPoint]:
    """Points grouped by key, in order of first occurrence."""
    found: dict[object, list[HistoryPoint]] = {}
    for point in points:
        found.setdefault(key_of(point), []).append(point)
    return [point for several in found.values() for point in several]


def version_order(version: str) -> tuple[tuple[bool, int, str], ...]:
    """Sort key for versions: 1.9 before 1.10, 1.10.dev1 before 1.10.0."""
    parts = re.findall(r"\d+|[a-z]+", version)
    return tuple((part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)


def _groups(
    points: Sequence[HistoryPoint],
    group_of: Callable[[HistoryPoint], str],
    timed: Callable[[list[HistoryPoint]], Timed],
) -> Iterator[HistoryGroup]:
    first = None
    for name, several in groupby(points, key=group_of):
        times = [ns for _, ns in timed(list(several))]
        if times:
            middle = median(times)
            first = first or middle
            yield HistoryGroup(
                name=name,
                runs=len(times),
                median_ns=middle,
                min_ns=min(times),
                max_ns=max(times),
                ratio=middle / first,
            )


# ---------------------------------------------------------------- changes


def _measure(points: Sequence[HistoryPoint], by: By | None) -> tuple[TimeMeasure, float | None]:
    """The kind of times of a series, and the median time of the yardstick if times are relative to it.

    The undisturbed time is used if at least half of the runs have it; different kinds are never mixed in one series, so
    other runs are excluded. Machines are compared by absolute times, because the yardstick would cancel their speed.
    """
    counts: dict[TimeMeasure, int] = {each: timed_count(points, each) for each in get_args(TimeMeasure)}
    half = max(counts.values()) / 2
    if counts["undisturbed"] < half or not counts["undisturbed"]:
        return ("mean" if counts["mean"] > counts["median"] else "median"), None
    beside = [point.yardstick_ns or 0.0 for point, _ in timed_points(points, "undisturbed", 1.0)]
    return "undisturbed", median(beside) if beside and len(beside) >= half and by != "machine" else None


def _judged(series: HistorySeries, by: By | None, min_effect: float, several: int) -> HistorySeries:
    """Machines have no order in which a time could change."""
    timed = series.timed()
    if by != "machine":
        averaged = _averaged(timed)
        found = _levels_of(averaged.logs, math.log1p(min_effect), several)
        enough = len(averaged.logs) >= FEWEST_POINTS
        series = replace(
            series,
            averages=len(averaged.logs),
            changes=tuple(_change(each, averaged) for each in found.changes),
            correlation=found.correlation if enough else None,
            yardstick_changes=_yardstick_changes(series, timed, min_effect, several),
        )
        series = replace(series, level_ns=_level(series))
    noise = _noise([math.log(ns) for _, ns in timed], [each.index for each in series.changes])
    series = replace(series, noise=noise)
    return replace(series, answer=series_answer(series, by))


def _levels_of(logs: Sequence[float], min_change: float, several: int) -> Levels:
    """The same values always have the same levels: a page that is loaded again searches only what is new."""
    if len(logs) > _LONGEST_CACHED:
        return find_levels(logs, min_change, several)
    return _cached_levels(tuple(logs), min_change, several)


@lru_cache(maxsize=2048)
def _cached_levels(logs: tuple[float, ...], min_change: float, several: int) -> Levels:
    return find_levels(logs, min_change, several)


def _yardstick_changes(series: HistorySeries, timed: Timed, min_effect: float, several: int) -> tuple[ChangePoint, ...]:
    """Change points of the yardstick itself: changes common to all models cancel out of times relative to it."""
    if series.yardstick_ns is None:
        return ()
    averaged = _averaged([(point, point.yardstick_ns or 0.0) for point, _ in timed])
    found = _levels_of(averaged.logs, math.log1p(min_effect), several)
    return tuple(_change(each, averaged) for each in found.changes)


class _Averaged(NamedTuple):
    """Averages of runs of one day, commit, version and file, which share the state of the machine on that day."""

    timed: Timed
    begins: list[int]
    """Index of the first run of each average."""
    logs: list[float]


def _averaged(timed: Timed) -> _Averaged:
    of = [sources(point) for point, _ in timed]
    begins = [place for place, each in enumerate(of) if not place or each != of[place - 1]]
    logs = [math.log(ns) for _, ns in timed]
    return _Averaged(
        timed, begins, [sum(logs[begin:end]) / (end - begin) for begin, end in pairwise([*begins, len(timed)])]
    )


def _change(found: LevelChange, averaged: _Averaged) -> ChangePoint:
    index = averaged.begins[found.place]
    low, high = found.difference.interval(ALPHA)
    compared = Comparison(ratio=_ratio(-found.difference.value), low=_ratio(-high), high=_ratio(-low))
    ratios: dict[str, Any] = compared.inverse().named("ratio")
    return ChangePoint(
        index=index,
        last_before=averaged.timed[index - 1][0],
        first_after=averaged.timed[index][0],
        before_ns=math.exp(found.before),
        after_ns=math.exp(found.after),
        **ratios,
        p_value=found.p_value,
    )


def _level(series: HistorySeries) -> float | None:
    """The level since the last change point; of all runs without one."""
    import numpy as np

    if series.changes:
        return series.changes[-1].after_ns
    logs = [math.log(ns) for _, ns in series.timed()]
    return math.exp(float(without_outliers(np.asarray(logs)).mean())) if logs else None


def _ratio(log: float) -> float:
    """The ratio, limited to what records can hold: intervals of a few correlated values are very wide."""
    return math.exp(min(max(log, -_LARGEST_LOG), _LARGEST_LOG))


def _noise(logs: Sequence[float], places: Sequence[int]) -> float | None:
    """Relative deviation of the times from the level of their segment; None if there are too few."""
    import numpy as np

    if len(logs) < 3:
        return None
    parts = np.split(without_outliers(np.asarray(logs)), places)
    square = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
    return math.sqrt(square / max(len(logs) - len(parts), 1))
