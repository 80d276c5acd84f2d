"""Lines of the time of a call over one dimension, in bands of its interval."""

from __future__ import annotations

import math
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from onnxperf.records.race import Case
from onnxperf.records.sweep import subject_in, subjects_of, time_interval, time_of, values_of, word_of
from onnxperf.render.kit import old_chart as fg
from onnxperf.wording.names import name_of, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

LOG_SIZES = 8
LOG_TIMES = 10
"""From this ratio of the largest to the smallest on, an axis is logarithmic."""
NAME_LENGTH = 28
_COLOURS = (fg.BLUE, fg.RED, fg.GREEN, fg.ORANGE, fg.PINK, fg.SKY, fg.GREY)
_MARKERS = "osD^vP*"
_BAND = 0.2
"""Opacity of a band."""
_INTERVAL = "95 % interval of the time"
_MARGIN = 0.05
"""Room beside the outermost sizes, in parts of the axis."""
_INCHES, _POINTS = 6.8, 220
"""Width of the axes in inches and height in points, at least."""
_LANE = fg.FONT + 3
"""Height of a word in points."""
_LABEL_LINE = 44
_NO_INTERVAL = (math.nan, math.nan)


def draw_lines(ax: Axes, cases: Sequence[Case], dim: str, others: Sequence[str] = ()) -> int:
    """A line per subject; where another dimension varies as well, a line per size of it."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Line2D | Patch] = []
    failed: dict[tuple[int, str], list[str]] = defaultdict(list)
    drawn: list[_Point] = []
    for label, name, fixed in _lines(cases, others):
        number = len(handles)
        colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number // len(_COLOURS) % 7]
        points = _points(cases, name, dim, fixed)
        _draw_line(ax, points, colour, marker)
        for point in points:
            if point.us is None:
                failed[point.size, point.word].append(colour)
        handles.append(Line2D([], [], color=colour, marker=marker, label=label))
        drawn += points
    ends = [end for point in drawn for end in point.interval or ()]
    if ends:
        handles.append(Patch(color=fg.GREY, alpha=_BAND, linewidth=0, label=_INTERVAL))
    _size_axis(ax, values_of(cases, dim), shortened(name_of(dim), NAME_LENGTH))
    lanes = _write_failures(ax, failed)
    _time_axis(ax, [*(point.us for point in drawn if point.us is not None), *ends], lanes)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=fg.GRID, linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)
    return fg.legend(ax, handles)


def legend_lines(cases: Sequence[Case], others: Sequence[str]) -> int:
    """How many lines the legend of such lines takes."""
    return fg.legend_lines([*(label for label, _, _ in _lines(cases, others)), _INTERVAL])


def _lines(cases: Sequence[Case], others: Sequence[str]) -> list[tuple[str, str, dict[str, int]]]:
    """Label, subject and fixed sizes of each line."""
    return [
        (fg.legend_name(", ".join([name_of(name), *(f"{key}={size}" for key, size in fixed.items())])), name, fixed)
        for fixed in _combinations(cases, others)
        for name in subjects_of(cases)
    ]


def _draw_line(ax: Axes, points: Sequence[_Point], colour: str, marker: str) -> None:
    """The times, and a band of their intervals where neighbours have one."""
    sizes, times = [point.size for point in points], [math.nan if point.us is None else point.us for point in points]
    ax.plot(sizes, times, color=colour, marker=marker, markersize=5, linewidth=1.8, zorder=3)
    if any(point.interval for point in points):
        lows, highs = ([(point.interval or _NO_INTERVAL)[end] for point in points] for end in (0, 1))
        ax.fill_between(sizes, lows, highs, color=colour, alpha=_BAND, linewidth=0, zorder=2)
        # The interval of a point whose neighbours have none is no band.
        ax.vlines(sizes, lows, highs, colors=colour, alpha=0.6, linewidth=1.2, zorder=2)


def _combinations(cases: Sequence[Case], dims: Sequence[str]) -> list[dict[str, int]]:
    if not dims:
        return [{}]
    return [{dims[0]: size} for size in values_of(cases, dims[0])]


class _Point(NamedTuple):
    """A size, its time in microseconds and both ends of its interval, or the word in their place."""

    size: int
    us: float | None
    interval: tuple[float, float] | None
    word: str


def _points(cases: Sequence[Case], name: str, dim: str, fixed: dict[str, int]) -> list[_Point]:
    points = []
    for case in cases:
        if dim in case.dims and all(case.dims.get(key) == size for key, size in fixed.items()):
            subject = subject_in(case, name)
            ns, ends = time_of(subject), time_interval(subject)
            word = word_of(case, subject) or "failed"
            points.append(_Point(case.dims[dim], ns and ns / 1e3, ends and (ends[0] / 1e3, ends[1] / 1e3), word))
    return sorted(points, key=lambda point: point.size)


def _write_failures(ax: Axes, failed: Mapping[tuple[int, str], Sequence[str]]) -> int:
    """The word of cases without a time above their size, in as many lanes as keep them apart; returns how many."""
    taken: list[float] = []  # where the last word of each lane ends
    for (size, word), colours in sorted(failed.items()):
        words = f"{len(colours)} {word} ×" if len(colours) > 1 else f"{word} ×"  # noqa: RUF001
        middle, half = _place(ax, size), fg.text_part(f"{words} ", fg.size_of(ax, _INCHES)[0]) / 2
        lane = next((number for number, end in enumerate(taken) if end <= middle - half), len(taken))
        taken[lane : lane + 1] = [middle + half]
        ax.annotate(
            words,
            (size, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, -2 - lane * _LANE),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=fg.FONT - 0.5,
            color=colours[0] if len(colours) == 1 else fg.INK,
            zorder=4,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": ax.get_facecolor(), "edgecolor": "none"},
            parse_math=False,
        )
    return len(taken)


def _place(ax: Axes, size: float) -> float:
    """Where a size lies on its axis, whose limits are set, from 0 to 1."""
    low, high = ax.get_xlim()
    if ax.get_xscale() == "log":
        low, high, size = math.log(low), math.log(high), math.log(size)
    return (size - low) / (high - low)


def _size_axis(ax: Axes, sizes: Sequence[int], name: str) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    logarithmic = bool(sizes) and sizes[0] > 0 and sizes[-1] / sizes[0] >= LOG_SIZES
    if logarithmic:
        ax.set_xscale("log")
    if sizes:
        # Sizes at which everything failed belong to the picture, too.
        span = sizes[-1] / sizes[0] if logarithmic else sizes[-1] - sizes[0] or 1
        margin = span**_MARGIN if logarithmic else _MARGIN * span
        ends = (sizes[0] / margin, sizes[-1] * margin) if logarithmic else (sizes[0] - margin, sizes[-1] + margin)
        ax.set_xlim(*ends)
    ax.xaxis.set_major_locator(FixedLocator([float(size) for size in sizes], nbins=14))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: str(round(value))))
    ax.tick_params(labelsize=fg.FONT)
    text = f"{name}, logarithmic axis" if logarithmic else name
    ax.set_xlabel(text, fontsize=fg.FONT + 0.5, parse_math=False)


def _time_axis(ax: Axes, times_us: Sequence[float], lanes: int) -> None:
    """Name the axis of times, and keep its top free for so many lanes of words."""
    if not times_us:
        ax.set_yticks([])
        ax.set_ylabel("nothing was measured", fontsize=fg.FONT)
        return
    least, most = min(us for us in times_us if us > 0), max(times_us)
    part = 1 - min(lanes * _LANE / _POINTS, 0.6)
    if most / least >= LOG_TIMES:
        ax.set_yscale("log")
        # An interval may begin at 0, which has no place on this axis.
        bottom = least / 1.25
        ax.set_ylim(bottom, bottom * (1.25 * most / bottom) ** (1 / part))
    else:
        ax.set_ylim(0, most * 1.08 / part)
    fg.time_axis(ax.yaxis, "per call, lower is better")
    ax.set_ylabel(textwrap.fill(ax.get_ylabel(), _LABEL_LINE), fontsize=fg.FONT)
