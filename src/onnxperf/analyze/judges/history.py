"""The runs of a model as series, each with the places where its times change."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.answers.history import history_answer, notes_on, series_answer
from onnxperf.analyze.judges.change_points import change_points, without_outliers
from onnxperf.records.base import Scalar
from onnxperf.records.history import (
    By,
    ChangePoint,
    History,
    HistoryGroup,
    HistoryPoint,
    HistorySeries,
    Origin,
    StoredSubject,
    TimeMeasure,
)
from onnxperf.wording.machines import cpu_name
from onnxperf.wording.names import dims_text
from onnxperf.wording.numbers import count

_VERSION = re.compile(r"\d+\.\d")
"""The start of a condition that is the version of a library: it changes from run to run, and is no setting."""
_MEASURED = ("ok", "differs")


class _Key(NamedTuple):
    """What is the same in all runs of a series."""

    machine: str
    runtime: str
    call: str
    dims: str
    conditions: tuple[tuple[str, Scalar], ...]
    environment: str
    """Version of onnxruntime where it is not the one of the run: another environment."""
    subject: str = ""
    """Name of the subject, where a run has several that are alike otherwise."""


_Placed = tuple[HistoryPoint, StoredSubject]


def judge_history(
    model: str, stored: Sequence[StoredSubject], by: By | None, min_effect: float, limit: int | None = None
) -> History:
    """Series of a model with their change points; of each, the newest `limit` runs."""
    grouped = _series(stored, by)
    made = [_made(key, _newest(placed, limit), by) for key, placed in grouped.items()]
    named = _named(made)
    judged = [_judged(each, by, min_effect, len(named)) for each in named]
    record = History(model=model, by=by, min_effect=min_effect, series=tuple(judged))
    return replace(record, answer=history_answer(record), notes=tuple(notes_on(record)))


# ---------------------------------------------------------------- series


def _series(stored: Sequence[StoredSubject], by: By | None) -> dict[_Key, list[_Placed]]:
    """All points by what must be the same; what failed before anything was known goes where its like are."""
    found: dict[_Key, list[_Placed]] = {}
    known = [each for each in stored if each.origin.conditions]
    for subject in known:
        found.setdefault(_key(subject, by), []).extend((point, subject) for point in subject.points)
    apart: dict[_Key, list[_Placed]] = {}
    for key, placed in found.items():
        apart.update(_split(key, placed))
    for subject in stored:
        if not subject.origin.conditions:
            apart.setdefault(_home(subject, by, apart), []).extend((point, subject) for point in subject.points)
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


def _split(key: _Key, placed: list[_Placed]) -> dict[_Key, list[_Placed]]:
    """By the names of subjects, where one run has several that are alike in everything that is known."""
    runs = Counter((point.run, point.version) for point, _ in placed)
    if all(number == 1 for number in runs.values()):
        return {key: placed}
    apart: dict[_Key, list[_Placed]] = {}
    for point, subject in placed:
        apart.setdefault(key._replace(subject=subject.name), []).append((point, subject))
    return apart


def _home(subject: StoredSubject, by: By | None, series: Iterable[_Key]) -> _Key:
    """The series of what failed, or was called from Python: conditions are only known of what was loaded."""
    key = _key(subject, by)
    alike = [each for each in series if each[:4] == key[:4]]
    return next((each for each in alike if each.subject == subject.name), alike[0] if alike else key)


def _settings(origin: Origin) -> dict[str, Scalar]:
    return {name: value for name, value in origin.conditions.items() if not _VERSION.match(str(value))}


def machine_text(origin: Origin) -> str:
    """The processor and its cores."""
    if not origin.cpu:
        return ""
    logical = f" ({origin.logical_cpus} logical)" if origin.logical_cpus != origin.cores else ""
    return f"{cpu_name(origin.cpu)}, {count(origin.cores, 'core')}{logical}"


def _newest(placed: list[_Placed], limit: int | None) -> list[_Placed]:
    ordered = sorted(placed, key=lambda each: each[0].started)
    return ordered if limit is None else ordered[-limit:]


def _made(key: _Key, placed: Sequence[_Placed], by: By | None) -> HistorySeries:
    newest = placed[-1][1]
    ordered = _ordered(placed, by)
    points = tuple(point for point, _ in ordered)
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
        measure=_measure(points),
        points=points,
        groups=tuple(_groups([(_group(each, by), each[0]) for each in ordered], _measure(points)) if by else ()),
    )


def _named(made: Sequence[HistorySeries]) -> list[HistorySeries]:
    """With the settings by which a series differs from others of its runtime."""
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


def _ordered(placed: Sequence[_Placed], by: By | None) -> Sequence[_Placed]:
    """By time within each group; commits by when they were first measured, wherever one is measured again."""
    first: dict[str, str] = {}
    for point, _ in placed:
        first.setdefault(point.commit, point.started)
    orders: dict[By, Callable[[_Placed], object]] = {
        "version": lambda each: version_order(each[0].version),
        "commit": lambda each: (first[each[0].commit], each[0].commit),
        "machine": lambda each: machine_text(each[1].origin),
    }
    return sorted(placed, key=orders[by]) if by in orders else placed


def version_order(version: str) -> tuple[tuple[bool, int, str], ...]:
    """Numbers by their size, and whatever follows them by its letters: 1.9 before 1.10, 1.10.dev1 before 1.10.0."""
    parts = re.findall(r"\d+|[a-z]+", version)
    return tuple((part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)


def _group(placed: _Placed, by: By) -> str:
    point, subject = placed
    if by == "machine":
        return machine_text(subject.origin) or "unknown machine"
    if by == "day":
        return point.started[:10]
    return (point.version or "unknown version") if by == "version" else (point.commit or "no commit")


def _groups(named: Sequence[tuple[str, HistoryPoint]], measure: TimeMeasure) -> list[HistoryGroup]:
    times: dict[str, list[float]] = {}
    for name, point in named:
        if (ns := time_of(point, measure)) is not None:
            times.setdefault(name, []).append(ns)
    medians = {name: median(several) for name, several in times.items()}
    first = next(iter(medians.values()), 1.0)
    return [
        HistoryGroup(
            name=name,
            runs=len(several),
            median_ns=medians[name],
            min_ns=min(several),
            max_ns=max(several),
            ratio=medians[name] / first,
        )
        for name, several in times.items()
    ]


# ---------------------------------------------------------------- changes


def time_of(point: HistoryPoint, measure: TimeMeasure) -> float | None:
    """The time of a point; None where it failed, or where only another time is known."""
    ns = point.median_ns if measure == "median" else point.mean_ns
    return ns if ns is not None and ns > 0 and point.status in _MEASURED else None


def _measure(points: Sequence[HistoryPoint]) -> TimeMeasure:
    """The median, unless more runs have a mean: the two are never mixed in one series."""
    known = {each: sum(time_of(point, each) is not None for point in points) for each in ("median", "mean")}
    return "mean" if known["mean"] > known["median"] else "median"


def _judged(series: HistorySeries, by: By | None, min_effect: float, several: int) -> HistorySeries:
    timed = [(point, ns) for point in series.points if (ns := time_of(point, series.measure)) is not None]
    logs = [math.log(ns) for _, ns in timed]
    # Machines have no order in which a time could change.
    found = change_points(logs, math.log1p(min_effect), several) if by != "machine" else []
    changes = tuple(
        ChangePoint(
            index=each.place,
            last_before=timed[each.place - 1][0],
            first_after=timed[each.place][0],
            before_ns=math.exp(each.before),
            after_ns=math.exp(each.after),
            ratio=math.exp(each.after - each.before),
            p_value=each.p_value,
        )
        for each in found
    )
    series = replace(series, changes=changes, noise=_noise(logs, [each.place for each in found]))
    return replace(series, answer=series_answer(series, by))


def _noise(logs: Sequence[float], places: Sequence[int]) -> float | None:
    """Relative deviation of the times from the level of their part of the series; None where there are too few."""
    import numpy as np

    if len(logs) < 3:
        return None
    parts = np.split(without_outliers(np.asarray(logs)), places)
    square = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
    return math.sqrt(square / max(len(logs) - len(parts), 1))
