"""Lines of time over one dimension, and the legend that the charts of a sweep share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxperf.records.race import Case
from onnxperf.records.sweep import subject_in, subjects_of, time_of, values_of, word_of
from onnxperf.render.kit import chart as fg
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import duration_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

LOG_SIZES = 8
LOG_TIMES = 10
"""From this ratio of the largest to the smallest on, an axis is logarithmic."""
NAME_LENGTH = 28
_LEGEND_LENGTH = 80
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
            label = ", ".join([name_of(name), *(f"{visible(key)}={size}" for key, size in fixed.items())])
            xs, ys = [size for size, _, _ in points], [ns if ns is not None else math.nan for _, ns, _ in points]
            ax.plot(xs, ys, color=colour, marker=marker, markersize=5, linewidth=1.8, zorder=3)
            _write_failures(ax, [(size, word) for size, ns, word in points if ns is None], colour, stacked)
            handles.append(Line2D([], [], color=colour, marker=marker, label=f" {fg.shorten(label, NAME_LENGTH)}"))
            times += [ns for _, ns, _ in points if ns is not None]
            number += 1
    _size_axis(ax, values_of(cases, dim), fg.shorten(name_of(dim), NAME_LENGTH))
    _time_axis(ax, times)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#DDDDDD", linewidth=0.8, zorder=0)
    ax.set_axisbelow(True)
    return legend_above(ax, handles)


def _combinations(cases: Sequence[Case], dims: Sequence[str]) -> list[dict[str, int]]:
    if not dims:
        return [{}]
    return [{dims[0]: size} for size in values_of(cases, dims[0])]


def _points(cases: Sequence[Case], name: str, dim: str, fixed: dict[str, int]) -> list[tuple[int, float | None, str]]:
    """Size, time, and the word in its place."""
    points = []
    for case in cases:
        if dim in case.dims and all(case.dims.get(key) == size for key, size in fixed.items()):
            subject = subject_in(case, name)
            points.append((case.dims[dim], time_of(subject), word_of(case, subject) or "failed"))
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
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    ax.tick_params(labelsize=fg.FONT)
    text = f"{name}, logarithmic axis" if logarithmic else name
    ax.set_xlabel(text, fontsize=fg.FONT + 0.5, parse_math=False)


def _tick(ns: float) -> str:
    scale, unit = duration_unit(ns * 1.0001)  # 1e6 may arrive as 999999.99
    return f"{ns / scale:.3g} {unit}"


def _time_axis(ax: Axes, times: Sequence[float]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    if not times:
        ax.set_yticks([])
        ax.set_ylabel("nothing was measured", fontsize=fg.FONT + 0.5)
        return
    if max(times) / min(times) >= LOG_TIMES:
        ax.set_yscale("log")
        ax.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda ns, _: _tick(ns)))
        ax.set_ylabel("time per call, logarithmic axis · lower is better", fontsize=fg.FONT + 0.5)
        return
    scale, unit = duration_unit(max(times))
    ax.set_ylim(0, max(times) * 1.08)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda ns, _: f"{ns / scale:g}"))
    ax.set_ylabel(f"{unit} per call · lower is better", fontsize=fg.FONT + 0.5)


def legend_above(ax: Axes, handles: Sequence[Patch | Line2D]) -> int:
    """What the signs mean, above the axes, in as many lines as they need; returns their number."""
    if not handles:
        return 0
    longest = max(fg.text_width(str(handle.get_label())) for handle in handles)
    columns = min(len(handles), max(int(_LEGEND_LENGTH / (longest + 6)), 1))
    drawn = ax.legend(
        handles=list(handles),
        fontsize=fg.FONT,
        frameon=False,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        borderaxespad=0.2,
    )
    fg.as_written(*drawn.get_texts())
    return -(-len(handles) // columns)
