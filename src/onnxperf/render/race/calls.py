"""How long single calls take: their distribution and their percentiles."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from onnxperf.records.race import P90_CALLS, P99_CALLS, Case, Subject
from onnxperf.render.charts.base import PERCENT, Chart, axis_of, chosen_chart, named_axis, time_unit
from onnxperf.render.charts.plot import Plot, Series, with_rounded
from onnxperf.render.kit.column import NAME, NS, WHOLE, Column, for_screens
from onnxperf.render.kit.table import Table
from onnxperf.render.race.subjects import CASE, COLUMNS, Look, looks_of, part_table, raced
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, duration, percent, whole_percent

_LEAST_CALLS = 20
"""Single calls that a distribution needs at least."""
_JUST_ABOVE = 1 + 1e-9
"""The last bin holds the calls at its end, too."""
_TAIL, _FURTHEST = 0.98, 5.0
"""Part of the calls, and how many times the median, that a distribution shows: slow ones would squeeze all others."""
_LOG_FROM = 3.0
"""Ratio of the longest to the shortest time from which on the axis of a distribution is logarithmic."""
_FINEST, _FEWEST, _MOST = 1.02, 20, 160
"""Ratio of the ends of a bin at least, and how many bins there are."""
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_PERCENTILES = {"min": "min_ns", "p50": "median_ns", "p90": "p90_ns", "p99": "p99_ns", "max": "max_ns"}


class _Calls(NamedTuple):
    """The single calls of a subject, the fastest first."""

    label: str
    subject: Subject
    times: Sequence[int]


def call_charts(cases: Mapping[str, Case]) -> list[Chart]:
    """All that is known about single calls."""
    return [*distribution_chart(cases), *percentile_chart(cases)]


# ---------------------------------------------------------------- the distribution


def distribution_chart(cases: Mapping[str, Case]) -> list[Chart]:
    """The share of single calls in each of many small ranges of time."""
    rows = [_Calls(label, each, sorted(each.call_ns)) for label, case in cases.items() for each in _timed(case)]
    looks = looks_of(cases.values())
    grouped = {label: list(several) for label, several in groupby(rows, key=lambda row: row.label)}
    edges = {label: _edges([row.times for row in several]) for label, several in grouped.items()}
    pictures = {label: _histograms(several, edges[label], looks) for label, several in grouped.items()}
    beyond = sum(len(row.times) - bisect_left(row.times, edges[row.label][-1]) for row in rows)
    longer = f"; {count(beyond, 'call')} took longer" if beyond else ""
    summary = (
        f"{count(sum(len(row.times) for row in rows), 'single call')} by how long they took: the height is the share "
        f"of a subject's calls in a range of time{longer}."
    )
    return chosen_chart("Distribution", summary, pictures, Table(_QUANTILE_COLUMNS, rows), CASE)


def _timed(case: Case) -> list[Subject]:
    return [each for each in case.subjects if len(each.call_ns) >= _LEAST_CALLS and min(each.call_ns) > 0]


def _quantile(share: float) -> Callable[[_Calls], float]:
    return lambda row: row.times[round(share * (len(row.times) - 1))]


_QUANTILE_COLUMNS: list[Column[_Calls]] = [
    for_screens(CASE, lambda row: row.label),
    for_screens("name", lambda row: row.subject.name, NAME),
    for_screens("calls", lambda row: len(row.times), WHOLE),
    *(for_screens(whole_percent(share), _quantile(share), NS) for share in _QUANTILES),
]


def _histograms(rows: Sequence[_Calls], edges: Sequence[float], looks: Mapping[str, Look]) -> Plot:
    unit = time_unit([min(row.times[len(row.times) // 2] for row in rows)])
    series = [_histogram(row, edges, looks[row.subject.name]) for row in rows]
    shares = [share for each in series for share in each.ys]
    return Plot(
        x=axis_of("time of a call", edges, unit, log_from=_LOG_FROM),
        y=axis_of("share of calls", shares, PERCENT, from_zero=True, log_from=math.inf),
        series=series,
    )


def _edges(several: Sequence[Sequence[int]]) -> list[float]:
    """Ends of bins of the same ratio, from the fastest call to nearly the slowest one."""
    low = min(times[0] for times in several)
    high = max([_nearly_slowest(times) for times in several] + [low * _FINEST])
    number = min(max(int(math.log(high / low) / math.log(_FINEST)), _FEWEST), _MOST)
    step = (high / low) ** (1 / number)
    return [*(low * step**place for place in range(number)), high * _JUST_ABOVE]


def _nearly_slowest(times: Sequence[int]) -> float:
    return min(times[int(_TAIL * (len(times) - 1))], _FURTHEST * times[len(times) // 2])


def _histogram(row: _Calls, edges: Sequence[float], look: Look) -> Series:
    below = [bisect_left(row.times, edge) for edge in edges]
    shares = [(after - before) / len(row.times) for before, after in pairwise(below)]
    words = [
        f"{percent(share)} of {count(len(row.times), 'call')}\nin {duration(low)} to {duration(high)}"
        for share, (low, high) in zip(shares, pairwise(edges), strict=True)
    ]
    # From zero at the first edge, and back to it at the last.
    return with_rounded(
        Series(
            name=name_of(row.subject.name),
            xs=[edges[0], *edges],
            ys=_without_floor([0.0, *shares, 0.0]),
            color=look.color,
            symbol=look.symbol,
            shape="area",
            words=["", *words, ""],
        )
    )


def _without_floor(shares: Sequence[float]) -> list[float | None]:
    """Without what is zero between its neighbors: a line along the axis would hide those of others."""
    around = zip([0.0, *shares], shares, [*shares[1:], 0.0], strict=False)
    return [share if before or share or after else None for before, share, after in around]


# ---------------------------------------------------------------- percentiles


def percentile_chart(cases: Mapping[str, Case]) -> list[Chart]:
    """The fastest call, the median, the 90th and the 99th percentile, and the slowest call of each subject."""
    rows = [row for row in raced(cases) if _has_values(row.subject)]
    looks = looks_of(cases.values())
    pictures = {label: _lines(case, looks) for label, case in cases.items() if any(map(_has_values, case.subjects))}
    summary = (
        "The fastest single call, percentiles and the slowest call, a line per subject; "
        f"p90 needs {P90_CALLS} calls, p99 needs {P99_CALLS}."
    )
    columns = [column._replace(width=0) for column in COLUMNS if column.key in _PERCENTILES.values()]
    return chosen_chart("Percentiles", summary, pictures, part_table(rows, columns), CASE)


def _values(subject: Subject) -> dict[str, float | None]:
    found = {name: getattr(subject, key) for name, key in _PERCENTILES.items()}
    return {name: ns if ns is not None and math.isfinite(ns) and ns > 0 else None for name, ns in found.items()}


def _has_values(subject: Subject) -> bool:
    return any(_values(subject).values())


def _lines(case: Case, looks: Mapping[str, Look]) -> Plot:
    subjects = [each for each in case.subjects if _has_values(each)]
    # What no subject has, because it had too few calls, has no place.
    known = [name for name in _PERCENTILES if any(_values(each)[name] for each in subjects)]
    series = [_line(each, known, looks[each.name]) for each in subjects]
    times = [ns for each in series for ns in each.ys if ns is not None]
    unit = time_unit([(min(times) * max(times)) ** 0.5])
    return Plot(x=named_axis(known), y=axis_of("time of a call", times, unit), series=series, tall=320)


def _line(subject: Subject, names: Sequence[str], look: Look) -> Series:
    values = _values(subject)
    known = [(place, name, ns) for place, name in enumerate(names) if (ns := values[name]) is not None]
    return with_rounded(
        Series(
            name=name_of(subject.name),
            xs=[float(place) for place, _, _ in known],
            ys=[ns for _, _, ns in known],
            color=look.color,
            symbol=look.symbol,
            words=[f"{name} {duration(ns)}" for _, name, ns in known],
        )
    )
