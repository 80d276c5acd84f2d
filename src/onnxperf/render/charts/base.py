"""What charts of all kinds are made of: layers, axes with round ticks, and colors that mean the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

from msgspec import Struct

from onnxperf.render.kit.table import On, Table
from onnxperf.wording.numbers import decimal_size_unit, duration_unit, tick

Width = Literal["column", "page"]
"""Of a picture: a column or a whole page of a paper."""
LOG_FROM = 10.0
"""Ratio of the largest to the smallest value from which on an axis is logarithmic."""
_MARGIN = 0.05
"""Margin next to the outermost values, as a share of the axis."""
_TICKS = 8
"""Round steps of an axis, at most."""

# ---------------------------------------------------------------- colors

BLUE, RED, GREEN, PINK, ORANGE, SKY, GREY, BROWN = range(8)
"""Places in the palettes, which pages and files share."""
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#777777", "#8c6d1f")
"""Okabe and Ito's colors, which color-blind readers can distinguish; then gray, and brown for a seventh subject."""
DARK = ("#56b4e9", "#ff8c4b", "#34c79b", "#e29cc4", "#f0bd4a", "#3a8fd0", "#a0a8b0", "#c9a94f")
"""The same on black."""
SUBJECT_COLORS = (BLUE, ORANGE, PINK, SKY, BROWN, GREEN, RED)
"""Green and red come last: elsewhere they mean faster and slower."""
VERDICT_COLORS: Mapping[str, int] = {
    "baseline": BLUE,
    "faster": GREEN,
    "slower": RED,
    "equivalent": SKY,
    "undecided": ORANGE,
    "passed": GREEN,
    "failed": RED,
}


def colors_of(names: Iterable[str]) -> dict[str, int]:
    """A color for each subject, the same in all panels of a result; symbols tell apart those that share one."""
    distinct = dict.fromkeys(names)
    return {name: SUBJECT_COLORS[place % len(SUBJECT_COLORS)] for place, name in enumerate(distinct)}


# ---------------------------------------------------------------- a chart


class Picture(Struct, frozen=True):
    """What a painter of one kind draws; names in it have been made visible."""

    kind: ClassVar[str] = ""
    """Its module in `render/charts` and `render/paint`, and its script in `assets/charts`."""
    uses: ClassVar[Sequence[str]] = ()
    """Kinds whose scripts its own one calls."""

    @property
    def height(self) -> int:
        """Pixels in a browser; a file has the same proportions."""
        return 320


class Filter(NamedTuple):
    """A select box above a chart."""

    name: str
    values: Sequence[str]
    column: int | None = None
    """Place of these values in the table behind the chart, whose rows it chooses, too."""
    everything: str = ""
    """What the choice of all is called; empty if exactly one is shown."""


class Layer(NamedTuple):
    """A picture, and for which choices of the select boxes it is shown; in a file each layer is a panel."""

    picture: Picture
    only: Mapping[str, str] = {}

    @property
    def title(self) -> str:
        """What tells this panel from the others; a size alone says nothing."""
        return ", ".join(f"{name}={each}" if each.isdecimal() else each for name, each in self.only.items() if each)


class Chart(NamedTuple):
    """One description from which pages, notebooks and files are drawn: the same data, order and colors."""

    title: str
    summary: str
    """What the drawn data say in a sentence or two: its caption, also for those who cannot see it."""
    layers: Sequence[Layer]
    """At least one."""
    table: Table[Any]
    """The same numbers; the command line and Markdown show it in place of the chart."""
    filters: Sequence[Filter] = ()
    on: On = "all"

    @property
    def kind(self) -> str:
        """Which painters draw it."""
        return self.layers[0].picture.kind

    @property
    def is_in_rows(self) -> bool:
        """Whether its table has the same intervals or bars in its rows: a page then shows the table alone."""
        has_figures = any(column.figure is not None for column in self.table.columns)
        return self.kind == "forest" or (self.kind == "bars" and has_figures)

    @property
    def height(self) -> int:
        """Pixels in a browser."""
        return max(layer.picture.height for layer in self.layers)


def chart(title: str, summary: str, picture: Picture, table: Table[Any], on: On = "all") -> Chart:
    """A chart of one picture."""
    return Chart(title, summary, [Layer(picture)], table, on=on)


