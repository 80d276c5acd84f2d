"""How long single calls take: their distribution and their percentiles."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence

from onnxperf.records.race import P90_CALLS, P99_CALLS, Case, Subject
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.web.layers import Filter, Layer, layered
from onnxperf.render.web.old_base import Part
from onnxperf.render.web.plots import ChartAxis, ChartLine, Point, finite, lines_data, value_axis
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, duration, duration_unit, percent

_LEAST_CALLS = 20
"""Single calls that a distribution needs at least."""
_TAIL, _FURTHEST = 0.995, 5.0
"""Part of the calls, and how many times the median, that a distribution shows: slow ones would squeeze all others."""
_LOG_SPAN = 3.0
"""From this ratio of the longest to the shortest time on, the axis is logarithmic."""
_FINEST, _FEWEST, _MOST = 1.02, 20, 160
"""Ratio of the ends of a bin at least, and how many bins there are."""
_PERCENTILES = ("min", "median", "p90", "p99", "max")


def distribution(cases: Mapping[str, Case]) -> list[Part]:
    """The share of single calls in each of many small ranges of time."""
    counted = {label: [(each, sorted(each.call_ns)) for each in _timed(case)] for label, case in cases.items()}
    times = [calls for several in counted.values() for _, calls in several]
    if not times:
        return []
    scale, unit = duration_unit(min(calls[len(calls) // 2] for calls in times))
    layers, rows = [], []
    for label, several in counted.items():
        edges = _edges([calls for _, calls in several])
        lines = [_histogram(each, calls, edges, place, scale) for place, (each, calls) in enumerate(several)]
        time = value_axis(f"time of a call ({unit})", [edge / scale for edge in edges], span=_LOG_SPAN)
        layers.append(Layer({"case": label}, lines_data(time, _SHARE, lines)))
        rows += [Row([label, *_cells(each, calls)]) for each, calls in several]
    summary = (
        f"{count(sum(map(len, times)), 'single call')} by how long they took: one line per subject, its height the "
        "share of its calls in a range of time. The slowest calls are beyond the right end."
    )
    columns = [Column(heading, left=heading in ("case", "name")) for heading in _HEADINGS]
    table = without_empty(Table(columns, rows))
    return [layered("lines", "Distribution", summary, {}, layers, _filters(cases), table, height=340)]


_HEADINGS = ("case", "name", "calls", "5 %", "25 %", "50 %", "75 %", "95 %")
_SHARE = ChartAxis("share of calls (%)", from_zero=True)


def _filters(cases: Mapping[str, Case]) -> list[Filter]:
    return [Filter("case", list(cases), column=0)] if len(cases) > 1 else []


def _timed(case: Case) -> list[Subject]:
    return [each for each in case.subjects if len(each.call_ns) >= _LEAST_CALLS and min(each.call_ns) > 0]


def _edges(several: Sequence[Sequence[int]]) -> list[float]:
    """Ends of bins of the same ratio, from the fastest call to nearly the slowest one."""
    if not several:
        return []
    low = min(calls[0] for calls in several)
    high = max([_nearly_slowest(calls) for calls in several] + [low * _FINEST])
    number = min(max(int(math.log(high / low) / math.log(_FINEST)), _FEWEST), _MOST)
    step = (high / low) ** (1 / number)
    return [low * step**place for place in range(number + 1)]


def _nearly_slowest(calls: Sequence[int]) -> float:
    return min(calls[int(_TAIL * (len(calls) - 1))], _FURTHEST * calls[len(calls) // 2])


def _histogram(subject: Subject, calls: Sequence[int], edges: Sequence[float], place: int, scale: float) -> ChartLine:
    below = [bisect_left(calls, edge) for edge in edges]
    points = []
    for low, high, first, last in zip(edges, edges[1:], below, below[1:], strict=False):
        share = (last - first) / len(calls)
        words = f"{percent(share)} of {count(len(calls), 'call')}\nin {duration(low)} to {duration(high)}"
        points.append(Point(low / scale, 100 * share, words))
    points.append(Point(edges[-1] / scale, 0.0, ""))
    return ChartLine(name_of(subject.name), points, place, is_step=True)


def _cells(subject: Subject, calls: Sequence[int]) -> list[str]:
    shares = (0.05, 0.25, 0.5, 0.75, 0.95)
    return [
        name_of(subject.name),
        str(len(calls)),
        *(duration(calls[round(share * (len(calls) - 1))]) for share in shares),
    ]


# ---------------------------------------------------------------- percentiles


def percentiles(cases: Mapping[str, Case]) -> list[Part]:
    """The fastest call, the median, the 90th and the 99th percentile, and the slowest call of each subject."""
    times = [ns for case in cases.values() for each in case.subjects for ns in _values(each) if ns is not None]
    if not times:
        return []
    scale, unit = duration_unit(min(ns for ns in times if ns > 0))
    layers = [Layer({"case": label}, _percentile_data(case, scale, unit)) for label, case in cases.items()]
    columns = [Column("case", left=True), Column("name", left=True), *map(Column, _PERCENTILES)]
    rows = [
        Row([label, name_of(each.name), *map(duration, _values(each))])
        for label, case in cases.items()
        for each in case.subjects
        if any(_values(each))
    ]
    summary = (
        "The fastest single call, percentiles and the slowest one, a line per subject; "
        f"p90 needs {P90_CALLS} calls, p99 needs {P99_CALLS}."
    )
    table = without_empty(Table(columns, rows))
    return [layered("lines", "Percentiles", summary, {}, layers, _filters(cases), table, height=320)]


def _values(subject: Subject) -> list[float | None]:
    found = (finite(getattr(subject, f"{name}_ns")) for name in _PERCENTILES)
    return [ns if ns is not None and ns > 0 else None for ns in found]


def _percentile_data(case: Case, scale: float, unit: str) -> dict[str, object]:
    times = [ns for each in case.subjects for ns in _values(each) if ns is not None]
    lines: list[ChartLine] = []
    for each in case.subjects:
        values = _values(each)
        points = [
            Point(place, ns / scale, f"{name} {duration(ns)}")
            for place, (name, ns) in enumerate(zip(_PERCENTILES, values, strict=True))
            if ns is not None
        ]
        if points:
            lines.append(ChartLine(name_of(each.name), points, len(lines)))
    x = ChartAxis("", ticks=[(float(place), name) for place, name in enumerate(_PERCENTILES)])
    return lines_data(x, value_axis(f"time of a call ({unit})", [ns / scale for ns in times]), lines)
