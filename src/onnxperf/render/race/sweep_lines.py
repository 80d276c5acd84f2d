"""Times of a sweep over the sizes of a dimension, in bands of their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.records.race import Case
from onnxperf.records.sweep import SweepModel, SweepPanel, subjects_of, values_of
from onnxperf.render.charts.base import SUBJECT_COLORS, Axis, Chart, Filter, Layer, axis_of, chart, time_unit
from onnxperf.render.charts.plot import Plot, PlotMark, Series, with_rounded
from onnxperf.render.kit.table import Table
from onnxperf.render.race.subjects import Look
from onnxperf.render.race.sweep_cells import MODEL, Place, boxed_chart, looks_in, panels_for, times_table
from onnxperf.wording.names import capital, name_of
from onnxperf.wording.numbers import NOTHING, count, duration

_LOG_SIZES = 8.0
"""From this ratio of the largest to the smallest size on, their axis is logarithmic."""
_LANE, _LANES = 0.1, 0.4
"""Height of a lane of crosses above the times, and of all lanes at most, in parts of the axis."""
_MOST_TICKS = 14
_TALL, _SMALL = 380, 260
_MOST_MULTIPLES = 12
"""Pictures over one dimension on a page."""
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


def lines_charts(panels: Sequence[SweepPanel], models: Sequence[SweepModel]) -> list[Chart]:
    """Times over the first dimension of each panel, all sizes of the other in one picture."""
    found: dict[str, list[SweepPanel]] = {}
    for panel in panels:
        for dim in panel.dims[:1]:
            found.setdefault(dim, []).append(panel)
    looks, several = looks_in(models), len(models) > 1
    return [chart for dim, own in found.items() for chart in _charts(dim, own, looks, several)]


def _charts(dim: str, panels: Sequence[SweepPanel], looks: Looks, several: bool) -> list[Chart]:
    """A chart over one dimension; none if nothing was measured."""
    pictures = [_picture(dim, panel, looks) for panel in panels]
    places = [place for each in pictures for line in each.lines for _, place in line.places]
    if not _times(places):
        return []
    layers = [Layer(_plot(dim, each.lines), each.only) for each in pictures]
    shown, rest = panels_for(layers, every=False)
    boxes = [Filter(MODEL, (), 0)]
    title, summary = f"Time over {name_of(dim)}", _summary(dim, places) + rest
    return [boxed_chart(title, summary, shown, boxes, times_table(places), several)]


def lines_panes(panels: Sequence[SweepPanel], models: Sequence[SweepModel]) -> list[Chart]:
    """Small multiples for a page: over each dimension a picture for each size of the other, on the same axes."""
    looks, several = looks_in(models), len(models) > 1
    return [chart for panel in panels for dim in panel.dims for chart in _multiples(dim, panel, looks, several)]


def _multiples(dim: str, panel: SweepPanel, looks: Looks, several: bool) -> list[Chart]:
    slices = _slices(dim, panel)
    every = [line for cases in slices.values() for line in _lines(dim, panel, cases, looks)]
    found = []
    for size, cases in list(slices.items())[:_MOST_MULTIPLES]:
        lines = _lines(dim, panel, cases, looks)
        places = [place for line in lines for _, place in line.places]
        if not _times(places):
            continue
        picture = replace(_plot(dim, lines, every), tall=_SMALL)
        title = ", ".join(filter(None, [panel.title if several else "", f"time over {name_of(dim)}", size]))
        found.append(chart(capital(title), _summary(dim, places), picture, Table([], [])))
    return found


def _times(places: Sequence[Place]) -> list[float]:
    return [place.ns for place in places if place.ns is not None]


def _summary(dim: str, places: Sequence[Place]) -> str:
    known = _times(places)
    subjects = len({place.name for place in places})
    span = f", {duration(min(known))} to {duration(max(known))}"
    has_bands = any(place.ends for place in places)
    bands = ", in bands of its 95 % CI" if has_bands else "; there were too few rounds for intervals"
    summary = f"Time of a call over {name_of(dim)} for {count(subjects, 'subject')}{span}{bands}."
    return summary + (" Crosses on top are cases without a time." if len(known) < len(places) else "")


def _slices(dim: str, panel: SweepPanel) -> dict[str, list[Case]]:
    """The cases for each size of the other dimension, if there is one."""
    other = next((each for each in panel.dims if each != dim), None)
    if other is None:
        return {"": list(panel.cases)}
    return {
        f"{name_of(other)}={size}": [case for case in panel.cases if case.dims.get(other) == size]
        for size in values_of(panel.cases, other)
    }


def _picture(dim: str, panel: SweepPanel, looks: Looks) -> _Picture:
    named = enumerate(_slices(dim, panel).items())
    lines = [line for number, (size, cases) in named for line in _lines(dim, panel, cases, looks, size, number)]
    return _Picture({MODEL: panel.title}, lines)


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


def _plot(dim: str, lines: Sequence[_Line], among: Sequence[_Line] = ()) -> Plot:
    """Some lines on the axes of all `among` which they are, with a lane on top for each name that failed."""
    every = among or lines
    sizes = sorted({size for line in every for size, _ in line.places})
    places = [place for line in every for _, place in line.places]
    times, ends = _times(places), [end for place in places for end in place.ends or () if end > 0]
    failed = list(dict.fromkeys(line.label for line in every if any(place.ns is None for _, place in line.places)))
    tops = _lanes([*times, *ends], len(failed))
    y = Axis("nothing was measured", 0.0, 1.0)
    if times:
        # Of a logarithmic axis, the middle reads best.
        unit = time_unit([(min(times) * max(times)) ** 0.5])
        y = axis_of("time per call", [*times, *ends, *tops], unit, from_zero=True)
    lanes = dict(zip(failed, tops, strict=True))
    marks = [mark for line in lines if line.label in lanes for mark in _crosses(line, lanes[line.label])]
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