def chosen_chart(
    title: str, summary: str, pictures: Mapping[str, Picture], table: Table[Any], name: str, on: On = "all"
) -> list[Chart]:
    """A chart of several pictures with a select box of that name; none if there is no picture."""
    if not pictures:
        return []
    several = len(pictures) > 1
    filters = [Filter(name, list(pictures), column=0)] if several else []
    layers = [Layer(each, {name: choice} if several else {}) for choice, each in pictures.items()]
    return [Chart(title, summary, layers, table, filters, on)]


# ---------------------------------------------------------------- axes


class Axis(Struct, frozen=True):
    """An axis with its unit in its title; both painters draw the ticks that stand here."""

    title: str = ""
    low: float = 0.0
    high: float = 1.0
    is_log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()
    """Places and words."""
    scale: float = 1.0
    """What values are divided by for ticks that a reader makes by zooming in."""


Unit = tuple[float, str]
"""What values are divided by, and what is written behind them."""


def time_unit(values_ns: Iterable[float]) -> Unit:
    """The unit in which the longest of these times reads best."""
    return duration_unit(max(map(abs, values_ns), default=0.0))


def microsecond_unit(values_us: Iterable[float]) -> Unit:
    """The same for microseconds."""
    scale, unit = time_unit(1e3 * value for value in values_us)
    return scale / 1e3, unit


def size_unit(values: Iterable[float]) -> Unit:
    """The unit in which the largest of these sizes in bytes reads best."""
    return decimal_size_unit(max(map(abs, values), default=0.0))


PLAIN: Unit = (1.0, "")
MEGABYTES: Unit = (1e6, "MB")
"""The unit of all charts of a process's memory, so that they can be compared with each other and with the tables."""
PERCENT: Unit = (0.01, "%")


def axis_of(
    title: str,
    values: Iterable[float | None],
    unit: Unit = PLAIN,
    from_zero: bool = False,
    log_from: float = LOG_FROM,
    margin: float = _MARGIN,
) -> Axis:
    """An axis for these values: from zero or around them, logarithmic if they are far apart."""
    sound = [value for value in values if value is not None and math.isfinite(value)]
    above = [value for value in sound if value > 0]
    scale, name = unit
    titled = f"{title} ({name})" if name else title
    if above and len(above) == len(sound) and max(above) / min(above) >= log_from:
        room = (max(above) / min(above)) ** margin
        low, high = min(above) / room, max(above) * room
        return Axis(titled, low, high, True, log_ticks(low, high, scale), scale)
    low, high = min(sound, default=0.0), max(sound, default=1.0)
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = margin * ((high - low) or abs(high) or scale)
    low = low if from_zero and low == 0 else low - room
    high = high + room
    return Axis(titled, low, high, False, linear_ticks(low, high, scale), scale)


def named_axis(names: Sequence[str], title: str = "", most: int = 0) -> Axis:
    """An axis of names at 0, 1, 2…; of more than `most`, every few have their name."""
    step = max(1, -(-len(names) // most)) if most else 1
    ticks = tuple((float(place), names[place]) for place in range(0, len(names), step))
    return Axis(title, -0.6, len(names) - 0.4, False, ticks)


def linear_ticks(low: float, high: float, scale: float = 1.0, most: int = _TICKS) -> tuple[tuple[float, str], ...]:
    """Round steps of 1, 2 or 5 in the unit of the axis."""
    low, high = low / scale, high / scale
    rough = (high - low) / most
    if rough <= 0 or not math.isfinite(rough):
        return ()
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= rough * (1 - 1e-9))
    places = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    values = [round(place * step, 12) for place in places]
    return tuple((value * scale, tick(value)) for value in values)


def log_ticks(low: float, high: float, scale: float = 1.0) -> tuple[tuple[float, str], ...]:
    """Few round digits of each power of ten; 1 is one of them where it lies on the axis."""
    low, high = low / scale, high / scale
    span = high / low
    digits = (1.0,) if span > 3000 else (1.0, 2.0, 5.0) if span > 12 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    if span <= 2.5:
        return linear_ticks(low * scale, high * scale, scale)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = 1 if span <= 1e7 else -(-len(powers) // _TICKS)
    values = [rounded(digit * 10.0**power) or 1.0 for power in powers for digit in digits if power % every == 0]
    return tuple((value * scale, tick(value)) for value in values if low <= value <= high)


def rounded(value: float | None, digits: int = 6) -> float | None:
    """As many digits as a chart can show: a page holds thousands of numbers."""
    if value is None or not math.isfinite(value) or value == 0:
        return None if value is None or not math.isfinite(value) else value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))
