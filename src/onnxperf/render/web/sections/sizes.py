"""Times of a sweep over the sizes of each dimension, in bands of their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from onnxperf.records.race import Case
from onnxperf.records.sweep import SweepPanel, subject_in, subjects_of, time_interval, time_of, values_of, word_of
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.web.layers import Filter, Layer, layered
from onnxperf.render.web.old_base import Part
from onnxperf.render.web.plots import ChartAxis, ChartLine, Point, lines_data, rounded, value_axis
from onnxperf.wording.names import dims_text, name_of, visible
from onnxperf.wording.numbers import count, duration, duration_unit

MODEL, SUBJECT = "model", "subject"
_ALL = "all"
_LOG_SIZES = 8
"""From this ratio of the largest to the smallest size on, their axis is logarithmic."""
_BESIDE = 1.15
"""Room beside the outermost sizes on a logarithmic axis."""
_LANE = 0.05
"""Height of a mark of what failed, in parts of the largest time."""


class _Slice(NamedTuple):
    """Cases of a panel that differ only in one dimension."""

    model: str
    other: str
    """The other dimension that varies; empty where there is none."""
    size: int | None
    """Its size."""
    cases: Sequence[Case]


def curves(panels: Sequence[SweepPanel]) -> list[Part]:
    """A chart for every dimension that varies: a line per subject, select boxes for everything else."""
    dims = dict.fromkeys(dim for panel in panels for dim in panel.dims)
    return [_chart(dim, panels) for dim in dims]


def _chart(dim: str, panels: Sequence[SweepPanel]) -> Part:
    slices = [each for panel in panels if dim in panel.dims for each in _slices(dim, panel)]
    cases = [case for each in slices for case in each.cases]
    names = subjects_of(cases)
    times = [ns for case in cases for each in case.subjects if (ns := time_of(each)) is not None]
    scale, unit = duration_unit(min(times, default=1.0))
    layers = [Layer(_only(each), _data(each, dim, names, (scale, unit))) for each in slices]
    others = dict.fromkeys(each.other for each in slices if each.other)
    filters = [
        Filter(MODEL, list(dict.fromkeys(each.model for each in slices)), column=0),
        *(Filter(name_of(other), [str(size) for size in values_of(cases, other)], 3) for other in others),
        Filter(SUBJECT, [name_of(name) for name in names], column=1, everything=_ALL),
    ]
    has_bands = any(each.time_low_ns is not None for case in cases for each in case.subjects)
    bands = ", in bands of its 95 % interval" if has_bands else "; there were too few rounds for intervals"
    summary = f"Mean time of a call over {name_of(dim)} for {count(len(names), 'subject')}{bands}."
    if any(word_of(case, each) for case in cases for each in case.subjects):
        summary += " Crosses on top are cases without a time."
    title = f"Time over {name_of(dim)}"
    return layered("lines", title, summary, {}, layers, filters, _table(slices, dim, names), height=380)


def _slices(dim: str, panel: SweepPanel) -> list[_Slice]:
    others = [each for each in panel.dims if each != dim]
    if not others:
        return [_Slice(panel.title, "", None, panel.cases)]
    return [
        _Slice(panel.title, others[0], size, [case for case in panel.cases if case.dims.get(others[0]) == size])
        for size in values_of(panel.cases, others[0])
    ]


def _only(part: _Slice) -> dict[str, str]:
    return {MODEL: part.model} | ({name_of(part.other): str(part.size)} if part.other else {})


def _data(part: _Slice, dim: str, names: Sequence[str], time: tuple[float, str]) -> dict[str, object]:
    scale, unit = time
    cases = sorted((case for case in part.cases if dim in case.dims), key=lambda case: case.dims[dim])
    sizes, own = sorted({case.dims[dim] for case in cases}), set(subjects_of(cases))
    lines = [
        ChartLine(name_of(name), [_point(case, name, dim, scale) for case in cases], place)
        for place, name in enumerate(names)
        if name in own
    ]
    values = [point.y for line in lines for point in line.points if point.y is not None]
    ends = [end for line in lines for point in line.points for end in (point.low, point.high) if end]
    spread = bool(sizes) and sizes[0] > 0 and sizes[-1] / sizes[0] >= _LOG_SIZES
    ends_of_sizes = (sizes[0] / _BESIDE, sizes[-1] * _BESIDE) if spread else None
    x = ChartAxis(name_of(dim), is_log=spread, ticks=[(float(size), str(size)) for size in sizes], ends=ends_of_sizes)
    top = max([*values, *ends], default=1.0)
    failed: list[dict[str, Any]] = [
        {"x": point.x, "y": rounded(top * (1 + _LANE) ** (place + 1)), "subject": line.name, "words": point.words}
        for place, line in enumerate(lines)
        for point in line.points
        if point.y is None
    ]
    shown = [*values, *ends, *([each["y"] for each in failed])]
    y = value_axis(f"time per call ({unit})", shown, from_zero=True)
    return lines_data(x, y, lines) | {"failed": failed}


def _point(case: Case, name: str, dim: str, scale: float) -> Point:
    subject = subject_in(case, name)
    ns, ends = time_of(subject), time_interval(subject)
    where = visible(dims_text(case.dims))
    if ns is None:
        reason = visible((subject.reason if subject is not None else case.answer) or "")
        word = ": ".join(filter(None, [word_of(case, subject), reason]))
        return Point(case.dims[dim], None, f"{name_of(name)}, {where}\n{word}")
    within = f"\n95 % interval {duration(ends[0])} to {duration(ends[1])}" if ends else ""
    low, high = (None, None) if ends is None or ends[0] <= 0 else (ends[0] / scale, ends[1] / scale)
    return Point(case.dims[dim], ns / scale, f"{where}: {duration(ns)}{within}", low, high)


def _table(slices: Sequence[_Slice], dim: str, names: Sequence[str]) -> Table:
    """A row per case and subject: model, subject, the size, that of the other dimension, time, interval, status."""
    others = list(dict.fromkeys(each.other for each in slices if each.other))
    columns = [Column(MODEL, left=True), Column(SUBJECT, left=True), Column(name_of(dim))]
    columns += [Column(" or ".join(map(name_of, others))), Column("time"), Column("95 % interval")]
    columns.append(Column("status", left=True))
    rows = [
        Row([part.model, name_of(name), str(case.dims.get(dim, "")), _size(part), *_cells(case, name)])
        for part in slices
        for own in [set(subjects_of(part.cases))]
        for case in part.cases
        for name in names
        if name in own
    ]
    return without_empty(Table(columns, rows))


def _size(part: _Slice) -> str:
    return "" if part.size is None else str(part.size)


def _cells(case: Case, name: str) -> list[str]:
    subject = subject_in(case, name)
    ends = time_interval(subject)
    within = f"{duration(ends[0])} to {duration(ends[1])}" if ends else ""
    return [duration(time_of(subject)), within, word_of(case, subject) or "ok"]
