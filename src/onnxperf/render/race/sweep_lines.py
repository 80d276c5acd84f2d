"""Times of a sweep over the sizes of a dimension, in bands of their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.records.race import Case
from onnxperf.records.sweep import SweepModel, SweepPanel, subjects_of, values_of
from onnxperf.render.charts.base import SUBJECT_COLORS, Axis, Chart, Filter, Layer, axis_of, time_unit
from onnxperf.render.charts.plot import Plot, PlotMark, Series, with_rounded
from onnxperf.render.race.subjects import Look
from onnxperf.render.race.sweep_cells import MODEL, Place, boxed_chart, looks_in, panels_for, times_table
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import NOTHING, count, duration

_LOG_SIZES = 8.0
"""From this ratio of the largest to the smallest size on, their axis is logarithmic."""
_LANE, _LANES = 0.1, 0.4
"""Height of a lane of crosses above the times, and of all lanes at most, in parts of the axis."""
_MOST_TICKS = 14
_TALL = 380
Looks = Mapping[str, Look]


class _Line(NamedTuple):
    """A subject over the sizes of a dimension."""

    label: str
    """Its name, and the size of another dimension that varies."""
    look: Look
    places: Sequence[tuple[int, Place]]
    """The smallest size first."""


class _Picture(NamedTuple):
    """Lines that are drawn together, and for which choices."""

    only: dict[str, str]
    lines: Sequence[_Line]


def lines_charts(panels: Sequence[SweepPanel], models: Sequence[SweepModel], every: bool = False) -> list[Chart]:
    """Times over the first dimension of each panel; on a page over `every` dimension, select boxes choose the other."""
    found: dict[str, list[SweepPanel]] = {}
    for panel in panels:
        for dim in panel.dims if every else panel.dims[:1]:
            found.setdefault(dim, []).append(panel)
    looks, several = looks_in(models), len(models) > 1
    return [chart for dim, own in found.items() for chart in _charts(dim, own, looks, every, several)]


def _charts(dim: str, panels: Sequence[SweepPanel], looks: Looks, every: bool, several: bool) -> list[Chart]:
    """A chart over one dimension; none if nothing was measured."""
    pictures = [each for panel in panels for each in _pictures(dim, panel, looks, every)]
    places = [place for each in pictures for line in each.lines for _, place in line.places]
    known = [place.ns for place in places if place.ns is not None]
    if not known:
        return []
    layers = [Layer(_plot(dim, each.lines), each.only) for each in pictures]
    shown, rest = panels_for(layers, every)
    others = dict.fromkeys(other for panel in panels for other in panel.dims if other != dim) if every else ()
    table = times_table(places)
    keys = [column.key for column in table.columns]
    boxes = [Filter(MODEL, (), 0), *(Filter(name_of(other), (), keys.index(other)) for other in others)]
    title = f"Time over {name_of(dim)}"
    return [boxed_chart(title, _summary(dim, places, known) + rest, shown, boxes, table, several)]


def _summary(dim: str, places: Sequence[Place], known: Sequence[float]) -> str:
    subjects = len({place.name for place in places})
    span = f", {duration(min(known))} to {duration(max(known))}"
    has_bands = any(place.ends for place in places)
    bands = ", in bands of its 95 % CI" if has_bands else "; there were too few rounds for intervals"
    summary = f"Time of a call over {name_of(dim)} for {count(subjects, 'subject')}{span}{bands}."
    return summary + (" Crosses on top are cases without a time." if len(known) < len(places) else "")


def _pictures(dim: str, panel: SweepPanel, looks: Looks, every: bool) -> list[_Picture]:
    """On a page one for each size of the other dimension; in a file one with all of them."""
    others = [each for each in panel.dims if each != dim]
    if not others:
        return [_Picture({MODEL: panel.title}, _lines(dim, panel, panel.cases, looks))]
    slices = {
        str(size): [case for case in panel.cases if case.dims.get(others[0]) == size]
        for size in values_of(panel.cases, others[0])
    }
    if every:
        name = name_of(others[0])
        return [
            _Picture({MODEL: panel.title, name: size}, _lines(dim, panel, cases, looks))
            for size, cases in slices.items()
        ]
    named = [(f"{name_of(others[0])}={size}", cases) for size, cases in slices.items()]
    lines = [
        line for number, (size, cases) in enumerate(named) for line in _lines(dim, panel, cases, looks, size, number)
    ]
    return [_Picture({MODEL: panel.title}, lines)]


def _lines(
    dim: str, panel: SweepPanel, cases: Sequence[Case], looks: Looks, size: str = "", number: int = 0
) -> list[_Line]:
    """A line per subject, in its color; symbols tell sizes apart, and of a single subject colors, too."""
    sized = sorted((case for case in cases if dim in case.dims), key=lambda case: case.dims[dim])
    alone = len(looks) == 1 and number
    return [
        _Line(
            label=", ".join(filter(None, [name_of(name), size])),
            look=Look(
                SUBJECT_COLORS[number % len(SUBJECT_COLORS)] if alone else looks[name].color,
                looks[name].symbol + number,
            ),
            places=[(case.dims[dim], Place(panel.title, case, name)) for case in sized],
        )
        for name in subjects_of(sized)
    ]


# ---------------------------------------------------------------- the picture


def _plot(dim: str, lines: Sequence[_Line]) -> Plot:
    sizes = sorted({size for line in lines for size, _ in line.places})
    times = [place.ns for line in lines for _, place in line.places if place.ns is not None]
    ends = [end for line in lines for _, place in line.places for end in place.ends or () if end > 0]
    failed = [line for line in lines if any(place.ns is None for _, place in line.places)]
    tops = _lanes([*times, *ends], len(failed))
    y = Axis("nothing was measured", 0.0, 1.0)
    if times:
        # Of a logarithmic axis, the middle reads best.
        unit = time_unit([(min(times) * max(times)) ** 0.5])
        y = axis_of("time per call", [*times, *ends, *tops], unit, from_zero=True)
    marks = [mark for line, top in zip(failed, tops, strict=True) for mark in _crosses(line, top)]
    return Plot(x=_size_axis(dim, sizes), y=y, series=[_series(line, y) for line in lines], marks=marks, tall=_TALL)


def _lanes(values: Sequence[float], number: int) -> list[float]:
    """Heights of crosses above all times, a lane for each line."""
    if not values:
        return [(lane + 1) / (number + 1) for lane in range(number)]
    lane = min(_LANE, _LANES / max(number, 1))
    step = max((max(values) / min(values)) ** lane, 1 + lane)
    return [max(values) * step ** (lane + 1) for lane in range(number)]


def _size_axis(dim: str, sizes: Sequence[int]) -> Axis:
    step = -(-len(sizes) // _MOST_TICKS) or 1
    ticks = tuple((float(size), str(size)) for size in sizes[::step])
    return replace(axis_of(name_of(dim), sizes, log_from=_LOG_SIZES), ticks=ticks)


def _series(line: _Line, y: Axis) -> Series:
    places = [place for _, place in line.places]
    ends = [place.ends for place in places]
    return with_rounded(
        Series(
            name=line.label,
            xs=[float(size) for size, _ in line.places],
            ys=[place.ns for place in places],
            # An interval may begin at 0, which has no place on a logarithmic axis.
            lows=[max(each[0], y.low) if each else None for each in ends],
            highs=[each[1] if each else None for each in ends],
            words=[_words(place) for place in places],
            color=line.look.color,
            symbol=line.look.symbol,
        )
    )


def _words(place: Place) -> str:
    within = f"95 % CI {duration(place.ends[0])} to {duration(place.ends[1])}" if place.ends else ""
    return place.told(duration(place.ns) if place.ns is not None else "", within)


def _crosses(line: _Line, top: float) -> list[PlotMark]:
    return [
        PlotMark(
            x=float(size),
            y=top,
            words=place.told(),
            symbol="cross",
            color=line.look.color,
            text=place.word or NOTHING,
            series=line.label,
        )
        for size, place in line.places
        if place.ns is None
    ]
