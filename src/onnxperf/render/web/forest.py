"""Forest plots: estimates with their intervals, one row each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.web.layers import Filter, Layer, layered
from onnxperf.render.web.old_base import Chart
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import interval, ratio

BLUE, RED, GREEN, PINK, YELLOW, SKY, GREY, BROWN = range(8)
"""Places of colours on a page."""
VERDICT_COLOURS: Mapping[str, int] = {
    "faster": GREEN,
    "slower": RED,
    "equivalent": SKY,
    "undecided": YELLOW,
    "baseline": BLUE,
}
_FURTHEST = 2.0
"""How far beyond the outermost value whiskers are drawn: those of few launches would squeeze all others."""
_LOG_SPAN = 5.0
"""Ratio of the ends of the axis from which on it is logarithmic."""
_MARGIN = 0.06
"""Room beside the outermost marks, in parts of the axis."""
_ROW, _AXES = 40, 70
"""Height of a row and of everything else, in pixels."""


class ForestMark(NamedTuple):
    """An estimate and its interval, without one where that is not known."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    colour: int
    word: str
    """The verdict, beside the mark."""
    more: str = ""
    """What a tooltip says besides."""


class Forest(NamedTuple):
    """Estimates that one chart shows, and what does not matter around 1."""

    estimates: Sequence[ForestMark]
    effect: float | None = None
    only: Mapping[str, str] = {}
    """For which choices of the select boxes it is shown."""


def forest_chart(
    title: str, summary: str, axis: str, forests: Sequence[Forest], table: Table, filters: Sequence[Filter] = ()
) -> Chart:
    """A chart of estimates; of several forests, select boxes choose one."""
    layers = [Layer(each.only, _data(each)) for each in forests]
    rows = max((len(_drawn(each)) for each in forests), default=0)
    return layered("forest", title, summary, {"axis": axis}, layers, filters, table, height=_AXES + _ROW * rows)


def has_marks(forest: Forest) -> bool:
    """Whether there is something to draw."""
    return bool(_drawn(forest))


def estimates_table(estimates: Sequence[ForestMark], name: str = "name", value: str = "speedup") -> Table:
    """The same numbers."""
    columns = [Column(name, left=True), Column(value), Column("95 % interval"), Column("verdict", left=True)]
    return Table(columns, [Row(estimate_cells(each)) for each in estimates])


def estimate_cells(estimate: ForestMark) -> list[str]:
    """Name, value, interval and verdict."""
    return [name_of(estimate.name), ratio(estimate.value), interval(estimate.low, estimate.high), estimate.word]


def _drawn(forest: Forest) -> list[ForestMark]:
    return [each for each in forest.estimates if _sound(each.value)]


def _data(forest: Forest) -> dict[str, object]:
    drawn = _drawn(forest)
    low, high, is_log = _range([(each.value or 1.0, *_ends(each)) for each in drawn])
    marks = [
        {
            "name": name_of(each.name),
            "value": each.value,
            "low": _ends(each)[0],
            "high": _ends(each)[1],
            "colour": each.colour,
            "label": "baseline" if each.word == "baseline" else f"{ratio(each.value)} {each.word}".strip(),
            "words": _words(each),
        }
        for each in drawn
    ]
    return {"marks": marks, "effect": forest.effect, "from": low, "to": high, "log": is_log}


def _ends(estimate: ForestMark) -> tuple[float, float]:
    value = estimate.value or 1.0
    low, high = estimate.low, estimate.high
    return low if low is not None and _sound(low) else value, high if high is not None and _sound(high) else value


def _range(marks: Sequence[tuple[float, float, float]]) -> tuple[float, float, bool]:
    """Both ends of the axis, and whether it is logarithmic."""
    values = [1.0, *(value for value, _, _ in marks)]
    low = max(min(1.0, *(each[1] for each in marks), 1.0), min(values) / _FURTHEST)
    high = min(max(1.0, *(each[2] for each in marks), 1.0), max(values) * _FURTHEST)
    if high / low > _LOG_SPAN:
        margin = (high / low) ** _MARGIN
        return low / margin, high * margin, True
    span = max(high - low, 0.02)
    return low - _MARGIN * span, high + _MARGIN * span, False


def _words(estimate: ForestMark) -> str:
    ends = f"95 % interval {interval(estimate.low, estimate.high)}" if estimate.low is not None else ""
    return "\n".join(filter(None, [f"{ratio(estimate.value)} {estimate.word}".strip(), ends, estimate.more]))


def _sound(value: float | None) -> bool:
    return value is not None and math.isfinite(value) and value > 0
