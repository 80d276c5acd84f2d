"""The chart of a tuning: what each candidate gave against the defaults, with intervals."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from onnxperf.records.tune import Goal, TuneRow, Tuning
from onnxperf.render.kit import old_chart as fg
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import factor, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLES: dict[Goal, str] = {
    "latency": "Speedup over the defaults",
    "cpu": "CPU time of the defaults / own",
    "memory": "Memory of the defaults / own",
}
_AXIS = "defaults / candidate, above 1 is better\nwhiskers: 95 % interval over launches"
_LEGEND = {
    "proven": fg.GREEN,
    "not proven": fg.ORANGE,
    "raced on": fg.BLUE,
    "dropped": fg.GREY,
    "approximate": fg.PINK,
}
_FURTHEST = 2.0
"""How far beyond the outermost value whiskers are drawn."""
_NAME_WIDTH = 34
_ROW = 0.3
_MARGIN = 1.06
"""Room left and right of the outermost whiskers."""


class _Point(NamedTuple):
    name: str
    value: float
    low: float
    high: float
    colour: str
    sign: str


def tune_plot(record: Tuning, ax: Axes | None = None) -> Axes:
    """A point and its interval per candidate, the best on top; above all, the confirming race."""
    points = [*_confirmed(record), *_points(record.rows)][: fg.MAX_BARS]
    labels = [
        f"{textwrap.fill(point.name, _NAME_WIDTH, break_on_hyphens=False)} · {factor(point.value)}" for point in points
    ]
    what = ", ".join(filter(None, [name_of(record.model), dims_text(record.dims)]))
    if ax is None:
        ax = fg.bar_figure(labels, 1, _TITLES[record.goal], what, _ROW).subplots()
    else:
        fg.name_given(ax, what)
    for place, point in enumerate(points):
        ax.plot([point.low, point.high], [place, place], color=point.colour, linewidth=1.6, zorder=2)
        ax.plot([point.value], [place], point.sign, color=point.colour, markersize=6, zorder=3)
    fg.name_rows(ax, labels)
    if not points:
        ax.set_xticks([])
        ax.set_xlabel("nothing was measured", fontsize=fg.FONT)
        return ax
    ax.set_xscale("log")
    ax.set_xlim(*_limits(points))
    ax.axvline(1.0, color=fg.INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    _ticks(ax)
    ax.set_xlabel(_AXIS, fontsize=fg.FONT)
    fg.legend(ax, fg.patches({words: colour for words, colour in _LEGEND.items() if colour in _colours(points)}))
    return ax


def _limits(points: Sequence[_Point]) -> tuple[float, float]:
    """Both ends of the axis: whiskers of few launches may reach far beyond all values, and are cut off."""
    values = [1.0, *(point.value for point in points)]
    low = max(min(1.0, *(point.low for point in points)), min(values) / _FURTHEST)
    high = min(max(1.0, *(point.high for point in points)), max(values) * _FURTHEST)
    return low / _MARGIN, high * _MARGIN


def _colours(points: Sequence[_Point]) -> set[str]:
    return {point.colour for point in points}


def _confirmed(record: Tuning) -> list[_Point]:
    if record.tried is None or record.gain is None:
        return []
    low, high = record.gain_low or record.gain, record.gain_high or record.gain
    colour = fg.GREEN if record.verdict == "faster" else fg.ORANGE
    return [_Point(f"confirming race: {name_of(record.tried.name)}", record.gain, low, high, colour, "D")]


def _points(rows: Sequence[TuneRow]) -> list[_Point]:
    measured = [(row.speedup, row) for row in rows if row.speedup is not None and row.status == "ok"]
    return [
        _Point(
            name_of(row.choice.name),
            value,
            row.speedup_low or value,
            row.speedup_high or value,
            fg.GREY if row.dropped else fg.PINK if row.choice.approximate else fg.BLUE,
            "o",
        )
        for value, row in sorted(measured, key=lambda each: -each[0])
    ]


def _ticks(ax: Axes) -> None:
    """Few ticks with plain numbers, whatever the range is."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = ax.get_xlim()
    steps = (0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
    wide = high / low > _WIDE
    shown = [each for each in steps if low <= each <= high and (not wide or each in _COARSE)]
    ax.xaxis.set_major_locator(FixedLocator(shown))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _place: plain(value)))


_WIDE = 4.0
"""Ratio of the ends of the axis from which on it has fewer ticks."""
_COARSE = frozenset({0.05, 0.2, 0.5, 1.0, 2.0, 5.0, 20.0, 50.0})
