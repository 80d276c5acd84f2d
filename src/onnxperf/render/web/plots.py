"""Axes, lines and points as the data of a chart: what several sections draw alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

LOG_SPAN = 10.0
"""Ratio of the largest to the smallest value from which on an axis is logarithmic."""
_MARGIN = 0.04
"""Room beside the outermost values of a logarithmic axis, in parts of it."""


class ChartAxis(NamedTuple):
    """An axis with its unit in its name."""

    name: str
    is_log: bool = False
    ticks: Sequence[tuple[float, str]] = ()
    """Places and words of its ticks, where these are known; else the chart chooses."""
    from_zero: bool = False
    ends: tuple[float, float] | None = None
    """Where it begins and ends, where that is known."""

    @property
    def data(self) -> dict[str, object]:
        """What the script of a chart takes."""
        return {"name": self.name, "log": self.is_log, "ticks": self.ticks, "zero": self.from_zero, "ends": self.ends}


def value_axis(name: str, values: Sequence[float], from_zero: bool = False, span: float = LOG_SPAN) -> ChartAxis:
    """An axis for these values: logarithmic, and as long as they need it, where they are far apart."""
    sound = [value for value in values if math.isfinite(value) and value > 0]
    if not is_wide(sound, span):
        return ChartAxis(name, from_zero=from_zero)
    margin = (max(sound) / min(sound)) ** _MARGIN
    return ChartAxis(name, is_log=True, ends=(min(sound) / margin, max(sound) * margin))


class Point(NamedTuple):
    """A place, and what a tooltip says about it; without `y` the line has a gap there."""

    x: float
    y: float | None
    words: str = ""
    low: float | None = None
    """Lower end of a band around the line."""
    high: float | None = None


class ChartLine(NamedTuple):
    """Points that belong together."""

    name: str
    points: Sequence[Point]
    colour: int
    is_step: bool = False
    """A step for each point, filled, as in a histogram."""


def lines_data(x: ChartAxis, y: ChartAxis, lines: Sequence[ChartLine]) -> dict[str, object]:
    """Lines with bands; each is named in a legend."""
    return {"x": x.data, "y": y.data, "lines": [_line(each) for each in lines]}


def _line(line: ChartLine) -> dict[str, object]:
    return {
        "name": line.name,
        "colour": line.colour,
        "step": line.is_step,
        "points": [[rounded(each.x), rounded(each.y)] for each in line.points],
        "words": [each.words for each in line.points],
        "bands": _bands(line.points),
    }


def _bands(points: Sequence[Point]) -> list[list[list[float | None]]]:
    """Both ends of neighbouring points, apart wherever one has none."""
    found: list[list[list[float | None]]] = [[]]
    for each in points:
        if each.low is None or each.high is None:
            found.append([])
        else:
            found[-1].append([rounded(each.x), rounded(each.low), rounded(each.high)])
    return [several for several in found if len(several) > 1]


def is_wide(values: Sequence[float], span: float = LOG_SPAN) -> bool:
    """Whether positive values are so far apart that only a logarithmic axis shows them all."""
    sound = [value for value in values if math.isfinite(value) and value > 0]
    return bool(sound) and max(sound) / min(sound) >= span


def finite(value: float | None) -> float | None:
    """The value, unless it has no place on an axis."""
    return value if value is not None and math.isfinite(value) else None


def rounded(value: float | None, digits: int = 6) -> float | None:
    """As many digits as a chart can show: a page holds thousands of numbers."""
    if value is None or not math.isfinite(value) or value == 0:
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))
