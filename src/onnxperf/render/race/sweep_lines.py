"""Lines of the mean time over one dimension, in bands of its interval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from onnxperf.records.race import Case
from onnxperf.records.sweep import mean_interval, mean_of, subject_in, subjects_of, values_of, word_of
from onnxperf.render.kit import chart as fg
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
_NO_INTERVAL = (math.nan, math.nan)


def draw_lines(ax: Axes, cases: Sequence[Case], dim: str, others: Sequence[str] = ()) -> int:
    """A line per subject; where another dimension varies as well, a line per size of it."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Line2D | Patch] = []
    stacked: Counter[int] = Counter()
    drawn: list[_Point] = []
    for fixed in _combinations(cases, others):
        for name in subjects_of(cases):
            number = len(handles)
            colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number // len(_COLOURS) % 7]
            label = ", ".join([name_of(name), *(f"{key}={size}" for key, size in fixed.items())])
            points = _points(cases, name, dim, fixed)
            _draw_line(ax, points, colour, marker)
            _write_failures(ax, [(point.size, point.word) for point in points if point.us is None], colour, stacked)
            handles.append(Line2D([], [], color=colour, marker=marker, label=fg.legend_name(label)))
            drawn += points
    ends = [end for point in drawn for end in point.interval or ()]
    if ends:
        handles.append(Patch(color=fg.GREY, alpha=_BAND, linewidth=0, label="95 % interval of the mean"))
    _size_axis(ax, values_of(cases, dim), shortened(name_of(dim), NAME_LENGTH))
    _time_axis(ax, [*(point.us for point in drawn if point.us is not None), *ends])
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=fg.GRID, linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)
    return fg.legend(ax, handles)


def _draw_line(ax: Axes, points: Sequence[_Point], colour: str, marker: str) -> None:
    """The means, and a band of their intervals where neighbours have one."""
    sizes, means = [point.size for point in points], [math.nan if point.us is None else point.us for point in points]
    ax.plot(sizes, means, color=colour, marker=marker, markersize=5, linewidth=1.8, zorder=3)
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
    """A size, its mean in microseconds and both ends of its interval, or the word in their place."""

    size: int
    us: float | None
    interval: tuple[float, float] | None
    word: str


def _points(cases: Sequence[Case], name: str, dim: str, fixed: dict[str, int]) -> list[_Point]:
    points = []
    for case in cases:
        if dim in case.dims and all(case.dims.get(key) == size for key, size in fixed.items()):
            subject = subject_in(case, name)
            ns, ends = mean_of(subject), mean_interval(subject)
            word = word_of(case, subject) or "failed"
            points.append(_Point(case.dims[dim], ns and ns / 1e3, ends and (ends[0] / 1e3, ends[1] / 1e3), word))
    return sorted(points, key=lambda point: point.size)


def _write_failures(ax: Axes, failures: Sequence[tuple[int, str]], colour: str, stacked: Counter[int]) -> None:
    """The word of a case without a time, at the foot of its size."""
    for size, word in failures:
        ax.annotate(
            f"{word} ×",  # noqa: RUF001
            (size, 0.02),
            xycoords=("data", "axes fraction"),
            xytext=(0, stacked[size] * (fg.FONT + 2)),
            textcoords="offset points",
            ha="center",
            fontsize=fg.FONT - 0.5,
            color=colour,
            zorder=4,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": ax.get_facecolor(), "edgecolor": "none"},
            parse_math=False,
        )
        stacked[size] += 1


def _size_axis(ax: Axes, sizes: Sequence[int], name: str) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    logarithmic = bool(sizes) and sizes[0] > 0 and sizes[-1] / sizes[0] >= LOG_SIZES
    if logarithmic:
        ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator([float(size) for size in sizes], nbins=14))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: str(round(value))))
    ax.tick_params(labelsize=fg.FONT)
    text = f"{name}, logarithmic axis" if logarithmic else name
    ax.set_xlabel(text, fontsize=fg.FONT + 0.5, parse_math=False)


def _time_axis(ax: Axes, times_us: Sequence[float]) -> None:
    if not times_us:
        ax.set_yticks([])
        ax.set_ylabel("nothing was measured", fontsize=fg.FONT)
        return
    least = min(us for us in times_us if us > 0)
    if max(times_us) / least >= LOG_TIMES:
        ax.set_yscale("log")
        # An interval may begin at 0, which has no place on this axis.
        ax.set_ylim(bottom=least / 1.25)
    else:
        ax.set_ylim(0, max(times_us) * 1.08)
    fg.time_axis(ax.yaxis, "(mean per call), lower is better")
