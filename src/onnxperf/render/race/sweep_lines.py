"""Lines of time over one dimension."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxperf.records.race import Case
from onnxperf.records.sweep import subject_in, subjects_of, time_of, values_of, word_of
from onnxperf.render.kit import chart as fg
from onnxperf.wording.names import name_of, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOG_SIZES = 8
LOG_TIMES = 10
"""From this ratio of the largest to the smallest on, an axis is logarithmic."""
NAME_LENGTH = 28
_COLOURS = (fg.BLUE, fg.RED, fg.GREEN, fg.ORANGE, fg.PINK, fg.SKY, fg.GREY)
_MARKERS = "osD^vP*"


def draw_lines(ax: Axes, cases: Sequence[Case], dim: str, others: Sequence[str] = ()) -> int:
    """A line per subject; where another dimension varies as well, a line per size of it."""
    from matplotlib.lines import Line2D

    handles = []
    number = 0
    stacked: Counter[int] = Counter()
    times: list[float] = []
    for fixed in _combinations(cases, others):
        for name in subjects_of(cases):
            points = _points(cases, name, dim, fixed)
            colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number // len(_COLOURS) % 7]
            label = ", ".join([name_of(name), *(f"{key}={size}" for key, size in fixed.items())])
            xs, ys = [size for size, _, _ in points], [math.nan if us is None else us for _, us, _ in points]
            ax.plot(xs, ys, color=colour, marker=marker, markersize=5, linewidth=1.8, zorder=3)
            _write_failures(ax, [(size, word) for size, us, word in points if us is None], colour, stacked)
            handles.append(Line2D([], [], color=colour, marker=marker, label=fg.legend_name(label)))
            times += [us for _, us, _ in points if us is not None]
            number += 1
    _size_axis(ax, values_of(cases, dim), shortened(name_of(dim), NAME_LENGTH))
    _time_axis(ax, times)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=fg.GRID, linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)
    return fg.legend(ax, handles)


def _combinations(cases: Sequence[Case], dims: Sequence[str]) -> list[dict[str, int]]:
    if not dims:
        return [{}]
    return [{dims[0]: size} for size in values_of(cases, dims[0])]


def _points(cases: Sequence[Case], name: str, dim: str, fixed: dict[str, int]) -> list[tuple[int, float | None, str]]:
    """Size, time in microseconds, and the word in its place."""
    points = []
    for case in cases:
        if dim in case.dims and all(case.dims.get(key) == size for key, size in fixed.items()):
            subject = subject_in(case, name)
            ns = time_of(subject)
            points.append((case.dims[dim], ns and ns / 1e3, word_of(case, subject) or "failed"))
    return sorted(points, key=lambda point: point[0])


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
    if max(times_us) / min(times_us) >= LOG_TIMES:
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, max(times_us) * 1.08)
    fg.time_axis(ax.yaxis, "per call, lower is better")
